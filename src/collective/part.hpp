#pragma once
// A plan as a part of a composed schedule (schedule/composed.hpp): what a track runs when it comes to a collective,
// with its launch, again and again.

#include "collective/plan.hpp"
#include "collective/work.hpp"
#include "schedule/composed.hpp"

namespace weft::collective {

// Where the ranks of a plan are: GPUs of the cluster, behind all of them the switches of its domains, and behind those
// the switches of the network as one. Switches are to run it as often as the GPUs do.
std::vector<std::uint32_t> places_of(const fabric::Fabric& fabric, const Team& team, const Plan& plan);

// At message level: what its sends cost is in them, by shares that the plan knows. The plan outlives it.
schedule::Composed::Part timed_part(const fabric::Fabric& fabric, const Team& team, const Plan& plan);
// For executors that know links; the plan has every channel. Both outlive it.
schedule::Composed::Part carried_part(const fabric::Fabric& fabric, const Team& team, const Plan& plan,
                                      Work::Launch launch = Work::Launch::included);

}  // namespace weft::collective
