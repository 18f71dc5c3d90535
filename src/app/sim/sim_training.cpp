#include "app/sim/sim_training.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "app/output.hpp"
#include "app/sim/experiment_options.hpp"
#include "app/sim/progress.hpp"
#include "base/text.hpp"
#include "experiment/search_training.hpp"
#include "report/table.hpp"
#include "training/parameters.hpp"

namespace weft::app {
namespace {

using experiment::Experiment;
using experiment::Fidelity;
using experiment::TrainingResult;
using spec::Error;
using training::Group;
using training::Part;
using Json = nlohmann::ordered_json;

double seconds_of(Duration time) { return static_cast<double>(time.count()) * 1e-12; }
double gigabytes_of(Bytes bytes) { return static_cast<double>(bytes.count()) / 1e9; }

// A line of the breakdown.
struct Spent {
  std::string what;
  std::string key;
  Duration time;
};

std::vector<Spent> spent_of(const training::Breakdown& parts) {
  std::vector<Spent> out;
  for (std::size_t i = 0; i < training::kParts; ++i)
    out.push_back({std::string(enum_name(static_cast<Part>(i))), fmt::format("{}", enum_name(static_cast<Part>(i))),
                   parts.computing[i]});
  out.push_back({"computing slower beside communication", "beside", parts.beside});
  out.push_back({"kernels that the host launches late", "launching", parts.launching});
  for (std::size_t i = 0; i < training::kGroups; ++i)
    out.push_back({fmt::format("waiting for {} groups", enum_name(static_cast<Group>(i))),
                   fmt::format("exposed {}", enum_name(static_cast<Group>(i))), parts.exposed[i]});
  out.push_back({"waiting for other stages", "bubble", parts.bubble});
  out.push_back({"waiting for slow ranks", "slow", parts.slow});
  std::erase_if(out, [](const Spent& each) { return each.time.count() == 0; });
  return out;
}

class TrainingReport {
 public:
  TrainingReport(const Session& session, const experiment::Training& work, const TrainingResult& result,
                 Fidelity fidelity)
      : session_(session), run_(work.run), result_(result), step_(result.step), fidelity_(fidelity) {}

  void text(Console& console) const {
    const training::Layout& layout = result_.layout;
    report::Facts facts;
    facts.add(
        "training",
        fmt::format("{}, {} parameters{}, on {} GPUs of {} ({}), {} level", run_.model.kind,
                    billions(training::total(run_.model)),
                    run_.model.experts ? fmt::format(" ({} for a token)", billions(training::active(run_.model))) : "",
                    grouped(layout.gpus), session_.cluster().name, gpu().kind, name(fidelity_)));
    facts.add("layout", layout_text());
    facts.add("step", fmt::format("{}: {} tokens/s, {:.0f} TFLOP/s per GPU, {:.1f} % of peak (MFU)", brief(step_.time),
                                  grouped(static_cast<std::int64_t>(step_.tokens_per_second)),
                                  step_.flops_per_gpu / 1e12, mfu()));
    facts.add("network", network_text());
    facts.add("memory", memory_text());
    facts.add("cost", cost_text());
    facts.add("kernels", result_.basis);
    if (!result_.not_known.empty()) facts.add("not known", result_.not_known);
    console.out << facts.text(console.width, console.colour_out) << "\n";
    report::Table times({{"where the time goes"}, {"time", true}, {"%", true}});
    for (const Spent& each : spent_of(step_.parts))
      times.add({each.what, brief(each.time), fmt::format("{:.1f}", percent(each.time))});
    times.add({"step", brief(step_.time), "100.0"});
    console.out << times.text(console.width, console.colour_out) << "\n";
    if (result_.exchanges.empty()) return;
    report::Table exchanges(
        {{"group"}, {"operation"}, {"size", true}, {"ranks", true}, {"domains", true}, {"algorithm"}, {"time", true}});
    for (const experiment::TrainingExchange& each : result_.exchanges)
      exchanges.add({std::string(enum_name(each.group)), each.operation,
                     brief(Bytes(static_cast<std::int64_t>(each.bytes))),
                     fmt::format("{} x {}", each.groups, each.ranks), fmt::format("{}", each.nodes), each.algorithm,
                     brief(each.time)});
    console.out << exchanges.text(console.width, console.colour_out);
  }

  Json record(const Experiment& experiment) const {
    Json parts = Json::object();
    for (const Spent& each : spent_of(step_.parts)) parts[each.key] = each.time.count();
    Json exchanges = Json::array();
    for (const experiment::TrainingExchange& each : result_.exchanges)
      exchanges.push_back({{"group", enum_name(each.group)},
                           {"operation", each.operation},
                           {"bytes", each.bytes},
                           {"ranks", each.ranks},
                           {"groups", each.groups},
                           {"domains", each.nodes},
                           {"algorithm", each.algorithm},
                           {"time_ps", each.time.count()}});
    const training::Layout& layout = result_.layout;
    Json out{{"record", "training"},
             {"version", 1},
             {"cluster", session_.cluster().name},
             {"model", run_.model.kind},
             {"fidelity", name(fidelity_)},
             {"seed", experiment.seed},
             {"gpus", layout.gpus},
             {"tensor", layout.tensor},
             {"pipeline", layout.pipeline},
             {"context", layout.context},
             {"expert", layout.expert},
             {"data", layout.data},
             {"micro_batches", layout.micro_batches},
             {"step_ps", step_.time.count()},
             {"tokens_per_second", step_.tokens_per_second},
             {"flops_per_gpu", step_.flops_per_gpu},
             {"mfu_percent", mfu()},
             {"network_percent", result_.network_percent()},
             {"parts_ps", std::move(parts)},
             {"exchanges", std::move(exchanges)},
             {"memory_bytes",
              {{"parameters", step_.memory.parameters.count()},
               {"gradients", step_.memory.gradients.count()},
               {"optimizer", step_.memory.optimizer.count()},
               {"activations", step_.memory.activations.count()},
               {"buffers", step_.memory.buffers.count()}}},
             {"joules_per_token", result_.joules_per_token},
             {"kernels", result_.basis}};
    if (result_.dollars_per_million) out["dollars_per_million_tokens"] = *result_.dollars_per_million;
    if (!result_.not_known.empty()) out["not_known"] = result_.not_known;
    return out;
  }

