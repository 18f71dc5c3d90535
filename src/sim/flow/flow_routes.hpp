#pragma once
// Over which links a message flows, and with what part of itself: the links of MaxMinRates, numbered when a message
// first takes them, so memory follows what is used.
//
// With ECMP a stripe takes the one path that the packet simulator's switches would hash. Where packets are spread
// (spray, paths that the host draws) it is split at every switch over all ports that lead on, so a link gets the
// product of these parts: evenly, or, where those who choose a path leave the slow ones, by how much each has room for.
// Links inside the servers count where hosts are modelled; the legs between which data rest in memory move at one rate.
//
// In a tree without faults every way up from a switch leads on, and packets spread evenly: then all links that a flow
// crosses at one distance are one link here, a bundle, as no flow takes one of them without the others. Two leaves have
// the same bundles between them whatever NICs send, so these are found once.
//
// A link of the network has the capacity for payload that full packets leave of it; short packets are accounted for
// in what a flow has to move. Acknowledgements are not counted.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/flat_map.hpp"
#include "schedule/result.hpp"
#include "sim/conditions.hpp"
#include "sim/host/host_route.hpp"
#include "sim/host/stripes.hpp"
#include "sim/layout.hpp"
#include "sim/max_min_rates.hpp"
#include "sim/run/runner.hpp"

namespace weft::sim {

struct FlowConfig {
  std::uint64_t seed = 1;
  std::uint32_t payload = 4096;
  std::uint32_t header = 64;
  bool cut_through = false;
  bool split = true;    // over all paths; else one that ECMP hashes
  bool adapts = false;  // then slow paths get less
  // Queue pairs or connections between two NICs, each with its path, and what tells switches to which of them a packet
  // belongs. Messages take them in turn, or, where they are larger than `whole`, all at once.
  std::uint32_t queues = 1;
  std::uint64_t whole = UINT64_MAX;  // bytes
  std::uint16_t (*path_of)(std::uint32_t source, std::uint32_t destination, std::uint32_t queue) = nullptr;
  std::uint32_t pins = 0;  // switches do not hash: every one of so many queues of a port has its uplink, in turn
  bool hosts = false;      // what happens inside servers counts
  HostRates rates = {};
};

// One stripe of a message, or a message that stays inside.
struct FlowPath {
  // What moves at one rate. Where data rest in memory before they are sent, a short message is whole there before it
  // goes on; of a longer one the next chunk comes while the first moves on, so all of its way is one stage. What
  // arrives rests in small parts.
  struct Stage {
    std::vector<MaxMinRates::Share> shares;
    Wide work = 0;           // to move, in parts of a bit per second times picoseconds
    std::int64_t alone = 0;  // the rate it gets when nothing else moves
  };
  std::vector<Stage> stages;  // the first `count`, one after another; none: to itself, nothing is crossed
  std::size_t count = 0;
  std::size_t network = kInside;     // the stage that crosses it
  NicPair nics{};                    // between which it does
  std::uint32_t queue = 0;           // and by which of those that join them
  bool shares_nics = false;          // with the stripe before it
  std::uint64_t bytes = 0;           // of the message
  std::uint64_t wire_bytes = 0;      // with headers
  std::int64_t latency = 0;          // ps, of what leaves last, without the time to put it on the wire
  std::int64_t last_part = 0;        // ps, that it rests behind the network
  std::int64_t acknowledgement = 0;  // ps, from there until the sender knows

  static constexpr std::size_t kInside = ~std::size_t{0};
};

class FlowRoutes {
 public:
  static constexpr std::int64_t kParts = 1 << 18;  // of a bit per second: the unit of rates

  FlowRoutes(const fabric::Fabric& fabric, const FlowConfig& config);

  const fabric::Fabric& fabric() const { return fabric_; }
  const Layout& layout() const { return layout_; }
  const FlowConfig& config() const { return config_; }
  // Before the run: faults that are there from the start and for good, a link that is down, which routing then knows
  // everywhere, or one that is slow. False for any other, which no constant rate can show.
  bool add_condition(std::uint32_t port, const Condition& condition);
  void remove_link(std::uint32_t port);

  // The stripes of a message; none when nothing joins the two. Good until the next call.
  std::span<const FlowPath> find(const Transfer& transfer);

