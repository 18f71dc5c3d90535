#pragma once
// The words that all scale-out networks (Clos, Dragonfly) share. Each works on one plane with
// switches numbered from 0; `Fabric` adds planes, NICs and servers. What a network must provide is
// said in networks.hpp.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.hpp"
#include "model/kinds.hpp"

namespace weft::fabric {

inline constexpr std::uint32_t kNone = 0xFFFFFFFFu;

enum class LinkTier : std::uint8_t { nic, spine, super_spine, gateway, site, local, global };
inline constexpr std::size_t kLinkTiers = 7;

// The switches of one sort, numbered one behind another.
struct SwitchTier {
  std::string_view name;    // "spine": they are called spine0, spine1, ...
  std::string_view noun;    // "super-spine"
  std::uint32_t first = 0;  // within a plane
  std::uint32_t count = 0;
  std::size_t kind = 0;  // in model::Shape::switches
};

// The cables of one tier.
struct CableRun {
  LinkTier tier;
  std::uint64_t cables;
  const model::CableKind* kind;
};

// Where a packet leaves the network: a port of a leaf (or router) that a NIC hangs on.
struct Target {
  std::uint32_t leaf = 0;
  std::uint32_t port = 0;
};

// What hangs on a port of a switch.
struct Peer {
  enum class Kind : std::uint8_t { nothing, nic, other_switch };
  Kind kind = Kind::nothing;
  LinkTier tier = LinkTier::nic;
  std::uint32_t switch_index = 0;  // other_switch
  std::uint32_t port = 0;          // the port at the other end
};

// Ports that stand one behind another.
struct PortRange {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t salt = 0;  // of the choice in it, its own for every stage of a route
};

// For who asks often, in networks whose switches nest (ports of a leaf, leaves of a pod, pods of a
// site): what a switch and a target are is worked out once, and only one comparison is left. A
// switch leads down when the target lies below it, else up.
inline constexpr std::size_t kLevels = 3;
struct Waypoint {
  std::uint8_t level = 0;
  std::uint32_t place = 0;  // leaf, pod or site that lies below it
  std::uint32_t step = 1;   // ports per thing below it
  PortRange down;           // `first` counts from the target's step
  PortRange up;
};
struct Destination {
  std::uint32_t place[kLevels] = {};  // its leaf, and what that lies in
  std::uint32_t below[kLevels] = {};  // port of the leaf, and which of the places of the level below
  Target target() const { return {place[0], below[0]}; }
};
inline PortRange towards(const Waypoint& at, const Destination& to) {
  if (to.place[at.level] != at.place) return at.up;
  return {to.below[at.level] * at.step, at.down.count, at.down.salt};
}

// What a packet carries of its route. Fat trees need nothing; Dragonfly remembers a detour and how
// many global links were crossed, which is also the virtual channel.
struct RouteState {
  std::uint32_t via = kNone;  // group to pass through
  std::uint8_t global_hops = 0;
};

struct Hop {
  std::uint32_t port = kNone;  // kNone: unreachable
  RouteState state;
  explicit operator bool() const { return port != kNone; }
};

// What is broken in one plane. Routing avoids it everywhere at once, as after convergence; a fault
// that routing does not know about is the simulator's business, not this set's.
class Broken {
 public:
  bool empty() const { return switches_.empty() && ports_.empty(); }
  void fail_switch(std::uint32_t index) { switches_.insert(index); }
  void fail_port(std::uint32_t index, std::uint32_t port) { ports_.insert(key(index, port)); }
  bool switch_down(std::uint32_t index) const { return switches_.contains(index); }
  bool port_down(std::uint32_t index, std::uint32_t port) const { return ports_.contains(key(index, port)); }
  bool target_down(const Target& target) const {
    return switch_down(target.leaf) || port_down(target.leaf, target.port);
  }

 private:
  static std::uint64_t key(std::uint32_t index, std::uint32_t port) { return (std::uint64_t{index} << 32) | port; }
  std::unordered_set<std::uint32_t> switches_;
  std::unordered_set<std::uint64_t> ports_;
};

// What one query towards one target has found out about switches. Whether a switch reaches the
// target does not depend on how it was come by, so each is expanded once, however many ways lead
// to it. Empty, and without memory of its own, while every way that is tried is live.
class Search {
 public:
  const bool* known(std::uint64_t key) const {
    if (answers_.empty()) return nullptr;
    const auto found = answers_.find(key);
    return found == answers_.end() ? nullptr : &found->second;
  }
  bool remember(std::uint64_t key, bool reaches) { return answers_[key] = reaches; }
  void expand() { ++expanded_; }
  std::uint64_t expanded() const { return expanded_; }  // switches whose ports were tried

 private:
  std::unordered_map<std::uint64_t, bool> answers_;
  std::uint64_t expanded_ = 0;
};

// The choice a switch of a tier makes for an entropy. Tiers are salted so that equal-size tiers do
// not choose alike (the polarisation of ECMP with one hash).
inline std::uint32_t choose(std::uint32_t entropy, std::uint32_t salt, std::uint32_t choices) {
  return choices == 1 ? 0 : pick(mix64((std::uint64_t{salt} << 32) | entropy), choices);
}

}  // namespace weft::fabric
