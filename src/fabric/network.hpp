#pragma once
// What the two scale-out networks (Clos, Dragonfly) have in common. Both work on one plane with
// switches numbered from 0; `Fabric` adds planes, NICs and servers.

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.hpp"

namespace weft::fabric {

inline constexpr std::uint32_t kNone = 0xFFFFFFFFu;

enum class LinkTier : std::uint8_t { nic, spine, super_spine, gateway, site, local, global };

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