  MaxMinRates& rates() { return rates_; }
  // Of a link by its number in `rates`.
  std::int64_t capacity(std::uint32_t link) const { return known_[link].capacity; }
  // Millionths of its rate that faults leave of one.
  std::uint32_t left(std::uint32_t link) const;
  std::int64_t packet_time(std::uint32_t link) const {
    return known_[link].packet_time;
  }                                                                                       // ps that a full packet takes
  bool is_inside(std::uint32_t link) const { return (known_[link].key & kInside) != 0; }  // a server: no headers there
  // How many more packets than its part it gets where they are spread at random (flow_scatter.hpp); of a bundle the
  // link that gets most.
  std::int64_t deviation(std::uint32_t link) const { return known_[link].deviation; }
  // Whether packets of a flow that has so much of itself on a link are spread over others, too.
  bool is_spread(std::uint32_t link, std::uint64_t weight) const {
    return known_[link].members > 1 || weight < MaxMinRates::kWhole;
  }
  std::uint32_t members(std::uint32_t link) const { return known_[link].members; }
  // The weight of a flow all of which goes over a link.
  std::uint64_t whole(std::uint32_t link) const { return MaxMinRates::kWhole >> known_[link].halved; }
  schedule::LinkRecord describe(std::uint32_t link, std::uint32_t member = 0) const;

 private:
  // What tells links apart: a port of the layout, or a link inside a domain.
  using Key = std::uint64_t;
  static constexpr Key kInside = Key{1} << 63;
  static constexpr Key kBundle = Key{1} << 62;  // with the first of its ports
  static constexpr Key kNoMore = ~Key{0};
  struct Known {
    Key key;
    std::int64_t capacity;
    std::int64_t packet_time;
    std::int64_t deviation;
    std::uint32_t first = 0;  // of a bundle in bundled_
    std::uint32_t members = 1;
    // How often: rates go up to 17 Tb/s. A bundle of more has half of itself, or a quarter, and so have flows on it.
    std::uint32_t halved = 0;
  };
  struct Part {
    Key key;
    std::uint64_t weight;
    auto operator<=>(const Part&) const = default;
  };
  struct Branch {
    std::uint32_t at;  // switch
    std::uint64_t weight;
  };

  FlowPath& add_path(std::uint64_t bytes);
  bool across(const Transfer& transfer, const NicPair& pair, std::uint64_t bytes, std::uint32_t queue);
  bool across_queues(const Transfer& transfer, const NicPair& pair, std::uint64_t bytes);
  std::uint32_t next_on_path(std::uint32_t at, const NicPair& pair, std::uint16_t path);
  bool take_one_path(const NicPair& pair, std::uint32_t queue);
  bool take_all_paths(const NicPair& pair);
  template <class AtDistance>
  bool walk_all_paths(const NicPair& pair, bool weighs, AtDistance at_distance);
  bool take_bundles(const NicPair& pair);
  Key bundle_of(std::span<const Part> ports);
  template <class Visit>
  void for_each_room(std::span<const std::uint32_t> ports, std::uint32_t destination, Visit visit);
  std::int64_t room_behind(std::uint32_t entity, std::uint32_t destination);
  void take_legs(std::uint32_t domain, const HostRoute& route, std::uint32_t first, std::uint32_t last);
  std::int64_t last_part(std::uint32_t domain, const HostRoute& route, std::uint64_t bytes) const;
  void finish(FlowPath& path, Wide work);
  std::uint32_t number_of(Key key);
  std::int64_t capacity_of(Key key) const;
  Known know(Key key) const;
  std::uint32_t add(const Known& link);

  const fabric::Fabric& fabric_;
  FlowConfig config_;
  Layout layout_;
  HostRoutes host_routes_;
  MaxMinRates rates_;
  bool even_tree_;  // all links of a tier are alike, and every one leads on
  std::uint32_t salt_;
  std::map<std::uint32_t, std::uint32_t> slow_;                  // millionths of the rate that are left, by port
  std::map<std::array<std::uint32_t, 2>, std::uint32_t> turns_;  // by NICs: messages that took a queue in turn
  FlatMap number_;                                               // by key
  std::vector<Known> known_;                                     // by number
  std::vector<std::uint32_t> bundled_;                           // ports, bundle by bundle
  FlatMap between_;                                              // by leaves: where their bundles begin in crossed_
  std::vector<Key> crossed_;                                     // bundles between two leaves, and kNoMore behind them
  std::vector<FlowPath> paths_;
  std::size_t found_ = 0;  // of ways_, which keep their memory
  // While a way is found:
  std::vector<NicPair> pairs_;
  std::vector<Part> parts_;
  std::vector<Branch> branches_;
  std::vector<Branch> next_;
  std::vector<std::uint32_t> ports_;
  std::vector<Wide> until_;                     // by port: the room of all up to it
  std::map<std::uint32_t, std::int64_t> room_;  // by switch, towards the destination
};

}  // namespace weft::sim
