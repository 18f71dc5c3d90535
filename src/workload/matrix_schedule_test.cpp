#include "workload/matrix_schedule.hpp"

#include <gtest/gtest.h>

namespace weft::workload {
namespace {

using schedule::Instruction;
using Kind = Instruction::Kind;

std::vector<Instruction> drain(schedule::Schedule& schedule, std::uint32_t rank) {
  std::vector<Instruction> all;
  Instruction each;
  for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane)
    while (schedule.next(rank, lane, each)) all.push_back(each);
  return all;
}

TEST(MatrixSchedule, ANodeSendsItsFlowsInTheOrderOfTheirTimes) {
  Matrix matrix;
  matrix.nodes = 4;
  matrix.flows = {{.source = 2, .destination = 1, .bytes = 10, .start = Duration(50)},
                  {.source = 0, .destination = 3, .bytes = 20},
                  {.source = 2, .destination = 3, .bytes = 30, .start = Duration(7)},
                  {.source = 2, .destination = 0, .bytes = 40, .start = Duration(50)}};
  MatrixSchedule schedule(matrix);
  EXPECT_EQ(schedule.ranks(), 4u);
  EXPECT_EQ(schedule.lanes(1), 0u);
  EXPECT_FALSE(schedule.has_signals());
  const auto first = drain(schedule, 0);
  ASSERT_EQ(first.size(), 1u) << "no time to wait for";
  EXPECT_EQ(first[0].kind, Kind::send);
  EXPECT_EQ(first[0].peer, 3u);
  const auto all = drain(schedule, 2);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].kind, Kind::at);
  EXPECT_EQ(all[0].time.count(), 7);
  EXPECT_EQ(all[1].bytes, 30u);
  EXPECT_EQ(all[2].kind, Kind::at);
  EXPECT_EQ(all[2].time.count(), 50);
  EXPECT_EQ(all[3].bytes, 10u);
  EXPECT_EQ(all[4].bytes, 40u);
  for (const std::size_t i : {1u, 3u, 4u}) {
    EXPECT_TRUE(all[i].detached);
    EXPECT_EQ(all[i].tag, schedule::kOneSided);
  }
}

TEST(MatrixSchedule, TriggersAreSignals) {
  Matrix matrix;
  matrix.nodes = 3;
  matrix.flows = {{.source = 0, .destination = 1, .bytes = 10, .when_sent = 0, .when_received = 1},
                  {.source = 1, .destination = 2, .bytes = 20, .started_by = 0},
                  {.source = 2, .destination = 0, .bytes = 30, .started_by = 0}};
  matrix.triggers = {{MatrixTrigger::Kind::oneshot, 1, {1, 2}}, {MatrixTrigger::Kind::barrier, 2, {}}};
  MatrixSchedule schedule(matrix);
  EXPECT_TRUE(schedule.has_signals());
  EXPECT_EQ(schedule.lanes(1), 0u) << "what a trigger starts is in no lane";
  const auto all = drain(schedule, 0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].when_sent, 0u);
  EXPECT_EQ(all[0].when_received, 1u);
  std::vector<schedule::Start> started;
  schedule.fire(0, started);
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[0].rank, 1u);
  EXPECT_EQ(started[0].send.peer, 2u);
  EXPECT_EQ(started[1].rank, 2u);
  EXPECT_EQ(started[1].send.bytes, 30u);
  schedule.fire(0, started);
  EXPECT_EQ(started.size(), 2u) << "once";
}

}  // namespace
}  // namespace weft::workload
