#pragma once
// The chain of passes and transfers that decides how long a step takes: from its end back to its beginning, each time
// to what the pass before had to wait for.

#include <array>
#include <vector>

#include "training/step.hpp"

namespace weft::training {

struct StepPath {
  std::array<Duration, kParts> computing = {};
  std::array<Duration, kGroups> exposed = {};
  Duration beside;
  Duration launching;
  Duration gaps;
  Duration host;
  Duration waiting;          // neither computing nor communication: slow ranks, and turns that a schedule leaves open
  std::vector<Slot> passes;  // from the first on
  std::int64_t changes = 0;  // from one stage to another

  Duration sum() const;
};

// Of a step whose slots were kept. Its sum is the step. Without slots (DualPipe, whose length is a formula) the path is
// that of the stage that computes longest.
StepPath path_of(const Step& step, const Layout& layout);

}  // namespace weft::training
