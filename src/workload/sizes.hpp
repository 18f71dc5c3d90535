#pragma once
// How large flows are: a cumulative distribution of straight pieces, drawn from with integers only.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace weft::workload {

class SizeDistribution {
 public:
  // Of 1000 flows `per_mille` are no larger than `bytes`.
  struct Point {
    std::uint64_t bytes;
    std::uint32_t per_mille;
  };

  static SizeDistribution fixed(std::uint64_t bytes) { return uniform(bytes, bytes); }
  // Every size from `least`, at least 1, to `most` is equally likely.
  static SizeDistribution uniform(std::uint64_t least, std::uint64_t most) {
    return SizeDistribution({{least - 1, 0}, {most, 1000}});
  }
  // One that was measured and published; nullopt when there is none of that name.
  static std::optional<SizeDistribution> published(std::string_view name);
  static const std::vector<std::string>& published_names();

  std::uint64_t draw(Random& random) const;
  std::uint64_t mean() const;
  std::span<const Point> points() const { return points_; }

 private:
  explicit SizeDistribution(std::vector<Point> points) : points_(std::move(points)) {}

  std::vector<Point> points_;  // from 0 to 1000; both bytes and per_mille grow
};

}  // namespace weft::workload
