#pragma once
// How long a plan takes at message level, by whatever executor is handed in.
//
// A program goes through rounds, and in each every lane does the same. With fixed costs, when two rounds in turn delay
// every rank by the same time, so does every further one: the lanes' times after a round follow from those before it
// by additions and maxima alone (a max-plus system that has reached its period). So long plans are run with a few
// rounds, and the others are added. A period may be of several rounds, in which ranks take turns at being late: where
// rounds differ by less than a fiftieth of one, their mean is added.

#include <functional>

#include "collective/plan.hpp"
#include "schedule/schedule.hpp"

namespace weft::collective {

struct Ends {
  std::vector<Duration> ends;  // by rank
  std::uint64_t messages = 0;
  std::string stopped_by;  // empty: everything was done
};

// Runs a schedule whose messages say all they cost: what they occupy their lanes, and what they lag.
using Execute = std::function<Ends(schedule::Schedule& schedule, const Plan& plan)>;

struct Timing {
  Plan plan;
  Duration time;               // from the launch until the last rank is done
  std::uint64_t messages = 0;  // that were simulated
  std::uint64_t skipped = 0;   // rounds that were not
  std::string stopped_by;      // not empty: the time is not to be used
};

Timing time_of(const Team& team, const PlanOptions& options, const Execute& execute);

// Whether one begins before the one before it is done: data go one way only, and ranks come at the same time.
bool overlaps_itself(const PlanOptions& options);
// Of a plan, the most that a step of it has: several that follow each other are cut there, too.
std::uint64_t longest_step(const Plan& plan, std::uint64_t bytes);
// How many more are looked at behind the first, so that what the way through the chain takes does not count.
inline constexpr std::int64_t kMoreBehind = 8;

// Of one among many that follow each other, as nccl-tests measures. That is a difference where data go one way only,
// for broadcast and reduce: the ranks that are done first begin with the next, while the others are still at work, so
// how long it takes until the first data have gone all the way does not count.
Timing time_among_many(const Team& team, const PlanOptions& options, const Execute& execute);

}  // namespace weft::collective
