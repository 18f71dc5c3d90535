#pragma once
// The fabric as the packet simulator needs it: entities, ports, kinds of links, where a packet goes
// next. Immutable during a run and shared by all partitions.
//
// Entities are switches (numbered as in the fabric) and, behind them, hosts: scale-up domains, that
// is servers where NVLink does not leave the server.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "sim/packet/port.hpp"

namespace weft::sim {

struct LinkOptions {
  std::int64_t full_packet = 0;  // bytes on the wire
  std::int64_t header = 0;
  std::int64_t queue_bytes = 0;       // of one port; 0: one bandwidth-delay product
  std::uint32_t mark_from = 200'000;  // parts per million of the queue
  std::uint32_t mark_to = 800'000;
  std::uint32_t mark_most = 1'000'000;
  bool cut_through = false;
  bool scheduled = false;  // leaves and spines carry cells (scheduled.hpp)
  bool exact = false;      // neighbours tell each other to pause: the look-ahead is that of the cable
};

class Layout {
 public:
  Layout(const fabric::Fabric& fabric, const LinkOptions& options);

  const fabric::Fabric& fabric() const { return *fabric_; }
  std::uint32_t switches() const { return switches_; }
  std::uint32_t entities() const { return entities_; }
  bool is_host(std::uint32_t entity) const { return entity >= switches_; }
  std::uint32_t host_of(std::uint32_t endpoint) const { return ends_[endpoint].host; }
  std::uint32_t endpoints() const { return static_cast<std::uint32_t>(ends_.size()); }

  // Where a link ends.
  struct Far {
    std::uint32_t entity = 0;
    std::uint32_t link = 0;  // its kind; 0, of no rate: nothing hangs there
  };
  // Ports of all switches, then one for each endpoint: its side of the NIC's cable.
  std::uint32_t ports() const { return static_cast<std::uint32_t>(far_.size()); }
  const Far& far(std::uint32_t port) const { return far_[port]; }
  const Link& link(std::uint32_t kind) const { return links_[kind]; }
  std::uint32_t link_kinds() const { return static_cast<std::uint32_t>(links_.size()); }
  const model::Shaper& shaper(std::uint32_t kind) const { return shapers_[kind]; }
  std::uint32_t port_of(std::uint32_t network_switch, std::uint32_t port) const {
    return nodes_[network_switch].first_port + port;
  }
  std::uint32_t port_of_endpoint(std::uint32_t endpoint) const { return endpoint_ports_ + endpoint; }
  bool is_endpoint_port(std::uint32_t port) const { return port >= endpoint_ports_; }
  // Whether anything hangs on it.
  bool connected(std::uint32_t port) const { return links_[far_[port].link].per_byte > 0; }
  // The entity whose port it is.
  std::uint32_t owner(std::uint32_t port) const;
  // Name of the switch or NIC whose port it is.
  std::string name_of_end(std::uint32_t port) const;
  // The same cable in the other direction.
  std::uint32_t reverse(std::uint32_t port) const;
  // The same by a look into a table, which exists where ports are exact; and counted among the ports of its switch.
  std::uint32_t reverse_port(std::uint32_t port) const { return reverse_[port]; }
  std::uint32_t reverse_local(std::uint32_t port) const {
    return reverse_[port] - nodes_[far_[port].entity].first_port;
  }
  std::uint32_t endpoint_of_port(std::uint32_t port) const { return port - endpoint_ports_; }

  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  // The port by which a switch sends a packet on; kNowhere when there is none.
  std::uint32_t next_port(std::uint32_t at, std::uint32_t endpoint, std::uint32_t entropy) const {
    return next_port(at, nodes_[at], endpoint, entropy);
  }
  // The same for who looks at the switch anyway.
  struct Node {
    fabric::Waypoint waypoint;
    std::int64_t latency = 0;
    std::uint32_t first_port = 0;
    bool simple = false;  // a waypoint tells the way
  };
  const Node& node(std::uint32_t network_switch) const { return nodes_[network_switch]; }
  std::uint32_t next_port(std::uint32_t at, const Node& node, std::uint32_t endpoint, std::uint32_t entropy) const {
    const End& end = ends_[endpoint];
    if (!node.simple) return next_port_slowly(at, end, entropy);
    const fabric::PortRange range = fabric::towards(node.waypoint, end.destination);
    return node.first_port + range.first + fabric::choose(entropy, range.salt, range.count);
  }
  // Where several ports lead there, all of them; a count of 0 where they are not a range.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  Range ports_towards(std::uint32_t at, std::uint32_t endpoint) const {
    const Node& node = nodes_[at];
    if (!node.simple) return {};
    const fabric::PortRange range = fabric::towards(node.waypoint, ends_[endpoint].destination);
    return {node.first_port + range.first, range.count};
  }
  // Dragonflies that do not keep to minimal routes; behind removed links they do.
  bool makes_detours() const { return detour_delay_ > 0 && removed_.empty(); }
  // What a detour takes longer, unloaded: a global and a local cable and the routers behind them.
  std::int64_t detour_delay() const { return detour_delay_; }
  const fabric::Dragonfly& dragonfly() const { return *fabric_->dragonfly(); }
  fabric::Target target_of(std::uint32_t endpoint) const { return ends_[endpoint].destination.target(); }
  // Whether a port leads to another group of a Dragonfly.
  bool is_global(std::uint32_t port) const {
    return far_[port].link == static_cast<std::uint32_t>(fabric::LinkTier::global);
  }
  std::uint32_t in_plane(std::uint32_t network_switch) const { return network_switch % per_plane_; }
  // The port towards an endpoint over a group.
  std::uint32_t next_port_over(std::uint32_t at, std::uint32_t endpoint, std::uint32_t entropy,
                               std::uint32_t group) const;
  // The port of its leaf that an endpoint hangs on.
  std::uint32_t leaf_port(std::uint32_t endpoint) const { return ends_[endpoint].destination.below[0]; }
  // All ports by which a switch may send on; none when there is no way.
  void next_ports(std::uint32_t at, std::uint32_t endpoint, std::vector<std::uint32_t>& ports) const;
  // Takes a cable out of both its ends, and lets routing know. Routes are then searched for, which is slower.
  void remove_link(std::uint32_t port);
  std::int64_t switch_latency(std::uint32_t at) const { return nodes_[at].latency; }
  // Link::per_byte, by Link::rate.
  std::int64_t rate(std::uint8_t number) const { return rates_[number]; }
  bool cut_through() const { return options_.cut_through; }

