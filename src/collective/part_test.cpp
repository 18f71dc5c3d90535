// Collectives and computations as steps of one schedule, at every fidelity.

#include "collective/part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "collective/testing_carried.hpp"

namespace weft::collective {
namespace {

using schedule::Composed;
using schedule::RunResult;
using testing::by_flows;
using testing::by_packets;
using testing::kRails;
using testing::Machines;
using testing::Network;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::int64_t kMicrosecond = 1'000'000;

using schedule::Fidelity;
using schedule::kFidelities;

std::vector<std::uint32_t> first_gpus(std::uint32_t count) {
  std::vector<std::uint32_t> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0u);
  return gpus;
}

//   server 0: GPU 0-7   server 1: GPU 8-15    eight rails
struct Cluster {
  Machines machines{"{kind: hgx-h100, count: 2}", kRails};
  Team all{machines.fabric, first_gpus(16)};
  Team first{machines.fabric, first_gpus(8)};
  Team second{machines.fabric, {8, 9, 10, 11, 12, 13, 14, 15}};
};
const Cluster& cluster() {
  static const Cluster made;
  return made;
}

struct Job {
  const Team* team;
  Operation operation;
  std::uint64_t bytes;
  Algorithm algorithm = Algorithm::ring;
  std::string_view stack = "ib";

