#include "app/why/plan_training.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/ctrl_c.hpp"
#include "app/sim/progress.hpp"
#include "base/text.hpp"
#include "experiment/search_training.hpp"
#include "fabric/summary.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using experiment::Experiment;
using experiment::Fidelity;
using experiment::Training;
using experiment::TrainingCandidate;
using Json = nlohmann::ordered_json;

// Confirmed without being asked, and what that may cost: some seconds.
constexpr std::size_t kConfirmed = 3;
constexpr std::uint64_t kMostMessages = 2'000'000;

// What the network's sharing, flow by flow, makes of a candidate's step.
std::vector<Duration> by_flows(Session& session, const experiment::TrainingSearch& found, std::size_t most,
                               Console& console) {
  std::vector<Duration> times;
  for (std::size_t i = 0; i < std::min(most, found.best.size()); ++i) {
    Experiment experiment{.workload = std::make_shared<const experiment::Workload>(Training{found.best[i].run})};
    experiment.fidelity = Fidelity::flow;
    RunProgress progress([] { return std::uint64_t{0}; }, console);
    const experiment::Outcome outcome = experiment::run(session.design(), experiment, progress.observer());
    if (!outcome.stopped_by.empty() || outcome.stuck) break;
    times.push_back(outcome.training->step.time);
  }
  return times;
}

// Messages of the flows that the best three are confirmed by.
std::uint64_t messages_of(const Session& session, const experiment::TrainingSearch& found) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < std::min(kConfirmed, found.best.size()); ++i)
    sum += experiment::messages_by_flows(session.design(), found.best[i].run);
  return sum;
}

std::string confirmation(const experiment::TrainingSearch& found, const std::vector<Duration>& confirmed,
                         std::uint64_t messages) {
  if (confirmed.empty())
    return messages <= kMostMessages
               ? "no: --confirm 3 times the best three with the network as flows, too"
               : fmt::format("no, as that takes {:.0f} million messages as flows: --confirm 3 does it nevertheless",
                             static_cast<double>(messages) / 1e6);
  double least = 1e9;
  double most = -1e9;
  for (std::size_t i = 0; i < confirmed.size(); ++i) {
    const Duration now = found.best[i].step.time;
    const double more = 100 * (static_cast<double>(confirmed[i].count()) / static_cast<double>(now.count()) - 1);
    least = std::min(least, more);
    most = std::max(most, more);
  }
  return fmt::format("the first {} take {:+.1f} to {:+.1f} % longer with the network as flows", confirmed.size(), least,
                     most);
}

void print_layouts(const experiment::TrainingSearch& found, const std::vector<Duration>& confirmed, double peak,
                   const fabric::Costs& costs, const Session& session, bool with_gpus, Console& console) {
  std::vector<report::Column> columns = {{"step", true}, {"MFU %", true}, {"GB", true}};
  if (with_gpus) columns.insert(columns.begin() + 1, {"GPUs", true});
  if (costs.price) columns.push_back({"$ per Mtoken", true});
  if (!confirmed.empty()) columns.push_back({"by flows", true});
  columns.push_back({"layout, and what it waits for"});
  report::Table table(columns);
  for (std::size_t i = 0; i < found.best.size(); ++i) {
    const TrainingCandidate& each = found.best[i];
    std::vector<std::string> cells = {
        brief(each.step.time), fmt::format("{:.1f}", 100 * each.step.flops_per_gpu / peak),
        fmt::format("{:.0f}", static_cast<double>(each.step.memory.total().count()) / 1e9)};
    if (with_gpus) cells.insert(cells.begin() + 1, grouped(each.layout.gpus));
    if (costs.price) cells.push_back(fmt::format("{:.3f}", *dollars_of(each, costs, session)));
    if (!confirmed.empty()) cells.push_back(i < confirmed.size() ? brief(confirmed[i]) : "-");
    cells.push_back(
        fmt::format("{}: {}", experiment::describe_layout(each.run, each.layout), experiment::bound_by(each.step)));
    table.add(std::move(cells));
  }
  console.out << table.text(console.width, console.colour_out, true);
}

void print_layout_records(const experiment::TrainingSearch& found, const std::vector<Duration>& confirmed, double peak,
                          const fabric::Costs& costs, const Session& session, Console& console) {
  for (std::size_t i = 0; i < found.best.size(); ++i) {
    Json out = layout_record(found.best[i], i + 1, peak, costs, session);
    if (i < confirmed.size()) out["flow_step_ps"] = confirmed[i].count();
    console.out << out.dump() << "\n";
  }
}

}  // namespace

std::optional<double> dollars_of(const TrainingCandidate& each, const fabric::Costs& costs, const Session& session) {
  if (!costs.price) return {};
  const double of_cluster = static_cast<double>(each.layout.gpus) / static_cast<double>(session.cluster().gpus);
  return static_cast<double>(costs.price->count()) / 3600 * of_cluster / each.step.tokens_per_second;
}

double peak_flops(const Session& session, const Training& work) {
  const model::GpuKind& gpu = *experiment::gpu_of(session.cluster(), work.run);
  return static_cast<double>(compute::Kernels(gpu).peak(training::precision_of(work.run.precision)).count());
}

