#pragma once
// What a transport keeps for its endpoints and for each peer of theirs: named by 32-bit numbers, found by a hash. A
// reference does not survive adding or removing another.

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
    std::uint32_t first = count == 1 ? take_gone() : kNone;
    if (first == kNone) {
      first = static_cast<std::uint32_t>(items_.size());
      items_.resize(items_.size() + count);
    }
    index_.insert(pair_key(endpoint, peer), first);
    return first;
  }
  // One that was added alone. Its number may become another's, and memory that nobody needs goes back.
  void remove(std::uint32_t endpoint, std::uint32_t peer) {
    const std::uint32_t index = find(endpoint, peer);
    index_.erase(pair_key(endpoint, peer));
    items_[index] = T{};
    gone_.resize(items_.size());
    gone_[index] = true;
    free_.push_back(index);
    while (!items_.empty() && gone_.back()) {
      items_.pop_back();
      gone_.pop_back();
    }
    if (items_.empty()) free_ = std::vector<std::uint32_t>();
    if (items_.empty() || items_.capacity() > 4 * items_.size() + 16) items_.shrink_to_fit();
  }
  // Numbers are below it; those of which has() is false are nobody's.
  std::size_t size() const { return items_.size(); }
  std::size_t bytes() const { return items_.capacity() * sizeof(T); }
  bool has(std::uint32_t index) const { return index >= gone_.size() || !gone_[index]; }
  T& operator[](std::uint32_t index) { return items_[index]; }
  const T& operator[](std::uint32_t index) const { return items_[index]; }

 private:
  std::uint32_t take_gone() {
    while (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      if (index >= items_.size() || has(index)) continue;  // it has gone back since, and perhaps come again
      gone_[index] = false;
      return index;
    }
    return kNone;
  }

  std::vector<T> items_;
  std::vector<bool> gone_;           // of the first items; where there are more, those are not
  std::vector<std::uint32_t> free_;  // numbers of those that are gone, and some others
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
  void remove(std::uint32_t endpoint) {
    if (endpoint >= states_.size()) return;
    states_[endpoint] = State{};
    if (endpoint + std::size_t{1} == states_.size()) states_.pop_back();
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
