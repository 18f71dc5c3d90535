#pragma once
// What `weft run` measured on real machines, beside what the same work takes in simulated variants.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "report/verdict.hpp"

namespace weft::report {

struct MeasuredRun {
  double goodput = 0;  // bit/s
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  // without those that were sent again
  std::uint64_t resent = 0;
  Quantiles round_trips;  // ps, of requests
};

// The "run" records of one file: the same traffic, several times.
struct MeasuredRuns {
  std::string label;
  std::string transport;
  bool requests = false;   // else a stream
  std::uint64_t size = 0;  // of a message
  std::uint64_t senders = 1;
  std::vector<MeasuredRun> runs;  // at least one

  std::string traffic() const;  // in words
};

// From the lines of `weft run client --json`, which may stand among other records. Why not, with the line to blame,
// where there is no run, one ended early, or they are of different traffic.
Result<MeasuredRuns, std::string> read_measured_runs(std::string_view text, std::string label);

// A column for what was measured and one for each variant, with how much more or less it says.
std::string measured_text(const MeasuredRuns& measured, const std::vector<Variant>& variants, std::size_t width,
                          bool colour);
nlohmann::ordered_json measured_json(const MeasuredRuns& measured, const std::vector<Variant>& variants);

// Why a variant's flows are not what was measured; empty: nothing speaks against it.
std::string traffic_differs(const MeasuredRuns& measured, const Variant& variant);

}  // namespace weft::report
