#pragma once
// What a receiver saw of a stream of messages: how much, how evenly, and whether it was what was sent.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::traffic {

using Instant = std::int64_t;  // ps

inline constexpr Instant kInterval = 10'000'000'000;  // 10 ms

struct Measured {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wrong = 0;     // messages with a byte that is not the one sent
  std::uint64_t repeated = 0;  // messages that came once more
  Instant first = 0;           // when the first message was complete
  Instant last = 0;
  Instant longest_gap = 0;               // between two that followed each other
  Instant gap_at = 0;                    // when it began, from `first` on
  std::vector<std::uint64_t> intervals;  // bytes in each, from `first` on

  void add(Instant now, std::uint64_t size) {
    if (messages == 0) {
      first = now;
    } else if (now - last > longest_gap) {
      longest_gap = now - last;
      gap_at = last - first;
    }
    last = now;
    ++messages;
    bytes += size;
    const auto at = static_cast<std::size_t>((now - first) / kInterval);
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
Instant percentile(std::vector<Instant>& values, double share);

}  // namespace weft::traffic
