#pragma once
// The same traffic run with several fidelities: how far the others are from the first, the most detailed one.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "report/sim_summary.hpp"
#include "schedule/fidelity.hpp"

namespace weft::report {

struct FidelityRun {
  schedule::Fidelity fidelity = schedule::Fidelity::packet;
  Duration end = {};
  std::optional<Quantiles> completion;
};

// How far a figure is from that of the first run, as a part of it: -0.02 is 2 % less.
double difference(std::int64_t figure, std::int64_t first);

// At least two runs. A table, and one "difference" record.
std::string difference_text(const std::vector<FidelityRun>& runs, std::size_t width, bool colour);
void write_difference(std::uint64_t seed, const std::vector<FidelityRun>& runs, std::ostream& out);

}  // namespace weft::report
