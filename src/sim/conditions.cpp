#include "sim/conditions.hpp"

#include <algorithm>

#include "base/wide.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

}  // namespace

void coarsen(std::vector<schedule::LinkSample>& samples, std::int64_t interval) {
  std::size_t kept = 0;
  for (const schedule::LinkSample& each : samples) {
    const std::int64_t start = each.time / interval * interval;
    if (kept == 0 || samples[kept - 1].time != start) {
      samples[kept] = each;
      samples[kept++].time = start;
      continue;
    }
    schedule::LinkSample& whole = samples[kept - 1];
    whole.peak_bytes = std::max(whole.peak_bytes, each.peak_bytes);
    whole.bytes += each.bytes;
    whole.marked += each.marked;
    whole.trimmed += each.trimmed;
    whole.dropped += each.dropped;
  }
  samples.resize(kept);
}

schedule::LinkSample& sample_at(Special& special, std::int64_t time, std::uint32_t link) {
  auto& samples = special.samples;
  while (samples.size() > special.most_samples) {
    special.sample *= 2;
    coarsen(samples, special.sample);
  }
  const std::int64_t start = time / special.sample * special.sample;
  auto after = samples.end();
  while (after != samples.begin() && (after - 1)->time > start) --after;
  if (after != samples.begin() && (after - 1)->time == start) return *(after - 1);
  schedule::LinkSample fresh;
  fresh.time = start;
  fresh.link = link;
  return *samples.insert(after, fresh);
}

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
