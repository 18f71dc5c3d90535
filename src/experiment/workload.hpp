#pragma once
// What an experiment runs. A new kind of work is a folder that makes schedules and one alternative here; its check and
// its run stand beside the others' (experiment.cpp).

#include <cstdint>
#include <string>
#include <variant>

#include "experiment/collectives.hpp"
#include "experiment/fidelity.hpp"
#include "experiment/traffic.hpp"
#include "experiment/training.hpp"

namespace weft::experiment {

using Workload = std::variant<Traffic, Collectives, Training>;

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;  // clang 16 does not find it by itself

// "permutation of 64 nodes, 2MB each", "all_reduce of 64 GPUs".
std::string describe(const Workload& workload);
// Of what decides it, whatever carries it: the same for equal work.
std::uint64_t fingerprint(const Workload& workload);
// By which it is run where nobody says: packets where queues decide, message level where shares of links tell enough.
Fidelity usual_fidelity(const Workload& workload);
// Whether one may be compared with the other. Of training, model and batch are what is done; layout and stack are how.
bool same_work(const Workload& one, const Workload& other);

}  // namespace weft::experiment
