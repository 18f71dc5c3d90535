#pragma once
// Variants with made-up runs, for tests.

#include <cstdint>
#include <string>
#include <vector>

#include "report/verdict.hpp"

namespace weft::report {

inline Variant variant(const std::string& label, const std::vector<std::int64_t>& microseconds_to_end) {
  Variant v;
  v.label = label;
  for (const std::int64_t us : microseconds_to_end) {
    ComparedRun run;
    run.seed = v.runs.size() + 1;
    run.end = Duration(us * 1'000'000);
    run.digest = static_cast<std::uint64_t>(us);
    run.summary.completion = Quantiles{(run.end / 2).count(), run.end.count(), run.end.count(), run.end.count()};
    run.summary.slowdown = Quantiles{1000, 1500, 1500, 2000};
    v.runs.push_back(run);
  }
  return v;
}

inline Variant unfinished(const std::string& label) {
  Variant v = variant(label, {50});
  v.runs[0].summary.flows = 64;
  v.runs[0].summary.done = 21;
  v.runs[0].trouble = "43 of 64 flows failed";
  return v;
}

}  // namespace weft::report
