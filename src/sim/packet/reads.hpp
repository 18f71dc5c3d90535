#pragma once
// Reads of one NIC from another: the transport takes so many at a time, the others wait, first come first served. What
// waits is one entry, however many parts it is read in.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "sim/host/stripes.hpp"

namespace weft::sim {

struct Read {
  static constexpr std::uint32_t kNoPart = 0xFFFFFFFFu;
  NicPair pair;
  std::uint32_t from;  // rank
  std::uint32_t message;
  std::uint64_t bytes;
  std::uint32_t part = kNoPart;  // where parts may move: its number, as soon as it has one
  std::uint64_t rest = 0;        // bytes behind it, in parts like it that nobody has asked for

  // The first part; the others are left.
  Read take_part() {
    Read first = *this;
    first.rest = 0;
    bytes = std::min(bytes, rest);
    rest -= bytes;
    return first;
  }
};

class Reads {
 public:
  explicit Reads(std::uint32_t most) : most_(most) {}

  // Whether another may begin. One that begins is told of, as is its end.
  bool has_room(const NicPair& pair) { return lines_[pair].open < most_; }
  void begins(const NicPair& pair) { ++lines_[pair].open; }
  void ended(const NicPair& pair) { --lines_[pair].open; }

  void wait(const Read& read) { lines_[read.pair].waiting.push_back(read); }
  // The first part of what has waited longest.
  std::optional<Read> next(const NicPair& pair) {
    std::deque<Read>& waiting = lines_[pair].waiting;
    if (waiting.empty()) return std::nullopt;
    const bool last = waiting.front().rest == 0;
    const Read part = waiting.front().take_part();
    if (last) waiting.pop_front();
    return part;
  }

 private:
  struct Waiting {
    std::uint32_t open = 0;
    std::deque<Read> waiting;
  };
  std::uint32_t most_;
  ByNicPair<Waiting> lines_;
};

}  // namespace weft::sim
