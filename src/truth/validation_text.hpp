#pragma once
// What `weft validate` found, for people: on a terminal, as a page, as pictures.

#include <string>

#include "draw/plot.hpp"
#include "truth/validation.hpp"

namespace weft::truth {

std::string validation_text(const std::vector<Verdict>& verdicts, const std::vector<TruthTable>& tables, bool colour);
// docs/validation.md. `held_out` are of tables that no constant was fitted to.
std::string validation_page(const std::vector<Verdict>& verdicts, const std::vector<TruthTable>& tables,
                            const std::vector<Verdict>& held_out, const std::vector<Verdict>& blind,
                            const std::vector<Support>& supports);
// Bus bandwidth, measured and simulated.
draw::Picture validation_plot(const Verdict& verdict);

}  // namespace weft::truth