 private:
  const model::GpuKind& gpu() const { return session_.cluster().groups[0].spec.gpu; }
  double percent(Duration time) const { return 100 * seconds_of(time) / seconds_of(step_.time); }
  double mfu() const { return 100 * step_.flops_per_gpu / result_.peak_flops; }
  static std::string billions(std::int64_t count) {
    return count >= 1'000'000'000'000 ? fmt::format("{:.2f}T", static_cast<double>(count) / 1e12)
                                      : fmt::format("{:.1f}B", static_cast<double>(count) / 1e9);
  }

  std::string layout_text() const {
    const std::int64_t pieces = result_.layout.micro_batches;
    return fmt::format(
        "{}; {} sequences of {} tokens in a step, {}; {}", experiment::describe_layout(run_, result_.layout),
        grouped(run_.global_batch), grouped(run_.sequence),
        pieces > 1 ? fmt::format("{} micro-batches", grouped(pieces)) : "all at once", enum_name(run_.precision));
  }

  std::string network_text() const {
    Duration all;
    for (const Duration each : step_.communicating) all += each;
    return fmt::format("computing waits for communication for {:.1f} % of the step; {} of communication in all",
                       result_.network_percent(), brief(all));
  }

  std::string memory_text() const {
    const training::Memory& memory = step_.memory;
    return fmt::format(
        "{:.1f} of {:.0f} GB: parameters {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations {:.1f}, buffers "
        "{:.1f}",
        gigabytes_of(memory.total()), gigabytes_of(result_.memory), gigabytes_of(memory.parameters),
        gigabytes_of(memory.gradients), gigabytes_of(memory.optimizer), gigabytes_of(memory.activations),
        gigabytes_of(memory.buffers));
  }

  std::string cost_text() const {
    std::string text = fmt::format("{:.3g} J per token", result_.joules_per_token);
    return result_.dollars_per_million
               ? text + fmt::format(", ${:.3f} per million tokens", *result_.dollars_per_million)
               : text + "; no price is known";
  }

  const Session& session_;
  const model::TrainingRun& run_;
  const TrainingResult& result_;
  const training::Step& step_;
  Fidelity fidelity_;
};

void check_training_options(const SimOptions& options, spec::Diagnostics& diagnostics) {
  const auto forbid = [&](bool given, std::string_view option) {
    if (given)
      diagnostics.add(Error::contradiction, {}, fmt::format("{} applies to flows, not to training", option), "without it");
  };
  const SimOutputOptions& output = options.output;
  forbid(!options.run.sample.empty(), "--sample");
  forbid(!options.run.capture.empty() || !output.pcap.empty(), "--pcap");
  forbid(!output.csv.empty(), "--csv");
  forbid(output.links.has_value() || output.flows || output.samples, "--links, --flows or --samples");
  forbid(options.seeds > 1, "--seeds");
  forbid(!output.trace.empty(), "--trace");
}

int run_with(Session& session, const SimOptions& options, const Experiment& experiment, Console& console) {
  RunProgress progress([] { return std::uint64_t{0}; }, console);
  const experiment::Outcome outcome = experiment::run(session.design(), experiment, progress.observer());
  if (!outcome.stopped_by.empty()) {
    const bool interrupted = outcome.stopped_by == experiment::kStoppedByObserver;
    console.err << (interrupted ? "interrupted" : "limit " + outcome.stopped_by + " reached") << ": no result\n";
    return interrupted ? kInterrupted : kLimitReached;
  }
  if (outcome.stuck) {
    console.err << "a collective of the step waits for what never comes\n";
    return kExpectationFailed;
  }
  const TrainingReport report(session, std::get<experiment::Training>(*experiment.workload), *outcome.training,
                              experiment.fidelity);
  if (options.input.json)
    console.out << report.record(experiment).dump() << "\n";
  else
    report.text(console);
  return kFine;
}

}  // namespace

int sim_training(Session& session, const SimOptions& options, std::vector<Experiment> experiments, Console& console) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  check_training_options(options, diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  const std::vector<Fidelity> fidelities = fidelities_of(options.run, experiments);
  for (const Experiment& each : experiments) experiment::check(session.design(), each, fidelities);
  if (report(diagnostics, options.input, console)) return kYourInput;
  print_warnings(session, experiments.back(), fidelities, options.input, console);
  const CtrlC ctrl_c;
  bool first = true;
  for (Experiment& each : experiments)
    for (const Fidelity fidelity : fidelities) {
      if (!std::exchange(first, false) && !options.input.json) console.out << "\n";
      each.fidelity = fidelity;
      if (const int code = run_with(session, options, each, console); code != kFine) return code;
    }
  return kFine;
}

}  // namespace weft::app
