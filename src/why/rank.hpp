#pragma once
// Which cause explains a measurement best. Each cause is a changed model that is simulated for the measured sizes;
// then, as Bayes has it,
//
//   odds of a cause = how common it is x likelihood of what was measured x odds of what the files say
//
// The likelihood is of ln(measured / predicted), with heavy tails, so that nothing is ruled out by
// rows that the model does not understand. Its spread is the model's own error where a cause says
// exactly what is different, and wider where it is open how bad it is; that is one more unknown,
// and its odds are lower by as much as the spread is wider: what would fit any figure explains none. A
// cause with several variants is their average, for the same reason. Rows of one regime (latency,
// transition, bandwidth) err together and count as two at most.
//
// What the files say outright, and what does not explain all of it, is joined with every other
// cause: two things can be wrong at once. Their odds are those of both, times how seldom a second
// thing is wrong. The odds of a pair count half for each of its causes.

#include <functional>
#include <vector>

#include "why/evidence.hpp"

namespace weft::why {

struct Hypothesis {
  Cause cause = Cause::nothing_wrong;
  Variant variant = {};                // that fits best
  std::vector<double> predicted = {};  // busbw, GB/s, by observation, or by size without any
  double log_odds = 0;                 // of which fit and prior are one part,
  double evidence = 0;                 // and the weights of the findings the other
  double share = 0;                    // of all odds, 0 to 1
  double median_error = 0;             // of busbw, without sign; 0 without observations
  double worst_error = 0;
  std::vector<Finding> findings = {};
};

// Two causes that explain clearly better together than any of them alone.
struct Pair {
  Cause first = Cause::nothing_wrong;  // of which the files tell
  Cause second = Cause::nothing_wrong;
  Variant variant = {};
  std::vector<double> predicted = {};
  double share = 0;
  double median_error = 0;
};

struct Diagnosis {
  std::vector<Observation> observations;  // those that were looked at
  std::vector<std::uint64_t> sizes;       // that were simulated where nothing was measured
  std::vector<double> expected;           // busbw, like Hypothesis::predicted
  Reference reference;
  std::vector<Hypothesis> ranked;  // best first
  std::optional<Pair> pair;
  std::vector<Hypothesis> without_effect;  // the files speak for it, and the model says that it changes nothing here
  bool explained = true;                   // the pair, or the first, predicts large messages within a third
};

// Asked before each cause, with how many of how many were tried; false: no more, the others rank as if they could not
// be.
using GoesOn = std::function<bool(std::size_t tried, std::size_t causes)>;

// The machine can carry out the job.
Diagnosis diagnose(const Situation& situation, Machine& machine, const GoesOn& goes_on = {});

}  // namespace weft::why
