#pragma once
// Variants of a cluster that ran the same traffic, side by side, and which of them wins.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "report/costs.hpp"
#include "report/sim_records.hpp"

namespace weft::report {

struct ComparedRun {
  std::uint64_t seed = 0;
  std::int64_t end = 0;  // ps: everything was done
  std::uint64_t digest = 0;
  std::uint64_t trimmed = 0;
  std::uint64_t resent = 0;
  std::uint64_t dropped = 0;
  SimSummary summary;
  std::vector<StreamSummary> streams = {};  // where there are several
  std::string trouble = {};                 // why not everything is done: see trouble_of(); empty: it is
};

struct Variant {
  std::string label;
  RunInfo info;
  std::vector<ComparedRun> runs;  // one per seed, the same seeds for every variant
  Costs costs = {};
};

// Whether everything was done in every run.
bool is_finished(const Variant& variant);

// Of what `value` says of each run.
template <class Value>
double mean(const Variant& variant, const Value& value) {
  double sum = 0;
  for (const ComparedRun& run : variant.runs) sum += static_cast<double>(value(run));
  return sum / static_cast<double>(variant.runs.size());
}

// What decides. Where flows begin at their times, a run ends soon after the last one began, whatever the network is
// like: then it is what the slowest hundredth of the flows suffered.
enum class Measure : std::uint8_t {
  end,         // everything was done
  slowdown,    // p99, against alone
  completion,  // p99, where nobody knows what a flow takes alone
};

// The winner is the variant that on average measures least. Its lead is beyond chance, as far as the seeds tell, when
// its worst run is still better than the best of the next variant. Variants that are not finished are named, and do not
// take part.
struct Verdict {
  Measure measure = Measure::end;
  std::optional<std::size_t> winner;  // nothing: none is finished
  std::optional<std::size_t> next;    // nothing: no other is
  double lead = 1;                    // how many times as much the next one measures
  bool same = false;                  // all variants are the same to the last packet
  bool outside_spread = false;
  std::string sentence;
};
// At least two variants with at least one run each.
Verdict judge(const std::vector<Variant>& variants);

// Of a comparison that was interrupted: nobody wins. `not_run`: labels of those that never began.
Verdict no_verdict(const std::vector<Variant>& variants, const std::vector<std::string>& not_run);

// Whose p99.9 is lowest, and by how much against the others; nothing where there is no difference.
std::string tail_sentence(const std::vector<Variant>& variants);

// For each stream of several: its name, who has it done first and how much sooner; nothing where there is no
// difference.
std::vector<std::pair<std::string, std::string>> stream_sentences(const std::vector<Variant>& variants);

// What they cost, in the order of `variants`.
std::vector<LabelledCosts> labelled_costs(const std::vector<Variant>& variants);

// Variants are columns, as many beside each other as fit `width` (0: all).
std::string comparison_text(const std::vector<Variant>& variants, std::size_t width, bool colour);

// One "compare" record.
void write_comparison(const std::vector<Variant>& variants, const Verdict& verdict, std::ostream& out);

}  // namespace weft::report
