#pragma once
// What a receiver saw of a stream of messages: how much, how evenly, and whether it was what was sent.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "transport/operation.hpp"

namespace weft::traffic {

using transport::Instant;

inline constexpr Duration kInterval = microseconds(10'000);

struct Measured {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wrong = 0;     // messages with a byte that is not the one sent
  std::uint64_t repeated = 0;  // messages that came once more
  Instant first = 0;           // when the first message was complete
  Instant last = 0;
  Duration longest_gap;                  // between two that followed each other
  Duration gap_at;                       // when it began, from `first` on
  std::vector<std::uint64_t> intervals;  // bytes in each, from `first` on

  void add(Instant now, std::uint64_t size) {
    if (messages == 0) {
      first = now;
    } else if (Duration(now - last) > longest_gap) {
      longest_gap = Duration(now - last);
      gap_at = Duration(last - first);
    }
    last = now;
    ++messages;
    bytes += size;
    const auto at = static_cast<std::size_t>((now - first) / kInterval.count());
    if (at >= intervals.size()) intervals.resize(at + 1);
    intervals[at] += size;
  }
  // What several senders were seen to do together. Intervals of one are kept only where there is one.
  void merge(const Measured& other, bool alone);
  // Bit/s from the first message on, which itself does not count: nobody knows when it began.
  double rate(std::uint64_t size) const {
    if (last <= first) return 0;
    return static_cast<double>(bytes - size) * 8e12 / static_cast<double>(last - first);
  }
};

std::string to_json(const Measured& measured);
bool from_json(const std::string& text, Measured& measured);  // false: it is none

// The value below which a share of all lies; sorts them.
Duration percentile(std::vector<Duration>& values, double share);

}  // namespace weft::traffic