  PlanOptions options() const {
    return {.operation = operation,
            .bytes = bytes,
            .choice = {algorithm, Protocol::simple, 0},
            .stack = stack_named(stack)};
  }
};
Job all_reduce(std::uint64_t bytes) { return {&cluster().all, Operation::all_reduce, bytes}; }
Job all_gather(std::uint64_t bytes) { return {&cluster().all, Operation::all_gather, bytes}; }

struct Outcome {
  RunResult run;
  std::vector<std::int64_t> parts;  // by part: when its last message was there
};

using Tracks = std::function<std::vector<std::vector<schedule::Step>>(std::uint32_t gpu)>;

// Switches that reduce do so as often as the first GPU of the part asks them to.
void add_switches(std::uint32_t gpus, const std::vector<Composed::Part>& parts, const Tracks& tracks,
                  schedule::WrittenSteps& steps) {
  for (std::uint32_t part = 0; part < parts.size(); ++part)
    for (const std::uint32_t place : parts[part].places) {
      if (place < gpus) continue;
      std::vector<schedule::Step> all;
      for (const auto& track : tracks(parts[part].places[0]))
        for (const schedule::Step& step : track)
          if (step.part == part) all.push_back(step);
      steps.add(place, all);
    }
}

Outcome run(Fidelity fidelity, const std::vector<Job>& jobs, const Tracks& tracks, std::uint32_t threads = 1) {
  const fabric::Fabric& fabric = cluster().machines.fabric;
  const std::uint32_t gpus = fabric.cluster().gpus;
  std::uint32_t ranks = gpus;
  std::deque<Plan> plans;
  std::vector<Composed::Part> parts;
  for (const Job& job : jobs) {
    PlanOptions options = job.options();
    options.every_channel = fidelity != Fidelity::message;
    plans.push_back(make_plan(*job.team, options));
    parts.push_back(fidelity == Fidelity::message ? timed_part(fabric, *job.team, plans.back())
                                                  : carried_part(fabric, *job.team, plans.back()));
    for (const std::uint32_t place : parts.back().places) ranks = std::max(ranks, place + 1);
  }
  auto steps = std::make_unique<schedule::WrittenSteps>(ranks);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
    for (const auto& track : tracks(gpu)) steps->add(gpu, track);
  add_switches(gpus, parts, tracks, *steps);
  Composed work(ranks, std::move(parts), std::move(steps));
  Outcome made;
  if (fidelity == Fidelity::message) {
    std::vector<schedule::FlowRecord> flows;
    sim::LaneConfig config;
    config.sent = [&](const schedule::FlowRecord& flow) { flows.push_back(flow); };
    made.run = sim::run_lanes(work, config).run;
    made.run.flows = std::move(flows);
  } else {
    made.run = fidelity == Fidelity::flow ? by_flows(fabric, Network::spread)(work)
                                          : by_packets(fabric, Network::spread, 1, threads)(work);
  }
  EXPECT_EQ(made.run.unfinished, 0u);
  made.parts.resize(jobs.size());
  for (const schedule::FlowRecord& flow : made.run.flows) {
    std::int64_t& end = made.parts.at(Composed::part_of(flow.tag));
    end = std::max(end, flow.received.count());
  }
  return made;
}

Outcome run(Fidelity fidelity, const std::vector<Job>& jobs, const std::vector<std::vector<schedule::Step>>& tracks,
            std::uint32_t threads = 1) {
  return run(
      fidelity, jobs, [&](std::uint32_t) { return tracks; }, threads);
}

std::int64_t alone(Fidelity fidelity, const Job& job) {
  return run(fidelity, {job}, {{schedule::Step::run(0)}}).run.end.count();
}

double ratio(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// ---- at message level, where nothing is shared: to the picosecond

TEST(CollectivePart, AloneTakesWhatItsTimingSays) {
  for (const Job& job : {all_reduce(8 * kMiB),
                         {&cluster().all, Operation::all_reduce, 8 * kMiB, Algorithm::tree},
                         {&cluster().first, Operation::all_reduce, 8 * kMiB, Algorithm::nvls},
                         {&cluster().all, Operation::broadcast, 8 * kMiB, Algorithm::ring, "ib-pytorch"},
                         {&cluster().first, Operation::send_recv, 8, Algorithm::direct, "ib-one-process"}}) {
    const Timing timing = time_of(*job.team, job.options(), testing::by_lanes);
    const auto members = [&](std::uint32_t gpu) {
      return std::vector<std::vector<schedule::Step>>(gpu < job.team->ranks() ? 1 : 0, {schedule::Step::run(0)});
    };
    EXPECT_EQ(run(Fidelity::message, {job}, members).run.end.count(), timing.time.count());
    EXPECT_EQ(timing.time == timing.plan.least, job.stack == "ib-one-process");
  }
}

TEST(CollectivePart, ComputingBesideItTakesTheLongerOfBoth) {
  const Job job = all_reduce(16 * kMiB);
  for (const Fidelity fidelity : {Fidelity::message, Fidelity::flow}) {
    const std::int64_t time = alone(fidelity, job);
    for (const std::int64_t computing : {time / 2, time * 2})
      EXPECT_EQ(run(fidelity, {job}, {{schedule::Step::compute(Duration(computing))}, {schedule::Step::run(0)}})
                    .run.end.count(),
                std::max(time, computing));
  }
}

// Gradients are reduced while the backward pass goes on; the next step needs both.
//
//   compute  |--- 100 us ---|--- 100 us ---|   wait   |- 50 us -|
//   network                 |------ all-reduce -------|
TEST(CollectivePart, TracksWaitForEachOtherInBothDirections) {
  const Job job = all_reduce(64 * kMiB);
  for (const Fidelity fidelity : {Fidelity::message, Fidelity::flow}) {
    const std::int64_t time = alone(fidelity, job);
    ASSERT_GT(time, 200 * kMicrosecond);
    const Outcome both = run(fidelity, {job},
                             {{schedule::Step::compute(Duration(100 * kMicrosecond)), schedule::Step::record(0),
                               schedule::Step::compute(Duration(100 * kMicrosecond)), schedule::Step::await(1),
                               schedule::Step::compute(Duration(50 * kMicrosecond))},
                              {schedule::Step::await(0), schedule::Step::run(0), schedule::Step::record(1)}});
    EXPECT_NEAR(ratio(both.run.end.count() - 150 * kMicrosecond, time), 1,
                fidelity == Fidelity::message ? 1e-12 : 0.001);
  }
}

// ---- after each other

TEST(CollectivePart, ASequenceTakesTheSumOfItsParts) {
  const Job first = all_reduce(8 * kMiB);
  const Job second = all_gather(16 * kMiB);
  for (const Fidelity fidelity : kFidelities) {
    const std::int64_t sum = alone(fidelity, first) + alone(fidelity, second);
    const Outcome both = run(fidelity, {first, second}, {{schedule::Step::run(0), schedule::Step::run(1)}});
    EXPECT_NEAR(ratio(both.run.end.count(), sum), 1, 0.01) << static_cast<int>(fidelity);
    const Outcome apart =
        run(fidelity, {first, second},
            {{schedule::Step::run(0), schedule::Step::compute(Duration(70 * kMicrosecond)), schedule::Step::run(1)}});
    EXPECT_NEAR(ratio(apart.run.end.count(), sum + 70 * kMicrosecond), 1, 0.01) << static_cast<int>(fidelity);
  }
}

TEST(CollectivePart, APartIsRunAgainAndAgain) {
  const Job job = all_reduce(kMiB);
  for (const Fidelity fidelity : {Fidelity::message, Fidelity::flow}) {
    const std::int64_t time = alone(fidelity, job);
    const Outcome many = run(fidelity, {job}, {std::vector<schedule::Step>(20, schedule::Step::run(0))});
    // Ranks that are done first begin with the next, while others are still at work.
    EXPECT_GT(ratio(many.run.end.count(), 20 * time), 0.95) << static_cast<int>(fidelity);
    EXPECT_LE(ratio(many.run.end.count(), 20 * time), 1.001) << static_cast<int>(fidelity);
    EXPECT_EQ(many.run.flows.size() % 20, 0u);
  }
}

TEST(CollectivePart, SwitchesReduceAgainAndAgain) {
  const Job job{&cluster().first, Operation::all_reduce, 16 * kMiB, Algorithm::nvls};
  for (const Fidelity fidelity : kFidelities) {
    const auto times = [&](std::size_t count) {
      return run(fidelity, {job},
                 [&](std::uint32_t gpu) {
                   return std::vector<std::vector<schedule::Step>>(
                       gpu < 8 ? 1 : 0, std::vector<schedule::Step>(count, schedule::Step::run(0)));
                 })
          .run.end.count();
    };
    EXPECT_NEAR(ratio(times(3), 3 * times(1)), 1, 0.02) << static_cast<int>(fidelity);
  }
}

TEST(CollectivePart, ARankThatComputesLongerHoldsUpTheOthers) {
  const Job job = all_reduce(8 * kMiB);
  const std::int64_t late = 10'000 * kMicrosecond;
  for (const Fidelity fidelity : kFidelities) {
    const std::int64_t time = alone(fidelity, job);
    const Outcome made = run(fidelity, {job}, [&](std::uint32_t gpu) -> std::vector<std::vector<schedule::Step>> {
      return {{schedule::Step::compute(Duration(gpu == 5 ? late : 0)), schedule::Step::run(0)}};
    });
    // The others have done what they can without it: a sixteenth of each round.
    EXPECT_GT(made.run.end.count(), late + time * 8 / 10) << static_cast<int>(fidelity);
    EXPECT_LE(made.run.end.count(), late + time * 101 / 100) << static_cast<int>(fidelity);
  }
}

// A collective of each server, and then one of both.
TEST(CollectivePart, TeamsMayDifferFromStepToStep) {
  const std::vector<Job> jobs = {{&cluster().first, Operation::reduce_scatter, 32 * kMiB},
                                 {&cluster().second, Operation::reduce_scatter, 64 * kMiB},
                                 all_reduce(4 * kMiB)};
  for (const Fidelity fidelity : {Fidelity::message, Fidelity::flow}) {
    const std::int64_t slower =
        run(fidelity, {jobs[1]}, [](std::uint32_t gpu) {
          return std::vector<std::vector<schedule::Step>>(gpu < 8 ? 0 : 1, {schedule::Step::run(0)});
        }).run.end.count();
    const Outcome made = run(fidelity, jobs, [](std::uint32_t gpu) -> std::vector<std::vector<schedule::Step>> {
      return {{schedule::Step::run(gpu < 8 ? 0 : 1), schedule::Step::run(2)}};
    });
    const std::int64_t expected = slower + alone(fidelity, jobs[2]);
    EXPECT_GT(ratio(made.run.end.count(), expected), 0.85);
    EXPECT_LT(ratio(made.run.end.count(), expected), 1.01);
  }
}

// ---- beside each other

// Of the same shape, so that only the part tells whose a message is; ranks come to them in different order of time.
TEST(CollectivePart, MessagesOfTwoPartsDoNotMix) {
  const std::vector<Job> jobs = {all_reduce(kMiB), all_reduce(32 * kMiB)};
  const Outcome made = run(Fidelity::message, jobs, [](std::uint32_t gpu) -> std::vector<std::vector<schedule::Step>> {
    const std::int64_t late = gpu % 3 * 10 * kMicrosecond;
    return {{schedule::Step::compute(Duration(late)), schedule::Step::run(0)},
            {schedule::Step::compute(Duration(20 * kMicrosecond - late)), schedule::Step::run(1)}};
  });
  for (std::uint32_t part = 0; part < 2; ++part) {
    const Outcome single =
        run(Fidelity::message, jobs, [&](std::uint32_t gpu) -> std::vector<std::vector<schedule::Step>> {
          const std::int64_t late = gpu % 3 * 10 * kMicrosecond;
          return {{schedule::Step::compute(Duration(part == 0 ? late : 20 * kMicrosecond - late)),
                   schedule::Step::run(part)}};
        });
    EXPECT_EQ(made.parts[part], single.parts[part]);
  }
}

TEST(CollectivePart, TwoTracksShareTheLinks) {
  const std::vector<Job> jobs = {all_reduce(64 * kMiB), all_reduce(64 * kMiB)};
  const std::int64_t time = alone(Fidelity::flow, jobs[0]);
  const Outcome both = run(Fidelity::flow, jobs, {{schedule::Step::run(0)}, {schedule::Step::run(1)}});
  EXPECT_GT(ratio(both.run.end.count(), time), 1.5) << "links are shared, latencies are not";
  EXPECT_LT(ratio(both.run.end.count(), time), 2.05);
  // In servers of their own they have nothing to share.
  const std::vector<Job> apart = {{&cluster().first, Operation::all_reduce, 64 * kMiB},
                                  {&cluster().second, Operation::all_reduce, 64 * kMiB}};
  const auto one_each = [&](std::uint32_t gpu) -> std::vector<std::vector<schedule::Step>> {
    return {{schedule::Step::run(gpu / 8)}};
  };
  const Outcome made = run(Fidelity::flow, apart, one_each);
  EXPECT_EQ(made.parts[0], made.parts[1]);
}

TEST(CollectivePart, EqualRunsAreEqualAtEveryFidelityAndOnAnyNumberOfThreads) {
  const std::vector<Job> jobs = {all_reduce(2 * kMiB), all_gather(2 * kMiB)};
  const std::vector<std::vector<schedule::Step>> tracks = {
      {schedule::Step::run(0), schedule::Step::record(0), schedule::Step::compute(Duration(kMicrosecond))},
      {schedule::Step::await(0), schedule::Step::run(1)}};
  for (const Fidelity fidelity : kFidelities)
    EXPECT_EQ(run(fidelity, jobs, tracks, 1).run.digest, run(fidelity, jobs, tracks, 3).run.digest);
}

}  // namespace
}  // namespace weft::collective
