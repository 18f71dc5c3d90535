#pragma once
// Constants fitted to tables, by a procedure simple enough to be believed: one number after the other is made a little
// larger or smaller for as long as that brings the simulation nearer to what was measured.

#include "truth/tables.hpp"

namespace weft::truth {

// Larger jobs take too long to be fitted to; they are checked like all others.
inline constexpr std::uint32_t kMostFittedRanks = 72;

// `start` with its numbers of that origin fitted to `tables`.
collective::Constants refit(const std::vector<TruthTable>& tables, collective::Constants start,
                            collective::Origin origin, TruthClock& clock);

struct LeftOut {
  collective::Constants constants;
  // Numbers that only the table itself could tell: they are taken from their like, or are nothing.
  std::vector<std::string> lonely;
};
// What the fitted numbers would be without that table.
LeftOut leave_out(const std::vector<TruthTable>& tables, const TruthTable& out, TruthClock& clock);

}  // namespace weft::truth