Json layout_record(const TrainingCandidate& each, std::size_t rank, double peak, const fabric::Costs& costs,
                   const Session& session) {
  Json out = {{"record", "plan-training"},
              {"version", 1},
              {"cluster", session.cluster().name},
              {"model", each.run.model.kind},
              {"rank", rank},
              {"gpus", each.layout.gpus},
              {"tensor", each.layout.tensor},
              {"pipeline", each.layout.pipeline},
              {"virtual_stages", each.layout.virtual_stages},
              {"context", each.layout.context},
              {"expert", each.layout.expert},
              {"data", each.layout.data},
              {"micro_batch", each.run.micro_batch},
              {"schedule", enum_name(each.run.schedule)},
              {"sharding", enum_name(each.run.sharding)},
              {"recompute", enum_name(each.run.recompute)},
              {"step_ps", each.step.time.count()},
              {"tokens_per_second", each.step.tokens_per_second},
              {"mfu_percent", 100 * each.step.flops_per_gpu / peak},
              {"memory_bytes", each.step.memory.total().count()},
              {"waits_for", experiment::bound_by(each.step)}};
  if (const auto dollars = dollars_of(each, costs, session)) out["dollars_per_million_tokens"] = *dollars;
  return out;
}

Training with_free_layout(const Training& work) {
  Training free = work;
  free.run.parallel = {};
  free.run.parallel.sequence = work.run.parallel.sequence;
  free.run.parallel.order = work.run.parallel.order;
  free.run.parallel.context_by = work.run.parallel.context_by;
  free.run.micro_batch = 1;
  free.run.schedule = model::PipelineSchedule::one_f_one_b;
  free.run.virtual_stages = 1;
  return free;
}

void check_search(experiment::Design& design, const Training& free) {
  Training some = free;
  if (auto found = experiment::any_layout(design, free.run)) some.run = std::move(*found);
  Experiment experiment{.workload = std::make_shared<const experiment::Workload>(std::move(some))};
  experiment.fidelity = Fidelity::message;
  experiment::check(design, experiment);
}

int plan_training(Session& session, const PlanCommandOptions& options, Console& console) {
  const std::vector<Training> jobs = experiment::training_of(session.cluster());
  spec::Diagnostics& diagnostics = session.diagnostics();
  if (jobs.empty())
    diagnostics.add(spec::Error::contradiction, {}, "the file's `run:` has no training job",
                    "run: [{training: {model: llama3-70b, global_batch: 1024}}]");
  if (!options.sizes.empty() || options.gpus > 0)
    diagnostics.add(spec::Error::contradiction, {}, "--gpus and --sizes are of collectives, not of training",
                    "--set run.0.training.gpus=512");
  const fabric::Costs costs = fabric::summarise(session.fabric()).costs;
  const experiment::BestLayouts wanted{options.best, *parse_enum<experiment::BestBy>(options.best_by)};
  if (wanted.by == experiment::BestBy::dollars && !costs.price)
    diagnostics.add(spec::Error::missing_key, {}, "no price is known of these servers", "--set servers.price=$98.32/h");
  if (report(diagnostics, options.input, console)) return kYourInput;
  for (const Training& work : jobs) {
    const Training free = with_free_layout(work);
    Experiment experiment{.workload = std::make_shared<const experiment::Workload>(free)};
    experiment.fidelity = Fidelity::message;
    check_search(session.design(), free);
    if (report(diagnostics, options.input, console)) return kYourInput;
    const CtrlC ctrl_c;
    const auto begin = std::chrono::steady_clock::now();
    RunProgress progress([] { return std::uint64_t{0}; }, console);
    const experiment::TrainingSearch found =
        experiment::search_training(session.design(), free, experiment, wanted, progress.observer());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto interrupted = [&] {
      console.err << fmt::format("interrupted: the result is of the {} layouts that were looked at\n",
                                 grouped(found.tried));
      return kInterrupted;
    };
    if (found.best.empty() && !found.stopped_by.empty()) return interrupted();
    if (found.best.empty()) {
      console.err << fmt::format("no layout of {} fits {} GPUs: {} need more memory than a GPU has\n",
                                 work.run.model.kind, grouped(experiment::gpus_of(session.cluster(), work.run)),
                                 grouped(found.too_large));
      return kExpectationFailed;
    }
    const std::uint64_t messages = options.confirm ? 0 : messages_of(session, found);
    const std::size_t most = options.confirm.value_or(messages <= kMostMessages ? kConfirmed : 0);
    const std::vector<Duration> confirmed = by_flows(session, found, most, console);
    const double peak = peak_flops(session, work);
    if (options.input.json) {
      print_layout_records(found, confirmed, peak, costs, session, console);
    } else {
      report::Facts facts;
      facts.add("training",
                fmt::format("{}{} on {} GPUs of {}, {} sequences of {} tokens in a step",
                            work.run.jobs > 1 ? fmt::format("{} jobs at the same time, each ", work.run.jobs) : "",
                            work.run.model.kind, grouped(experiment::gpus_of(session.cluster(), work.run)),
                            session.cluster().name, grouped(work.run.global_batch), grouped(work.run.sequence)));
      facts.add("looked at", fmt::format("{} layouts, at message level; {} more need more memory than a GPU has",
                                         grouped(found.tried), grouped(found.too_large)));
      facts.add("confirmed", confirmation(found, confirmed, messages));
      console.out << facts.text(console.width, console.colour_out) << "\n";
      print_layouts(found, confirmed, peak, costs, session, wanted.by == experiment::BestBy::dollars, console);
    }
    if (console.width > 0) console.err << fmt::format("{:.2f} s\n", seconds);  // somebody is watching
    if (!found.stopped_by.empty()) return interrupted();
  }
  return kFine;
}

}  // namespace weft::app
