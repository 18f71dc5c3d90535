#pragma once
// Variants of a cluster that ran the same traffic, side by side.

#include <ostream>
#include <string>
#include <vector>

#include "report/measured_runs.hpp"
#include "report/verdict.hpp"

namespace weft::report {

// The mean over the runs; "-" where a run has none.
std::string mean_completion(const Variant& variant, std::int64_t Quantiles::*which);

// What they cost, in the order of `variants`.
std::vector<LabelledCosts> labelled_costs(const std::vector<Variant>& variants);

// Variants are columns, as many beside each other as fit `width` (0: all).
std::string comparison_text(const std::vector<Variant>& variants, std::size_t width, bool colour);

// One "compare" record. `measured`: beside what was measured, where it was.
void write_comparison(const std::vector<Variant>& variants, const Verdict& verdict, std::ostream& out,
                      const std::vector<MeasuredRuns>& measured = {});

}  // namespace weft::report
