#include "why/evidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using measured::Mention;
using measured::NetTransport;
using testing::Bench;

// The four grades as odds; below 1 the same grade speaks against a cause.
constexpr double kOutright = 150;
constexpr double kSeldomOtherwise = 20;
constexpr double kOften = 4.5;
constexpr double kHint = 2;
double against(double odds) { return 1 / odds; }

struct Seen {
  Situation situation;
  Reference reference{.expected = 300, .best = 400, .measured = 290, .algorithm = "ring"};
};

// Four servers of eight GPUs and eight NICs, measured as expected. Somebody chose a tuner: that nobody chose
// anything is a finding of its own.
Seen usual(const Bench& bench) {
  Seen out;
  out.situation.job = bench.job(32);
  out.situation.job.per_server = 8;
  out.situation.nodes = 4;
  out.situation.fabric_known = true;  // a cluster file
  out.situation.facts.environment["NCCL_TUNER_PLUGIN"] = "mine";
  out.situation.observations = {{{1u << 30}, 290, true, {}}};
  return out;
}

std::map<Cause, double> weights(const Seen& seen, Machine& machine) {
  std::map<Cause, double> out;
  for (const Finding& each : findings(seen.situation, seen.reference, machine)) out[each.cause] += each.weight;
  return out;
}

using Change = std::function<void(Seen&)>;
using Odds = std::map<Cause, double>;

class Evidence : public ::testing::Test {
 protected:
  // What one more fact does to the odds of all causes: those named, and nothing to others.
  void moves(const std::string& name, const Change& change, const Odds& expected, const Change& given = {}) {
    Seen seen = usual(bench_);
    if (given) given(seen);
    std::map<Cause, double> moved = weights(seen, *bench_.machine);
    for (auto& [cause, weight] : moved) weight = -weight;
    change(seen);
    for (const auto& [cause, weight] : weights(seen, *bench_.machine)) moved[cause] += weight;
    for (const CauseInfo& each : causes()) {
      const auto said = expected.find(each.cause);
      const double odds = said == expected.end() ? 1 : said->second;
      EXPECT_NEAR(std::exp(moved[each.cause]) / odds, 1, 0.1) << name << " and " << each.id;
    }
  }
  void setting(const std::string& name, const std::string& value, const Odds& expected) {
    moves(
        name + "=" + value, [&](Seen& at) { at.situation.facts.environment[name] = value; }, expected);
  }
  void mention(Mention which, const Odds& expected, const Change& given = {}) {
    moves(
        std::string(measured::name(which)),
        [&](Seen& at) {
          at.situation.facts.mentions[which] = {1, {}};
        },
        expected, given);
  }

  Bench bench_{"{kind: hgx-h100, count: 4}"};
};

TEST_F(Evidence, OfSettings) {
  setting("NCCL_NET_GDR_LEVEL", "LOC", {{Cause::no_gpudirect, kOutright}});
  setting("NCCL_IB_GDR_LEVEL", "0", {{Cause::no_gpudirect, kOutright}});
  setting("NCCL_NET_GDR_LEVEL", "SYS", {});
  setting("FI_EFA_USE_DEVICE_RDMA", "0", {{Cause::no_gpudirect, kSeldomOtherwise}});
  setting("NCCL_NET_GDR_READ", "0", {{Cause::no_gpudirect, kOften}});
  setting("NCCL_P2P_LEVEL", "SYS", {{Cause::cpu_path, kOften}});
  setting("NCCL_MNNVL_ENABLE", "0", {{Cause::mnnvl_off, kOutright}});
  setting("NCCL_CUMEM_ENABLE", "0", {{Cause::mnnvl_off, kSeldomOtherwise}});
  setting("NCCL_SHM_DISABLE", "1", {{Cause::shm_off, kSeldomOtherwise}});
  setting("NCCL_IB_HCA", "mlx5_0", {{Cause::nic_unused, kHint}});
  setting("NCCL_TOPO_FILE", "topo.xml", {{Cause::false_topology, kOften}});
  setting("NCCL_CROSS_NIC", "1", {{Cause::rails_apart, kHint}});
  setting("NCCL_SOCKET_IFNAME", "eth0", {{Cause::slow_nic, kHint}});
  setting("NCCL_IB_DISABLE", "1", {{Cause::socket_fallback, kOutright}});
  setting("NCCL_IB_DISABLE", "0", {});
  setting("NCCL_NET", "Socket", {{Cause::socket_fallback, kOutright}});
  setting("FI_PROVIDER", "tcp", {{Cause::socket_fallback, kSeldomOtherwise}});
  setting("NCCL_SOCKET_NTHREADS", "1", {{Cause::few_streams, kHint}});
  setting("NCCL_MIN_NRINGS", "4", {{Cause::few_streams, kHint}});
  setting("NCCL_IB_SPLIT_DATA_ON_QPS", "1", {{Cause::nic_settings, kSeldomOtherwise}});
  setting("NCCL_IB_PCI_RELAXED_ORDERING", "0", {{Cause::nic_settings, kOften}});
  setting("NCCL_BUFFSIZE", "1048576", {{Cause::nic_settings, kHint}});
  setting("NCCL_IB_QPS_PER_CONNECTION", "4", {{Cause::nic_settings, kHint}});
  setting("NCCL_ALGO", "Ring", {{Cause::algorithm, kSeldomOtherwise}});
  setting("NCCL_NVLS_ENABLE", "0", {{Cause::nvls_off, kOutright}});
  setting("NCCL_PROTO", "LL", {{Cause::protocol, kSeldomOtherwise}});
  setting("NCCL_MAX_NCHANNELS", "8", {{Cause::few_channels, kSeldomOtherwise}});
  setting("NCCL_MAX_NCHANNELS", "9", {});
  setting("NCCL_NCHANNELS_PER_NET_PEER", "1", {{Cause::few_channels, kOften}, {Cause::few_per_peer, kSeldomOtherwise}});
  setting("NCCL_PXN_DISABLE", "1", {{Cause::pxn_off, kOutright}});
  setting("CUDA_LAUNCH_BLOCKING", "1", {{Cause::slow_launch, kOften}});
  setting("NCCL_DEBUG", "TRACE", {{Cause::slow_launch, kOften}});
}

