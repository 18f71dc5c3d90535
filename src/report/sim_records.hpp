#pragma once
// A run as records: one JSON object per line, or tables as CSV. Times are ps, rates bit/s; a unit stands at the
// end of every name that has one. docs/reference/results.md lists the keys.

#include <ostream>
#include <string>

#include "base/units.hpp"
#include "report/sim_summary.hpp"

namespace weft::report {

// The flows that a run is given, apart from the seed that draws them: the same for equal traffic.
struct Offered {
  std::uint64_t hash = 0;  // of what decided them
  std::uint32_t nodes = 0;
  Bandwidth load_of;  // per GPU: a load is a share of it; 0: there is none
};

// What a result is of, beside what stands in it.
struct RunInfo {
  std::string cluster;
  std::string traffic;  // "permutation of 64 nodes, 2MB each", or the name of a matrix
  std::string version;  // of weft
  std::string commit;
  std::uint64_t configuration = 0;  // hash of everything the user gave: equal inputs, equal hash
  Duration sample_interval = {};    // 0: nothing was sampled
  Offered offered = {};
  Bandwidth line_rate = {};  // of one GPU into the network; 0: not known
  bool open_loop = false;    // all flows began at their times, however the network fared
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
