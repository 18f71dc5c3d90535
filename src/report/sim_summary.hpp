#pragma once
// The figures a person asks of a run first. They are computed once from its records; the text here and
// the "sim" record (report/sim_records.hpp) are views of them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "schedule/result.hpp"

namespace weft::report {

struct Quantiles {
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::int64_t p999 = 0;
  std::int64_t max = 0;
};
// Nothing when there are no values.
std::optional<Quantiles> quantiles(std::vector<std::int64_t> values);

struct SimSummary {
  std::size_t flows = 0;  // of the traffic; where that is not known before, those that have begun
  std::size_t begun = 0;
  std::size_t done = 0;        // the sender has the last acknowledgement; unanswered: the receiver has the last byte
  std::size_t failed = 0;      // the run ended by itself, and these had begun and did not get through
  std::size_t unanswered = 0;  // messages that nobody acknowledges or repeats
  std::size_t lost = 0;        // of those: the run ended by itself, and they did not arrive
  std::uint64_t bytes = 0;     // of those that are done
  std::optional<Quantiles> completion;  // of picoseconds, likewise
  std::optional<Quantiles> slowdown;    // thousandths of the time the flow takes alone
  std::optional<Quantiles> waiting;  // of picoseconds: of unanswered ones that arrived, beyond the time they take alone
  Duration waiting_mean = {};
  std::int64_t goodput = 0;  // bit/s, of all together until the last was done or given up
  std::int64_t flow_goodput_min = 0;
  std::int64_t flow_goodput_mean = 0;
  std::optional<std::size_t> fullest;  // the link with the longest queue, where links are known
};
SimSummary summarise(const schedule::RunResult& result);

// One of several streams of a run.
struct StreamSummary {
  schedule::StreamRecord record;
  Duration end = {};   // the last of its flows was done
  SimSummary summary;  // of its flows; goodput until `end`
};
std::vector<StreamSummary> summarise_streams(const schedule::RunResult& result);

// Why not everything is done: "43 of 64 flows failed", "limit time=1ms, 20 of 64 flows done"; nothing where it is.
std::string trouble_of(const schedule::RunResult& result, const SimSummary& summary);

// What a record of a flow or link implies.
bool is_done(const schedule::FlowRecord& flow);
Duration done_at(const schedule::FlowRecord& flow);                         // when it was done; kNotYet
Duration completion_time(const schedule::FlowRecord& flow);                 // of a flow that is done
std::optional<std::int64_t> slowdown(const schedule::FlowRecord& flow);     // thousandths
std::int64_t goodput(std::uint64_t bytes, Duration time);                   // bit/s
double utilisation(std::uint64_t bytes, std::int64_t rate, Duration time);  // 0..1
double utilisation(const schedule::LinkRecord& link, Duration end);         // until a run's end
Duration mean_wait(const schedule::LinkRecord& link);                       // per packet

// The busiest `most` of the links; 0: all.
std::string links_text(const schedule::RunResult& result, std::size_t most, std::size_t width, bool colour);

// Facts, then the busiest `links` of the links, and of those that were paused the longest; 0: all.
std::string summary_text(const schedule::RunResult& result, const SimSummary& summary, std::size_t links,
                         std::size_t width, bool colour);

// The `most` flows that lost most against being alone, by name; those that are not done come first.
std::string slowest_text(const schedule::RunResult& result, std::size_t most,
                         const std::function<std::string(std::uint32_t rank)>& name, std::size_t width, bool colour);

}  // namespace weft::report
