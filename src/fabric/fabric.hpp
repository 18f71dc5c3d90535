#pragma once
// The whole cluster as a graph, by arithmetic: nothing is stored per node, so a million GPUs cost
// what eight cost. Nodes are numbered kind by kind:
//
//   GPUs | NICs | PCIe switches | root complexes | CPUs | scale-up switches | fabric switches
//
// An endpoint is a port of a NIC. The scale-out network routes between endpoints; a path runs
// GPU -> (NVLink or PCIe) -> NIC -> switches -> NIC -> GPU. A Fabric is immutable and safe to share
// between threads; what is broken is handed in.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fabric/networks.hpp"
#include "model/cluster.hpp"

namespace weft::fabric {

enum class NodeId : std::uint32_t {};
constexpr std::uint32_t value(NodeId id) { return static_cast<std::uint32_t>(id); }

enum class NodeKind : std::uint8_t { gpu, nic, pcie_switch, root_complex, cpu, scale_up_switch, network_switch };
inline constexpr std::size_t kNodeKinds = 7;

enum class LinkClass : std::uint8_t { scale_up, pcie, host, socket, network };

struct Node {
  NodeKind kind;
  std::uint32_t group;   // server group; 0 for network switches
  std::uint32_t server;  // counted over all groups; first of the domain for scale-up switches
  std::uint32_t local;   // within server (domain), or the network switch's number
};

struct Link {
  NodeId from;
  NodeId to;
  LinkClass link;
  LinkTier tier = LinkTier::nic;  // network
  Bandwidth rate;                 // one way
  Duration latency;               // cable or hop, without the switch behind it
  std::uint32_t port = kNone;     // the fabric switch's port, where one end is a fabric switch
};

struct Path {
  std::vector<Link> links;
  bool host_memory = false;     // bounces through host memory at either end: no GPUDirect RDMA
  std::optional<NodeId> relay;  // GPU in whose memory the data is stored and forwarded
};

// Where a NIC port meets the network.
struct Attachment {
  std::uint32_t plane;
  Target target;
};

// What is broken in the cluster: by plane for the network, and NICs.
struct Failures {
  std::vector<Broken> planes;
  bool empty() const;
};

class Fabric {
 public:
  explicit Fabric(const model::Cluster& cluster);

  const model::Cluster& cluster() const { return *cluster_; }

  // Nodes.
  std::uint32_t nodes() const { return first_[kNodeKinds]; }
  std::uint32_t count(NodeKind kind) const;
  NodeId node(NodeKind kind, std::uint32_t index) const;  // index within its kind
  Node describe(NodeId id) const;
  NodeId gpu(std::uint32_t index) const { return node(NodeKind::gpu, index); }
  std::string name(NodeId id) const;
  std::optional<NodeId> find(std::string_view name) const;
  // Calls visit(Link) for every link that leaves a node.
  template <class Visit>
  void for_each_link(NodeId id, Visit visit) const {
    std::vector<Link> links;
    links_of(id, links);
    for (const Link& link : links) visit(link);
  }

  // The scale-out network.
  bool has_network() const { return planes_ > 0; }
  std::uint32_t planes() const { return planes_; }
  std::uint32_t switches_per_plane() const { return per_plane_; }
  std::uint32_t endpoints() const { return endpoints_; }
  std::uint32_t endpoint(std::uint32_t nic, std::uint32_t port) const;  // nic within all NICs
  NodeId nic_of(std::uint32_t endpoint) const;
  Attachment attachment(std::uint32_t endpoint) const;
  std::optional<std::uint32_t> endpoint_at(std::uint32_t plane, Target target) const;
  // What is of one kind only; nullptr: it is another. All else goes through `ask`.
  const Clos* clos() const { return std::get_if<Clos>(&network_); }
  const Dragonfly* dragonfly() const { return std::get_if<Dragonfly>(&network_); }
  // question(network), of a fabric that has one.
  template <class Question>
  decltype(auto) ask(const Question& question) const {
    return visit_network(network_, question);
  }
  const std::vector<SwitchTier>& tiers() const { return tiers_; }  // of one plane
  std::uint32_t ports(std::uint32_t network_switch) const;
  Peer peer(std::uint32_t network_switch, std::uint32_t port) const;  // switch_index within the plane
  model::Wire wire(LinkTier tier, std::uint32_t group = 0) const;
  const model::SwitchKind& switch_kind(std::uint32_t network_switch) const;

  // Routing: the port of a switch (numbered within its plane) towards an endpoint. In a tree O(1),
  // in a Dragonfly the number of parallel global links; with failures see `Search`.
  Hop next_hop(std::uint32_t at, Target target, std::uint32_t entropy, RouteState state = {}) const;
  Hop next_hop(std::uint32_t at, Target target, std::uint32_t entropy, RouteState state, const Broken& broken) const;
  RouteState start(std::uint32_t at, Target target, std::uint32_t entropy, const Broken& broken) const;
  bool reachable(std::uint32_t from, std::uint32_t to, const Failures& failures) const;
  // How many shortest routes the network offers between two endpoints, by arithmetic; 0 when they
  // are not joined.
  std::uint64_t path_count(std::uint32_t from, std::uint32_t to) const;
  // Every shortest route between two endpoints as switch sequences, at most `limit` of them.
  std::vector<std::vector<NodeId>> all_paths(std::uint32_t from, std::uint32_t to, std::size_t limit) const;

  // GPU to GPU for one entropy; nullopt when nothing joins them.
  std::optional<Path> path(std::uint32_t from_gpu, std::uint32_t to_gpu, std::uint32_t entropy,
                           const Failures& failures) const;
  // The part of a path that stays inside: GPU to NIC (over a relay where `path` would take one, unless told not to)
  // or NIC to GPU of one server, or between two GPUs of one server or scale-up domain; else nullopt.
  std::optional<Path> path_inside(NodeId from, NodeId to, std::uint32_t entropy, bool may_relay = true) const;

  Failures no_failures() const;
  void fail_switch(Failures& failures, std::uint32_t network_switch) const;
  void fail_link(Failures& failures, std::uint32_t network_switch, std::uint32_t port) const;
  void fail_nic(Failures& failures, std::uint32_t nic) const;

 private:
  friend class PathBuilder;

  void links_of(NodeId id, std::vector<Link>& out) const;
  void network_links(const Node& node, NodeId id, std::vector<Link>& out) const;
  void scale_up_links(const Node& node, NodeId id, std::vector<Link>& out) const;
  const model::Group& group_of_server(std::uint32_t server, std::uint32_t& index) const;
  NodeId in_server(NodeKind kind, std::uint32_t group, std::uint32_t server, std::uint32_t local) const;
  std::uint32_t per_server(NodeKind kind, const model::Group& group) const;
  NodeId network_node(std::uint32_t plane, std::uint32_t index) const {
    return node(NodeKind::network_switch, plane * per_plane_ + index);
  }
  const SwitchTier& tier_of(std::uint32_t network_switch) const;
  std::string switch_name(std::uint32_t index) const;

  const model::Cluster* cluster_;
  std::uint32_t first_[kNodeKinds + 1] = {};
  std::vector<std::uint32_t> group_first_[kNodeKinds];  // first index of each group, by kind
  std::vector<std::uint32_t> group_endpoint_;
  AnyNetwork network_;
  std::vector<SwitchTier> tiers_;
  std::uint32_t planes_ = 0;
  std::uint32_t per_plane_ = 0;
  std::uint32_t endpoints_ = 0;
};

}  // namespace weft::fabric
