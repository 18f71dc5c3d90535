#pragma once
// Ways inside a server or scale-up domain, as numbers of links: what carries data between a GPU and
// its NIC, or between GPUs, before and after the network.
//
// A domain is a scale-up domain (one server of an HGX, 18 trays of an NVL72) or, where there is none,
// a server. Its links are numbered densely, one number per direction; equal domains share one list, so
// a million GPUs cost what one domain costs.
//
//   GPU 1 ==> NVSwitches ==> GPU 0 --> PCIe switch --> NIC 0      relay: stored in GPU 0's memory
//   leg 0 ----------------------->|leg 1 ------------------->
//
//   GPU 1 --> PCIe switch --> RC --> CPU --> RC --> PCIe switch --> NIC 0    stored in host memory
//   leg 0 ------------------------->|leg 1 ---------------------->
//
// A leg runs without a stop, all its links at once; between legs data are stored and forwarded. Host
// memory is that of the GPU's socket, where NCCL's proxy, bound to the GPU's cores, allocates it. It is a link, too,
// from the CPU to itself: what rests there is written at the end of a leg and read at the begin of the next, and all
// that do so share what the socket's memory can do. NVLink stripes a transfer over all switches of its domain, so a
// GPU's links to them are one link of their summed rate, and the switches themselves do not block.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/flat_map.hpp"
#include "fabric/fabric.hpp"

namespace weft::sim {

struct HostLink {
  fabric::NodeId from;  // of the group's first domain; of several scale-up switches the first
  fabric::NodeId to;    // the same: host memory
  fabric::LinkClass kind;
  Bandwidth rate;
  Duration latency;
};

// What is left of the links' rates where the work is a GPU kernel's, which never gets all of them.
struct HostRates {
  std::int64_t scale_up_per_mille = 1000;
  std::int64_t pcie_per_mille = 1000;
};

struct HostRoute {
  // A relay and a bounce through host memory part a way into three at most.
  static constexpr std::size_t kMaxLegs = 3;

  std::vector<std::uint32_t> links;               // in order; numbers within the domain
  std::array<std::uint32_t, kMaxLegs> leg_end{};  // how many links come before the end of each leg
  std::uint32_t legs = 0;
  Duration latency;          // of all links
  bool host_memory = false;  // bounces: no GPUDirect RDMA

  std::uint32_t leg_begin(std::uint32_t index) const { return index == 0 ? 0 : leg_end[index - 1]; }
  std::span<const std::uint32_t> leg(std::uint32_t index) const {
    return std::span(links).subspan(leg_begin(index), leg_end[index] - leg_begin(index));
  }
  // The leg to which the link at a position belongs.
  std::uint32_t leg_of(std::uint32_t position) const {
    std::uint32_t index = 0;
    while (leg_end[index] <= position) ++index;
    return index;
  }
};

// Not to be shared between threads: routes are remembered. One for each partition.
class HostRoutes {
 public:
  explicit HostRoutes(const fabric::Fabric& fabric, const HostRates& rates = {});

  std::uint32_t domains() const { return domains_; }
  // Of a GPU, a NIC or another part of a server.
  std::uint32_t domain_of(fabric::NodeId part) const;
  // What a rank of a schedule is: a GPU, or behind those the switches of a domain, of which the first stands for all.
  fabric::NodeId part(std::uint32_t rank) const;
  // The links of a domain, by number.
  std::span<const HostLink> links(std::uint32_t domain) const;
  // A link of the domain with its own two ends instead of the first domain's.
  HostLink link(std::uint32_t domain, std::uint32_t number) const;

  // GPU to NIC, NIC to GPU, GPU to GPU, or between a GPU and the scale-up switches (any of them) of one
  // domain; nullptr when nothing inside joins them. Good until the next call, as below.
  const HostRoute* find(fabric::NodeId from, fabric::NodeId to);
  // GPU to NIC, handed to another GPU first; when that is the same one, over PCIe and nothing else.
  const HostRoute* find_by(fabric::NodeId from, fabric::NodeId by, fabric::NodeId nic);

 private:
  static constexpr std::size_t kRemembered = 1 << 16;  // routes; then they are forgotten and found anew

  struct Group {
    std::uint32_t first_domain = 0;
    std::uint32_t servers = 1;                              // of a domain
    std::uint32_t first_switch = 0;                         // scale-up switch of the cluster
    std::array<std::uint32_t, fabric::kNodeKinds> parts{};  // of a domain, by kind
    std::vector<HostLink> links;
    FlatMap number;  // by the two ends
  };

  fabric::NodeId merged(fabric::NodeId id) const;
  void add_links(Group& group, fabric::NodeId from);
  void add_memory(Group& group, const model::Group& spec, fabric::NodeId first_cpu);
  const Group& group_of(std::uint32_t domain) const;
  fabric::NodeId moved(fabric::NodeId id, const Group& group, std::int64_t domains) const;
  // The part of the group's first domain that is at the same place as `part` in its own.
  fabric::NodeId in_first_domain(const Group& group, fabric::NodeId part) const;
  std::optional<HostRoute> route_to_switch(const Group& group, fabric::NodeId from, fabric::NodeId to) const;
  HostRoute route_of(const Group& group, const fabric::Path& path) const;
  const HostRoute* remember(FlatMap& map, std::uint64_t key, HostRoute route);

  const fabric::Fabric& fabric_;
  std::uint32_t domains_ = 0;
  std::vector<Group> groups_;
  FlatMap remembered_;  // by the two ends in the first domain of their group
  FlatMap handed_;      // likewise, by both ends and the GPU in between
  std::vector<HostRoute> routes_;
};

}  // namespace weft::sim
