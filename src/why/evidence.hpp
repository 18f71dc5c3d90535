#pragma once
// Facts that speak for or against a cause, each with a weight. The table in evidence.cpp is all there is.

#include <string>
#include <vector>

#include "why/causes.hpp"

namespace weft::why {

// What the model gives for the machine as it is, and what was measured, at the largest size.
struct Reference {
  double expected = 0;  // busbw, GB/s
  double best = 0;      // the most that the model gives at any size
  double measured = 0;  // 0: nothing was
  std::string algorithm;
};

struct Finding {
  Cause cause = Cause::nothing_wrong;
  double weight = 0;  // logarithm of odds; above 0: for it
  std::string text;   // what was found
  std::string_view reason;
  spec::Place place;
};

// Every rule of the table: what it weighs, and why.
struct Weight {
  Cause cause;
  double weight;
  std::string_view reason;
};
std::vector<Weight> weights();

std::vector<Finding> findings(const Situation& situation, const Reference& reference, Machine& machine);

}  // namespace weft::why
