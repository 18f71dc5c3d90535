#include "collective/folded.hpp"

#include <gtest/gtest.h>

#include "collective/testing_team.hpp"
#include "collective/work.hpp"

namespace weft::collective {
namespace {

using testing::Machines;

Ends by_lanes(schedule::Schedule& work) {
  sim::LaneResult result = sim::run_lanes(work, {});
  EXPECT_EQ(result.run.unfinished, 0u);
  return {std::move(result.ends), result.messages, result.run.stopped_by};
}

Plan planned(const Team& team, Operation operation, Protocol protocol, std::uint64_t bytes, std::uint64_t rounds) {
  PlanOptions options{
      .operation = operation, .bytes = bytes, .choice = {Algorithm::ring, protocol, 0}, .stack = stack_named("ib")};
  options.most_rounds = rounds;
  return make_plan(team, options);
}

// To the picosecond, for every rank.
TEST(Folded, SaysWhatAllRanksWouldTake) {
  const Machines machines("{kind: hgx-h100, count: 12}");
  std::size_t folded = 0;
  const std::vector<std::uint32_t> gpus[] = {
      pick_gpus(*machines.cluster, 96, 0),  // all of every server
      pick_gpus(*machines.cluster, 12, 1),  // one of every server
      pick_gpus(*machines.cluster, 48, 4),  //
      pick_gpus(*machines.cluster, 8, 0),   // within one
      pick_gpus(*machines.cluster, 20, 0),  // not the same of every server
  };
  for (const auto& ranks : gpus)
    for (const Operation operation : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter})
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 20, std::uint64_t{999'999'999}}) {
          const Team team(machines.fabric, ranks);
          const Plan plan = planned(team, operation, protocol, bytes, 3);
          const auto told = ends_of_folded(plan, by_lanes);
          Work work(plan, plan.different);
          const Ends whole = by_lanes(work);
          if (!told) continue;
          ++folded;
          EXPECT_EQ(told->ends, whole.ends) << ranks.size() << " " << name(operation) << " " << name(protocol) << bytes;
          EXPECT_EQ(told->messages, whole.messages);
        }
  EXPECT_GE(folded, 4u * 27u);  // all that are alike
}

TEST(Folded, LateAndSlowRanksAreNotAlike) {
  const Machines machines("{kind: hgx-h100, count: 4}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  Plan plan = planned(team, Operation::all_reduce, Protocol::simple, 1 << 20, 3);
  EXPECT_TRUE(ends_of_folded(plan, by_lanes));
  plan.starts.resize(32);
  EXPECT_FALSE(ends_of_folded(plan, by_lanes));
  plan.starts.clear();
  plan.speed_per_mille.assign(32, 1000);
  EXPECT_FALSE(ends_of_folded(plan, by_lanes));
}

}  // namespace
}  // namespace weft::collective
