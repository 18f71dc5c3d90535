#pragma once
// A run as records: one JSON object per line, or tables as CSV. Times are ps, rates bit/s; a unit stands at the
// end of every name that has one. docs/reference/results.md lists the keys.

#include <ostream>
#include <string>

#include "report/sim_summary.hpp"

namespace weft::report {

// What a result is of, beside what stands in it.
struct RunInfo {
  std::string cluster;
  std::string traffic;  // "permutation of 64 nodes, 2MB each", or the name of a matrix
  std::string version;  // of weft
  std::string commit;
  std::uint64_t configuration = 0;   // hash of everything the user gave: equal inputs, equal hash
  std::int64_t sample_interval = 0;  // ps; 0: nothing was sampled
  bool open_loop = false;            // all flows began at their times, however the network fared
};

// The one line that stands for the whole run.
void write_sim_record(const RunInfo& info, const schedule::RunResult& result, const SimSummary& summary,
                      std::ostream& out);

// A line per stream, where there are several.
void write_stream_records(const schedule::RunResult& result, std::ostream& out);

// A line per flow, per link (the `most` busiest, 0: all), per sample.
void write_flow_records(const schedule::RunResult& result, std::ostream& out);
void write_link_records(const schedule::RunResult& result, std::size_t most, std::ostream& out);
void write_sample_records(const RunInfo& info, const schedule::RunResult& result, std::ostream& out);

void write_flows_csv(const schedule::RunResult& result, std::ostream& out);
void write_links_csv(const schedule::RunResult& result, std::ostream& out);
void write_samples_csv(const RunInfo& info, const schedule::RunResult& result, std::ostream& out);

}  // namespace weft::report
