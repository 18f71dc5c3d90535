#include "app/sim/sim_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "app/ctrl_c.hpp"
#include "app/output.hpp"
#include "app/sim/experiment_options.hpp"
#include "app/sim/progress.hpp"
#include "base/text.hpp"
#include "draw/timeline.hpp"
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
  out.push_back({"gaps between kernels", "gaps", parts.gaps});
  out.push_back({"waiting for host memory and CPUs", "host", parts.host});
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
    if (run_.jobs > 1)
      facts.add("jobs", fmt::format("{} of these at the same time, by {}: their collectives meet on the network",
                                    run_.jobs, enum_name(run_.jobs_by)));
    facts.add("layout", layout_text());
    facts.add("step", fmt::format("{}: {} tokens/s, {:.0f} TFLOP/s per GPU, {:.1f} % of peak (MFU)", brief(step_.time),
                                  grouped(static_cast<std::int64_t>(step_.tokens_per_second)),
                                  step_.flops_per_gpu / 1e12, mfu()));
    if (result_.by_messages)
      facts.add("levels",
                fmt::format("{} at message level: the step is {:+.1f} % longer here", brief(*result_.by_messages),
                            100 * seconds_of(step_.time) / seconds_of(*result_.by_messages) - 100));
    facts.add("network", network_text());
    facts.add("memory", memory_text());
    facts.add("cost", cost_text());
    facts.add("kernels", result_.basis);
    if (!result_.faults.empty()) facts.add("faults", result_.faults);
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
    if (!result_.faults.empty()) out["faults"] = result_.faults;
    if (result_.by_messages) out["message_step_ps"] = result_.by_messages->count();
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

void check_training_options(const SimOptions& options, const std::filesystem::path& file, bool several,
                            spec::Diagnostics& diagnostics) {
  const auto forbid = [&](bool given, std::string_view option) {
    if (given)
      diagnostics.add(Error::contradiction, {}, fmt::format("{} applies to flows, not to training", option),
                      "without it");
  };
  const SimOutputOptions& output = options.output;
  forbid(!options.run.sample.empty(), "--sample");
  forbid(!options.run.capture.empty() || !output.pcap.empty(), "--pcap");
  forbid(!output.csv.empty(), "--csv");
  forbid(!output.metrics.empty(), "--metrics");
  forbid(output.links.has_value() || output.flows || output.samples, "--links, --flows or --samples");
  forbid(options.seeds > 1, "--seeds");
  // Further jobs and levels would write over the first one's.
  if (several && (!output.trace.empty() || !options.work.collective.plot.empty()))
    diagnostics.add(Error::contradiction, {}, "--plot and --trace show one job at one level",
                    "one training job in `run:`, and one --fidelity");
  for (const std::string& why :
       file_conflicts({{"", file}}, {{"--plot", options.work.collective.plot}, {"--trace", output.trace}}))
    diagnostics.add(Error::contradiction, {}, why, "another name");
}

// A pass's name, and its colour.
struct PassLook {
  std::string_view name;
  std::string_view style;
};
PassLook look_of(training::PassKind kind) {
  switch (kind) {
    case training::PassKind::forward:
      return {"forward", "nic"};
    case training::PassKind::backward:
      return {"backward", "near"};
    case training::PassKind::weights:
      return {"gradients of parameters", "spine"};
  }
  return {"", "plain"};
}

// Stages by time, coloured by what they do; what follows the last pass is everybody's.
draw::Timeline timeline_of(const Session& session, const experiment::Training& work, const TrainingResult& result) {
  draw::Timeline out;
  const training::Step& step = result.step;
  out.title = fmt::format("A step of {} on {}", work.run.model.kind, session.cluster().name);
  out.caption = {experiment::describe_layout(work.run, result.layout),
                 fmt::format("{}, waits for {}", brief(step.time), experiment::bound_by(step))};
  for (std::int64_t stage = 0; stage < result.layout.pipeline; ++stage)
    out.rows.push_back(fmt::format("stage {}", stage));
  for (const auto kind : {training::PassKind::forward, training::PassKind::backward, training::PassKind::weights})
    out.hues.push_back({std::string(look_of(kind).style), std::string(look_of(kind).name)});
  out.hues.push_back({"far", "gradients, optimizer and parameters behind the last pass"});
  std::vector<training::Slot> slots = step.slots;
  std::stable_sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  std::vector<Duration> ends(out.rows.size());
  for (const training::Slot& slot : slots) {
    const auto row = static_cast<std::size_t>(slot.stage);
    out.spans.push_back(
        {row, seconds_of(slot.start), seconds_of(slot.end), static_cast<std::size_t>(slot.kind),
         fmt::format("stage {}: {} of micro-batch {}{}, {}", slot.stage, look_of(slot.kind).name, slot.micro_batch,
                     result.layout.virtual_stages > 1 ? fmt::format(", piece {}", slot.piece) : "",
                     brief(slot.end - slot.start))});
    ends[row] = std::max(ends[row], slot.end);
  }
  Duration last;
  for (const Duration each : ends) last = std::max(last, each);
  for (std::size_t row = 0; row < ends.size(); ++row)
    if (step.time > last)
      out.spans.push_back({row, seconds_of(last), seconds_of(step.time), 3,
                           fmt::format("behind the last pass: {}", brief(step.time - last))});
  return out;
}