TEST_F(Evidence, OfWhatHelps) {
  const auto helps = [&](const std::string& name, const std::string& value, const Odds& expected, bool does = true) {
    moves(
        name + "=" + value + " helps",
        [&](Seen& at) {
          at.situation.facts.trials.push_back({{name, value, does, 0}, {}});
        },
        expected);
  };
  helps("NCCL_NET_GDR_LEVEL", "SYS", {{Cause::no_gpudirect, kSeldomOtherwise}});
  helps("NCCL_NET_GDR_READ", "1", {{Cause::no_gpudirect, kSeldomOtherwise}});
  helps("FI_EFA_USE_DEVICE_RDMA", "1", {{Cause::no_gpudirect, kSeldomOtherwise}});
  helps("NCCL_NET_GDR_LEVEL", "0", {{Cause::dma_redirected, kSeldomOtherwise}});
  helps("NCCL_NET_GDR_READ", "0", {{Cause::dma_redirected, kSeldomOtherwise}});
  helps("NCCL_IB_CUDA_SUPPORT", "0", {{Cause::dma_redirected, kSeldomOtherwise}});
  helps("NCCL_NET_GDR_LEVEL", "0", {}, false);
  helps("NCCL_P2P_DISABLE", "1", {{Cause::p2p_off, kSeldomOtherwise}, {Cause::cpu_path, kSeldomOtherwise}});
  helps("NCCL_P2P_LEVEL", "SYS", {{Cause::p2p_off, kSeldomOtherwise}});
  helps("NCCL_P2P_LEVEL", "PXB", {{Cause::cpu_path, kSeldomOtherwise}});
  helps("NCCL_MNNVL_ENABLE", "1", {{Cause::mnnvl_off, kSeldomOtherwise}});
  helps("NCCL_IB_HCA", "mlx5_0", {{Cause::nic_unused, kOften}, {Cause::slow_nic, kOften}});
  helps("NCCL_SOCKET_IFNAME", "eth1", {{Cause::slow_nic, kOften}});
  helps("NCCL_IB_DISABLE", "0", {{Cause::socket_fallback, kSeldomOtherwise}});
  helps("NCCL_IB_DISABLE", "1", {{Cause::lossy, kOften}, {Cause::rails_apart, kOften}});
  helps("FI_PROVIDER", "efa", {{Cause::socket_fallback, kSeldomOtherwise}});
  helps("NCCL_SOCKET_NTHREADS", "8", {{Cause::few_streams, kSeldomOtherwise}});
  helps("NCCL_NSOCKS_PERTHREAD", "8", {{Cause::few_streams, kSeldomOtherwise}});
  helps("NCCL_IB_QPS_PER_CONNECTION", "4", {{Cause::ecmp, kOften}, {Cause::nic_settings, kOften}});
  helps("NCCL_IB_PCI_RELAXED_ORDERING", "1", {{Cause::nic_settings, kSeldomOtherwise}});
  helps("NCCL_IB_SPLIT_DATA_ON_QPS", "0", {{Cause::nic_settings, kSeldomOtherwise}});
  helps("NCCL_IB_TC", "106", {{Cause::lossy, kSeldomOtherwise}});
  helps("NCCL_IB_SL", "3", {{Cause::lossy, kSeldomOtherwise}});
  helps("NCCL_ALGO", "Tree", {{Cause::algorithm, kSeldomOtherwise}});
  helps("NCCL_PROTO", "Simple", {{Cause::protocol, kSeldomOtherwise}});
  helps("NCCL_MIN_NCHANNELS", "16", {{Cause::few_channels, kSeldomOtherwise}});
  helps("NCCL_MIN_CTAS", "16", {{Cause::few_channels, kSeldomOtherwise}});
  helps("NCCL_NCHANNELS_PER_NET_PEER", "4", {{Cause::few_per_peer, kSeldomOtherwise}});
  helps("NCCL_NVLS_ENABLE", "1", {{Cause::nvls_off, kSeldomOtherwise}});
  helps("NCCL_PXN_DISABLE", "0", {{Cause::pxn_off, kSeldomOtherwise}});
  helps("NCCL_TOPO_FILE", "", {{Cause::virtual_machine, kSeldomOtherwise}});
  helps("NCCL_CROSS_NIC", "0", {{Cause::rails_apart, kSeldomOtherwise}});
  helps("NCCL_IGNORE_CPU_AFFINITY", "1", {{Cause::cpu_binding, kSeldomOtherwise}});
  helps("--bind-to", "none", {{Cause::cpu_binding, kSeldomOtherwise}});
  helps("--cpu-bind", "none", {{Cause::cpu_binding, kSeldomOtherwise}});
}

