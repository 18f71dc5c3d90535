#include "sim/conditions.hpp"

#include <algorithm>

#include "base/wide.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

}  // namespace

std::int64_t finish(const std::vector<Condition>& conditions, std::int64_t begin, std::int64_t picoseconds) {
  // Work is counted in picoseconds at full rate times a million; the rate changes where a condition
  // starts or ends, so from change to change.
  std::int64_t at = begin;
  std::int64_t left = picoseconds * kMillion;
  while (left > 0) {
    std::int64_t rate = kMillion;
    std::int64_t until = kForever;
    for (const Condition& each : conditions) {
      if (each.kind != Condition::Kind::degraded) continue;
      if (each.from <= at && at < each.to) {
        rate = rate * each.amount / kMillion;
        until = std::min(until, each.to);
      } else if (each.from > at) {
        until = std::min(until, each.from);
      }
    }
    rate = std::max<std::int64_t>(rate, 1);
    const std::int64_t needed = (left + rate - 1) / rate;
    if (until == kForever || needed <= until - at) return at + needed;
    left -= (until - at) * rate;
    at = until;
  }
  return at;
}

std::int64_t at_full_rate(const std::vector<Condition>& conditions, std::int64_t now, std::int64_t picoseconds) {
  for (const Condition& each : conditions)
    if (each.kind == Condition::Kind::degraded && each.during(now, now + 1))
      picoseconds = static_cast<std::int64_t>(static_cast<Wide>(picoseconds) * each.amount / kMillion);
  return picoseconds;
}

bool known_down(const std::vector<Condition>& conditions, std::int64_t now) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& each) {
    return each.kind == Condition::Kind::down && each.during(now, now + 1);
  });
}

Fate fate(const std::vector<Condition>& conditions, std::int64_t begin, std::int64_t end, Random& random) {
  Fate result = Fate::arrives;
  for (const Condition& each : conditions) {
    if (each.kind == Condition::Kind::degraded || !each.during(begin, end)) continue;
    if (each.kind == Condition::Kind::down || each.kind == Condition::Kind::blackhole) return Fate::lost;
    if (random.below(kMillion) >= each.amount) continue;
    if (each.kind == Condition::Kind::loss) return Fate::lost;
    result = Fate::corrupted;
  }
  return result;
}

}  // namespace weft::sim
