#pragma once
// How many bytes came when, in at most 2048 intervals of one width. The width doubles when time outgrows them, so a
// run of any length costs the same; what was added is the same in whatever order.

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/wide.hpp"

namespace weft::schedule {

class Timeline {
 public:
  static constexpr std::size_t kIntervals = 2048;

  std::int64_t width() const { return width_; }

  void add(std::int64_t time, std::uint64_t bytes) {
    while (time / width_ >= static_cast<std::int64_t>(kIntervals)) widen();
    bytes_[static_cast<std::size_t>(time / width_)] += bytes;
  }

  void add(const Timeline& other) {
    while (width_ < other.width_) widen();
    for (std::size_t i = 0; i < kIntervals; ++i)
      if (other.bytes_[i] > 0) add(static_cast<std::int64_t>(i) * other.width_, other.bytes_[i]);
  }

  // Of [from, to); what came in an interval that is cut counts by the share of it.
  std::uint64_t between(std::int64_t from, std::int64_t to) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kIntervals; ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * width_;
      const std::int64_t inside = std::min(to, begin + width_) - std::max(from, begin);
      if (inside <= 0 || bytes_[i] == 0) continue;
      sum += static_cast<std::uint64_t>(static_cast<UnsignedWide>(bytes_[i]) * static_cast<std::uint64_t>(inside) /
                                        static_cast<std::uint64_t>(width_));
    }
    return sum;
  }

 private:
  void widen() {
    for (std::size_t i = 0; i < kIntervals / 2; ++i) bytes_[i] = bytes_[2 * i] + bytes_[2 * i + 1];
    std::fill(bytes_.begin() + kIntervals / 2, bytes_.end(), 0);
    width_ *= 2;
  }

  std::int64_t width_ = 1 << 16;  // ps
  std::array<std::uint64_t, kIntervals> bytes_{};
};

}  // namespace weft::schedule
