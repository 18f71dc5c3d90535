#include "collective/carried.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "collective/part.hpp"
#include "collective/timing.hpp"

namespace weft::collective {
namespace {

// What a round takes is known when two figures for it differ by less than this part of it.
constexpr std::int64_t kSteady = 50;
// Channels begin nearly in step, and take some rounds to get out of it.
constexpr std::uint64_t kInStep = 4;
// A chain's rounds follow each other at a chunk's distance: all of the first ones are over before windows are open and
// queues are as long as they will be.
constexpr std::uint64_t kInStepInChains = 32;

struct Outcome {
  std::vector<Plan> plans;
  std::vector<std::int64_t> ends;  // by job, ps
  schedule::RunResult run;
  std::uint64_t messages = 0;
};

PlanOptions options_for(const CarriedJob& job, std::uint64_t rounds) {
  PlanOptions options = job.options;
  options.every_channel = true;
  options.network = nullptr;  // links share themselves
  options.most_rounds = rounds;
  return options;
}

Outcome run(const fabric::Fabric& fabric, const std::vector<CarriedJob>& jobs, std::uint64_t rounds,
            const CarriedLimits& limits, const Carry& execute) {
  Outcome made;
  std::vector<schedule::Composed::Part> parts;
  std::uint32_t ranks = fabric.cluster().gpus;
  for (const CarriedJob& job : jobs) {
    made.plans.push_back(make_plan(*job.team, options_for(job, rounds)));
    for (const auto& program : made.plans.back().programs) made.messages += program->messages();
  }
  if (limits.messages > 0 && made.messages > limits.messages) {
    made.run.stopped_by = "messages";
    return made;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    parts.push_back(carried_part(fabric, *jobs[i].team, made.plans[i], Work::Launch::left_out));
    for (const std::uint32_t place : parts.back().places) ranks = std::max(ranks, place + 1);
  }
  auto steps = std::make_unique<schedule::WrittenSteps>(ranks);
  for (std::uint32_t part = 0; part < parts.size(); ++part)
    for (const std::uint32_t place : parts[part].places) steps->add(place, {schedule::Step::run(part)});
  schedule::Composed work(ranks, std::move(parts), std::move(steps));
  made.run = execute(work);
  if (made.run.stopped_by.empty() && made.run.unfinished > 0) made.run.stopped_by = "unfinished";
  made.ends.resize(jobs.size());
  for (const schedule::FlowRecord& flow : made.run.flows) {
    std::int64_t& end = made.ends[schedule::Composed::part_of(flow.tag)];
    end = std::max({end, flow.start.count(), flow.received.count()});
  }
  return made;
}

// Of every job, so that a few stand for many; 0: they differ.
std::uint64_t rounds_of(const std::vector<CarriedJob>& jobs) {
  std::uint64_t rounds = 0;
  for (const CarriedJob& job : jobs) {
    const std::uint64_t whole = make_plan(*job.team, options_for(job, 1)).whole_rounds;
    if (&job != jobs.data() && whole != rounds) return 0;
    rounds = whole;
  }
  return rounds;
}

CarriedResult result_of(Outcome outcome, const std::vector<std::int64_t>& more, std::uint64_t skipped,
                        std::uint64_t messages) {
  CarriedResult made;
  made.messages = messages;
  made.stopped_by = outcome.run.stopped_by;
  made.run = std::move(outcome.run);
  if (!made.stopped_by.empty()) return made;
  for (std::size_t i = 0; i < outcome.plans.size(); ++i) {
    Plan& plan = outcome.plans[i];
    const Duration time = std::max(plan.least, plan.launch + Duration(outcome.ends[i] + more[i]));
    made.jobs.push_back({std::move(plan), time, skipped, Duration(outcome.ends[i] + more[i])});
  }
  return made;
}

// Whether rounds have come one behind another for three times as long as the first was on its way: before, those that
// go up a tree are over before any comes down, and links that both cross have room.
bool filled(const Outcome& made, std::int64_t each, std::size_t job, std::uint64_t rounds) {
  return 4 * each * static_cast<std::int64_t>(rounds) >= 3 * made.ends[job];
}

// Per round, of what came between two runs.
std::int64_t slope(const Outcome& shorter, const Outcome& longer, std::size_t job, std::uint64_t rounds) {
  return (longer.ends[job] - shorter.ends[job]) / static_cast<std::int64_t>(rounds);
}

}  // namespace

std::string why_not_carried(const Team& team, Algorithm algorithm) {
  if (algorithm == Algorithm::collnet) return "switches of the network reduce at message level only";
  const auto& scale_up = team.group(0).spec.scale_up;
  if ((algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree) && (!scale_up || scale_up->switches == 0))
    return "there are no switches that could reduce";
  return "";
}

namespace {

CarriedResult carry_once(const fabric::Fabric& fabric, const std::vector<CarriedJob>& jobs, const CarriedLimits& limits,
                         const Carry& execute) {
  std::uint64_t messages = 0;
  const auto go = [&](std::uint64_t rounds) {
    Outcome made = run(fabric, jobs, rounds, limits, execute);
    messages += made.messages;
    return made;
  };
  const std::vector<std::int64_t> nothing(jobs.size());
  // Few rounds, or others for each job: all are run.
  const bool chains =
      std::any_of(jobs.begin(), jobs.end(), [](const CarriedJob& job) { return overlaps_itself(job.options); });
  const std::uint64_t in_step = chains ? kInStepInChains : kInStep;
  const std::uint64_t whole = rounds_of(jobs);  // beside a shorter one, which stays the last
  if (whole <= 2 * in_step) return result_of(go(0), nothing, 0, messages);
  std::uint64_t rounds = in_step / 2;
  Outcome first = go(rounds);
  if (!first.run.stopped_by.empty()) return result_of(std::move(first), nothing, 0, messages);
  std::vector<std::int64_t> before;  // slopes
  while (2 * rounds < whole) {
    Outcome second = go(2 * rounds);
    if (!second.run.stopped_by.empty()) return result_of(std::move(second), nothing, 0, messages);
    std::vector<std::int64_t> slopes;
    for (std::size_t job = 0; job < jobs.size(); ++job) slopes.push_back(slope(first, second, job, rounds));
    const bool settled = second.run.counters.marked == 0 || first.run.end >= limits.settles;
    bool steady = !before.empty() && rounds >= in_step && settled;
    for (std::size_t job = 0; steady && job < jobs.size(); ++job)
      steady = std::abs(slopes[job] - before[job]) * kSteady <= slopes[job] &&
               (chains || filled(second, slopes[job], job, 2 * rounds));
    rounds *= 2;
    first = std::move(second);
    if (steady) {
      std::vector<std::int64_t> more;
      for (const std::int64_t each : slopes) more.push_back(each * static_cast<std::int64_t>(whole - rounds));
      return result_of(std::move(first), more, whole - rounds, messages);
    }
    before = std::move(slopes);
  }
  return result_of(go(0), nothing, 0, messages);
}

}  // namespace

std::uint64_t least_carried(const CarriedJob& job) {
  const auto messages = [&](std::uint64_t rounds) {
    std::uint64_t sum = 0;
    for (const auto& program : make_plan(*job.team, options_for(job, rounds)).programs) sum += program->messages();
    return sum;
  };
  const std::uint64_t in_step = overlaps_itself(job.options) ? kInStepInChains : kInStep;
  if (rounds_of({job}) <= 2 * in_step) return messages(0);
  return messages(in_step / 2) + messages(in_step) + messages(2 * in_step);
}

// Of one among many, as at message level (timing.hpp): what some more behind the first take.
CarriedResult carry(const fabric::Fabric& fabric, const std::vector<CarriedJob>& jobs, const CarriedLimits& limits,
                    const Carry& execute) {
  CarriedResult made = carry_once(fabric, jobs, limits, execute);
  if (!made.stopped_by.empty() ||
      std::none_of(jobs.begin(), jobs.end(), [](const CarriedJob& job) { return overlaps_itself(job.options); }))
    return made;
  std::vector<CarriedJob> longer = jobs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // One that goes through many rounds has the others beside it all the while.
    const bool overlaps = overlaps_itself(jobs[i].options);
    const Plan& plan = made.jobs[i].plan;
    if (overlaps || plan.whole_rounds > 1) longer[i].options.bytes *= 1 + kMoreBehind;
    longer[i].options.chunk = overlaps ? longest_step(plan, jobs[i].options.bytes) : plan.chunk;
    longer[i].options.choice.channels = made.jobs[i].plan.choice.channels;
  }
  CarriedResult several = carry_once(fabric, longer, limits, execute);
  several.messages += made.messages;
  if (!several.stopped_by.empty()) return several;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!overlaps_itself(jobs[i].options)) continue;
    CarriedTime& job = made.jobs[i];
    job.time = std::max(job.plan.least, job.plan.launch + (several.jobs[i].carried - job.carried) / kMoreBehind);
  }
  made.messages = several.messages;
  return made;
}

}  // namespace weft::collective
