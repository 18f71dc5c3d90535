#include "why/critical_path.hpp"

#include <gtest/gtest.h>

#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using collective::Conditions;
using collective::Protocol;
using testing::Bench;

collective::PlanOptions ring(const Job& job, std::uint64_t bytes, Protocol protocol = Protocol::simple) {
  return {.operation = job.operation, .bytes = bytes, .choice = {Algorithm::ring, protocol, 0}, .stack = job.stack};
}

TEST(CriticalPath, OneServerSpendsItsTimeOnNvlink) {
  Bench bench("{kind: hgx-h100, count: 1}");
  const Job job = bench.job(8);
  const collective::PlanOptions plan = ring(job, 1 << 30);
  const auto path = critical_path(*bench.machine->team(job, {}), plan);
  ASSERT_TRUE(path);
  EXPECT_GT((*path)[Resource::scale_up].count(), (path->total() * 8 / 10).count());
  EXPECT_EQ((*path)[Resource::nic].count(), 0);
  EXPECT_EQ((*path)[Resource::network_latency].count(), 0);
}

TEST(CriticalPath, SmallMessagesSpendItOnLatency) {
  Bench bench("{kind: hgx-h100, count: 4}");
  const Job job = bench.job(32);
  const collective::PlanOptions plan = ring(job, 8, Protocol::ll);
  const auto path = critical_path(*bench.machine->team(job, {}), plan);
  ASSERT_TRUE(path);
  EXPECT_GT(
      ((*path)[Resource::network_latency] + (*path)[Resource::inside_latency] + (*path)[Resource::launch]).count(),
      (path->total() * 9 / 10).count());
}

TEST(CriticalPath, WithoutGpudirectItRestsInHostMemory) {
  Bench bench("{kind: hgx-h100, count: 4, gpudirect: false}");
  const Job job = bench.job(32);
  const collective::PlanOptions plan = ring(job, 1 << 30);
  const auto path = critical_path(*bench.machine->team(job, {}), plan);
  ASSERT_TRUE(path);
  EXPECT_GT((*path)[Resource::host_memory].count(), (path->total() / 2).count());
}

// What the fabric takes is one sum, whatever it is taken for.
TEST(CriticalPath, PausesAndRepetitionsArePartsOfWhatTheFabricTakes) {
  Bench bench("{kind: hgx-h100, count: 4}");
  const Job job = bench.job(32);
  const collective::PlanOptions plan = ring(job, 256 << 20);
  const collective::Team& team = *bench.machine->team(job, {});
  const auto none = critical_path(team, plan);
  const auto some = critical_path(team, plan, {.left = 600, .paused = 250, .resent = 50});
  ASSERT_TRUE(none && some);
  EXPECT_EQ((*none)[Resource::pause].count(), 0);
  EXPECT_EQ((*none)[Resource::resending].count(), 0);
  EXPECT_EQ(none->total().count(), some->total().count());
  const std::int64_t nics = (*none)[Resource::nic].count();
  EXPECT_NEAR(static_cast<double>((*some)[Resource::pause].count()), 0.25 * static_cast<double>(nics), 1e6);
  EXPECT_NEAR(static_cast<double>((*some)[Resource::resending].count()), 0.05 * static_cast<double>(nics), 1e6);
  EXPECT_NEAR(static_cast<double>((*some)[Resource::fabric].count()), 0.10 * static_cast<double>(nics), 1e6);
}

// A rank that comes a millisecond late makes a millisecond of waiting, whatever is done then.
TEST(CriticalPath, ALateRankIsWaitedForAsLongAsItIsLate) {
  constexpr std::int64_t kLate = 1'000'000'000;  // ps
  Bench bench("{kind: hgx-h100, count: 4}");
  const Job job = bench.job(32);
  const collective::Team& team = *bench.machine->team(job, {});
  Conditions late;
  late.starts.assign(32, Duration(0));
  late.starts[5] = Duration(kLate);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree})
    for (const std::uint64_t bytes : {8u, 64u << 20}) {
      collective::PlanOptions plan = ring(job, bytes);
      plan.choice.algorithm = algorithm;
      plan.conditions = &late;
      const auto path = critical_path(team, plan);
      ASSERT_TRUE(path);
      EXPECT_EQ((*path)[Resource::waiting].count(), kLate) << collective::name(algorithm) << " " << bytes;
      ASSERT_EQ(path->waited.size(), 1u);
      EXPECT_EQ(path->waited[0].rank, 5u);
      EXPECT_EQ(path->waited[0].late.count(), kLate);
      EXPECT_EQ(path->total().count(), collective::time_of(team, plan, testing::by_lanes).time.count());
    }
}

// Who comes late without keeping anybody is not waited for: the last rank of a broadcast has the first data before.
TEST(CriticalPath, ALateRankThatNobodyNeedsIsNotWaitedFor) {
  Bench bench("{kind: hgx-h100, count: 1}");
  const Job job = bench.job(8, collective::Operation::broadcast);
  const collective::Team& team = *bench.machine->team(job, {});
  collective::PlanOptions plan = ring(job, 256 << 20);
  Conditions late;
  late.starts.assign(8, Duration(0));
  late.starts[7] = nanoseconds(1);
  plan.conditions = &late;
  const auto path = critical_path(team, plan);
  ASSERT_TRUE(path);
  EXPECT_EQ((*path)[Resource::waiting].count(), 0);
  EXPECT_TRUE(path->waited.empty());
}

// A ring keeps all its links busy, so it goes as slowly as its slowest rank: with half of its speed that takes as long
// again as what it does, and the others wait for that.
TEST(CriticalPath, ASlowRankIsWaitedForAsLongAsItTakesLonger) {
  Bench bench("{kind: hgx-h100, count: 1}");
  const Job job = bench.job(8);
  Conditions slow;
  slow.ranks.push_back({3, 500});
  collective::PlanOptions plan = ring(job, 1 << 30);
  plan.conditions = &slow;
  const auto path = critical_path(*bench.machine->team(job, {}), plan);
  ASSERT_TRUE(path);
  const auto done = static_cast<double>(((*path)[Resource::scale_up] + (*path)[Resource::protocol]).count());
  EXPECT_NEAR(static_cast<double>((*path)[Resource::waiting].count()) / done, 1, 0.01);
  ASSERT_EQ(path->waited.size(), 1u);
  EXPECT_EQ(path->waited[0].rank, 3u);
  EXPECT_EQ(path->waited[0].slow.count(), (*path)[Resource::waiting].count());
  EXPECT_EQ(path->waited[0].late.count(), 0);
}

// NICs of 400 Gb/s in slots that carry less than half of that.
TEST(CriticalPath, ANarrowSlotSpendsItOnPcie) {
  Bench bench("{kind: hgx-h100, count: 4, nic: {kind: connectx-7, pcie_gen: 3}}");
  const Job job = bench.job(32);
  const auto path = critical_path(*bench.machine->team(job, {}), ring(job, 1 << 30));
  ASSERT_TRUE(path);
  EXPECT_GT((*path)[Resource::pcie].count(), (path->total() / 2).count());
  EXPECT_EQ((*path)[Resource::nic].count(), 0);
}

}  // namespace
}  // namespace weft::why
