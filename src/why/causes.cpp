#include "why/causes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/ranges.hpp"
#include "collective/planner.hpp"
#include "measured/hardware.hpp"
#include "measured/text_lines.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using collective::Protocol;

// Priors: how often public threads about slow collectives end with that cause, as far as a few
// dozen of them tell: 2 the usual answers, 1 the common ones, 0.5 the rest. Evidence and fit
// outweigh them.
constexpr bool kOpen = true;
constexpr bool kKnown = false;
constexpr std::array<CauseInfo, 35> kCauses = {{
    {Cause::nothing_wrong, "nothing-wrong", "nothing is wrong: this is what the machine gives", 2, kKnown,
     "weft plan prints the bound and the resource behind it",
     "expect what the model says, or buy what the what-if table of weft why CLUSTER shows"},
    {Cause::misread, "misread", "the figure is misread (algbw, average, bits, small messages)", 1, kKnown,
     "read busbw of the largest sizes: nccl-tests -b 1G -e 8G",
     "compare busbw with busbw, at sizes where it no longer grows"},
    {Cause::no_gpudirect, "no-gpudirect", "no GPUDirect RDMA: NICs go through host memory", 1, kOpen,
     "the log's NET lines without /GDRDMA; lsmod | grep peermem",
     "load nvidia_peermem (or use DMA-BUF); leave NCCL_NET_GDR_LEVEL alone"},
    {Cause::far_nic, "far-nic", "GPU and NIC are far apart and the way through the CPU is slow (NPS, sockets)", 1,
     kOpen, "nvidia-smi topo -m shows NODE or SYS between them; NPS in the BIOS",
     "put NIC and GPU below one PCIe switch; NPS=4; numactl to the NIC's node"},
    {Cause::dma_redirected, "dma-redirected", "ACS or IOMMU sends GPU-NIC traffic through the root complex", 1, kOpen,
     "lspci -vvv | grep ACSCtl; cat /sys/kernel/iommu_groups/*/type",
     "clear ACS on the bridges (setpci), iommu=pt on the kernel's command line"},
    {Cause::p2p_off, "p2p-off", "GPUs of a server do not reach each other: the ring goes through the CPU", 2, kOpen,
     "the log's channels via SHM; p2pBandwidthLatencyTest; NCCL_P2P_*",
     "unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; turn ACS and IOMMU off; start the fabric manager"},
    {Cause::cpu_path, "slow-cpu-path", "traffic between GPUs crosses a CPU whose I/O path is slow (root complex, NPS)",
     1, kOpen, "p2pBandwidthLatencyTest between GPUs of different switches; NPS in the BIOS",
     "NCCL_P2P_LEVEL=PXB, so that shared memory is used there; NPS=4; GPUs below one PCIe switch"},
    {Cause::mnnvl_off, "mnnvl-off", "NVLink between servers of a scale-up domain is not used", 0.5, kKnown,
     "'MNNVL' in the log; nvidia-smi -q | grep -A5 Fabric; the IMEX daemon",
     "start nvidia-imex on all servers with one list of nodes; unset NCCL_MNNVL_ENABLE"},
    {Cause::shm_off, "shm-off", "no shared memory between processes: a server's own traffic uses the NIC", 0.5, kOpen,
     "df /dev/shm in the container; NCCL_SHM_DISABLE",
     "docker run --shm-size=1g --ulimit memlock=-1; unset NCCL_SHM_DISABLE"},
    {Cause::pcie_down, "pcie-down", "a PCIe link is trained down", 1, kOpen,
     "lspci -vv: LnkSta beside LnkCap, for GPU, NIC and every bridge between",
     "reseat or replace the NIC or riser; the BIOS' link speed"},
    {Cause::nvlink_down, "nvlink-down", "NVLinks are missing or slower than they should be", 0.5, kOpen,
     "nvidia-smi nvlink -s and nvidia-smi topo -m", "reset the GPU, restart the fabric manager, replace the board"},
    {Cause::nic_unused, "nic-unused", "some NICs are not used", 1, kKnown,
     "devices after NET/IB/ in the log; ibstat; switch counters per port",
     "NCCL_IB_HCA without a filter; links up; the topology file lists all"},
    {Cause::slow_nic, "slow-nic", "a NIC or port is slower than it should be (wrong NIC, link below its rate)", 0.5,
     kOpen, "ibstat or ethtool: rate of every port that the log names",
     "NCCL_IB_HCA or NCCL_SOCKET_IFNAME without the slow NIC; replace the cable"},
    {Cause::socket_fallback, "socket-fallback", "TCP sockets where RDMA should be", 1, kOpen,
     "the log's 'Using network' and NET/Socket",
     "put the plugin on LD_LIBRARY_PATH; NCCL_IB_DISABLE=0; devices and memlock in the container"},
    {Cause::few_streams, "few-streams", "too few TCP connections for the network", 1, kOpen,
     "iperf3 -P 1 against -P 16", "NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4; another NCCL version"},
    {Cause::ecmp, "ecmp-collisions", "flows collide on the same uplink (ECMP)", 1, kOpen,
     "counters of leaf uplinks: some full, others empty; run inside one leaf",
     "NCCL_IB_QPS_PER_CONNECTION=4, adaptive routing or spraying; rails kept apart"},
    {Cause::oversubscribed, "oversubscribed", "the network has fewer uplinks than the NICs need", 0.5, kOpen,
     "the same job inside one leaf is faster", "more spines or uplinks; place the job inside a scalable unit"},
    {Cause::lossy, "lossy-network", "packets are lost and sent again (no PFC, bad cable, wrong MTU)", 0.5, kOpen,
     "rx_discards, out_of_sequence, packet_seq_err, symbol errors of NICs and ports",
     "PFC and ECN on the class that RoCE uses; replace the cable"},
    {Cause::nic_settings, "nic-settings", "NIC settings: queue pairs, splitting, relaxed ordering, MTU", 0.5, kOpen,
     "ib_write_bw with the same message size and queue depth",
     "unset NCCL_IB_*; NCCL_IB_SPLIT_DATA_ON_QPS=0; relaxed ordering on; MTU 4096"},
    {Cause::algorithm, "wrong-algorithm", "another algorithm than the best one", 1, kKnown,
     "NCCL_DEBUG_SUBSYS=TUNING says what is chosen; NCCL_ALGO", "unset NCCL_ALGO and tuner plugins"},
    {Cause::nvls_off, "nvls-off", "the NVSwitches do not reduce (NVLS off or unavailable)", 0.5, kKnown,
     "'nvls channels' in the log; NCCL_NVLS_ENABLE", "NCCL_NVLS_ENABLE unset, fabric manager and driver up to date"},
    {Cause::protocol, "wrong-protocol", "the wrong protocol for some sizes (LL, LL128, Simple)", 1, kKnown,
     "sweep sizes finely: a larger message that takes less time",
     "unset NCCL_PROTO; correct the CPU model in the topology file; a tuner plugin"},
    {Cause::few_channels, "few-channels", "too few channels (CTAs)", 0.5, kKnown,
     "'coll channels' in the log; NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS", "unset them, or NCCL_MIN_CTAS=16"},
    {Cause::pxn_off, "pxn-off", "PXN is off: GPUs do not use the NIC next to another GPU", 0.5, kKnown,
     "NCCL_PXN_DISABLE; NVLink between the GPUs of a server", "NCCL_PXN_DISABLE=0, NCCL 2.12 or later"},
    {Cause::virtual_machine, "vm-topology", "a virtual machine hides which GPU is near which NIC", 0.5, kOpen,
     "nvidia-smi topo -m: everything at PHB or SYS",
     "NCCL_TOPO_FILE as the cloud gives it; pass PCIe switches and ATS through"},
    {Cause::slow_rank, "slow-node", "one GPU, NIC or server is slower than the rest", 1, kOpen,
     "halve the job until the slow one is left; nvidia-smi -q -d PERFORMANCE",
     "leave it out, then cool, reset or replace it"},
    {Cause::slow_launch, "slow-launch", "the host starts operations slowly (one process, pinning, debugging)", 0.5,
     kOpen, "times of 8 B messages; CPU clocks and pinning",
     "one process per GPU, CUDA graphs, CPU governor performance"},
    {Cause::old_nccl, "old-nccl", "an old or slow version of NCCL or its plugin", 0.5, kOpen,
     "'NCCL version' in the log, and its release notes", "a current NCCL with the plugin that belongs to it"},
    {Cause::separate_jobs, "not-one-job", "every process ran alone: nccl-tests was built without MPI", 0.5, kKnown,
     "several lines 'Rank 0' of different hosts; ranks in the list", "make clean; make MPI=1 MPI_HOME=..."},
    {Cause::false_topology, "false-topology", "the topology file that NCCL was given is not of this machine", 0.5,
     kOpen, "unset NCCL_TOPO_FILE and compare with what NCCL_TOPO_DUMP_FILE writes",
     "the file of this machine, or none"},
    {Cause::rails_apart, "rails-apart", "NICs are cabled or numbered so that rails do not meet", 0.5, kOpen,
     "ib_write_bw between every pair of NICs; ibv_modify_qp failures name the pair",
     "the same NIC number on the same rail everywhere; NCCL_CROSS_NIC=0"},
    {Cause::cpu_binding, "cpu-binding", "processes are bound to cores that cannot feed the NICs", 0.5, kOpen,
     "taskset -p of a rank; NCCL's proxy threads share its cores", "--bind-to none or numa; several cores for a rank"},
    {Cause::uneven_ranks, "uneven-ranks", "a setting or a module is there on some ranks only", 0.5, kOpen,
     "compare env, lsmod and NCCL's NET lines rank by rank", "the same environment and modules on every server"},
    {Cause::nic_swapped, "nic-swapped", "GPUs send through NICs that are nearer to other GPUs", 0.5, kOpen,
     "the log's [send] via NET/IB/N beside nvidia-smi topo -m",
     "order of devices in the container, NCCL_TOPO_FILE or CUDA_VISIBLE_DEVICES as the server has them"},
    {Cause::few_per_peer, "few-per-peer", "too few channels to each peer across the network", 0.5, kOpen,
     "'p2p channels per peer' in the log; NCCL_NCHANNELS_PER_NET_PEER",
     "NCCL_NCHANNELS_PER_NET_PEER=4, or more NCCL_MIN_P2P_NCHANNELS"},
}};