// A process for each stage: passes on one track, what they compute and wait for on the next, piece by piece. The order
// inside a pass is not known: parts stand one behind the other.
void write_step_trace(const TrainingResult& result, std::ostream& out) {
  const training::Step& step = result.step;
  out << R"({"displayTimeUnit":"ms","traceEvents":[)";
  bool first = true;
  const auto slice = [&](std::int64_t pid, int tid, std::string_view name, Duration start, Duration length) {
    if (length.count() <= 0) return;
    out << (std::exchange(first, false) ? "\n" : ",\n")
        << Json({{"ph", "X"},
                 {"pid", pid + 1},
                 {"tid", tid},
                 {"name", name},
                 {"ts", static_cast<double>(start.count()) / 1e6},
                 {"dur", static_cast<double>(length.count()) / 1e6}})
               .dump();
  };
  const auto named = [&](std::int64_t pid, const Json& thread, std::string_view what, const std::string& name) {
    Json event{{"ph", "M"}, {"pid", pid + 1}, {"name", what}, {"args", {{"name", name}}}};
    if (!thread.is_null()) event["tid"] = thread;
    out << (std::exchange(first, false) ? "\n" : ",\n") << event.dump();
  };
  for (std::int64_t stage = 0; stage < result.layout.pipeline; ++stage) {
    named(stage, nullptr, "process_name", fmt::format("stage {}", stage));
    named(stage, 0, "thread_name", "passes");
    named(stage, 1, "thread_name", "parts");
  }
  Duration last;
  for (const training::Slot& slot : step.slots) {
    last = std::max(last, slot.end);
    slice(slot.stage, 0, fmt::format("{} {}", look_of(slot.kind).name, slot.micro_batch), slot.start,
          slot.end - slot.start);
    Duration at = slot.start;
    const auto part = [&](std::string_view name, Duration length) {
      slice(slot.stage, 1, name, at, length);
      at += length;
    };
    const auto& passes = step.passes[static_cast<std::size_t>(slot.piece * result.layout.pipeline + slot.stage)];
    for (std::size_t kind = 0; kind < passes.size(); ++kind) {
      const training::TimedPass& pass = passes[kind];
      const bool own = kind == static_cast<std::size_t>(slot.kind);
      const bool with = slot.kind == training::PassKind::backward && kind == 2;
      if (!own && !(with && at + pass.time() <= slot.end)) continue;
      for (std::size_t i = 0; i < training::kParts; ++i) part(enum_name(static_cast<Part>(i)), pass.busy[i]);
      part("slower beside communication", pass.beside);
      part("host is late", pass.launching);
      part("gaps between kernels", pass.gaps);
      part("host memory", pass.host);
      for (std::size_t i = 0; i < training::kGroups; ++i)
        part(fmt::format("waits for {} groups", enum_name(static_cast<Group>(i))), pass.exposed[i]);
    }
  }
  for (std::int64_t stage = 0; stage < result.layout.pipeline; ++stage)
    slice(stage, 0, "gradients, optimizer and parameters", last, step.time - last);
  out << "\n]}\n";
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
  const std::string& picture = options.work.collective.plot;
  if (!picture.empty()) {
    const draw::Timeline drawn =
        timeline_of(session, std::get<experiment::Training>(*experiment.workload), *outcome.training);
    if (const int code =
            write_output(picture, console, [&](std::ostream& out) { out << draw::to_svg(draw::timeline(drawn)); });
        code != kFine)
      return code;
  }
  if (options.output.trace.empty()) return kFine;
  return write_output(options.output.trace, console,
                      [&](std::ostream& out) { write_step_trace(*outcome.training, out); });
}

}  // namespace

int sim_training(Session& session, const SimOptions& options, std::vector<Experiment> experiments, Console& console) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const std::vector<Fidelity> fidelities = fidelities_of(options.run, experiments);
  check_training_options(options, session.file(), experiments.size() * fidelities.size() > 1, diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  for (const Experiment& each : experiments) experiment::check(session.design(), each, fidelities);
  if (report(diagnostics, options.input, console)) return kYourInput;
  if (!can_be_written({options.work.collective.plot, options.output.trace}, console)) return kThisMachine;
  print_warnings(session, experiments.back(), fidelities, options.input, console);
  const CtrlC ctrl_c;
  bool first = true;
  for (Experiment& each : experiments)
    for (const Fidelity fidelity : fidelities) {
      each.wanted.messages = options.output.trace.empty() && options.work.collective.plot.empty() ? 0 : 1;
      if (!std::exchange(first, false) && !options.input.json) console.out << "\n";
      each.fidelity = fidelity;
      if (const int code = run_with(session, options, each, console); code != kFine) return code;
    }
  return kFine;
}

}  // namespace weft::app
