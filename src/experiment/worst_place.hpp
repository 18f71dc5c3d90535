#pragma once
// Faults between switches, of more GPUs than can be looked at one by one. Whoever is behind such a part meets it, so
// every place of the tree is taken to be as narrow as the narrowest one: a collective waits for its slowest step,
// wherever that is, and places stay alike.

#include <cstdint>
#include <optional>

#include "experiment/experiment.hpp"

namespace weft::experiment {

// Millionths that faults leave of what the narrowest leaf, and the narrowest pod, has upwards.
struct WorstPlace {
  std::uint32_t leaf = 1'000'000;
  std::uint32_t pod = 1'000'000;
};

// Nothing: no faults, some at a NIC or not for good, or the network is no tree of one site over which packets are
// spread.
std::optional<WorstPlace> narrowest_place(const Design& design, const Experiment& experiment);
// The same where it stands for all; nothing: every GPU can be looked at.
std::optional<WorstPlace> worst_place(const Design& design, const Experiment& experiment);

}  // namespace weft::experiment
