// How far times of src/compute are off measured ones, for each GPU and kind of kernel, on the quarter of the rows that
// nothing was fitted on:
//
//   kernels_bench               a line for each table; those of truth/compute have limits
//   kernels_bench --rows        every row of truth/compute beside it: measured, computed
//   kernels_bench --refit       fits the constants on the other three quarters and prints them, with the errors they
//   give
//
// Published tables are read from ../shared/truth/compute, or from $WEFT_KERNEL_TABLES; without them, that is said.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "kernel_tables.hpp"
#include "model/catalog.hpp"
#include "spec/diagnostics.hpp"

namespace {

using namespace weft;
using bench::KernelTable;
using compute::Constants;
using compute::Kernels;

constexpr double kMostOff = 0.08;      // in the median of a table of our own
constexpr double kMostStepOff = 0.05;  // of a whole step
constexpr std::size_t kRowsForFit = 400;
// Per mille: below and above these a share would no longer mean what it says. Refresh and turning around take some of
// any memory's bandwidth.
constexpr std::int64_t kLeastOfMemory = 800, kMostOfMemory = 930, kMostOfPeak = 1000;

struct Errors {
  std::size_t rows = 0;
  double median = 0;
  double p90 = 0;
  double worst = 0;
  double bias = 0;  // median with its sign
};

class Gpus {
 public:
  Gpus() : catalog_(model::Catalog::embedded(diagnostics_)) {}
  const model::GpuKind& operator[](const std::string& name) {
    const auto found = kinds_.find(name);
    if (found != kinds_.end()) return found->second;
    return kinds_.emplace(name, *catalog_.load<model::GpuKind>("gpus", name, diagnostics_)).first->second;
  }

 private:
  spec::Diagnostics diagnostics_;
  model::Catalog catalog_;
  std::map<std::string, model::GpuKind> kinds_;
};

Errors errors_of(const KernelTable& table, const Kernels& kernels, bool left_out) {
  std::vector<double> off;
  for (const bench::KernelRow& row : table.rows)
    if (row.left_out() == left_out || table.rows.size() == 1)
      off.push_back(static_cast<double>(row.time(kernels).count()) / 1e6 / row.us - 1);
  if (off.empty()) return {};
  std::sort(off.begin(), off.end());
  Errors errors{off.size(), 0, 0, 0, off[off.size() / 2]};
  for (double& each : off) each = std::abs(each);
  std::sort(off.begin(), off.end());
  errors.median = off[off.size() / 2];
  errors.p90 = off[off.size() * 9 / 10];
  errors.worst = off.back();
  return errors;
}

double limit_of(const KernelTable& table, bool own) {
  return !own ? 0 : table.rows.size() == 1 ? kMostStepOff : kMostOff;
}

bool print(const KernelTable& table, const Errors& errors, double limit, bool json) {
  const bool ok = limit == 0 || errors.median <= limit;
  if (json)
    fmt::print("{}\n", nlohmann::json{{"gpu", table.gpu},
                                      {"kind", table.kind},
                                      {"rows", errors.rows},
                                      {"median", errors.median},
                                      {"p90", errors.p90},
                                      {"worst", errors.worst},
                                      {"bias", errors.bias},
                                      {"limit", limit},
                                      {"ok", ok}}
                           .dump());
  else
    fmt::print("{:12} {:36} {:6} {:7.1f} % {:7.1f} % {:7.1f} % {:+7.1f} %  {}\n", table.gpu, table.kind, errors.rows,
               errors.median * 100, errors.p90 * 100, errors.worst * 100, errors.bias * 100,
               limit == 0 ? "" : fmt::format("<= {:.0f} % {}", limit * 100, ok ? "ok" : "MISSED"));
  return ok;
}

void print_rows(const KernelTable& table, const Kernels& kernels) {
  for (const bench::KernelRow& row : table.rows) {
    const double us = static_cast<double>(row.time(kernels).count()) / 1e6;
    fmt::print("  {:44} {:12.1f} us {:12.1f} us {:+7.1f} % {}\n", row.shape, row.us, us, (us / row.us - 1) * 100,
               row.left_out() ? "left out" : "");
  }
}

// Few rows of a table stand for all while constants are tried.
std::vector<KernelTable> samples_of(const std::vector<KernelTable>& tables) {
  std::vector<KernelTable> all;
  for (const KernelTable& table : tables) {
    if (!table.fitted) continue;
    KernelTable sample{table.gpu, table.kind, table.load, {}, true};
    std::vector<const bench::KernelRow*> rows;
    for (const bench::KernelRow& row : table.rows)
      if (!row.left_out()) rows.push_back(&row);
    const std::size_t step = std::max<std::size_t>(1, rows.size() / kRowsForFit);
    for (std::size_t at = 0; at < rows.size(); at += step) sample.rows.push_back(*rows[at]);
    all.push_back(std::move(sample));
  }
  return all;
}

// Median and a little of the far end, over all tables alike.
double loss_of(const std::vector<KernelTable>& tables, Gpus& gpus, const Constants& constants) {
  double loss = 0;
  for (const KernelTable& table : tables) {
    const Errors errors = errors_of(table, Kernels(gpus[table.gpu], table.load, constants), false);
    loss += errors.median + 0.3 * errors.p90;
  }
  return loss;
}

bool sensible(const compute::Knob& knob) {
  if (knob.name == "memory") return *knob.value >= kLeastOfMemory && *knob.value <= kMostOfMemory;
  return (knob.name != "matrix" && knob.name != "fp8" && knob.name != "fp4") || *knob.value <= kMostOfPeak;
}

Constants refitted(const std::vector<KernelTable>& tables, Gpus& gpus) {
  Constants best = compute::constants();
  double least = loss_of(tables, gpus, best);
  for (const double step : {1.25, 1.1, 1.05, 1.02, 1.02})
    for (std::size_t knob = 0; knob < compute::knobs(best).size(); ++knob) {
      if (compute::knobs(best)[knob].name == "start_ns") continue;  // seen in the shortest kernels, which are few
      for (const double factor : {step, 1 / step})
        for (bool better = true; better;) {
          Constants tried = best;
          std::int64_t& value = *compute::knobs(tried)[knob].value;
          value = static_cast<std::int64_t>(std::llround(static_cast<double>(value) * factor));
          if (!sensible(compute::knobs(tried)[knob])) break;
          const double loss = loss_of(tables, gpus, tried);
          better = loss < least - 1e-5;
          if (better) least = loss, best = tried;
        }
    }
  return best;
}

}  // namespace

