#include "workload/sizes.hpp"

#include <algorithm>

#include "base/wide.hpp"

namespace weft::workload {
namespace {

struct Published {
  std::string_view name;
  std::vector<SizeDistribution::Point> points;
};

const std::vector<Published>& all_published() {
  static const std::vector<Published> all = {
      // A web-search cluster. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, in the points
      // that HPCC (SIGCOMM 2019) and most simulations since have used.
      {"web-search",
       {{0, 0},
        {10'000, 150},
        {20'000, 200},
        {30'000, 300},
        {50'000, 400},
        {80'000, 530},
        {200'000, 600},
        {1'000'000, 700},
        {2'000'000, 800},
        {5'000'000, 900},
        {10'000'000, 970},
        {30'000'000, 1000}}},
      // A data-mining cluster. Greenberg et al., "VL2", SIGCOMM 2009, in the points that pFabric (Alizadeh
      // et al., SIGCOMM 2013) made common. Half the flows are about one packet, 95 % of the bytes
      // are in flows of more than 35 MB.
      {"data-mining",
       {{0, 0},
        {180, 100},
        {216, 200},
        {560, 300},
        {900, 400},
        {1'100, 500},
        {1'870, 600},
        {3'160, 700},
        {10'000, 800},
        {400'000, 900},
        {3'160'000, 950},
        {100'000'000, 980},
        {1'000'000'000, 1000}}},
      // Hadoop at Facebook. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015,
      // in the points of HPCC (SIGCOMM 2019).
      {"hadoop", {{0, 0},         {100, 10},      {200, 20},        {300, 50},        {350, 150},
                  {400, 200},     {500, 300},     {600, 400},       {700, 500},       {1'000, 600},
                  {2'000, 670},   {7'000, 700},   {30'000, 720},    {50'000, 820},    {80'000, 870},
                  {120'000, 900}, {300'000, 950}, {1'000'000, 975}, {2'000'000, 990}, {10'000'000, 1000}}},
  };
  return all;
}

}  // namespace

std::optional<SizeDistribution> SizeDistribution::published(std::string_view name) {
  for (const Published& each : all_published())
    if (each.name == name) return SizeDistribution(each.points);
  return std::nullopt;
}

const std::vector<std::string>& SizeDistribution::published_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const Published& each : all_published()) made.emplace_back(each.name);
    return made;
  }();
  return names;
}

std::uint64_t SizeDistribution::draw(Random& random) const {
  // A point of the whole, 1000 * 2^32 long, and how far it lies in its piece.
  const std::uint64_t at = (random.next() >> 32) * 1000;
  const auto end = std::upper_bound(
      points_.begin() + 1, points_.end() - 1, at,
      [](std::uint64_t value, const Point& point) { return value < std::uint64_t{point.per_mille} << 32; });
  const Point& from = *(end - 1);
  const std::uint64_t begin = std::uint64_t{from.per_mille} << 32;
  const std::uint64_t length = (std::uint64_t{end->per_mille} << 32) - begin;
  // Above the point before it, up to its own.
  return from.bytes + 1 +
         static_cast<std::uint64_t>(static_cast<Wide>(end->bytes - from.bytes) * (at - begin) / length);
}

std::uint64_t SizeDistribution::mean() const {
  Wide sum = 0;  // of bytes, times 2000
  for (std::size_t i = 1; i < points_.size(); ++i)
    sum += static_cast<Wide>(points_[i - 1].bytes + 1 + points_[i].bytes) *
           (points_[i].per_mille - points_[i - 1].per_mille);
  return static_cast<std::uint64_t>(sum / 2000);
}

}  // namespace weft::workload
