#include "why/evidence.hpp"

#include <algorithm>
#include <cmath>

#include "why/signs.hpp"

namespace weft::why {
namespace {

using measured::Mention;
using measured::NetTransport;

// Weights are logarithms of odds, in four grades.
constexpr double kDecisive = 5;    // it is said outright: 150 to 1
constexpr double kStrong = 3;      // seldom otherwise: 20 to 1
constexpr double kModerate = 1.5;  // twice as often as not, and more: 4 to 1
constexpr double kWeak = 0.7;      // a hint: 2 to 1

struct Rule {
  Cause cause;
  double weight;
  Sign sign;
  std::string_view reason;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      // Expectations.
      {Cause::nothing_wrong, kStrong, hoped_for_too_much, "nobody gets more than the machine has"},
      {Cause::nothing_wrong, kModerate, hoped_for_the_wire, "kernels and protocols get 80 to 95 % of a wire"},
      {Cause::nothing_wrong, kModerate, two_nodes_were_better,
       "NVLS and trees save the network nothing beyond two nodes"},
      {Cause::nothing_wrong, -kModerate, hoped_within_reach, "the model agrees with who expected it"},
      {Cause::nothing_wrong, kStrong, reached, "what was hoped for is there"},
      {Cause::misread, kDecisive, reached_in_busbw, "the expected figure is there, in the other column"},
      {Cause::misread, kStrong, is_average, "small sizes are bound by latency: their average means nothing"},
      {Cause::misread, kStrong, eight_times, "networks are sold in bits and measured in bytes"},
      {Cause::misread, kModerate, only_small, "busbw still grows with size there"},
      // GPUDirect RDMA.
      {Cause::no_gpudirect, kDecisive, [](const Scene& at) { return gpudirect_is(at, false); },
       "NCCL marks each connection"},
      {Cause::no_gpudirect, kStrong, gpudirect_mixed, "NCCL marks each connection"},
      {Cause::no_gpudirect, -kDecisive, [](const Scene& at) { return gpudirect_is(at, true); },
       "NCCL marks each connection"},
      {Cause::no_gpudirect, kDecisive, low_gdr_level, "that level allows it nowhere"},
      {Cause::no_gpudirect, kStrong, set_to("FI_EFA_USE_DEVICE_RDMA", {"0"}), "that switches it off on EFA"},
      {Cause::no_gpudirect, kModerate, set_to("NCCL_NET_GDR_READ", {"0"}), "then what is sent rests in host memory"},
      {Cause::no_gpudirect, kStrong, mentioned(Mention::peermem_missing), "it needs that module, or DMA-BUF"},
      {Cause::no_gpudirect, kStrong, nic_cannot, "NCCL asked the driver"},
      {Cause::no_gpudirect, kStrong,
       helped("NCCL_NET_GDR_LEVEL", {"SYS", "PHB", "PXB", "PIX", "1", "2", "3", "4", "5"}),
       "what helps says what is wrong"},
      {Cause::no_gpudirect, kStrong, helped("NCCL_NET_GDR_READ", {"1"}), "what helps says what is wrong"},
      {Cause::no_gpudirect, kStrong, helped("FI_EFA_USE_DEVICE_RDMA", {"1"}), "what helps says what is wrong"},
      {Cause::no_gpudirect, kWeak, far_apart, "beyond the root complex it is off by default"},
      {Cause::no_gpudirect, kModerate, both(geforce, several_servers), "such cards do not offer it"},
      // Through the CPU.
      {Cause::far_nic, kStrong, all_far_apart, "every byte crosses the CPU"},
      {Cause::far_nic, kModerate, both(all_far_apart, set_to("NCCL_NET_GDR_LEVEL", {"SYS", "PHB", "4", "5"})),
       "it forces NIC and GPU to meet across the CPU"},
      {Cause::far_nic, kWeak, far_apart, "some bytes cross the CPU"},
      {Cause::far_nic, kStrong, mentioned(Mention::nps_one),
       "one NUMA node per socket halves what host memory gives to I/O"},
      {Cause::far_nic, kWeak, amd, "EPYC's I/O path depends on NPS"},
      {Cause::dma_redirected, kStrong, mentioned(Mention::acs_on), "ACS sends peer traffic up to the root"},
      {Cause::dma_redirected, kModerate, mentioned(Mention::iommu_on), "every access is translated"},
      {Cause::dma_redirected, -kModerate, mentioned(Mention::iommu_passthrough), "nothing is translated"},
      {Cause::dma_redirected, kModerate, all_is_on, "then only the way of the data is left"},
      {Cause::dma_redirected, kStrong, mentioned(Mention::protection_error), "what the NIC asked for went elsewhere"},
      {Cause::dma_redirected, kModerate, both(mentioned(Mention::virtual_machine), several_servers),
       "virtual machines run with ACS, and NICs need ATS then"},
      {Cause::dma_redirected, -kModerate, [](const Scene& at) { return gpudirect_is(at, false); },
       "there is nothing to redirect"},
      {Cause::dma_redirected, kStrong, helped("NCCL_NET_GDR_LEVEL", {"0", "LOC"}), "between NIC and GPU it fails"},
      {Cause::dma_redirected, kStrong, helped("NCCL_NET_GDR_READ", {"0"}), "between NIC and GPU it fails"},
      {Cause::dma_redirected, kStrong, helped("NCCL_IB_CUDA_SUPPORT", {"0"}), "between NIC and GPU it fails"},
      {Cause::p2p_off, kDecisive, unless(p2p_is_off, forced_through_nics), "NCCL may not use it"},
      {Cause::p2p_off, kStrong, through_shared_memory, "that is where data go without it"},
      {Cause::p2p_off, -kStrong, p2p_is_used, "NCCL marks each connection"},
      {Cause::p2p_off, -kWeak, nvlink_joins, "that seldom fails without a word"},
      {Cause::p2p_off, kModerate, unless(mentioned(Mention::iommu_on), nvlink_joins),
       "peer access through an IOMMU fails or is slow"},
      {Cause::p2p_off, kModerate, unless(mentioned(Mention::acs_on), nvlink_joins),
       "ACS sends peer traffic up to the root"},
      {Cause::p2p_off, kModerate, both(failed, amd), "P2P through an AMD IOMMU is known to hang"},
      {Cause::p2p_off, kModerate, unless(mentioned(Mention::hang), mentioned(Mention::unreachable)),
       "broken peer access hangs before it is slow"},
      {Cause::p2p_off, kModerate, both(mentioned(Mention::nvlink_inactive), sold_with_nvlink),
       "without its fabric manager NVSwitch is off"},
      {Cause::p2p_off, kWeak, geforce, "such cards do not offer it"},
      {Cause::p2p_off, kStrong, helped("NCCL_P2P_DISABLE", {"1"}), "between GPUs it fails or is slow"},
      {Cause::p2p_off, kStrong, helped("NCCL_P2P_LEVEL", {"SYS", "NODE", "PHB", "3", "4", "5"}),
       "what helps says what is wrong"},
      {Cause::p2p_off, kStrong, mentioned(Mention::isolated),
       "containers that hide GPUs from each other hide NVLink, too"},
      {Cause::cpu_path, kStrong, helped("NCCL_P2P_DISABLE", {"1"}), "between GPUs it fails or is slow"},
      {Cause::cpu_path, kStrong, helped("NCCL_P2P_LEVEL", {"PIX", "PXB", "1", "2"}), "what helps says what is wrong"},
      {Cause::cpu_path, kStrong, p2p_across_cpu, "a CPU forwards less between NICs than it copies through memory"},
      {Cause::cpu_path, kModerate, set_to("NCCL_P2P_LEVEL", {"SYS", "NODE", "PHB", "3", "4", "5"}),
       "that forces it through the CPU"},
      {Cause::cpu_path, kStrong, mentioned(Mention::nps_one),
       "one NUMA node per socket halves what host memory gives to I/O"},
      {Cause::cpu_path, kWeak, amd, "EPYC's I/O path depends on NPS"},
      {Cause::cpu_path, kModerate, mentioned(Mention::iommu_on), "every access is translated"},
      {Cause::mnnvl_off, kDecisive, set_to("NCCL_MNNVL_ENABLE", {"0"}), "that switches it off"},
      {Cause::mnnvl_off, kStrong, mentioned(Mention::imex), "NVLink between servers needs that daemon"},
      {Cause::mnnvl_off, kStrong, set_to("NCCL_CUMEM_ENABLE", {"0"}), "it is made of that memory"},
      {Cause::shm_off, -kModerate, unless(nvlink_joins, mentioned(Mention::no_shared_memory)), "they do without it"},
      {Cause::shm_off, kStrong, unless(set_to("NCCL_SHM_DISABLE", {"1"}), forced_through_nics),
       "what is not P2P then goes over the network"},
      {Cause::mnnvl_off, kStrong, helped("NCCL_MNNVL_ENABLE"), "what helps says what is wrong"},
      {Cause::shm_off, kModerate, mentioned(Mention::isolated), "each container has shared memory of its own"},
      {Cause::shm_off, kDecisive, mentioned(Mention::no_shared_memory), "containers get 64 MB of it"},
      // Links.
      {Cause::pcie_down, kDecisive, weak_part, "parts of one kind should be joined alike"},
      {Cause::pcie_down, kStrong, mentioned(Mention::link_downgraded),
       "the kernel compares what it is with what it could be"},
      {Cause::pcie_down, kStrong, slow_link, "lspci compares what it is with what it could be"},
      {Cause::pcie_down, kModerate, slow_slot, "a NIC is bought for a slot that can feed it"},
      {Cause::pcie_down, kModerate, below_sold, "a link trains as high as both ends can"},
      {Cause::pcie_down, -kModerate, links_as_sold, "NCCL read it from the device"},
      {Cause::nvlink_down, kStrong, both(mentioned(Mention::nvlink_inactive), sold_with_nvlink), "the driver says so"},
      {Cause::nvlink_down, kStrong, nvlinks_down, "the driver says so"},
      // Which network.
      {Cause::nic_unused, kModerate, helped("NCCL_IB_HCA"), "what helps says what is wrong"},
      {Cause::slow_nic, kModerate, helped("NCCL_IB_HCA"), "what helps says what is wrong"},
      {Cause::slow_nic, kModerate, helped("NCCL_SOCKET_IFNAME"), "what helps says what is wrong"},
      {Cause::slow_nic, -kModerate, wire_is_fine, "one NIC sends to another as fast as it should"},
      {Cause::pcie_down, -kWeak, wire_is_fine, "one NIC sends to another as fast as it should"},
      {Cause::lossy, -kWeak, wire_is_fine, "one NIC sends to another as fast as it should"},
      {Cause::socket_fallback, kStrong, helped("NCCL_IB_DISABLE", {"0"}), "what helps says what is wrong"},
      {Cause::socket_fallback, kStrong, helped("FI_PROVIDER", {"efa"}), "what helps says what is wrong"},
      {Cause::few_streams, kStrong, helped("NCCL_SOCKET_NTHREADS"), "what helps says what is wrong"},
      {Cause::few_streams, kStrong, helped("NCCL_NSOCKS_PERTHREAD"), "what helps says what is wrong"},
      {Cause::nic_unused, kModerate, ports_down, "what is down carries nothing"},
      {Cause::slow_nic, kStrong, slow_port, "the slowest of them holds up the ring"},
      {Cause::nic_unused, kStrong, some_nics_used, "the log names those it uses"},
      {Cause::nic_unused, kStrong, few_rings, "a channel goes through one of them"},
      {Cause::nic_unused, kWeak, bonded, "a queue pair uses one port of a bond"},
      {Cause::nic_unused, -kDecisive, all_nics_used, "the log names those it uses"},
      {Cause::nic_unused, kWeak, restricted_nics, "somebody chose fewer NICs than there are"},
      {Cause::slow_nic, kModerate, more_nics, "the slowest of them holds up the ring"},
      {Cause::slow_nic, kWeak, set_to("NCCL_SOCKET_IFNAME"), "it may name the wrong NIC"},
      {Cause::slow_nic, kStrong, mentioned(Mention::slow_port), "the port says so"},
      {Cause::socket_fallback, kDecisive, both(network(NetTransport::socket), rdma_nic), "NCCL names the network"},
      {Cause::socket_fallback, kModerate,
       unless(both(network(NetTransport::socket), rdma_nic_taken), hoped_beyond_sockets),
       "nobody says that there is another"},
      {Cause::socket_fallback, kStrong, both(both(network(NetTransport::socket), rdma_nic_taken), hoped_beyond_sockets),
       "nobody hopes for that of TCP"},
      {Cause::socket_fallback, kStrong, both(plugin_missing, rdma_nic),
       "without its plugin NCCL has only sockets there"},
      {Cause::socket_fallback, kDecisive, set_to("NCCL_IB_DISABLE", {"1"}), "then sockets are all there is"},
      {Cause::socket_fallback, kDecisive, set_to("NCCL_NET", {"Socket", "socket"}), "that forces it"},
      {Cause::socket_fallback, kStrong, both(no_ib_device, rdma_nic),
       "a container without its devices has only sockets"},
      {Cause::socket_fallback, kStrong, both(mentioned(Mention::rdma_missing), rdma_nic),
       "a container without its devices has only sockets"},
      {Cause::socket_fallback, kStrong, set_to("FI_PROVIDER", {"tcp", "sockets"}), "that forces it"},
      {Cause::socket_fallback, -kDecisive, network(NetTransport::infiniband), "NCCL names the network"},
      {Cause::socket_fallback, -kDecisive, network(NetTransport::roce), "NCCL names the network"},
      {Cause::socket_fallback, -kModerate, network(NetTransport::ofi), "NCCL names the network"},
      {Cause::few_streams, kModerate, network(NetTransport::socket), "a TCP connection is one core"},
      {Cause::few_streams, kWeak, set_to("NCCL_SOCKET_NTHREADS", {"1"}), "a TCP connection is one core"},
      {Cause::few_streams, kWeak, set_to("NCCL_MIN_NRINGS"), "who sets it looks for more connections"},
      // The network itself.
      {Cause::ecmp, kStrong, mentioned(Mention::ecmp), "somebody saw it"},
      {Cause::ecmp, kModerate, helped("NCCL_IB_QPS_PER_CONNECTION"), "more flows are spread better"},
      {Cause::nic_settings, kModerate, helped("NCCL_IB_QPS_PER_CONNECTION"), "what helps says what is wrong"},
      {Cause::nic_settings, kStrong, helped("NCCL_IB_PCI_RELAXED_ORDERING"), "what helps says what is wrong"},
      {Cause::nic_settings, kStrong, helped("NCCL_IB_SPLIT_DATA_ON_QPS"), "what helps says what is wrong"},
      {Cause::lossy, kStrong, helped("NCCL_IB_TC"), "another class of traffic is treated better"},
      {Cause::lossy, kStrong, helped("NCCL_IB_SL"), "another class of traffic is treated better"},
      {Cause::lossy, kModerate, helped("NCCL_IB_DISABLE", {"1"}), "RDMA is what fails"},
      {Cause::lossy, kModerate, mentioned(Mention::unreachable), "a peer that never answers"},
      {Cause::ecmp, kWeak, unsteady, "every run draws other paths"},
      {Cause::ecmp, kModerate, mentioned(Mention::pairs_differ), "some pairs share an uplink, others do not"},
      {Cause::ecmp, -kWeak, one_leaf, "then there is no uplink to collide on"},
      {Cause::ecmp, kWeak, network(NetTransport::roce), "Ethernet fabrics hash flows"},
      {Cause::oversubscribed, kStrong, mentioned(Mention::oversubscribed), "somebody knows it"},
      {Cause::oversubscribed, -kWeak, one_leaf, "then no uplink is crossed"},
      {Cause::lossy, kStrong, mentioned(Mention::loss), "counters do not lie"},
      {Cause::lossy, kModerate, unsteady, "a time-out now and then makes rows differ"},
      {Cause::lossy, kModerate, falls_with_size, "more in flight, more lost"},
      {Cause::lossy, kStrong, collapses, "what waits for time-outs does so more as more is in flight"},
      {Cause::ecmp, kModerate, collapses, "queues fill and congestion control backs off"},
      {Cause::nic_settings, kStrong, set_to("NCCL_IB_SPLIT_DATA_ON_QPS", {"1"}),
       "it cuts what is in flight per queue pair"},
      {Cause::nic_settings, kModerate, set_to("NCCL_IB_PCI_RELAXED_ORDERING", {"0"}),
       "writes then wait for each other"},
      {Cause::nic_settings, kModerate, mentioned(Mention::ordering_strict), "writes then wait for each other"},
      {Cause::nic_settings, kModerate, mentioned(Mention::small_mtu), "more headers and packets per byte"},
      {Cause::nic_settings, kModerate, short_packets, "more headers and packets per byte"},
      {Cause::nic_settings, kModerate, unless(bonded, half_of_a_bond), "a queue pair uses one port of a bond"},
      {Cause::nic_settings, kStrong, half_of_a_bond, "a queue pair uses one port of a bond"},
      {Cause::nic_settings, kWeak, set_to("NCCL_BUFFSIZE"), "buffers bound what is in flight"},
      {Cause::nic_settings, kWeak, set_to("NCCL_IB_QPS_PER_CONNECTION"), "it is seldom set without need"},
      // What NCCL chose.
      {Cause::algorithm, kStrong, helped("NCCL_ALGO"), "what helps says what is wrong"},
      {Cause::protocol, kStrong, helped("NCCL_PROTO"), "what helps says what is wrong"},
      {Cause::few_channels, kStrong, helped("NCCL_MIN_NCHANNELS"), "what helps says what is wrong"},
      {Cause::few_channels, kStrong, helped("NCCL_MIN_CTAS"), "what helps says what is wrong"},
      {Cause::few_per_peer, kStrong, helped("NCCL_NCHANNELS_PER_NET_PEER"), "what helps says what is wrong"},
      {Cause::nvls_off, kStrong, helped("NCCL_NVLS_ENABLE", {"1"}), "what helps says what is wrong"},
      {Cause::pxn_off, kStrong, helped("NCCL_PXN_DISABLE", {"0"}), "what helps says what is wrong"},
      {Cause::algorithm, kStrong, unless(set_to("NCCL_ALGO"), forced_would_do), "that forces it"},
      {Cause::algorithm, -kModerate, nobody_chose, "left alone, NCCL chooses well"},
      {Cause::protocol, -kModerate, nobody_chose, "left alone, NCCL chooses well"},
      {Cause::few_channels, -kModerate, nobody_chose, "left alone, NCCL takes enough"},
      {Cause::algorithm, kModerate, other_algorithm, "NCCL and its model differ"},
      {Cause::algorithm, kStrong, other_algorithm_would_do, "that is what was hoped for"},
      {Cause::nothing_wrong, -kStrong, other_algorithm_would_do, "the machine gives it when it is told to"},
      {Cause::nvls_off, kDecisive, set_to("NCCL_NVLS_ENABLE", {"0"}), "that switches it off"},
      {Cause::nvls_off, kStrong, no_nvls_channels, "NCCL counts its channels"},
      {Cause::nvls_off, -kDecisive, uses_nvls, "it is on"},
      {Cause::protocol, kStrong, crossover, "with one protocol a larger message never takes less time"},
      {Cause::protocol, kStrong, set_to("NCCL_PROTO"), "that forces it"},
      {Cause::few_channels, kStrong, low_limit, "a channel is one CTA with a rate of its own"},
      {Cause::few_channels, kModerate, set_to("NCCL_NCHANNELS_PER_NET_PEER", {"1"}), "one channel seldom fills a NIC"},
      {Cause::pxn_off, kDecisive, set_to("NCCL_PXN_DISABLE", {"1"}), "that switches it off"},
      {Cause::pxn_off, kWeak, version_between(20000, 21199), "PXN came with 2.12"},
      {Cause::virtual_machine, kStrong, helped("NCCL_TOPO_FILE"), "what helps says what is wrong"},
      {Cause::virtual_machine, kModerate, hidden_topology, "bare metal shows its PCIe switches"},
      {Cause::virtual_machine, kModerate, unless(flat_topology, hidden_topology), "no host bridge has so many lanes"},
      {Cause::virtual_machine, kModerate, mentioned(Mention::hidden_bus), "bare metal shows all of them"},
      {Cause::virtual_machine, -kModerate, shows_switches, "then they are not hidden"},
      {Cause::virtual_machine, kStrong, mentioned(Mention::virtual_machine), "it is said"},
      // The rest.
      {Cause::slow_rank, kStrong, mentioned(Mention::slow_node), "somebody saw it"},
      {Cause::slow_rank, kStrong, host_of_slow_runs, "what slow runs have in common makes them slow"},
      {Cause::slow_rank, kStrong, mentioned(Mention::throttled), "the others wait for it"},
      {Cause::slow_rank, kWeak, unsteady, "it comes and goes"},
      {Cause::slow_rank, kModerate, mentioned(Mention::pairs_differ), "who is in the slow pairs may be slow"},
      {Cause::slow_launch, kModerate, set_to("CUDA_LAUNCH_BLOCKING", {"1"}), "every launch waits"},
      {Cause::slow_launch, kModerate, set_to("NCCL_DEBUG", {"TRACE"}), "every step is written down"},
      {Cause::separate_jobs, kDecisive, several_jobs, "one job has one rank 0"},
      {Cause::false_topology, kModerate, set_to("NCCL_TOPO_FILE"), "it is believed, whatever the machine is"},
      {Cause::rails_apart, kStrong, mentioned(Mention::unreachable), "queue pairs fail where nothing joins two NICs"},
      {Cause::rails_apart, kStrong, helped("NCCL_CROSS_NIC", {"0"}), "what helps says what is wrong"},
      {Cause::rails_apart, kModerate, helped("NCCL_IB_DISABLE", {"1"}), "RDMA is what fails"},
      {Cause::rails_apart, kWeak, set_to("NCCL_CROSS_NIC", {"1"}), "rings may change rails then"},
      {Cause::cpu_binding, kStrong, mentioned(Mention::bound), "proxy threads need cores of their own"},
      {Cause::cpu_binding, kStrong, mentioned(Mention::slower_by_launcher), "launchers bind processes to cores"},
      {Cause::cpu_binding, kStrong, helped("NCCL_IGNORE_CPU_AFFINITY", {"1"}), "what helps says what is wrong"},
      {Cause::cpu_binding, kStrong, helped("--bind-to"), "what helps says what is wrong"},
      {Cause::cpu_binding, kStrong, helped("--cpu-bind"), "what helps says what is wrong"},
      {Cause::cpu_binding, kModerate, small_rows_differ,
       "threads that wait for a core do so for as long as it happens"},
      {Cause::uneven_ranks, kStrong, gpudirect_mixed, "NCCL marks each connection"},
      {Cause::uneven_ranks, kModerate, gpudirect_by_host, "what a server lacks, all of its ranks do"},
      {Cause::uneven_ranks, kStrong, uneven_setting, "ranks of one job should be told the same"},
      {Cause::nic_swapped, kModerate, others_nics, "each has a NIC of its own switch"},
      {Cause::few_per_peer, kStrong, set_to("NCCL_NCHANNELS_PER_NET_PEER", {"1"}), "one channel seldom fills a NIC"},
      {Cause::few_per_peer, kWeak, one_channel_per_peer, "one channel seldom fills a NIC"},
      {Cause::few_per_peer, kStrong, more_per_peer_would_do, "that is what was hoped for"},
      {Cause::nothing_wrong, -kStrong, more_per_peer_would_do, "the machine gives it when it is told to"},
      {Cause::uneven_ranks, kModerate, several_networks, "ranks of one job use one network"},
      {Cause::old_nccl, kStrong, mentioned(Mention::slower_release), "somebody compared them"},
      {Cause::old_nccl, kStrong, version_between(20000, 20699), "versions of 2018 to 2020"},
      {Cause::old_nccl, kModerate, version_between(20700, 21299), "before PXN and today's tuning"},
      {Cause::old_nccl, -kModerate, version_between(22000, 39999), "a current version"},
  };
  return table;
}

}  // namespace

std::vector<Weight> weights() {
  std::vector<Weight> out;
  for (const Rule& rule : rules()) out.push_back({rule.cause, rule.weight, rule.reason});
  return out;
}

std::vector<Finding> findings(const Situation& situation, const Reference& reference, Machine& machine) {
  const Scene at{situation, reference, machine};
  std::vector<Finding> out;
  for (const Rule& rule : rules())
    if (auto found = rule.sign(at)) {
      Finding made{rule.cause, rule.weight, std::move(found->text), rule.reason, found->place};
      // What is said once counts once for a cause, however many rules it meets: the heaviest of them.
      const auto said = std::find_if(out.begin(), out.end(), [&](const Finding& each) {
        const bool same_line =
            made.place.line > 0 && each.place.line == made.place.line && each.place.source == made.place.source;
        return each.cause == made.cause && (same_line || each.text == made.text) && each.weight * made.weight > 0;
      });
      if (said == out.end())
        out.push_back(std::move(made));
      else if (std::abs(made.weight) > std::abs(said->weight))
        *said = std::move(made);
    }
  return out;
}

}  // namespace weft::why