int main(int count, char** arguments) {
  bool refit = false, json = false, rows = false;
  for (int at = 1; at < count; ++at) {
    refit |= std::strcmp(arguments[at], "--refit") == 0;
    json |= std::strcmp(arguments[at], "--json") == 0;
    rows |= std::strcmp(arguments[at], "--rows") == 0;
  }
  const char* given = std::getenv("WEFT_KERNEL_TABLES");
  const std::string shared = given != nullptr ? given : WEFT_SOURCE_DIR "/../shared/truth/compute";
  const std::vector<KernelTable> own = bench::own_tables(WEFT_SOURCE_DIR "/truth/compute");
  const std::vector<KernelTable> steps = bench::step_tables(WEFT_SOURCE_DIR "/truth/compute");
  const std::vector<KernelTable> published = bench::published_tables(shared);
  Gpus gpus;
  Constants constants = compute::constants();
  if (refit) {
    std::vector<KernelTable> all = own;
    all.insert(all.end(), published.begin(), published.end());
    constants = refitted(samples_of(all), gpus);
    for (const compute::Knob& knob : compute::knobs(constants))
      fmt::print("{:10} {:12} {}\n", knob.owner, knob.name, *knob.value);
  }
  bool ok = true;
  const auto show = [&](const std::vector<KernelTable>& tables, bool ours) {
    for (const KernelTable& table : tables) {
      if (rows && ours) print_rows(table, Kernels(gpus[table.gpu], table.load, constants));
      ok &= print(table, errors_of(table, Kernels(gpus[table.gpu], table.load, constants), true), limit_of(table, ours),
                  json);
    }
  };
  if (!json)
    fmt::print("{:12} {:36} {:>6} {:>9} {:>9} {:>9} {:>9}\n", "GPU", "kernels", "rows", "median", "p90", "worst",
               "bias");
  show(own, true);
  show(steps, true);
  show(published, false);
  if (published.empty() && !json) fmt::print("no published tables in {}: left out\n", shared);
  return ok ? 0 : 1;
}
