#pragma once
// The points of a sweep: a table, records, CSV, and which point is best.

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/verdict.hpp"

namespace weft::report {

inline constexpr std::string_view kNotRun = "not run";        // the sweep was interrupted before
inline constexpr std::string_view kCannotRun = "cannot run";  // there is no such cluster

struct SweptPoint {
  std::vector<std::string> values;  // one per key
  Variant variant;                  // with a run for every seed where `trouble` is empty
  std::string trouble;              // why it is not ranked: kNotRun, kCannotRun, "not done", "limit time=1ms"
  std::string detail;               // and more of that: "59 of 64 flows failed", or an error
};

struct Sweep {
  std::vector<std::string> keys;  // "fabric.spines"
  std::vector<SweptPoint> points;
};

// Of the points that have no trouble; it counts points.
Verdict judge_sweep(const Sweep& sweep);

// "spines=4 balance=spray": the last parts of the keys where those tell them apart.
std::string point_label(const std::vector<std::string>& keys, const std::vector<std::string>& values);

// What the points cost that can be built.
std::vector<LabelledCosts> labelled_costs(const Sweep& sweep);

// A row per point, and below what its titles mean; columns that do not fit `width` (0: all do) follow in tables of
// their own.
std::string sweep_text(const Sweep& sweep, std::size_t width, bool colour);
// What is to be said of points with trouble, below the table: the trouble, and whose and how; of many, of some.
std::vector<std::pair<std::string, std::string>> trouble_lines(const Sweep& sweep);
// One "sweep" record.
void write_sweep(const Sweep& sweep, const Verdict& verdict, std::ostream& out);
// A line per run.
void write_sweep_csv(const Sweep& sweep, std::ostream& out);

}  // namespace weft::report
