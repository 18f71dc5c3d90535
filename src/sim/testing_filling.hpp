#pragma once
// What MaxMinRates is compared with after every event.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/max_min_rates.hpp"

namespace weft::sim::testing {

using Shares = std::vector<MaxMinRates::Share>;

// Links and the flows that are there at the moment, beside the rates that are kept up to date.
class WatchedRates {
 public:
  explicit WatchedRates(MaxMinRates& watched) : rates(watched) {}

  // A link that `rates` has got since.
  void know_link(std::int64_t capacity) { capacities_.push_back(capacity); }
  std::uint32_t known_links() const { return static_cast<std::uint32_t>(capacities_.size()); }
  std::uint32_t add_flow(const Shares& shares) {
    const std::uint32_t flow = rates.add_flow(shares);
    flows_[flow] = shares;
    known_[flow] = 0;
    return flow;
  }
  void remove_flow(std::uint32_t flow) {
    rates.remove_flow(flow);
    flows_.erase(flow);
    known_.erase(flow);
  }
  const std::map<std::uint32_t, Shares>& flows() const { return flows_; }

  // Whether `settle` told of every flow whose rate has changed.
  bool settle_tells_all() {
    for (const std::uint32_t flow : rates.settle()) {
      if (known_.at(flow) == rates.rate(flow)) return false;
      known_[flow] = rates.rate(flow);
    }
    return std::all_of(known_.begin(), known_.end(),
                       [&](const auto& each) { return rates.rate(each.first) == each.second; });
  }

  // What makes an allocation max-min fair, to the last part of a bit: no link carries more than it can, and every
  // flow has a link on which nobody is faster and where the fastest could not get one part more each.
  bool is_fair() const {
    struct Load {
      Wide left;
      std::int64_t fastest = -1;
      Wide weight = 0;  // of the fastest
    };
    std::vector<Load> loads;
    for (const std::int64_t capacity : capacities_) loads.push_back({Wide{capacity} * MaxMinRates::kWhole});
    for (const auto& [flow, shares] : flows_)
      for (const auto& [link, part] : shares) {
        Load& load = loads[link];
        const std::int64_t rate = rates.rate(flow);
        load.left -= Wide{rate} * part;
        if (load.left < 0) return false;
        if (rate > load.fastest) load.weight = 0;
        load.fastest = std::max(load.fastest, rate);
        if (rate == load.fastest) load.weight += part;
      }
    return std::all_of(flows_.begin(), flows_.end(), [&](const auto& each) {
      return std::any_of(each.second.begin(), each.second.end(), [&](const auto& share) {
        const Load& load = loads[share.link];
        return load.fastest == rates.rate(each.first) && load.left < load.weight;
      });
    });
  }

  // The largest relative distance from progressive filling, from nothing and with fractions.
  long double distance() const {
    std::vector<long double> left(capacities_.begin(), capacities_.end());
    std::map<std::uint32_t, Shares> open = flows_;
    long double most = 0;
    while (!open.empty()) {
      std::vector<long double> weight(left.size());
      for (const auto& [flow, shares] : open)
        for (const auto& [link, part] : shares) weight[link] += part_of(part);
      long double level = 0;
      std::size_t fullest = left.size();
      for (std::size_t i = 0; i < left.size(); ++i)
        if (weight[i] > kNothing && (fullest == left.size() || left[i] / weight[i] < level))
          level = left[fullest = i] / weight[i];
      for (auto at = open.begin(); at != open.end();) {
        const Shares& shares = at->second;
        if (std::none_of(shares.begin(), shares.end(), [&](const auto& share) { return share.link == fullest; })) {
          ++at;
          continue;
        }
        const auto got = static_cast<long double>(rates.rate(at->first));
        most = std::max(most, (got > level ? got - level : level - got) / level);
        for (const auto& [link, part] : shares) left[link] -= level * part_of(part);
        at = open.erase(at);
      }
    }
    return most;
  }

  MaxMinRates& rates;

 private:
  static constexpr long double kNothing = 1e-12L;
  static long double part_of(std::uint64_t weight) { return static_cast<long double>(weight) / MaxMinRates::kWhole; }

  std::vector<std::int64_t> capacities_;
  std::map<std::uint32_t, Shares> flows_;
  std::map<std::uint32_t, std::int64_t> known_;
};

}  // namespace weft::sim::testing
