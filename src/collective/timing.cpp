#include "collective/timing.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "collective/alike.hpp"
#include "collective/work.hpp"

namespace weft::collective {
namespace {

// Rounds that are run before it is looked whether they repeat, and how many more are tried until they do.
constexpr std::uint64_t kFewRounds = 6;
constexpr std::uint64_t kManyRounds = 400;
// From how many on, and how many times smaller than a round its deviations, the mean of all ranks may stand for it.
constexpr std::uint64_t kEnoughRounds = 2 * kFewRounds;
constexpr std::int64_t kLevel = 50;

struct Outcome {
  Plan plan;
  Ends ends;
  Duration end() const { return *std::max_element(ends.ends.begin(), ends.ends.end()); }
};

Outcome run(const Team& team, PlanOptions options, std::uint64_t rounds, const Execute& execute) {
  options.most_rounds = rounds;
  Outcome outcome{make_plan(team, options), {}};
  Work work(outcome.plan, outcome.plan.different);
  outcome.ends = execute(work, outcome.plan);
  return outcome;
}

// All ranks were delayed by the same time.
bool repeats(const Outcome& first, const Outcome& second, const Outcome& third) {
  for (std::size_t rank = 0; rank < first.ends.ends.size(); ++rank) {
    const auto end = [rank](const Outcome& each) { return each.ends.ends[rank]; };
    if (end(third) - end(second) != end(second) - end(first)) return false;
  }
  return true;
}

// What a round takes when all ranks take about the same for each; 0: they do not.
std::int64_t mean_round(const Outcome& first, const Outcome& second, const Outcome& third) {
  std::int64_t least = INT64_MAX, most = 0, all = 0;
  const std::size_t ranks = first.ends.ends.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t before = (second.ends.ends[rank] - first.ends.ends[rank]).count();
    const std::int64_t after = (third.ends.ends[rank] - second.ends.ends[rank]).count();
    least = std::min({least, before, after});
    most = std::max({most, before, after});
    all += (before + after) / 2;
  }
  return most - least <= least / kLevel ? all / static_cast<std::int64_t>(ranks) : 0;
}

Timing timing(Outcome outcome, Duration more, std::uint64_t skipped) {
  const Duration time = std::max(outcome.plan.least, outcome.plan.launch + outcome.end() + more);
  return {std::move(outcome.plan), time, outcome.ends.messages, skipped, std::move(outcome.ends.stopped_by)};
}

Timing time_in_rounds(const Team& team, const PlanOptions& options, const Execute& execute) {
  if (team.ranks() > kMostByThemselves && why_not_alike(team, options).empty()) {
    const auto time = [&](const Team& some, const PlanOptions& part) { return time_in_rounds(some, part, execute); };
    if (auto made = time_alike(team, options, time)) return std::move(*made);
  }
  if (team.ranks() > kMostOneByOne) return {{}, {}, 0, 0, "messages"};
  Outcome first = run(team, options, kFewRounds, execute);
  const std::uint64_t whole = first.plan.whole_rounds;  // beside a shorter one, which stays the last
  if (whole <= kFewRounds || !first.ends.stopped_by.empty()) return timing(std::move(first), {}, 0);
  for (std::uint64_t rounds = kFewRounds; rounds + 2 < whole && rounds < kManyRounds; rounds *= 2) {
    if (rounds > kFewRounds) first = run(team, options, rounds, execute);
    const Outcome second = run(team, options, rounds + 1, execute);
    const Outcome third = run(team, options, rounds + 2, execute);
    const bool exactly = repeats(first, second, third);
    const Duration period = exactly                   ? third.end() - second.end()
                            : rounds >= kEnoughRounds ? Duration(mean_round(first, second, third))
                                                      : Duration(0);
    if (!exactly && period == Duration(0)) continue;
    return timing(std::move(first), period * static_cast<std::int64_t>(whole - rounds), whole - rounds);
  }
  return timing(run(team, options, 0, execute), {}, 0);
}

}  // namespace

// Shares are of links on which all steps are at work at once. Where steps wait for latencies they are not, and the
// network has room: then it holds nobody up for longer than its busiest link is at work, and the first chunk is on its
// way.
Timing time_of(const Team& team, const PlanOptions& options, const Execute& execute) {
  Timing made = time_in_rounds(team, options, execute);
  const bool in_patterns = options.operation == Operation::all_to_all;  // whose shares are of what is at work
  if (!made.plan.bound_by_network || in_patterns || !made.stopped_by.empty()) return made;
  PlanOptions alone = options;
  alone.network = nullptr;
  alone.chunk = made.plan.chunk;
  alone.choice.channels = made.plan.choice.channels;
  const Timing without = time_in_rounds(team, alone, execute);
  alone.bytes = std::min<std::uint64_t>(options.bytes, std::uint64_t{team.ranks()} * made.plan.choice.channels);
  const Timing first = time_in_rounds(team, alone, execute);
  made.messages += without.messages + first.messages;
  if (!without.stopped_by.empty() || !first.stopped_by.empty()) return made;
  made.time = std::min(made.time, std::max(without.time, first.time + made.plan.network_time));
  return made;
}

bool overlaps_itself(const PlanOptions& options) {
  const bool one_way = options.operation == Operation::broadcast || options.operation == Operation::reduce;
  return one_way && (options.conditions == nullptr || !options.conditions->of_ranks());
}

std::uint64_t longest_step(const Plan& plan, std::uint64_t bytes) {
  const std::uint64_t of_a_channel = (bytes + plan.choice.channels - 1) / plan.choice.channels;
  return std::min(plan.chunk, std::max<std::uint64_t>(1, of_a_channel));
}

Timing time_among_many(const Team& team, const PlanOptions& options, const Execute& execute) {
  Timing made = time_of(team, options, execute);
  if (!overlaps_itself(options) || !made.stopped_by.empty()) return made;
  // Several of them are one of so many times the bytes, in the same chunks, but for the launches. What issuing takes
  // hides none of the difference.
  Stack prompt = *options.stack;
  prompt.launch = {prompt.launch.name, prompt.launch.text, 0, 0, 0, 0};
  PlanOptions longer = options;
  longer.stack = &prompt;
  longer.chunk = longest_step(made.plan, options.bytes);
  longer.choice.channels = made.plan.choice.channels;
  longer.network = nullptr;
  const Timing once = time_of(team, longer, execute);
  longer.bytes *= 1 + kMoreBehind;
  const Timing several = time_of(team, longer, execute);
  // In the long run each takes as long as its slowest part: those of servers, or the busiest link of the network.
  const Duration each = std::max((several.time - once.time) / kMoreBehind, made.plan.network_time);
  made.time = std::max(made.plan.least, made.plan.launch + each);
  made.messages += once.messages + several.messages;
  made.stopped_by = once.stopped_by.empty() ? several.stopped_by : once.stopped_by;
  return made;
}

}  // namespace weft::collective
