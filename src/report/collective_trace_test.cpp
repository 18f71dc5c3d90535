#include "report/collective_trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace weft::report {
namespace {

TEST(ChannelTrace, HasAProcessPerRankAndNoOverlapOnATrack) {
  std::ostringstream out;
  write_channel_trace({"s0/gpu0", "s0/\"gpu1"},
                      {{0, 0, 1, 10, Duration(0), Duration(50)},
                       {0, 0, 1, 10, Duration(20), Duration(70)},
                       {0, 0, 1, 10, Duration(50), Duration(60)},
                       {1, 3, 0, 7, Duration(5), Duration(1'000'005)}},
                      out);
  const auto trace = nlohmann::json::parse(out.str());
  std::set<std::string> processes;
  std::set<std::pair<int, int>> tracks;
  int slices = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
    if (event["ph"] != "X") continue;
    ++slices;
    tracks.emplace(event["pid"], event["tid"]);
    if (event["pid"] == 2) {
      EXPECT_DOUBLE_EQ(event["dur"], 1.0);
    }
  }
  EXPECT_EQ(slices, 4);
  EXPECT_EQ(processes, (std::set<std::string>{"s0/gpu0", "s0/\"gpu1"}));
  EXPECT_EQ(tracks.size(), 3u) << "two for the channel whose messages overlap, and another rank's";
}

}  // namespace
}  // namespace weft::report
