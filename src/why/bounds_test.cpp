#include "why/bounds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collective/tuner.hpp"
#include "why/critical_path.hpp"
#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using collective::Operation;
using collective::Protocol;
using collective::Team;
using testing::Bench;

// Drawn: a machine, a job on it, and an algorithm that can do it.
struct Drawn {
  std::unique_ptr<Bench> bench;
  Job job;
  const Team* team = nullptr;
  collective::PlanOptions plan;
};

Drawn draw() {
  const std::string server = *rc::gen::element<std::string>(
      "{kind: hgx-h100, count: 5}", "{kind: hgx-h100, count: 5, nics: 2}", "{kind: acp-h100-4nic-4sw, count: 5}",
      "{kind: hgx-a100, count: 5, gpudirect: false}", "{kind: p5.48xlarge, count: 5}",
      "{kind: h100-pcie-8, count: 5, nics: 2}", "{kind: hgx-h100, count: 5, p2p: false}");
  Drawn out;
  out.bench = std::make_unique<Bench>(server);
  const auto per_server = *rc::gen::element<std::uint32_t>(1, 2, 4, 8);
  const auto nodes = *rc::gen::inRange<std::uint32_t>(1, 6);
  const auto operation =
      *rc::gen::elementOf(std::vector<Operation>(collective::kOperations.begin(), collective::kOperations.end()));
  out.job = {operation, per_server * nodes, per_server,
             collective::stack_named(*rc::gen::element<std::string>("roce", "ib", "tcp"))};
  RC_PRE(out.job.gpus >= 2);
  out.team = out.bench->machine->team(out.job, {});
  RC_ASSERT(out.team != nullptr);
  const auto algorithm =
      *rc::gen::elementOf(std::vector<Algorithm>(collective::kAlgorithms.begin(), collective::kAlgorithms.end()));
  const auto protocol =
      *rc::gen::elementOf(std::vector<Protocol>(collective::kProtocols.begin(), collective::kProtocols.end()));
  RC_PRE(collective::why_not(*out.team, operation, algorithm, protocol).empty());
  const auto exponent = *rc::gen::inRange(0, 29);
  out.plan.operation = operation;
  out.plan.bytes = (std::uint64_t{1} << exponent) + *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << exponent);
  out.plan.choice = {algorithm, protocol, 0};
  out.plan.stack = out.job.stack;
  out.plan.pxn = *rc::gen::arbitrary<bool>();
  return out;
}

// Mostly none; else some ranks that are late, and perhaps a slow one.
collective::Conditions draw_conditions(std::uint32_t ranks) {
  collective::Conditions out;
  if (*rc::gen::inRange(0, 3) > 0) return out;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    out.starts.push_back(microseconds(*rc::gen::element<std::int64_t>(0, 0, 1, 40)));
  if (*rc::gen::arbitrary<bool>())
    out.ranks.push_back({*rc::gen::inRange<std::uint32_t>(0, ranks), *rc::gen::inRange<std::int64_t>(300, 1'000)});
  return out;
}

RC_GTEST_PROP(Bounds, AreNeverBeatenByTheSimulation, ()) {
  const Drawn drawn = draw();
  const Bounds bounds = bounds_of(*drawn.team, drawn.plan);
  const collective::Timing timing = collective::time_of(*drawn.team, drawn.plan, testing::by_lanes);
  if (timing.time < bounds.total())
    RC_FAIL(fmt::format("{} of {} GPUs on {} nodes with {} {}, {} B: bound {} ps, simulated {} ps",
                        collective::name(drawn.plan.operation), drawn.job.gpus, drawn.team->nodes(),
                        collective::name(drawn.plan.choice.algorithm), collective::name(drawn.plan.choice.protocol),
                        drawn.plan.bytes, bounds.total().count(), timing.time.count()));
}

RC_GTEST_PROP(CriticalPath, AddsUpToTheWhole, ()) {
  Drawn drawn = draw();
  const collective::Conditions conditions = draw_conditions(drawn.job.gpus);
  drawn.plan.conditions = &conditions;
  const collective::Timing timing = collective::time_of(*drawn.team, drawn.plan, testing::by_lanes);
  const auto path = critical_path(*drawn.team, drawn.plan);
  RC_PRE(path.has_value());
  // Exact where every round is run; where most are like the last, the chain may change its way once more.
  const std::int64_t apart = std::abs(path->total().count() - timing.time.count());
  RC_ASSERT(apart <= (timing.plan.whole_rounds <= 8 ? 0 : timing.time.count() / 20));
  std::int64_t waited = 0;
  for (const Breakdown::Waited& each : path->waited) waited += each.total().count();
  RC_ASSERT(waited == (*path)[Resource::waiting].count());
}

TEST(Bounds, TwoNicsOfAServerBoundARing) {
  Bench bench("{kind: hgx-h100, count: 4, nics: 2}");
  const Job job = bench.job(32);
  const collective::PlanOptions plan{.operation = job.operation,
                                     .bytes = 1 << 30,
                                     .choice = {Algorithm::ring, Protocol::simple, 0},
                                     .stack = job.stack};
  const Bounds bounds = bounds_of(*bench.machine->team(job, {}), plan);
  ASSERT_NE(bounds.tightest(), nullptr);
  EXPECT_EQ(bounds.tightest()->resource, Resource::nic);
  // 2 x 31 / 32 x 1 GiB over 100 GB/s.
  EXPECT_NEAR(static_cast<double>(bounds.tightest()->time.count()), 2.0 * 31 / 32 * (1 << 30) * 10, 1e6);
}

TEST(Bounds, NicsAreCountedAndOfWhatIsSaid) {
  const auto text = [](const std::string& servers, std::uint32_t gpus) {
    Bench bench(servers);
    const Job job = bench.job(gpus, Operation::all_to_all);
    const collective::PlanOptions plan{.operation = job.operation,
                                       .bytes = 1 << 30,
                                       .choice = {Algorithm::direct, Protocol::simple, 0},
                                       .stack = job.stack};
    for (const Bound& each : bounds_of(*bench.machine->team(job, {}), plan).bandwidths)
      if (each.resource == Resource::nic) return each.text;
    return std::string();
  };
  EXPECT_EQ(text("{kind: p5en.48xlarge, count: 2}", 16), "16 NICs of a server, 400 GB/s") << "two at each GPU";
  EXPECT_EQ(text("{kind: hgx-h100, count: 2, nics: 1}", 16), "1 NIC of a server, 50 GB/s");
  EXPECT_EQ(text("{kind: gb200-nvl72, count: 36}", 144), "72 NICs of a scale-up domain, 3600 GB/s");
}

TEST(Bounds, ANarrowFabricBoundsAllToAll) {
  Bench bench("{kind: hgx-h100, count: 4}");
  const Job job = bench.job(32, Operation::all_to_all);
  const collective::PlanOptions plan{.operation = job.operation,
                                     .bytes = 1 << 30,
                                     .choice = {Algorithm::direct, Protocol::simple, 0},
                                     .stack = job.stack};
  const Team& team = *bench.machine->team(job, {});
  EXPECT_EQ(bounds_of(team, plan).tightest()->resource, Resource::nic);
  // 16 ranks send a 32nd of their buffer to each of 16 others, over 100 GB/s.
  const Bounds narrow = bounds_of(team, plan, gigabits_per_second(800));
  EXPECT_EQ(narrow.tightest()->resource, Resource::fabric);
  EXPECT_NEAR(static_cast<double>(narrow.tightest()->time.count()), 8.0 * (1 << 30) * 10, 1e6);
}

}  // namespace
}  // namespace weft::why
