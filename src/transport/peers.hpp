#pragma once
// What a transport keeps for its endpoints and for each peer of theirs. Neither is ever given back: named by 32-bit
// numbers, found by a hash. A reference does not survive adding another.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.hpp"
#include "transport/numbers.hpp"
#include "transport/slab.hpp"

namespace weft::transport {

// By (endpoint, peer).
template <class T>
class Peers {
 public:
  // The number of the first that is kept for the pair, or kNone.
  std::uint32_t find(std::uint32_t endpoint, std::uint32_t peer) const { return index_.find(pair_key(endpoint, peer)); }
  // Of a pair of which nothing is kept yet: the number of the first of `count` in a row.
  std::uint32_t add(std::uint32_t endpoint, std::uint32_t peer, std::uint32_t count = 1) {
    const auto first = static_cast<std::uint32_t>(items_.size());
    items_.resize(items_.size() + count);
    index_.insert(pair_key(endpoint, peer), first);
    return first;
  }
  std::size_t size() const { return items_.size(); }
  T& operator[](std::uint32_t index) { return items_[index]; }
  const T& operator[](std::uint32_t index) const { return items_[index]; }

 private:
  std::vector<T> items_;
  FlatMap index_;
};

template <class State>
class Endpoints {
 public:
  // Made when it is first asked for.
  State& of(std::uint32_t endpoint) {
    if (endpoint >= states_.size()) states_.resize(endpoint + 1);
    return states_[endpoint];
  }
  // Nothing where nothing was ever posted or arrived.
  State* find(std::uint32_t endpoint) { return endpoint < states_.size() ? &states_[endpoint] : nullptr; }
  const State* find(std::uint32_t endpoint) const { return endpoint < states_.size() ? &states_[endpoint] : nullptr; }
  std::size_t size() const { return states_.size(); }
  State& operator[](std::uint32_t endpoint) { return states_[endpoint]; }
  const State& operator[](std::uint32_t endpoint) const { return states_[endpoint]; }

 private:
  std::vector<State> states_;
};

}  // namespace weft::transport
