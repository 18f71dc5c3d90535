#pragma once
// How many bytes came when, in intervals that are kept where something came. Time is cut at moments that are known
// beforehand, so what came before one of them is told exactly. Between two of them intervals have one width, which
// doubles when there are more than 2048, so a run of any length costs the same; what was added is the same in whatever
// order.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "base/wide.hpp"

namespace weft::schedule {

class Timeline {
 public:
  static constexpr std::size_t kIntervals = 2048;
  static constexpr std::size_t kMostCuts = 64;  // where there are more, it is not cut

  Timeline() : Timeline(std::vector<Duration>{}) {}
  explicit Timeline(std::vector<Duration> cuts) {
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    stretches_.push_back({});
    if (cuts.size() > kMostCuts) return;
    for (const Duration cut : cuts)
      if (cut > Duration(0)) stretches_.push_back({.begin = cut});
  }

  void add(Duration time, std::uint64_t bytes) {
    Stretch& stretch = *std::prev(after(time));
    stretch.add(time - stretch.begin, bytes);
  }

  // Of a timeline with the same cuts.
  void add(const Timeline& other) {
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      const Stretch& from = other.stretches_[i];
      stretches_[i].widen_to(from.width);
      for (const auto& [number, bytes] : from.intervals) stretches_[i].add(from.width * number, bytes);
    }
  }

  // Of [from, to); what came in an interval that is cut counts by the share of it.
  std::uint64_t between(Duration from, Duration to) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      const Duration end = i + 1 < stretches_.size() ? stretches_[i + 1].begin : Duration(INT64_MAX);
      sum += stretches_[i].between(from, to, end);
    }
    return sum;
  }

 private:
  struct Stretch {
    Duration begin = {};
    Duration width{1 << 16};
    std::vector<std::pair<std::int64_t, std::uint64_t>> intervals = {};  // by number, bytes

    void add(Duration since, std::uint64_t bytes) {
      const std::int64_t number = since.count() / width.count();
      if (intervals.empty() || intervals.back().first < number) {
        intervals.emplace_back(number, bytes);
      } else {
        // Times come nearly in order.
        auto at = std::prev(intervals.end());
        while (at->first > number && at != intervals.begin()) --at;
        if (at->first < number) ++at;
        if (at->first != number) at = intervals.insert(at, {number, 0});
        at->second += bytes;
      }
      while (intervals.size() > kIntervals) widen();
    }

    void widen_to(Duration wanted) {
      while (width < wanted) widen();
    }

    void widen() {
      width = width * 2;
      std::size_t kept = 0;
      for (const auto& [number, bytes] : intervals) {
        if (kept > 0 && intervals[kept - 1].first == number / 2) {
          intervals[kept - 1].second += bytes;
        } else {
          intervals[kept++] = {number / 2, bytes};
        }
      }
      intervals.resize(kept);
    }

    std::uint64_t between(Duration from, Duration to, Duration end) const {
      std::uint64_t sum = 0;
      for (const auto& [number, bytes] : intervals) {
        const Duration first = begin + width * number;
        const Duration last = std::min(end, first + width);
        const Duration inside = std::min(to, last) - std::max(from, first);
        if (inside <= Duration(0)) continue;
        sum +=
            static_cast<std::uint64_t>(static_cast<UnsignedWide>(bytes) * static_cast<std::uint64_t>(inside.count()) /
                                       static_cast<std::uint64_t>((last - first).count()));
      }
      return sum;
    }
  };

  std::vector<Stretch>::iterator after(Duration time) {
    return std::upper_bound(stretches_.begin(), stretches_.end(), time,
                            [](Duration t, const Stretch& each) { return t < each.begin; });
  }

  std::vector<Stretch> stretches_;  // by begin, the first at 0
};

}  // namespace weft::schedule
