#include "app/sim/experiment_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/sim/collective_options.hpp"
#include "app/sim/traffic_options.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "spec/files.hpp"

namespace weft::app {
namespace {

using experiment::Collectives;
using experiment::Fidelity;
using experiment::Traffic;
using experiment::Workload;
using spec::Error;

constexpr std::size_t kMostMatrixBytes = std::size_t{256} << 20;

template <class Dimension>
Quantity<Dimension> read(const std::string& text, std::string_view option, std::string_view example,
                         spec::Diagnostics& diagnostics) {
  const auto value = parse<Dimension>(text);
  if (value && value->count() > 0) return *value;
  if (!value && value.error() == UnitFault::not_exact) {
    diagnostics.add(Error::not_exact, {}, fmt::format("{} cannot be '{}'", option, text),
                    fmt::format("a multiple of {}", exact(Quantity<Dimension>(1))));
    return Quantity<Dimension>(1);
  }
  diagnostics.add(Error::wrong_type, {}, fmt::format("{} cannot be '{}'", option, text),
                  fmt::format("for example {} {}", option, example));
  return Quantity<Dimension>(1);
}

// The value of that name, or the default where none is given.
template <class Enum>
Enum choose(const std::string& text, Enum usual, std::string_view option, spec::Diagnostics& diagnostics) {
  if (text.empty()) return usual;
  if (const auto value = parse_enum<Enum>(text)) return *value;
  diagnostics.add(Error::not_a_choice, {}, fmt::format("{} cannot be '{}'", option, text.substr(0, 40)),
                  fmt::format("one of {}", either(enum_names<Enum>())));
  return usual;
}

// The one pattern of the command line, which needs no name.
model::TrafficRun pattern_of(const TrafficOptions& options, spec::Diagnostics& diagnostics) {
  model::TrafficRun run;
  run.pattern = choose(options.pattern, model::TrafficPattern::permutation, "--pattern", diagnostics);
  run.size = read<BytesDimension>(with_units(options.size), "--size", "2MB", diagnostics);
  if (options.gpus > 0) run.nodes = options.gpus;
  run.window = options.window;
  run.load = read<ShareDimension>(options.load, "--load", "50%", diagnostics);
  run.sizes = choose(options.sizes, model::FlowSizes::fixed, "--sizes", diagnostics);
  run.duration = read<DurationDimension>(options.duration, "--duration", "1ms", diagnostics);
  run.arrivals = choose(options.arrivals, model::FlowArrivals::at_once, "--arrivals", diagnostics);
  run.verb = choose(options.verb, model::Verb::send, "--verb", diagnostics);
  return run;
}

std::vector<Workload> load_collectives(const WorkOptions& options, const experiment::TrafficGround& ground,
                                       experiment::Design& design) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const CollectiveOptions& own = options.collective;
  const auto jobs = jobs_of(design.cluster(), own, options.traffic.gpus, options.traffic.sizes, diagnostics);
  Collectives work{{}, choice_of(own, diagnostics), {}};
  TrafficOptions streams;  // those of the command line, else of the file where that says what runs
  streams.streams = options.traffic.streams;
  const bool of_file = own.operation.empty() && !experiment::streams_of(design.cluster()).empty();
  std::optional<Traffic> beside;
  if (!streams.streams.empty() || of_file) beside = load_traffic(streams, ground, design, diagnostics);
  std::vector<Workload> made;
  for (std::size_t first = 0; first < jobs.size();) {
    std::size_t end = first + 1;
    while (end < jobs.size() && jobs[end].alongside) ++end;
    work.jobs.assign(jobs.begin() + static_cast<std::ptrdiff_t>(first),
                     jobs.begin() + static_cast<std::ptrdiff_t>(end));
    work.beside.reset();
    made.emplace_back(work);
    // Beside traffic it says little how long it takes, unless it is known what it takes alone.
    work.beside = beside;
    if (beside) made.emplace_back(work);
    first = end;
  }
  return made;
}

}  // namespace

std::vector<Fidelity> parse_fidelities(const std::string& text) {
  if (text == "all") return {experiment::kFidelities.begin(), experiment::kFidelities.end()};
  std::vector<Fidelity> made;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto fidelity = experiment::fidelity_named(text.substr(at, comma - at));
    if (!fidelity || std::find(made.begin(), made.end(), *fidelity) != made.end()) return {};
    made.push_back(*fidelity);
    at = comma + 1;
  }
  return made;
}

std::size_t count_fidelities(const std::string& text) { return parse_fidelities(text).size(); }

bool asks_for_traffic(const TrafficOptions& options) {
  return !options.matrix.empty() || !options.pattern.empty() || !options.streams.empty();
}

bool wants_training(const model::Cluster& cluster, const WorkOptions& options) {
  return options.collective.operation.empty() && !asks_for_traffic(options.traffic) &&
         !experiment::training_of(cluster).empty();
}

bool wants_collectives(const model::Cluster& cluster, const WorkOptions& options) {
  if (!options.collective.operation.empty()) return true;
  return !asks_for_traffic(options.traffic) && !experiment::collectives_of(cluster).empty();
}

