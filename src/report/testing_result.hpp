#pragma once
// A small run for tests: three flows that are done, one that is not; two links, one of them sampled.

#include "schedule/result.hpp"

namespace weft::report {

inline schedule::RunResult sample_result() {
  schedule::RunResult result;
  result.fidelity = schedule::Fidelity::packet;
  result.seed = 7;
  result.digest = 0xfeed;
  result.end = Duration(60'000'000);
  result.counters.data_sent = 733;
  result.counters.lost = 5;
  const auto flow = [&](std::uint32_t from, std::uint32_t to, std::int64_t start, std::int64_t sent) {
    result.flows.push_back({from, to, 1'000'000, Duration(start), Duration(sent),
                            Duration(sent == schedule::kNotYet.count() ? sent : sent - 1'000'000),
                            Duration(20'000'000)});
  };
  flow(0, 5, 0, 40'000'000);
  flow(0, 6, 10'000'000, 60'000'000);
  flow(3, 0, 5'000'000, 30'000'000);
  flow(3, 1, 30'000'000, schedule::kNotYet.count());
  result.links.push_back({"leaf0", "spine1", 400'000'000'000, 2'400'000, 600, Duration(60'000'000), 90'000, 12, 3, 2});
  result.links.push_back({"spine1", "leaf2", 400'000'000'000, 1'200'000, 300, Duration(6'000'000), 120'000, 0, 0, 0});
  result.samples.push_back({Duration(0), 0, 0, 30'000, 50'000, 1, 0, 0});
  result.samples.push_back({Duration(1'000'000), 0, 4, 90'000, 25'000, 2, 3, 2});
  result.samples.push_back({Duration(5'000'000), 0, 0, 10, 4'000, 0, 0, 0});
  result.samples.push_back({Duration(5'000'000), 1, 1, 20, 8'000, 0, 0, 0});
  return result;
}

}  // namespace weft::report
