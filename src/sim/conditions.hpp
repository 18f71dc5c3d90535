#pragma once
// What is unusual about a port: faults at times of the run, a token bucket, an observer. All of it is
// known before the run, so a port with computed departures stays exact.

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "sim/packet/port.hpp"
#include "sim/packet/samples.hpp"

namespace weft::sim {

inline constexpr std::int64_t kForever = INT64_MAX;

// One thing that is wrong with one direction of a link during [from, to).
struct Condition {
  enum class Kind : std::uint8_t {
    down,       // a packet whose time on the wire overlaps it is lost; the switch avoids the port
    blackhole,  // the same, but nobody notices
    loss,       // packets vanish at random
    corrupt,    // packets arrive damaged at random, and are thrown away there
    degraded,   // the rate is a part of what it was
  };
  Kind kind = Kind::down;
  std::int64_t from = 0;
  std::int64_t to = kForever;
  std::uint32_t amount = 0;  // loss, corrupt: parts per million of packets; degraded: of the rate
  std::int64_t period = 0;   // again and again, so far apart; 0: once

  // Whether it holds at any time of [begin, end).
  bool during(std::int64_t begin, std::int64_t end) const {
    if (end <= from) return false;
    if (period == 0) return begin < to;
    const std::int64_t last = (end - 1 - from) / period;  // the last one that starts before the end
    return begin < to + last * period;
  }
};

// Tokens flow in at a rate into a bucket; a packet needs its size in tokens (Linux's tbf). Kept as the
// time at which the bucket would be full again.
struct Bucket {
  std::int64_t ps_per_byte = 0;  // 0: none
  std::int64_t burst = 0;        // bytes
  std::int64_t queue = 0;        // bytes that may wait; more are dropped
  std::int64_t full_at = 0;

  // The first time from `ready` on at which the bucket holds that many tokens.
  std::int64_t conforms(std::int64_t ready, std::int64_t bytes) const {
    return std::max(ready, full_at - (burst - bytes) * ps_per_byte);
  }
  void take(std::int64_t now, std::int64_t bytes) { full_at = std::max(full_at, now) + bytes * ps_per_byte; }
};

struct Special {
  std::vector<Condition> conditions;  // by start
  Bucket bucket;
  std::uint32_t capture = 0;  // 1 + number of the link in the capture; 0: not captured
  Samples samples;
  Samples refused;  // drops by the host at this end, which are of the link that comes here
};

// When a packet that starts at `begin` has left, with the rates of that time.
std::int64_t finish(const std::vector<Condition>& conditions, std::int64_t begin, std::int64_t picoseconds);

// What a time ahead of `now` would be at full rate, with the rate of now.
std::int64_t at_full_rate(const std::vector<Condition>& conditions, std::int64_t now, std::int64_t picoseconds);

// Whether a switch knows at a time that nothing leaves by this port.
bool known_down(const std::vector<Condition>& conditions, std::int64_t now);

// Whether a packet that is on the wire during [begin, end) arrives.
enum class Fate : std::uint8_t { arrives, lost, corrupted };
Fate fate(const std::vector<Condition>& conditions, std::int64_t begin, std::int64_t end, Random& random);

}  // namespace weft::sim
