// How fast training steps are timed and layouts searched. One row per number; a row whose limit is missed makes the
// program fail. The digest beside a time is what was computed in it.
//
//   training_bench [--json] [--quick]     --quick: small jobs and no limits on time, for tests

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiment/experiment.hpp"
#include "experiment/search_training.hpp"

namespace {

using namespace weft;

struct Row {
  std::string name;
  double value;
  std::string unit;
  double limit;  // 0: none
  std::int64_t digest;
  bool ok() const { return limit == 0 || value <= limit; }
};

// Of this process alone, whatever else the machine does.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double most_gibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

std::unique_ptr<experiment::Design> design_of(const std::string& text) {
  spec::Diagnostics diagnostics;
  auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(diagnostics));
  const std::uint32_t source = diagnostics.sources().add("bench.weft.yaml", text);
  auto design = experiment::Design::read(source, "bench", {}, catalog, diagnostics);
  if (design == nullptr) fmt::print(stderr, "{}\n", spec::render_text(diagnostics, false));
  return design;
}

experiment::Experiment job_of(const experiment::Design& design) {
  experiment::Experiment made{
      .workload = std::make_shared<const experiment::Workload>(experiment::training_of(design.cluster()).at(0))};
  made.fidelity = experiment::Fidelity::message;
  return made;
}

void step(const std::string& name, const std::string& text, double limit, std::vector<Row>& rows,
          experiment::Fidelity fidelity = experiment::Fidelity::message) {
  const double begin = cpu_seconds();
  const auto design = design_of(text);
  if (design == nullptr) {
    rows.push_back({name + ": cannot run", 1, "", 0.5, 0});
    return;
  }
  experiment::Experiment job = job_of(*design);
  job.fidelity = fidelity;
  experiment::check(*design, job);
  if (design->diagnostics().has_errors()) {
    fmt::print(stderr, "{}\n", spec::render_text(design->diagnostics(), false));
    rows.push_back({name + ": cannot run", 1, "", 0.5, 0});
    return;
  }
  const experiment::Outcome outcome = experiment::run(*design, job, {});
  rows.push_back({name, cpu_seconds() - begin, "cpu s", limit, outcome.training->step.time.count()});
}

void search_layouts(std::int64_t servers, double limit, std::vector<Row>& rows) {
  const auto design = design_of(
      fmt::format("version: 1\nservers: {{kind: hgx-h100, count: {}}}\nfabric: {{kind: rail-optimized, scalable_unit: "
                  "32}}\nrun:\n  - training: {{model: llama3-70b, sequence: 8192, global_batch: 1024}}\n",
                  servers));
  if (design == nullptr) return;
  const experiment::Experiment job = job_of(*design);
  const double begin = cpu_seconds();
  const experiment::TrainingSearch found =
      experiment::search_training(*design, std::get<experiment::Training>(*job.workload), job, {10}, {});
  const double layouts = static_cast<double>(found.tried + found.too_large);
  rows.push_back({fmt::format("{:.0f} layouts of llama3-70b on {} GPUs", layouts, 8 * servers), cpu_seconds() - begin,
                  "cpu s", 0, found.best.empty() ? 0 : found.best[0].step.time.count()});
  rows.push_back({"  that is, 10,000 of those that fit",
                  rows.back().value / static_cast<double>(std::max<std::int64_t>(1, found.tried)) * 10'000, "cpu s",
                  limit, 0});
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    json |= std::strcmp(argv[i], "--json") == 0;
    quick |= std::strcmp(argv[i], "--quick") == 0;
  }
  std::vector<Row> rows;
  const char* job = "{model: llama3-405b, sequence: 8192, global_batch: GB, parallel: {tensor: 8, pipeline: 16}}";
  const auto text = [&](std::int64_t servers, const std::string& fabric, std::int64_t batch) {
    std::string each = job;
    each.replace(each.find("GB"), 2, std::to_string(batch));
    return fmt::format("version: 1\nservers: {{kind: hgx-h100, count: {}}}\nfabric: {}\nrun:\n  - training: {}\n",
                       servers, fabric, each);
  };
  const std::string units = "{kind: rail-optimized, scalable_unit: 32}";
  step("a step of 405B on 512 GPUs", text(64, units, 512), quick ? 0 : 5, rows);
  if (!quick) {
    step("a step of 405B on 16,384 GPUs",
         text(2'048, "{kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128}", 2'048), 5, rows);
    const std::string million = text(
        131'072,
        "{kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128, pod: 16, spines: 128, super_spines: 16384}",
        131'072);
    step("a step of 405B on a million GPUs", million, 60, rows);
    rows.push_back({"  memory", most_gibibytes(), "GiB", 8, 0});
    step("a step of 405B on 512 GPUs, the network as flows", text(64, units, 512), 30, rows,
         experiment::Fidelity::flow);
    // NICs of 16 servers at half of their rate: all groups are looked at, of a million GPUs those near them.
    std::string faults = "faults:\n";
    for (int i = 0; i < 16; ++i) faults += fmt::format("  - {{part: s{}/nic0, kind: slow, share: 50%}}\n", 4 * i);
    step("the same on 16,384 GPUs with 16 slow NICs",
         text(2'048, "{kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128}", 2'048) + faults, 20, rows);
    step("the same on 512 GPUs as flows with 16 slow NICs", text(64, units, 512) + faults, 120, rows,
         experiment::Fidelity::flow);
    step("the same on a million GPUs with 16 slow NICs", million + faults, 240, rows);
    std::string spines = "faults:\n";
    for (int i = 0; i < 16; ++i) spines += fmt::format("  - {{part: spine{}, kind: down}}\n", 131 * i);
    step("the same on a million GPUs with 16 dead spines", million + spines, 240, rows);
    rows.push_back({"  memory", most_gibibytes(), "GiB", 8, 0});
  }
  search_layouts(quick ? 4 : 64, quick ? 0 : 30, rows);
  bool ok = true;
  for (const Row& row : rows) {
    ok &= row.ok();
    if (json)
      fmt::print("{}\n", nlohmann::json{{"name", row.name},
                                        {"value", row.value},
                                        {"unit", row.unit},
                                        {"limit", row.limit},
                                        {"digest", fmt::format("{:016x}", row.digest)},
                                        {"ok", row.ok()}}
                             .dump());
    else
      fmt::print("{:<56} {:>9.3f} {:<6} {:>9} {} {:016x}\n", row.name, row.value, row.unit,
                 row.limit > 0 ? fmt::format("<= {}", row.limit) : "", row.ok() ? "ok    " : "MISSED", row.digest);
  }
  return ok ? 0 : 1;
}