std::optional<Traffic> load_traffic(const TrafficOptions& options, const experiment::TrafficGround& ground,
                                    const experiment::Design& design, spec::Diagnostics& diagnostics) {
  std::vector<model::TrafficRun> runs;
  if (!asks_for_traffic(options)) runs = experiment::streams_of(design.cluster());
  check_flow_options(options, !runs.empty(), diagnostics);
  if (!options.streams.empty() && (!options.matrix.empty() || !options.pattern.empty()))
    diagnostics.add(Error::contradiction, {}, "--stream has a pattern of its own",
                    "--stream NAME,pattern=... instead of --pattern or --matrix");
  for (const std::string& text : options.streams)
    runs.push_back(model::read_traffic(text, design.catalog(), diagnostics));
  if (diagnostics.has_errors()) return std::nullopt;
  if (options.matrix.empty()) {
    if (runs.empty()) runs.push_back(pattern_of(options, diagnostics));
    if (diagnostics.has_errors()) return std::nullopt;
    return experiment::make_traffic(runs, ground, diagnostics);
  }
  const auto source = spec::load_file(options.matrix, diagnostics, kMostMatrixBytes);
  if (!source) return std::nullopt;
  if (diagnostics.sources().text(*source).size() > kMostMatrixBytes) {
    diagnostics.add(Error::too_large, {*source, 0, 0, 1}, "the matrix is larger than 256 MiB", "fewer connections");
    return std::nullopt;
  }
  return experiment::read_matrix(*source, ground, diagnostics);
}

namespace {

// --size and --sizes are one option where only one of them has a meaning.
WorkOptions with_sizes(WorkOptions options, bool collectives) {
  TrafficOptions& traffic = options.traffic;
  const auto given = [&](std::string_view name) {
    return std::find(traffic.given.begin(), traffic.given.end(), name) != traffic.given.end();
  };
  if (collectives && given("--size") && !given("--sizes")) {
    traffic.sizes = traffic.size;
    std::erase(traffic.given, "--size");
  } else if (!collectives && given("--sizes") && !given("--size") && !parse_enum<model::FlowSizes>(traffic.sizes) &&
             parse_sizes_quietly(traffic.sizes).size() == 1) {
    traffic.size = std::exchange(traffic.sizes, "");
    std::replace(traffic.given.begin(), traffic.given.end(), std::string("--sizes"), std::string("--size"));
  }
  return options;
}

}  // namespace

std::vector<Workload> load_work(const WorkOptions& all, const experiment::TrafficGround& ground,
                                experiment::Design& design) {
  WorkOptions options = with_sizes(all, wants_collectives(design.cluster(), all));
  const bool flows = !wants_collectives(design.cluster(), all);
  take_servers(design.cluster(), options.servers, flows, options.traffic.gpus, options.collective.per_server,
               design.diagnostics());
  if (design.diagnostics().has_errors()) return {};
  if (wants_training(design.cluster(), options)) {
    check_no_flow_options(options.traffic, options.collective, design.diagnostics());
    CollectiveOptions others = options.collective;
    std::erase(others.given, "--plot");  // a step is drawn as well
    check_no_collective_options(others, design.diagnostics());
    std::vector<Workload> made;
    for (experiment::Training& each : experiment::training_of(design.cluster())) made.emplace_back(std::move(each));
    return made;
  }
  if (wants_collectives(design.cluster(), options)) {
    check_no_flow_options(options.traffic, options.collective, design.diagnostics());
    return load_collectives(options, ground, design);
  }
  check_no_collective_options(options.collective, design.diagnostics());
  auto traffic = load_traffic(options.traffic, ground, design, design.diagnostics());
  if (!traffic) return {};
  return {std::move(*traffic)};
}

std::vector<experiment::Experiment> make_experiments(std::vector<Workload> work, const RunOptions& run,
                                                     const experiment::Limits& limits, experiment::Design& design) {
  experiment::Experiment each{.workload = nullptr};
  for (const std::string& text : run.faults)
    each.faults.push_back(model::read_fault(text, design.catalog(), design.diagnostics()));
  if (!run.sample.empty())
    each.wanted.sample = read<DurationDimension>(run.sample, "--sample", "1us", design.diagnostics());
  each.wanted.capture = run.capture;
  each.seed = run.seed;
  each.threads = run.threads;
  each.limits = limits;
  const auto knows_messages = [](const Workload& workload) {
    const auto* collectives = std::get_if<Collectives>(&workload);
    return std::holds_alternative<experiment::Training>(workload) || (collectives != nullptr && !collectives->beside);
  };
  if (!run.fidelity.empty())
    each.fidelity = parse_fidelities(run.fidelity)[0];
  else if (std::all_of(work.begin(), work.end(), knows_messages))
    each.fidelity = Fidelity::message;
  std::vector<experiment::Experiment> made;
  for (Workload& workload : work) {
    each.workload = std::make_shared<const Workload>(std::move(workload));
    made.push_back(each);
  }
  return made;
}

std::vector<Fidelity> fidelities_of(const RunOptions& run, const std::vector<experiment::Experiment>& experiments) {
  return run.fidelity.empty() ? std::vector{experiments[0].fidelity} : parse_fidelities(run.fidelity);
}

void check_links(bool wanted, const std::vector<experiment::Experiment>& experiments,
                 const std::vector<Fidelity>& fidelities, spec::Diagnostics& diagnostics) {
  const bool flows = std::any_of(experiments.begin(), experiments.end(), [](const experiment::Experiment& each) {
    return std::holds_alternative<Traffic>(*each.workload);
  });
  const bool none =
      std::all_of(fidelities.begin(), fidelities.end(), [](Fidelity each) { return each == Fidelity::message; });
  if (wanted && none && !flows)
    diagnostics.add(Error::contradiction, {}, "what links carry of it is not known at message level",
                    "--fidelity flow, or packet");
}

}  // namespace weft::app