// So much of what the NICs would give.
std::vector<Variant> nic_parts(std::initializer_list<Ratio> parts, std::string_view text) {
  std::vector<Variant> out;
  for (const Ratio& part : parts)
    out.push_back({.text = fmt::format("{}/{} {}", part.over, part.under, text),
                   .nic_per_mille = 1'000 * part.over / part.under});
  return out;
}

Variant with_set(std::string text, std::vector<std::string> set) {
  return {.text = std::move(text), .set = std::move(set)};
}

std::vector<Variant> scale_up_parts(std::initializer_list<Ratio> parts, Machine& machine, std::string_view text) {
  std::vector<Variant> out;
  const model::Cluster* cluster = machine.cluster();
  if (!cluster->groups[0].spec.scale_up) return out;
  const Bandwidth whole = cluster->groups[0].spec.scale_up->link.both_ways.value_or(Bandwidth{});
  for (const Ratio& part : parts)
    out.push_back(with_set(
        fmt::format("{}/{} {}", part.over, part.under, text),
        {fmt::format("{}.scale_up.link.both_ways={}", machine.servers(), exact(whole / part.under * part.over))}));
  return out;
}

// The first so many of a server's NICs, in their places.
Variant first_nics(std::int64_t count, Machine& machine) {
  const model::Group& group = machine.cluster()->groups[0];
  const std::int64_t all = group.spec.nics;
  const auto& places = group.diagram.nic_switch;
  const std::vector<std::uint32_t> kept(places.begin(), places.begin() + count);
  Variant variant = with_set(fmt::format("{} of {} NICs", count, all),
                             {fmt::format("{}.nics={}", machine.servers(), count),
                              fmt::format("{}.nic_switch=[{}]", machine.servers(), fmt::join(kept, ", "))});
  // A fabric may not close with fewer; the others then have to do with less.
  if (machine.cluster(variant.set) == nullptr) {
    variant.set.clear();
    variant.nic_per_mille = 1'000 * count / all;
  }
  return variant;
}

std::vector<Variant> unused_nics(const Situation& situation, Machine& machine) {
  const std::int64_t all = machine.cluster()->groups[0].spec.nics;
  std::set<std::int64_t> counts;
  if (const std::int64_t used = situation.nics_used(all); used > 0 && used < all) counts = {used};
  if (const std::int64_t down = situation.facts.hardware.ports_down(); counts.empty() && down > 0 && down < all)
    counts = {all - down};
  if (counts.empty())
    for (const std::int64_t count : {std::int64_t{1}, all / 4, all / 2, all - 1})
      if (count > 0 && count < all) counts.insert(count);
  std::vector<Variant> out;
  for (const std::int64_t count : counts) out.push_back(first_nics(count, machine));
  return out;
}

std::vector<Variant> weak_pcie(const Situation& situation, Machine& machine) {
  const model::ServerKind& server = machine.cluster()->groups[0].spec;
  const std::string& at = machine.servers();
  std::vector<Variant> out;
  const auto add = [&](std::int64_t gen, std::int64_t lanes) {
    std::vector<std::string> set = {fmt::format("{}.pcie_gen={}", at, gen), fmt::format("{}.pcie_lanes={}", at, lanes)};
    if (server.nics > 0) {
      set.push_back(fmt::format("{}.nic.pcie_gen={}", at, std::min(gen, server.nic.pcie_gen)));
      set.push_back(fmt::format("{}.nic.pcie_lanes={}", at, std::min(lanes, server.nic.pcie_lanes)));
    }
    out.push_back(with_set(fmt::format("PCIe {}.0 x{}", gen, lanes), std::move(set)));
  };
  // Cluster files begin with PCIe 3.0: what is older has as many lanes less, and NICs the rest of it.
  const auto add_weak = [&](std::int64_t gen, std::int64_t lanes) {
    constexpr std::int64_t kOldest = 3;
    std::int64_t times = 1;
    for (std::int64_t each = gen; each < kOldest; ++each) times *= 2;
    add(std::max(gen, kOldest), std::max<std::int64_t>(1, lanes / times));
    out.back().text = fmt::format("PCIe {}.0 x{}", gen, lanes);
    if (times > lanes) out.back().nic_per_mille = 1'000 * lanes / times;
  };
  // What lspci shows, then what a topology does.
  for (const measured::ReportedSlot& slot : situation.facts.hardware.slots)
    if (out.empty()) add_weak(slot.gen, slot.lanes);
  if (situation.facts.server)
    for (const measured::WeakPart& weak : situation.facts.server->weak)
      if (weak.pcie_gen >= 1 && weak.pcie_lanes > 0 && out.empty()) add_weak(weak.pcie_gen, weak.pcie_lanes);
  if (!out.empty()) return out;
  // Links that are slower than they could be are so in the machine that was read.
  const bool slow_slot =
      server.nics > 0 && machine.cluster()->groups[0].nic_pcie.one_way(server.nic.pcie_lanes) < server.nic.rate;
  if (situation.facts.server && (slow_slot || server.pcie_gen < pcie_gen_of_both(situation, machine)))
    out.push_back({.text = "as the topology shows it"});
  for (std::int64_t gen = server.pcie_gen - 1; gen >= 3; --gen) add(gen, server.pcie_lanes);
  for (std::int64_t lanes = server.pcie_lanes / 2; lanes >= 4; lanes /= 2) add(server.pcie_gen, lanes);
  return out;
}

// Over the NICs themselves, or over one of them, or over a NIC for administration.
std::vector<Variant> sockets(Machine& machine) {
  const model::ServerKind& server = machine.cluster()->groups[0].spec;
  std::vector<Variant> out = {{.text = "TCP over all NICs", .stack = "tcp"}};
  if (server.nics > 1)
    out.push_back({.text = "TCP over one NIC", .stack = "tcp", .nic_per_mille = 1'000 / server.nics});
  for (const std::int64_t gigabits : {std::int64_t{100}, std::int64_t{25}, std::int64_t{10}}) {
    const std::int64_t all = server.nic.rate.count() / 1'000'000'000 * std::max<std::int64_t>(1, server.nics);
    if (gigabits < all)
      out.push_back({.text = fmt::format("TCP over a {} Gb/s port", gigabits),
                     .stack = "tcp",
                     .nic_per_mille = std::max<std::int64_t>(1, 1'000 * gigabits / all)});
  }
  return out;
}

std::vector<Variant> algorithms(const Situation& situation, Machine& machine) {
  if (const auto better = better_algorithm(situation, machine))
    return {{.text = fmt::format("{}, by NCCL's choice", collective::name(better->taken))}};
  std::vector<Variant> out;
  const std::string* forced = situation.environment("NCCL_ALGO");
  for (const Algorithm each : {Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::nvls_tree}) {
    if (forced != nullptr && !collective::listed(collective::list_for(situation.job.operation, *forced), name(each)))
      continue;
    out.push_back({.text = fmt::format("{}", collective::name(each)), .algorithm = each});
  }
  return out;
}

std::vector<Variant> protocols(const Situation& situation) {
  std::vector<Variant> out;
  const std::string* forced = situation.environment("NCCL_PROTO");
  for (const Protocol each : collective::kProtocols) {
    if (forced != nullptr && !collective::listed(collective::list_for(situation.job.operation, *forced), name(each)))
      continue;
    out.push_back({.text = fmt::format("{}", collective::name(each)), .protocol = each});
  }
  for (const measured::Crossover& crossover : situation.facts.crossovers) {
    if (forced != nullptr || crossover.table != situation.table) continue;
    const auto below = static_cast<std::uint64_t>(situation.facts.tables[crossover.table].rows[crossover.row].bytes);
    for (const Protocol each : {Protocol::ll, Protocol::ll128})
      out.push_back(
          {.text = fmt::format("{} below {}", collective::name(each), exact(Bytes(static_cast<std::int64_t>(below)))),
           .protocol = each,
           .protocol_below = below});
  }
  return out;
}

std::vector<Variant> channels(const Situation& situation) {
  std::vector<Variant> out;
  std::vector<std::uint32_t> counts = {1, 2, 4};
  for (const char* name : {"NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"})
    if (const std::string* text = situation.environment(name))
      if (const auto most = measured::whole_number(*text); most && *most > 0 && *most <= 64)
        counts = {static_cast<std::uint32_t>(*most)};
  for (const std::uint32_t count : counts)
    out.push_back({.text = fmt::format("{} channel{}", count, count == 1 ? "" : "s"), .channels = count});
  return out;
}

// Some GPU of the job has no NIC that reaches it without the CPU.
bool has_far_gpu(const Situation& situation, Machine& machine) {
  const collective::Team* team = machine.team(situation.job, {});
  if (team == nullptr) return false;
  for (std::uint32_t rank = 0; rank < team->domain(0).ranks; ++rank)
    if (!team->direct(rank)) return true;
  return false;
}

bool over_tcp(const Situation& situation) {
  const auto& networks = situation.facts.networks;
  return situation.uses_sockets() || std::any_of(networks.begin(), networks.end(), [](const measured::NetUse& use) {
           return use.transport == measured::NetTransport::socket;
         });
}

// Causes that figures cannot tell from others: they are considered where a word speaks for them.
bool is_spoken_of(Cause cause, const Situation& situation) {
  const measured::Facts& facts = situation.facts;
  const auto mentioned = [&](measured::Mention mention) { return facts.mentions.contains(mention); };
  switch (cause) {
    case Cause::false_topology:
      return situation.environment("NCCL_TOPO_FILE") != nullptr;
    case Cause::rails_apart:
      return mentioned(measured::Mention::unreachable) || situation.environment("NCCL_CROSS_NIC") != nullptr ||
             situation.helped("NCCL_CROSS_NIC") || situation.helped("NCCL_IB_DISABLE");
    case Cause::cpu_binding:
      return mentioned(measured::Mention::bound) || mentioned(measured::Mention::slower_by_launcher) ||
             situation.small_rows_that_differ() > 0 || situation.helped("NCCL_IGNORE_CPU_AFFINITY") ||
             situation.helped("--bind-to") || situation.helped("--cpu-bind");
    case Cause::uneven_ranks:
      return (facts.with_gpudirect > 0 && facts.without_gpudirect > 0) || facts.networks.size() > 1 ||
             !measured::uneven_settings(facts).empty();
    case Cause::nic_swapped:
      return !facts.own_devices.empty();
    default:
      return true;
  }
}

// NICs in the order that is the furthest from what it should be, or so much of their rate as the way there leaves.
std::vector<Variant> swapped(Machine& machine) {
  const model::Group& group = machine.cluster()->groups[0];
  std::vector<std::uint32_t> places(group.diagram.nic_switch.begin(), group.diagram.nic_switch.end());
  std::reverse(places.begin(), places.end());
  std::vector<Variant> out = nic_parts({{1, 2}, {1, 4}}, "of the NIC's rate");
  Variant turned = with_set("NICs the other way round",
                            {fmt::format("{}.nic_switch=[{}]", machine.servers(), fmt::join(places, ", "))});
  if (group.spec.pcie_switches > 1 && machine.cluster(turned.set) != nullptr)
    out.insert(out.begin(), std::move(turned));
  return out;
}

std::vector<Variant> network_variants(Cause cause, const Situation& situation, Machine& machine) {
  const std::string& at = machine.servers();
  const model::Cluster& cluster = *machine.cluster();
  if (!is_spoken_of(cause, situation)) return {};
  const bool one_flow = situation.nodes == 2 && situation.per_node() == 1;  // each way
  const bool one_switch = situation.fabric_known && cluster.file.fabric.kind == model::FabricKind::single_chassis;
  switch (cause) {
    case Cause::no_gpudirect: {
      // How fast host memory is depends on CPUs, NUMA and the number of NICs.
      std::vector<Variant> out = {with_set("through host memory", {at + ".gpudirect=false"})};
      for (const std::int64_t part : {2, 4}) {
        Variant slower = with_set(fmt::format("through host memory, 1/{} as fast", part), {at + ".gpudirect=false"});
        slower.nic_per_mille = 1'000 / part;
        out.push_back(std::move(slower));
      }
      return out;
    }
    case Cause::far_nic:
      if (!has_far_gpu(situation, machine)) return {};
      return nic_parts({{1, 2}, {1, 4}, {1, 8}}, "of the NIC's rate through the CPU");
    case Cause::dma_redirected:
      return nic_parts({{1, 2}, {1, 3}, {1, 4}}, "of the NIC's rate");
    case Cause::nic_unused:
      return unused_nics(situation, machine);
    case Cause::slow_nic:
      if (const measured::ReportedPort* slowest = situation.slowest_port(cluster.groups[0].spec.nic.rate))
        return {{.text = fmt::format("{} at {} Gb/s", slowest->name, slowest->megabits / 1'000),
                 .nic_per_mille = std::max<std::int64_t>(
                     1, slowest->megabits * 1'000 / (cluster.groups[0].spec.nic.rate.count() / 1'000'000))}};
      return nic_parts({{1, 2}, {1, 4}, {1, 10}}, "of the NIC's rate");
    case Cause::socket_fallback:
      return situation.uses_sockets() ? std::vector<Variant>{} : sockets(machine);
    case Cause::few_streams:
      return over_tcp(situation) ? nic_parts({{1, 2}, {1, 4}, {1, 8}}, "of the NIC's rate") : std::vector<Variant>{};
    case Cause::ecmp:
      if (one_switch || one_flow) return {};
      return nic_parts({{2, 3}, {1, 2}, {1, 3}}, "of an uplink");
    case Cause::oversubscribed:
      if (situation.fabric_known || one_flow) return {};
      return nic_parts({{1, 2}, {1, 4}}, "of the NICs' rate");
    case Cause::lossy:
      return nic_parts({{1, 2}, {1, 4}, {1, 10}}, "of the NIC's rate");
    case Cause::nic_settings:
      return nic_parts({{9, 10}, {3, 4}, {1, 2}}, "of the NIC's rate");
    case Cause::pxn_off:
      return {{.text = "without PXN", .pxn = false}};
    case Cause::false_topology:
    case Cause::rails_apart:
      return nic_parts({{1, 2}, {1, 4}, {1, 8}}, "of the NIC's rate");
    case Cause::nic_swapped:
      return swapped(machine);
    case Cause::few_per_peer:
      if (situation.job.operation != collective::Operation::all_to_all &&
          situation.job.operation != collective::Operation::send_recv)
        return {};
      if (has_one_channel_per_peer(situation, machine)) return {{.text = "1 channel for each, by NCCL's rule"}};
      return nic_parts({{1, 2}, {1, 4}}, "of the NIC's rate");
    case Cause::cpu_binding: {
      // Large messages wait for threads that feed the NICs, small ones until they are woken.
      std::vector<Variant> out = nic_parts({{3, 4}, {1, 2}, {1, 4}}, "of the NIC's rate");
      for (const std::int64_t later : {100, 400})
        out.push_back({.text = fmt::format("{} us later", later), .launch = microseconds(later)});
      return out;
    }
    case Cause::uneven_ranks:
      return {with_set("some through host memory", {at + ".gpudirect=false"}),
              {.text = "1/2 of the NIC's rate on some", .nic_per_mille = 500}};
    default:
      return {};
  }
}

// GPUs that reach each other over PCIe alone, and not all below one switch.
std::vector<Variant> slower_cpu_path(const Situation& situation, Machine& machine) {
  const model::Group& group = machine.cluster()->groups[0];
  const auto& places = group.diagram.gpu_switch;
  const bool one_switch = group.spec.pcie_switches > 0 && std::count(places.begin(), places.end(), places.front()) ==
                                                              static_cast<std::ptrdiff_t>(places.size());
  if (group.spec.scale_up || one_switch || situation.per_node() < 2) return {};
  std::vector<Variant> out;
  for (std::int64_t part = 2; part <= 8 && group.spec.pcie_lanes / part >= 1; part *= 2)
    out.push_back(with_set(fmt::format("1/{} of PCIe's rate", part),
                           {fmt::format("{}.pcie_lanes={}", machine.servers(), group.spec.pcie_lanes / part)}));
  return out;
}

// A release that uses less of what joins a server's GPUs.
std::vector<Variant> slower_inside(Machine& machine) {
  if (machine.cluster()->groups[0].spec.scale_up)
    return scale_up_parts({{3, 4}, {1, 2}}, machine, "of the NVLinks' rate");
  std::vector<Variant> out;
  const std::int64_t lanes = machine.cluster()->groups[0].spec.pcie_lanes;
  for (const std::int64_t part : {2, 4})
    if (lanes / part >= 1)
      out.push_back(with_set(fmt::format("1/{} of PCIe's rate", part),
                             {fmt::format("{}.pcie_lanes={}", machine.servers(), lanes / part)}));
  return out;
}

// Virtual machines keep GPUs and NICs from reaching each other; or the machine is just as it shows
// itself.
std::vector<Variant> virtualised(const Situation& situation, Machine& machine) {
  std::vector<Variant> out;
  const model::ServerKind& server = machine.cluster()->groups[0].spec;
  if (situation.several_nodes()) {
    out.push_back(with_set("through host memory", {machine.servers() + ".gpudirect=false"}));
    out.push_back({.text = "1/2 of the NIC's rate", .nic_per_mille = 500});
  } else if (!server.scale_up && situation.per_node() > 1) {
    out.push_back(with_set("through host memory", {machine.servers() + ".p2p=false"}));
    for (Variant& each : slower_cpu_path(situation, machine)) out.push_back(std::move(each));
  }
  if (situation.facts.server && situation.facts.server->pcie_switches == 0)
    out.push_back({.text = "as the topology shows it"});
  return out;
}

// Two nodes are joined by trees, which busbw flatters, or by rings, as NCCL's version has it. NICs
// for games do not offer P2P, unless their driver was changed.
std::vector<Variant> as_it_is(const Situation& situation, Machine& machine) {
  std::vector<Variant> out = {{.text = "as it is"}};
  const model::ServerKind& server = machine.cluster()->groups[0].spec;
  if (situation.nodes == 2 && situation.environment("NCCL_ALGO") == nullptr &&
      !situation.facts.algorithm.starts_with("T") && collective::generation_of(server.gpu.kind).nvls_channels == 0)
    out.push_back({.text = "with rings", .algorithm = Algorithm::ring});
  if (situation.facts.gpu_name.find("GeForce") != std::string::npos && situation.per_node() > 1 && !server.scale_up)
    out.push_back(with_set("GeForce, through host memory", {machine.servers() + ".p2p=false"}));
  return out;
}

std::vector<Variant> server_variants(Cause cause, const Situation& situation, Machine& machine) {
  const std::string& at = machine.servers();
  const model::ServerKind& server = machine.cluster()->groups[0].spec;
  switch (cause) {
    case Cause::p2p_off:
      return {with_set("through host memory", {at + ".p2p=false"})};
    case Cause::mnnvl_off:
      if (!server.scale_up || server.scale_up->servers == 1) return {};
      return {with_set("each server alone", {at + ".scale_up.servers=1"})};
    case Cause::shm_off:
      if (!server.scale_up || server.nics == 0) return {};
      return {with_set("through the NICs", {fmt::format("{}.scale_up.link.both_ways={}", at,
                                                        exact(server.nic.rate * 2 * server.nics / server.gpus))})};
    case Cause::nvlink_down:
      if (const auto& hardware = situation.facts.hardware;
          hardware.nvlinks_down > 0 && hardware.nvlinks_down < hardware.nvlinks)
        return scale_up_parts({{hardware.nvlinks - hardware.nvlinks_down, hardware.nvlinks}}, machine,
                              "of the NVLinks");
      return scale_up_parts({{5, 6}, {2, 3}, {1, 2}}, machine, "of the NVLinks");
    case Cause::nvls_off:
      return {{.text = "without NVLS", .nvls = false}};
    case Cause::few_channels:
      return channels(situation);
    case Cause::false_topology:  // of GPUs and switches that are there, it knows some
      if (!is_spoken_of(cause, situation)) return {};
      return scale_up_parts({{2, 3}, {1, 2}}, machine, "of the NVLinks");
    default:
      return {};
  }
}

}  // namespace

std::int64_t pcie_gen_of_both(const Situation& situation, Machine& machine) {
  const measured::Facts& facts = situation.facts;
  const measured::GpuChip* chip = measured::gpu_by_kind(machine.cluster()->groups[0].spec.gpu.kind);
  if (!facts.server || chip == nullptr || facts.cpu_vendor.empty()) return 0;
  return std::min(chip->pcie_gen,
                  measured::cpu_by_id("", facts.cpu_vendor, facts.cpu_family, facts.cpu_model).pcie_gen);
}

bool has_one_channel_per_peer(const Situation& situation, Machine& machine) {
  const Job& job = situation.job;
  const bool in_pairs =
      job.operation == collective::Operation::all_to_all || job.operation == collective::Operation::send_recv;
  const collective::Team* team = machine.team(job, {});
  if (!in_pairs || !situation.several_nodes() || situation.observations.empty() || team == nullptr) return false;
  const auto rule = collective::pair_rule(*team, job.operation, situation.observations.back().largest(), *job.stack);
  return collective::pair_cut(rule, collective::pair_protocol(rule)).each == 1;
}

std::optional<BetterAlgorithm> better_algorithm(const Situation& situation, Machine& machine) {
  if (!situation.hoped || situation.observations.empty() || situation.environment("NCCL_ALGO") != nullptr)
    return std::nullopt;
  constexpr double kReached = 0.95;
  constexpr double kGained = 1.1;
  const Job& job = situation.job;
  const std::uint64_t bytes = situation.observations.back().largest();
  const auto rate = [&](const Prediction& made) { return bus_bandwidth(job, bytes, made.time); };
  const std::vector<Prediction> now = machine.predict(job, {}, {bytes});
  if (now.empty()) return std::nullopt;
  const double had = std::max(rate(now.front()), situation.observations.back().bus);
  std::optional<BetterAlgorithm> out;
  for (const Algorithm each : {Algorithm::ring, Algorithm::tree}) {
    const std::vector<Prediction> then = machine.predict(job, {.algorithm = each}, {bytes});
    if (then.empty() || then.front().choice.algorithm != each || now.front().choice.algorithm == each) continue;
    const double with = rate(then.front());
    if (with >= kReached * *situation.hoped && with >= kGained * had)
      out = {now.front().choice.algorithm, each, rate(now.front()), with};
  }
  return out;
}

std::span<const CauseInfo> causes() { return kCauses; }

const CauseInfo& info(Cause cause) {
  return *std::find_if(kCauses.begin(), kCauses.end(), [&](const CauseInfo& each) { return each.cause == cause; });
}

std::vector<Variant> variants_of(Cause cause, const Situation& situation, Machine& machine) {
  switch (cause) {
    case Cause::nothing_wrong:
      return as_it_is(situation, machine);
    case Cause::misread:
      return {{.text = "as it is"}};
    case Cause::separate_jobs:
      return situation.facts.jobs_at_once > 1 ? std::vector<Variant>{{.text = "one of them"}} : std::vector<Variant>{};
    case Cause::cpu_path:
      return slower_cpu_path(situation, machine);
    case Cause::virtual_machine:
      return virtualised(situation, machine);
    case Cause::pcie_down:
      return weak_pcie(situation, machine);
    case Cause::algorithm:
      return algorithms(situation, machine);
    case Cause::protocol:
      return protocols(situation);
    case Cause::slow_rank: {
      std::vector<Variant> out = scale_up_parts({{3, 4}, {1, 2}}, machine, "of a GPU's rate");
      if (situation.several_nodes())
        for (Variant& each : nic_parts({{3, 4}, {1, 2}}, "of a NIC's rate")) out.push_back(std::move(each));
      return out;
    }
    case Cause::slow_launch: {
      std::vector<Variant> out;
      for (const std::int64_t more : {20, 100, 500})
        out.push_back({.text = fmt::format("{} us later", more), .launch = microseconds(more)});
      return out;
    }
    case Cause::old_nccl:
      if (situation.job.stack->name == "efa") return {{.text = "NCCL and plugin of 2023", .stack = "efa1.7-nccl2.18"}};
      if (situation.several_nodes()) return nic_parts({{3, 4}, {1, 2}}, "of the NIC's rate");
      return situation.facts.mentions.contains(measured::Mention::slower_release) ? slower_inside(machine)
                                                                                  : std::vector<Variant>{};
    default:
      break;
  }
  const bool inside = cause == Cause::p2p_off || cause == Cause::mnnvl_off || cause == Cause::shm_off ||
                      cause == Cause::nvlink_down || cause == Cause::nvls_off || cause == Cause::few_channels ||
                      (cause == Cause::false_topology && !situation.several_nodes());
  if (inside) {
    const bool needs_pair = cause != Cause::few_channels;
    if (needs_pair && situation.per_node() < 2) return {};
    return server_variants(cause, situation, machine);
  }
  return situation.several_nodes() ? network_variants(cause, situation, machine) : std::vector<Variant>{};
}

}  // namespace weft::why