  std::int64_t look_ahead() const { return look_ahead_; }
  // The longest unloaded round trip within a site: a full packet out, a header back.
  std::int64_t base_rtt() const { return base_rtt_; }
  // What a packet takes alone; nullopt where removed links leave no way.
  // In a scheduled fabric a packet that `asks` waits for its credit.
  std::optional<std::int64_t> one_way(std::uint32_t from, std::uint32_t to, std::int64_t bytes, bool asks = true) const;
  // Packets that leave at once, full ones before the last, by the quickest way: when the last is there. Between
  // switches they keep one behind another, and wait where all links that they may take together are too slow for them.
  struct Train {
    std::int64_t before = 0;  // how many are full
    std::int64_t full = 0;    // bytes
    std::int64_t last = 0;
    std::int64_t paths = kAnyPath;  // over which they spread at most
    std::int64_t trains = 1;        // that leave together and take the same links
    bool detours = false;           // also by ways over a third group, which may be quicker than minimal ones
    static constexpr std::int64_t kAnyPath = 1 << 24;
  };
  std::optional<std::int64_t> one_way(std::uint32_t from, std::uint32_t to, const Train& train) const;
  bool reachable(std::uint32_t from, std::uint32_t to) const { return ends_[from].plane == ends_[to].plane; }