TEST_F(Evidence, OfAWireThatIsFine) {
  moves("perftest", [](Seen& at) { at.situation.facts.hardware.perftest_megabits = 390'000; },
        {{Cause::slow_nic, against(kOften)}, {Cause::pcie_down, against(kHint)}, {Cause::lossy, against(kHint)}});
  moves("perftest", [](Seen& at) { at.situation.facts.hardware.perftest_megabits = 300'000; }, {});
}

TEST_F(Evidence, OfAHostThatSlowRunsHaveInCommon) {
  moves("runs by host",
        [](Seen& at) {
          at.situation.facts.host_runs = {
              {{"n1", "n2"}, 49.4, {}}, {{"n1", "n3"}, 48.1, {}}, {{"n3", "n4"}, 88.2, {}}, {{"n2", "n4"}, 87.9, {}}};
        },
        {{Cause::slow_rank, kSeldomOtherwise}});
}

TEST_F(Evidence, OfSmallRowsThatDiffer) {
  moves("small rows",
        [](Seen& at) {
          for (const std::uint64_t size : {8u, 64u, 1024u, 8192u})
            at.situation.observations.push_back({{size}, 0.01, size == 8, {}});
        },
        {{Cause::cpu_binding, kOften}});
}

TEST_F(Evidence, ThatNobodyChoseSpeaksAgainstAChoice) {
  moves("no setting", [](Seen& at) { at.situation.facts.environment.clear(); },
        {{Cause::algorithm, against(kOften)},
         {Cause::protocol, against(kOften)},
         {Cause::few_channels, against(kOften)}});
}

TEST_F(Evidence, OfMentions) {
  mention(Mention::peermem_missing, {{Cause::no_gpudirect, kSeldomOtherwise}});
  mention(Mention::nps_one, {{Cause::far_nic, kSeldomOtherwise}, {Cause::cpu_path, kSeldomOtherwise}});
  mention(Mention::acs_on, {{Cause::dma_redirected, kSeldomOtherwise}});
  mention(Mention::iommu_on, {{Cause::dma_redirected, kOften}, {Cause::cpu_path, kOften}});
  mention(Mention::iommu_passthrough, {{Cause::dma_redirected, against(kOften)}});
  mention(Mention::hang, {{Cause::p2p_off, kOften}});
  mention(Mention::unreachable, {{Cause::rails_apart, kSeldomOtherwise}, {Cause::lossy, kOften}});
  // What fails between servers does not hang between GPUs.
  mention(Mention::hang, {}, [](Seen& at) { at.situation.facts.mentions[Mention::unreachable] = {1, {}}; });
  mention(Mention::isolated, {{Cause::p2p_off, kSeldomOtherwise}, {Cause::shm_off, kOften}});
  mention(Mention::slower_release, {{Cause::old_nccl, kSeldomOtherwise}});
  mention(Mention::rdma_missing, {{Cause::socket_fallback, kSeldomOtherwise}});
  mention(Mention::bound, {{Cause::cpu_binding, kSeldomOtherwise}});
  mention(Mention::nvlink_inactive, {{Cause::p2p_off, kOften}, {Cause::nvlink_down, kSeldomOtherwise}});
  mention(Mention::imex, {{Cause::mnnvl_off, kSeldomOtherwise}});
  mention(Mention::link_downgraded, {{Cause::pcie_down, kSeldomOtherwise}});
  mention(Mention::slow_port, {{Cause::slow_nic, kSeldomOtherwise}});
  mention(Mention::ecmp, {{Cause::ecmp, kSeldomOtherwise}});
  mention(Mention::oversubscribed, {{Cause::oversubscribed, kSeldomOtherwise}});
  mention(Mention::loss, {{Cause::lossy, kSeldomOtherwise}});
  mention(Mention::ordering_strict, {{Cause::nic_settings, kOften}});
  mention(Mention::small_mtu, {{Cause::nic_settings, kOften}});
  mention(Mention::hidden_bus, {{Cause::virtual_machine, kOften}});
  mention(Mention::virtual_machine, {{Cause::virtual_machine, kSeldomOtherwise}, {Cause::dma_redirected, kOften}});
  mention(Mention::protection_error, {{Cause::dma_redirected, kSeldomOtherwise}});
  mention(Mention::consumer_gpu, {{Cause::no_gpudirect, kOften}, {Cause::p2p_off, kHint}});
  mention(Mention::epyc, {{Cause::far_nic, kHint}, {Cause::cpu_path, kHint}});
  mention(Mention::bond, {{Cause::nic_settings, kOften}, {Cause::nic_unused, kHint}});
  mention(Mention::slower_by_launcher, {{Cause::cpu_binding, kSeldomOtherwise}});
  mention(Mention::pairs_differ, {{Cause::ecmp, kOften}, {Cause::slow_rank, kOften}});
  mention(Mention::rdma_named, {});
  mention(Mention::slow_node, {{Cause::slow_rank, kSeldomOtherwise}});
  mention(Mention::throttled, {{Cause::slow_rank, kSeldomOtherwise}});
  // That NVLinks do without shared memory does not hold where its lack is said.
  mention(Mention::no_shared_memory, {{Cause::shm_off, kOutright * kOften}});
  // Peer access matters where data already go through host memory.
  const Change without_nvlink = [](Seen& at) { at.situation.facts.shared_memory = 3; };
  mention(Mention::acs_on, {{Cause::dma_redirected, kSeldomOtherwise}, {Cause::p2p_off, kOften}}, without_nvlink);
  const Odds all = {{Cause::dma_redirected, kOften}, {Cause::cpu_path, kOften}, {Cause::p2p_off, kOften}};
  mention(Mention::iommu_on, all, without_nvlink);
  // NVLinks of a machine that nobody named are no argument.
  const Change nobody_named = [](Seen& at) { at.situation.fabric_known = false; };
  mention(Mention::iommu_on, all, nobody_named);
  mention(Mention::nvlink_inactive, {}, nobody_named);
}

// Who switches off all ways but the network's wants to measure that.
TEST_F(Evidence, OfASwitchThatIsMeant) {
  const Change p2p = [](Seen& at) {
    at.situation.facts.environment["NCCL_P2P_DISABLE"] = "1";
    at.situation.facts.p2p_disabled = true;
  };
  const Change shm = [](Seen& at) { at.situation.facts.environment["NCCL_SHM_DISABLE"] = "1"; };
  moves("P2P alone", p2p, {{Cause::p2p_off, kOutright * kHint}, {Cause::shm_off, kOften}});
  moves("shared memory, too", shm, {{Cause::p2p_off, against(kOutright)}}, p2p);
}

// A forced algorithm is at fault only where it would not give what was hoped for.
TEST_F(Evidence, OfAForcedAlgorithm) {
  const Change ring = [](Seen& at) { at.situation.facts.environment["NCCL_ALGO"] = "Ring"; };
  const auto hopes = [](double rate) {
    return [rate](Seen& at) {
      at.reference.expected = at.reference.measured = 100;
      at.situation.hoped = rate;
    };
  };
  moves("a ring gives that", ring, {}, hopes(300));
  moves("a ring does not give that", ring, {{Cause::algorithm, kSeldomOtherwise}}, hopes(3000));
}

TEST_F(Evidence, OfHalfABond) {
  const Change half = [](Seen& at) { at.reference.measured = 0.5 * at.reference.expected; };
  const Change chosen = [](Seen& at) { at.situation.facts.environment["NCCL_IB_HCA"] = "mlx5_bond_0,mlx5_bond_1"; };
  const Odds bonded = {{Cause::nic_settings, kOften}, {Cause::nic_unused, kHint * kHint}};
  moves("a bond by name", chosen, bonded, [](Seen& at) {
    at.situation.facts.interfaces.assign(8, {"IB", "mlx5", "RoCE", {}});
  });
  moves("half of a bond", chosen, {{Cause::nic_settings, kSeldomOtherwise}, {Cause::nic_unused, kHint * kHint}}, half);
}

// That NCCL uses sockets says what is wrong where another network is known, or where more is hoped for than sockets
// give.
TEST_F(Evidence, OfSocketsWhereNobodyNamesAnotherNetwork) {
  const Change sockets = [](Seen& at) { at.situation.facts.networks = {{NetTransport::socket, "Socket", 1, {}}}; };
  const Change nobody = [](Seen& at) { at.situation.fabric_known = false; };
  const auto odds = [](double fallback) {
    return Odds{{Cause::socket_fallback, fallback}, {Cause::few_streams, kOften}};
  };
  moves("sockets alone", sockets, odds(kOften), nobody);
  moves("sockets, and more is hoped for", sockets, odds(kSeldomOtherwise), [&](Seen& at) {
    nobody(at);
    at.situation.hoped = 25;
  });
  moves("sockets, and somebody speaks of RDMA", sockets, odds(kOutright), [&](Seen& at) {
    nobody(at);
    at.situation.facts.mentions[Mention::rdma_named] = {1, {}};
  });
}

TEST_F(Evidence, OfHowGpusAndNicsAreJoined) {
  moves("GPUDirect", [](Seen& at) { at.situation.facts.with_gpudirect = 4; },
        {{Cause::no_gpudirect, against(kOutright)}});
  moves("no GPUDirect", [](Seen& at) { at.situation.facts.without_gpudirect = 4; },
        {{Cause::no_gpudirect, kOutright}, {Cause::dma_redirected, against(kOften)}});
  moves("some GPUDirect",
        [](Seen& at) { at.situation.facts.with_gpudirect = at.situation.facts.without_gpudirect = 4; },
        {{Cause::no_gpudirect, kSeldomOtherwise}, {Cause::uneven_ranks, kSeldomOtherwise}});
  moves("a host without GPUDirect",
        [](Seen& at) {
          at.situation.facts.hosts_with_gdr = {"a"};
          at.situation.facts.hosts_without_gdr = {"b"};
        },
        {{Cause::uneven_ranks, kOften}});
  moves("hosts with some GPUDirect",
        [](Seen& at) {
          at.situation.facts.hosts_with_gdr = {"a", "b"};
          at.situation.facts.hosts_without_gdr = {"b"};
        },
        {});
  moves("gdr=0", [](Seen& at) { at.situation.facts.can_gpudirect = false; }, {{Cause::no_gpudirect, kSeldomOtherwise}});
  moves("P2P off", [](Seen& at) { at.situation.facts.p2p_disabled = true; },
        {{Cause::p2p_off, kOutright * kHint}, {Cause::shm_off, kOften}});
  moves("P2P used", [](Seen& at) { at.situation.facts.p2p = 3; }, {{Cause::p2p_off, against(kSeldomOtherwise)}});
  moves("shared memory", [](Seen& at) { at.situation.facts.shared_memory = 3; },
        {{Cause::p2p_off, kSeldomOtherwise * kHint}, {Cause::shm_off, kOften}});
  moves("GeForce", [](Seen& at) { at.situation.facts.gpu_name = "NVIDIA GeForce RTX 4090"; },
        {{Cause::p2p_off, kHint}, {Cause::no_gpudirect, kOften}});
  const Change amd = [](Seen& at) { at.situation.facts.cpu_vendor = "AuthenticAMD"; };
  moves("AMD", amd, {{Cause::far_nic, kHint}, {Cause::cpu_path, kHint}});
  moves(
      "AMD and failures", [](Seen& at) { at.situation.facts.failures = 1; }, {{Cause::p2p_off, kOften}}, amd);
  moves("all NICs", [](Seen& at) { at.situation.facts.net_devices_used = 8; },
        {{Cause::nic_unused, against(kOutright)}});
  moves("two rings", [](Seen& at) { at.situation.facts.channels.collective = 2; },
        {{Cause::nic_unused, kSeldomOtherwise}});
  moves("a bond",
        [](Seen& at) {
          at.situation.facts.interfaces = {{"IB", "mlx5_bond_0", "RoCE", {}}};
        },
        {{Cause::nic_unused, kHint * kSeldomOtherwise}, {Cause::nic_settings, kOften}});
  moves("nine NICs",
        [](Seen& at) {
          at.situation.facts.interfaces.assign(9, {"IB", "mlx5", "RoCE", {}});
        },
        {{Cause::slow_nic, kOften}});
}

TEST_F(Evidence, OfTheNetworkThatTheLogNames) {
  const auto uses = [](NetTransport which) {
    return [which](Seen& at) { at.situation.facts.networks = {{which, "some", 1, {}}}; };
  };
  moves("sockets", uses(NetTransport::socket), {{Cause::socket_fallback, kOutright}, {Cause::few_streams, kOften}});
  moves("InfiniBand", uses(NetTransport::infiniband), {{Cause::socket_fallback, against(kOutright)}});
  moves("RoCE", uses(NetTransport::roce), {{Cause::socket_fallback, against(kOutright)}, {Cause::ecmp, kHint}});
  moves("libfabric", uses(NetTransport::ofi), {{Cause::socket_fallback, against(kOften)}});
  moves("no plugin", [](Seen& at) { at.situation.facts.plugin_missing = true; },
        {{Cause::socket_fallback, kSeldomOtherwise}});
  moves("no device", [](Seen& at) { at.situation.facts.no_ib_device = true; },
        {{Cause::socket_fallback, kSeldomOtherwise}});
  moves("two servers", [](Seen& at) { at.situation.nodes = 2; },
        {{Cause::ecmp, against(kHint)}, {Cause::oversubscribed, against(kHint)}});
}

TEST_F(Evidence, OfVersionsAndChoices) {
  const auto version = [](const char* text) {
    return [text](Seen& at) { at.situation.facts.nccl_version = {text, {}}; };
  };
  moves("2.4.8", version("2.4.8"), {{Cause::old_nccl, kSeldomOtherwise}, {Cause::pxn_off, kHint}});
  moves("2.7.0", version("2.7.0"), {{Cause::old_nccl, kOften}, {Cause::pxn_off, kHint}});
  moves("2.12.12", version("2.12.12"), {{Cause::old_nccl, kOften}});
  moves("2.18.3", version("2.18.3"), {});
  moves("2.21.5", version("2.21.5"), {{Cause::old_nccl, against(kOften)}});
  moves("no NVLS channel", [](Seen& at) { at.situation.facts.channels.nvls = 0; },
        {{Cause::nvls_off, kSeldomOtherwise}});
  moves("NVLS", [](Seen& at) { at.situation.facts.algorithm = "NVLS"; },
        {{Cause::nvls_off, against(kOutright)}, {Cause::algorithm, kOften}});
  moves("Tree, not Ring", [](Seen& at) { at.situation.facts.algorithm = "Tree"; }, {{Cause::algorithm, kOften}});
  moves("Ring", [](Seen& at) { at.situation.facts.algorithm = "Ring"; }, {});
  moves("jobs", [](Seen& at) { at.situation.facts.jobs_at_once = 2; }, {{Cause::separate_jobs, kOutright}});
}

TEST_F(Evidence, OfTheTopology) {
  const auto server = [](std::int64_t switches, std::int64_t sockets) {
    return [=](Seen& at) {
      at.situation.facts.server.emplace();
      at.situation.facts.server->gpus = 8;
      at.situation.facts.server->pcie_switches = switches;
      at.situation.facts.server->sockets = sockets;
    };
  };
  moves("switches", server(4, 2), {{Cause::virtual_machine, against(kOften)}});
  moves("no switch", server(0, 2), {{Cause::virtual_machine, kOften}});
  moves("no switch on one socket", server(0, 1), {{Cause::virtual_machine, kOften}});
  moves(
      "a weak link",
      [](Seen& at) { at.situation.facts.server->weak = {{.pcie_gen = 3, .pcie_lanes = 4, .place = {}}}; },
      {{Cause::pcie_down, kOutright}}, server(4, 2));
  moves(
      "links as sold", [](Seen& at) { at.situation.facts.cpu_vendor = "GenuineIntel"; },
      {{Cause::pcie_down, against(kOften)}}, server(4, 2));
}

TEST_F(Evidence, OfRowsThatDifferOrFall) {
  const auto rows = [](std::vector<Observation> all) { return [all](Seen& at) { at.situation.observations = all; }; };
  moves("unsteady", rows({{{64u << 20}, 290, false, {}}, {{1u << 30}, 290, false, {}}}),
        {{Cause::ecmp, kHint}, {Cause::lossy, kOften}, {Cause::slow_rank, kHint}});
  moves("one is unsteady", rows({{{64u << 20}, 290, true, {}}, {{1u << 30}, 290, false, {}}}), {});
  moves("small ones are unsteady", rows({{{8}, 1, false, {}}, {{64}, 1, false, {}}, {{1u << 30}, 290, true, {}}}), {});
  moves("falls", rows({{{64u << 20}, 290, true, {}}, {{1u << 30}, 210, true, {}}}), {{Cause::lossy, kOften}});
  moves("falls a little", rows({{{64u << 20}, 290, true, {}}, {{1u << 30}, 225, true, {}}}), {});
  moves("collapses", rows({{{64u << 20}, 290, true, {}}, {{1u << 30}, 90, true, {}}}),
        {{Cause::lossy, kOften * kSeldomOtherwise}, {Cause::ecmp, kOften}});
  moves("crossover",
        [](Seen& at) {
          at.situation.facts.tables.resize(1);
          at.situation.facts.tables[0].rows.resize(1);
          at.situation.facts.crossovers = {{0, 0, 80}};
        },
        {{Cause::protocol, kSeldomOtherwise}});
}

TEST_F(Evidence, OfWhatWasHopedFor) {
  const auto hoped = [](double rate) { return [rate](Seen& at) { at.situation.hoped = rate; }; };
  const auto measured = [](double rate) { return [rate](Seen& at) { at.reference.measured = rate; }; };
  moves("too much", hoped(500), {{Cause::nothing_wrong, kSeldomOtherwise * kOften}});
  moves("too much, of two servers", hoped(500), {{Cause::nothing_wrong, kSeldomOtherwise}},
        [](Seen& at) { at.situation.nodes = 2; });
  moves("eight NICs of 50 GB/s", hoped(400), {{Cause::nothing_wrong, kOften}});
  moves("NVLink", hoped(450), {{Cause::nothing_wrong, kOften * kSeldomOtherwise * kOften}});
  moves("reached", hoped(310), {{Cause::nothing_wrong, kSeldomOtherwise}});
  moves("not reached", hoped(330), {});
  moves("within reach", hoped(330), {{Cause::nothing_wrong, against(kOften)}}, measured(200));
  moves("bits", hoped(8 * 100), {{Cause::misread, kSeldomOtherwise}, {Cause::nothing_wrong, kOften}}, measured(100));
  moves("in the other column", hoped(310), {{Cause::misread, kOutright}},
        [](Seen& at) { at.situation.observations[0].said_as_algbw = true; });
  moves("an average",
        [](Seen& at) {
          at.situation.observations[0].sizes = {8, 1u << 30};
        },
        {{Cause::misread, kSeldomOtherwise}});
  moves("small sizes", [](Seen& at) { at.reference.expected = 200; }, {{Cause::misread, kOften}});
  moves("slow with all that could be on", measured(200), {{Cause::dma_redirected, kOften}}, [](Seen& at) {
    at.situation.facts.with_gpudirect = 16;
    at.situation.facts.net_devices_used = 8;
  });
}

// What other programs print of hardware: each figure once, for the cause that it is of.
TEST_F(Evidence, OfReportsOfHardware) {
  const auto hardware = [&](const std::string& name, const std::function<void(measured::HardwareReport&)>& change,
                            const Odds& expected) {
    moves(
        name, [&](Seen& at) { change(at.situation.facts.hardware); }, expected);
  };
  hardware("a slow slot",
           [](auto& report) {
             report.slots.push_back({"1b:00.0", 1, 1, 5, 16, {}});
           },
           {{Cause::pcie_down, kSeldomOtherwise}});
  hardware("a slow port",
           [](auto& report) {
             report.ports.push_back({"mlx5_0", 100'000, false, 0, {}});
           },
           {{Cause::slow_nic, kSeldomOtherwise}});
  hardware("a port at its rate",
           [](auto& report) {
             report.ports.push_back({"mlx5_0", 400'000, false, 4'096, {}});
           },
           {});
  hardware("a port that is down",
           [](auto& report) {
             report.ports.push_back({"mlx5_0", 0, true, 0, {}});
           },
           {{Cause::nic_unused, kOften}});
  hardware("short packets",
           [](auto& report) {
             report.ports.push_back({"mlx5_0", 0, false, 1'024, {}});
           },
           {{Cause::nic_settings, kOften}});
  hardware("an NVLink that is down",
           [](auto& report) {
             report.nvlinks = 18;
             report.nvlinks_down = 1;
           },
           {{Cause::nvlink_down, kSeldomOtherwise}});
  moves("hosts that are told otherwise",
        [](Seen& at) {
          at.situation.facts.set_on["NCCL_IB_DISABLE"] = {{"0", {"a"}}, {"1", {"b"}}};
        },
        {{Cause::uneven_ranks, kSeldomOtherwise}});
  moves("NICs of others",
        [](Seen& at) {
          at.situation.facts.own_devices = {{0, {7}}, {1, {6}}};
        },
        {{Cause::nic_swapped, kOften}});
  moves("their own NICs", [](Seen& at) { at.situation.facts.own_devices = {{0, {0}}, {1, {1}}}; }, {});
  moves("a channel per peer", [](Seen& at) { at.situation.facts.channels.p2p_per_peer = 1; },
        {{Cause::few_per_peer, kHint}});
}

// 64 GPUs with NICs of 400G send to one another: NCCL's rule gives each peer one channel, which copies less than that,
// and somebody expected what two would give.
TEST_F(Evidence, OfOneChannelForEachPeer) {
  const Bench bench("{kind: hgx-h100, gpus: 4, nics: 4, count: 16}");
  Seen seen = usual(bench);
  seen.situation.job = bench.job(64, collective::Operation::send_recv);
  seen.situation.job.per_server = 4;
  seen.situation.job.stack = collective::stack_named("ib-nccl2.20");
  seen.situation.nodes = 16;
  seen.situation.observations = {{{1u << 30}, 30, true, {}}};
  seen.reference.measured = 30;
  const std::map<Cause, double> content = weights(seen, *bench.machine);
  ASSERT_TRUE(has_one_channel_per_peer(seen.situation, *bench.machine));
  seen.situation.hoped = 40;
  std::map<Cause, double> hoping = weights(seen, *bench.machine);
  EXPECT_NEAR(std::exp(hoping[Cause::few_per_peer]), kSeldomOtherwise, 0.1 * kSeldomOtherwise);
  EXPECT_LT(hoping[Cause::nothing_wrong], 0);
  EXPECT_FALSE(content.contains(Cause::few_per_peer));
  seen.situation.hoped = 90;  // no number of channels would do
  hoping = weights(seen, *bench.machine);
  EXPECT_EQ(hoping[Cause::few_per_peer], 0);
}

// Three servers that NCCL joins by a ring: a tree gives more, and somebody expected that.
TEST_F(Evidence, OfAnAlgorithmThatWouldDo) {
  const Bench bench("{kind: gb200-nvl72, count: 3, scale_up: {servers: 1}}");
  Seen seen = usual(bench);
  seen.situation.job = bench.job(12, collective::Operation::all_reduce);
  seen.situation.job.stack = collective::stack_named("ib-nccl2.27");
  seen.situation.nodes = 3;
  seen.situation.facts.environment.clear();
  const std::uint64_t bytes = 16ull << 30;
  const auto rate = [&](const Variant& variant) {
    return bus_bandwidth(seen.situation.job, bytes,
                         bench.machine->predict(seen.situation.job, variant, {bytes}).front().time);
  };
  const double ring = rate({.algorithm = collective::Algorithm::ring});
  const double tree = rate({.algorithm = collective::Algorithm::tree});
  ASSERT_GT(tree, 1.1 * ring);
  seen.situation.observations = {{{bytes}, ring, true, {}}};
  seen.reference.measured = ring;
  EXPECT_FALSE(better_algorithm(seen.situation, *bench.machine)) << "nobody hopes for more";
  seen.situation.hoped = tree;
  const auto found = better_algorithm(seen.situation, *bench.machine);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->better, collective::Algorithm::tree);
  std::map<Cause, double> hoping = weights(seen, *bench.machine);
  EXPECT_LT(hoping[Cause::nothing_wrong], 0);
  EXPECT_GT(hoping[Cause::algorithm], 0);
  seen.situation.hoped = 2 * tree;
  EXPECT_FALSE(better_algorithm(seen.situation, *bench.machine)) << "no algorithm would do";
  seen.situation.hoped = tree;
  seen.situation.observations.back().bus = tree;
  EXPECT_FALSE(better_algorithm(seen.situation, *bench.machine)) << "it is there already";
}

// Channels are one piece of evidence, whether or not some connections name their NICs.
TEST_F(Evidence, OfFewChannelsCountsOnce) {
  moves("four channels and two connections",
        [](Seen& at) {
          at.situation.facts.channels.collective = 4;
          at.situation.facts.net_devices_used = 2;
        },
        {{Cause::nic_unused, kSeldomOtherwise}});
}

}  // namespace
}  // namespace weft::why
