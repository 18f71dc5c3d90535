#pragma once
// Which cause explains a measurement best. Each cause is a changed model that is simulated for the measured sizes;
// then, as Bayes has it,
//
//   odds of a cause = how common it is x likelihood of what was measured x odds of what the files say
//
// The likelihood is of ln(measured / predicted), with the model's own error as its spread and heavy tails, so that
// nothing is ruled out by rows that the model does not understand. Rows of one regime (latency, transition, bandwidth)
// err together and count as two at most. A cause with several variants is their average: who can be anything explains
// little.

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

struct Diagnosis {
  std::vector<Observation> observations;  // those that were looked at
  std::vector<std::uint64_t> sizes;       // that were simulated where nothing was measured
  std::vector<double> expected;           // busbw, like Hypothesis::predicted
  Reference reference;
  std::vector<Hypothesis> ranked;          // best first
  std::vector<Hypothesis> without_effect;  // the files speak for it, and the model says that it changes nothing here
  bool explained = true;                   // the first predicts large messages within a third
};

// The machine can carry out the job.
Diagnosis diagnose(const Situation& situation, Machine& machine);

}  // namespace weft::why
