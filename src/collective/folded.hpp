#pragma once
// Rings whose edges repeat: where every server is like the next, what a rank does it does at the same time as the one a
// server further on, and what it takes from its neighbour is what its like takes from its own. So the ranks of one such
// period, with their ring closed, take exactly as long as all of them, and are all that needs to be run:
//
//   0 ─ 1 ═ 2 ─ 3 ═ 4 ─ 5 ═ 0         0 ─ 1 ═ 0, in the steps of the ring of six

#include <optional>

#include "collective/timing.hpp"

namespace weft::collective {

// Of all ranks of a timed plan; nothing where some program is no ring, or some ring does not repeat, or ranks come late
// or are slow.
std::optional<Ends> ends_of_folded(const Plan& plan, const std::function<Ends(schedule::Schedule& schedule)>& execute);

}  // namespace weft::collective