  // Scheduled fabrics: leaves joined by spines, where cells take all uplinks of a leaf at once.
  bool can_be_scheduled() const;
  std::uint32_t leaf_of(std::uint32_t endpoint) const { return far_[endpoint_ports_ + endpoint].entity; }
  struct Bundle {
    std::uint32_t first_port = 0;
    std::uint32_t links = 0;
    std::uint32_t kind = 0;  // of link
    std::int64_t spine_latency = 0;
  };
  const Bundle& bundle(std::uint32_t leaf) const { return bundles_[leaf]; }
  // How long all uplinks of a leaf together take for so many bytes, and the other way round.
  std::int64_t bundle_wire(std::uint32_t leaf, std::int64_t bytes) const;
  std::int64_t bundle_bytes(std::uint32_t leaf, std::int64_t picoseconds) const;
  // Until all cells of a packet have come from one leaf to another and may leave; until a word has.
  std::int64_t cells_time(std::uint32_t from, std::uint32_t to, std::int64_t bytes) const;
  std::int64_t word_time(std::uint32_t from, std::uint32_t to) const;
  // The longest from a grant until a full packet that it allows has come.
  std::int64_t credit_loop() const;

  std::int64_t slowest_packet() const { return slowest_packet_; }  // ps that a full packet takes on a NIC's cable

  // Splits entities over n partitions: neighbouring pods, and the hosts below them, stay together.
  std::vector<std::uint16_t> partition(std::uint32_t n) const;

 private:
  struct End {
    fabric::Destination destination;
    std::uint32_t plane = 0;
    std::uint32_t host = 0;
  };
  void find_hosts();
  void find_links();
  void connect_ports();
  void set_queues();
  void find_bundles();
  std::int64_t delay_of_a_detour() const;
  // When a packet that begins on a link, behind which is a switch, begins on the next.
  std::int64_t begins_next(std::int64_t begin, const Link& in, const Link& out, std::int64_t switch_latency,
                           std::int64_t bytes) const;
  // A train on its way, at the link behind a port.
  struct Underway {
    std::uint32_t port = 0;
    std::int64_t first = 0;                                      // begin of the first packet on this link
    std::int64_t last = 0;                                       // and of the last
    std::int64_t apart = 0;                                      // begins of two full ones, as the sender's link has it
    std::int64_t paths = 1;                                      // links like this one that lead there
    std::array<std::int64_t, fabric::kLinkTiers> paths_of = {};  // by tier, where it was met before
  };
  std::optional<std::int64_t> arrival(std::uint32_t from, std::uint32_t to, const Train& train, Underway at) const;
  void add_detours(std::uint32_t from, std::uint32_t at, std::uint32_t to, std::vector<std::uint32_t>& ports) const;
  void pass(const Train& train, Underway& at) const;
  void go_by(std::uint32_t port, std::size_t ports, const Train& train, Underway& at) const;
  std::int64_t one_way_scheduled(std::uint32_t from, std::uint32_t to, std::int64_t bytes, bool asks) const;
  std::int64_t longest_round_trip() const;
  std::uint32_t next_port_slowly(std::uint32_t at, const End& end, std::uint32_t entropy) const;

  const fabric::Fabric* fabric_;
  LinkOptions options_;
  std::uint32_t per_plane_ = 0;
  std::uint32_t switches_ = 0;
  std::uint32_t entities_ = 0;
  std::uint32_t endpoint_ports_ = 0;
  std::int64_t look_ahead_ = 0;
  std::int64_t base_rtt_ = 0;
  std::int64_t detour_delay_ = 0;  // 0: routes are minimal
  std::int64_t slowest_packet_ = 0;
  std::vector<Link> links_;             // by LinkTier, then per server group for NIC links
  std::vector<model::Shaper> shapers_;  // by kind of link
  std::vector<std::int64_t> rates_;
  std::vector<Node> nodes_;  // switches
  std::vector<End> ends_;
  std::vector<Far> far_;
  std::vector<Bundle> bundles_;         // by switch, where the fabric is scheduled
  std::vector<std::uint32_t> reverse_;  // by port, where ports are exact
  fabric::Failures removed_;
};

// Where uplinks are not hashed: which of them a queue of an endpoint takes, counted over all its leaf has.
inline std::uint32_t pin_of(const Layout& layout, std::uint32_t source, std::uint16_t path, std::uint32_t queues) {
  return layout.leaf_port(source) * queues + path % queues;
}

}  // namespace weft::sim
