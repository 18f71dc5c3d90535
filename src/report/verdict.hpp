#pragma once
// Which of several variants of a cluster does best with the same traffic. `weft compare` and `weft sweep` both ask
// here.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "report/collective_table.hpp"
#include "report/costs.hpp"
#include "report/sim_records.hpp"
#include "schedule/training_row.hpp"

namespace weft::report {

struct ComparedRun {
  std::uint64_t seed = 0;
  Duration end = {};  // everything was done; of collectives, what their largest sizes take; of training, a step
  std::uint64_t digest = 0;
  std::uint64_t trimmed = 0;
  std::uint64_t sent = 0;  // packets of data, without those that were sent again
  std::uint64_t resent = 0;
  std::uint64_t dropped = 0;
  SimSummary summary;
  std::vector<StreamSummary> streams = {};      // where there are several
  std::string trouble = {};                     // why not everything is done: see trouble_of(); empty: it is
  std::int64_t fullest_link = 0;                // thousandths of the mean of links between switches; 0: not known
  std::vector<CollectiveRow> collectives = {};  // instead of flows: size by size
  std::optional<schedule::TrainingRow> training = {};  // instead of flows: a step
  schedule::RunResult links = {};                      // nothing but those, where they were wanted
};

struct Variant {
  std::string label;
  RunInfo info;
  std::vector<ComparedRun> runs;  // one per seed, the same seeds for every variant
  Costs costs = {};
};

// Whether every run came to its end: nothing was given up. Messages that nobody repeats may be lost.
bool is_finished(const Variant& variant);
// Whether all that was sent arrived, too.
bool got_through(const Variant& variant);
// What kept a run from its end; empty: nothing.
std::string trouble_in(const Variant& variant);

// Of what `value` says of each run.
template <class Value>
double mean(const Variant& variant, const Value& value) {
  double sum = 0;
  for (const ComparedRun& run : variant.runs) sum += static_cast<double>(value(run));
  return sum / static_cast<double>(variant.runs.size());
}

// What decides, a time in either case, and the same flows' in every variant. A slowdown would not do: it is against
// what a flow takes alone in the same variant, so that the network with the longest cables would win. Where flows begin
// at their times, a run ends soon after the last one began, whatever the network is like.
enum class Measure : std::uint8_t {
  end,         // everything was done
  completion,  // p99, where flows begin at their times
  collective,  // what the largest size takes
  step,        // of training
};
Measure measure_of(const std::vector<Variant>& variants);
std::string_view title_of(Measure measure);  // in tables and sentences

struct Spread {
  Duration least{INT64_MAX};
  Duration most{INT64_MIN};
};
Spread spread_of(const Variant& variant, Measure measure);

// The winner is the variant that on average measures least. Its lead is beyond chance, as far as the seeds tell, when
// its worst run is still better than the best of the next variant. What was given up or lost has no time: a variant
// with such flows is named, and does not take part. Between variants that carried different traffic nobody decides.
struct Verdict {
  Measure measure = Measure::end;
  std::optional<std::size_t> winner;  // nothing: none got everything through, none is ahead, or the traffic differs
  std::vector<std::size_t> tied;      // the best, where they are too near to each other to choose
  std::optional<std::size_t> next;    // behind the winner; nothing: no other got everything through
  double lead = 1;                    // how many times as much the next one measures
  bool same = false;                  // all variants are the same to the last packet
  bool outside_spread = false;
  std::string sentence;
  std::string tail;  // whose p99.9 is lowest, and by how much against the others; empty: there is no difference
  // Of several streams, those with a difference: a name, who does best with it and by how much.
  std::vector<std::pair<std::string, std::string>> streams;
};
// At least one variant, each with at least one run.
Verdict judge(const std::vector<Variant>& variants);

// Of a comparison that was interrupted: nobody wins. `not_run`: labels of those that never began.
Verdict no_verdict(const std::vector<Variant>& variants, const std::vector<std::string>& not_run);

// Into a record: the winner under `winner_key`, then the rest but for the tail and the streams. `labels`: of what the
// verdict counts.
void add_verdict(const Verdict& verdict, const std::string& winner_key, const std::vector<std::string>& labels,
                 nlohmann::ordered_json& record);

}  // namespace weft::report
