#include "workload/streams.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "workload/patterns.hpp"

namespace weft::workload {
namespace {

using schedule::Instruction;

std::unique_ptr<schedule::Schedule> pattern(const std::string& name, std::uint32_t nodes, std::uint64_t bytes) {
  spec::Diagnostics diagnostics;
  model::TrafficRun run;
  run.pattern = parse_enum<model::TrafficPattern>(name).value();
  run.size = Bytes(static_cast<std::int64_t>(bytes));
  return make_traffic(run, {.nodes = nodes}, diagnostics);
}

using Sent = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;  // stream, from, to, bytes

std::multiset<Sent> all_sends(schedule::Schedule& schedule) {
  std::multiset<Sent> sends;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane)
      for (Instruction each; schedule.next(rank, lane, each);)
        if (each.kind == Instruction::Kind::send) sends.insert({each.stream, rank, each.peer, each.bytes});
  return sends;
}

std::unique_ptr<Streams> ring_and_incast() {
  std::vector<Streams::Part> parts;
  parts.push_back({pattern("ring", 3, 100), 1});  // 1 -> 2 -> 3 -> 1
  parts.push_back({pattern("incast", 3, 7), 3});  // 4, 5 -> 3
  return std::make_unique<Streams>(std::move(parts));
}

TEST(Streams, EachKeepsItsRanksItsPeersAndItsNumber) {
  const auto streams = ring_and_incast();
  EXPECT_EQ(streams->ranks(), 6u);
  EXPECT_EQ(all_sends(*streams),
            (std::multiset<Sent>{{0, 1, 2, 100}, {0, 2, 3, 100}, {0, 3, 1, 100}, {1, 4, 3, 7}, {1, 5, 3, 7}}));
}

TEST(Streams, ARankHasTheLanesOfAllItsStreams) {
  const auto streams = ring_and_incast();
  EXPECT_EQ(streams->lanes(0), 0u);
  EXPECT_EQ(streams->lanes(1), 1u);
  EXPECT_EQ(streams->lanes(3), 1u);  // sends in the ring, only receives in the incast
  EXPECT_EQ(streams->lanes(5), 1u);
  std::vector<Streams::Part> same;
  same.push_back({pattern("ring", 4, 1), 0});
  same.push_back({pattern("ring", 4, 2), 0});
  EXPECT_EQ(Streams(std::move(same)).lanes(2), 2u);
}

}  // namespace
}  // namespace weft::workload
