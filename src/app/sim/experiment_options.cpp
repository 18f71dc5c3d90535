#include "app/sim/experiment_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/sim/collective_options.hpp"
#include "app/sim/traffic_options.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "experiment/fingerprint.hpp"
#include "spec/files.hpp"
#include "workload/chakra.hpp"
#include "workload/goal.hpp"

namespace weft::app {
namespace {

using experiment::Collectives;
using experiment::Fidelity;
using experiment::Traffic;
using experiment::Workload;
using spec::Error;

constexpr std::size_t kMostFileBytes = std::size_t{256} << 20;
constexpr std::size_t kMostTraceBytes = std::size_t{1} << 30;  // of all ranks

// The number that is left of one with too many digits; empty: nothing is.
template <class Dimension>
std::string cut_to_exact(std::string text) {
  for (std::size_t digit; (digit = text.find_last_of("0123456789")) != std::string::npos; text.erase(digit, 1))
    if (const auto value = parse<Dimension>(text); value) return value->count() > 0 ? text : "";
  return "";
}

template <class Dimension>
Quantity<Dimension> read(const std::string& text, std::string_view option, std::string_view example,
                         spec::Diagnostics& diagnostics) {
  const auto value = parse<Dimension>(text);
  if (value && value->count() > 0) return *value;
  if (!value && value.error() == UnitFault::not_exact) {
    const std::string cut = cut_to_exact<Dimension>(text);
    diagnostics.add(
        Error::not_exact, {}, fmt::format("{} cannot be '{}'", option, text),
        fmt::format("a multiple of {}{}", exact(Quantity<Dimension>(1)), cut.empty() ? "" : ", such as " + cut));
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

// A file that is read as a whole; nothing, and an error, when it is too large.
std::optional<std::uint32_t> load_whole(const std::filesystem::path& path, std::string_view what, std::string_view help,
                                        spec::Diagnostics& diagnostics) {
  const auto source = spec::load_file(path, diagnostics, kMostFileBytes);
  if (!source || diagnostics.sources().text(*source).size() <= kMostFileBytes) return source;
  diagnostics.add(Error::too_large, {*source, 0, 0, 1}, fmt::format("{} is larger than 256 MiB", what),
                  std::string(help));
  return std::nullopt;
}

// Work of other programs, in files of theirs.
struct TraceFiles {
  std::string goal;    // one of
  std::string chakra;  // these
  std::string groups;
  spec::Place place = {};  // of the word that names it, where the cluster file does
};

// Operations and memory of the first GPUs, for nodes that do not say how long they take.
workload::ChakraRates rates_of(const model::Cluster& cluster) {
  const model::GpuKind& gpu = cluster.groups[0].spec.gpu;
  workload::ChakraRates rates;
  if (gpu.fp16_dense) rates.operations = static_cast<double>(gpu.fp16_dense->count());
  if (gpu.memory_bandwidth) rates.bytes = static_cast<double>(gpu.memory_bandwidth->count()) / 8;
  return rates;
}

std::optional<Traffic> load_chakra(const TraceFiles& trace, const experiment::TrafficGround& ground,
                                   const experiment::Design& design, spec::Diagnostics& diagnostics) {
  std::vector<std::uint32_t> sources;
  std::size_t bytes = 0;
  experiment::Fingerprint all;
  const auto name = [&](std::size_t rank) { return fmt::format("{}.{}.et", trace.chakra, rank); };
  do {
    const auto source = load_whole(name(sources.size()), "the trace", "a shorter trace", diagnostics);
    if (!source) return std::nullopt;
    sources.push_back(*source);
    const std::string& text = diagnostics.sources().text(*source);
    all.add(text);
    bytes += text.size();
    if (bytes > kMostTraceBytes || sources.size() > workload::kMostGraphRanks) {
      diagnostics.add(Error::too_large, {*source, 0, 0, 1}, "the traces of all ranks are larger than 1 GiB",
                      "shorter traces, or fewer ranks");
      return std::nullopt;
    }
  } while (std::filesystem::exists(name(sources.size())));
  workload::ChakraGroups groups;
  if (!trace.groups.empty()) {
    const auto source = spec::load_file(trace.groups, diagnostics);
    const auto read = source ? workload::read_chakra_groups(*source, diagnostics) : std::nullopt;
    if (!read) return std::nullopt;
    groups = *read;
  }
  workload::Graph graph = workload::read_chakra(sources, groups, rates_of(design.cluster()), diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return experiment::graph_traffic(std::move(graph), trace.chakra, all.value(), trace.place, ground, diagnostics);
}

std::optional<Traffic> load_trace(const TraceFiles& trace, const experiment::TrafficGround& ground,
                                  const experiment::Design& design, spec::Diagnostics& diagnostics) {
  if (!trace.chakra.empty()) return load_chakra(trace, ground, design, diagnostics);
  const auto source = load_whole(trace.goal, "the schedule", "a shorter schedule", diagnostics);
  if (!source) return std::nullopt;
  workload::Graph graph = workload::read_goal(*source, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  experiment::Fingerprint all;
  all.add(diagnostics.sources().text(*source));
  return experiment::graph_traffic(std::move(graph), trace.goal, all.value(), trace.place, ground, diagnostics);
}

// Of the cluster file's `run:`.
std::vector<const model::TraceRun*> traces_of(const model::Cluster& cluster) {
  std::vector<const model::TraceRun*> all;
  for (const model::RunSpec& run : cluster.file.run)
    if (run.trace) all.push_back(&*run.trace);
  return all;
}

// Paths that a file names begin at its folder; those of --set at the current one.
std::string path_from(const spec::Place& place, const std::string& path, const spec::Diagnostics& diagnostics) {
  if (place.source == 0) return path;
  return (std::filesystem::path(diagnostics.sources().name(place.source)).parent_path() / path).string();
}

TraceFiles files_of(const model::TraceRun& run, const spec::Diagnostics& diagnostics) {
  const auto path = [&](std::string_view key, const std::optional<std::string>& given) {
    return given ? path_from(run.places.of(key), *given, diagnostics) : std::string();
  };
  return {path("goal", run.goal), path("chakra", run.chakra), path("groups", run.groups),
          run.places.of(run.goal ? "goal" : "chakra")};
}

// Other work beside a trace would have to begin at some time, which nothing says.
void check_trace(const model::TraceRun& run, const model::Cluster& cluster, const TrafficOptions& options,
                 spec::Diagnostics& diagnostics) {
  check_trace_options(options, diagnostics);
  const bool alone = traces_of(cluster).size() == 1 && experiment::streams_of(cluster).empty() &&
                     experiment::collectives_of(cluster).empty() && experiment::training_of(cluster).empty();
  if (!alone)
    diagnostics.add(Error::contradiction, run.places.whole,
                    "a trace runs by itself, and `run:` has other work beside it", "a file for each, or --set run=...");
  if (run.goal.has_value() == run.chakra.has_value())
    diagnostics.add(run.goal ? Error::contradiction : Error::missing_key, run.places.whole,
                    run.goal ? "a trace is of one kind, and this names two" : "a trace names its file or files",
                    "goal: FILE.goal, or chakra: PREFIX");
  else if (run.groups && !run.chakra)
    diagnostics.add(Error::contradiction, run.places.of("groups"), "groups are of Chakra's traces",
                    "chakra: PREFIX, or without groups");
  if (diagnostics.has_errors()) return;
  const TraceFiles files = files_of(run, diagnostics);
  const auto there = [&](const std::string& path, const spec::Place& place) {
    if (path.empty() || std::filesystem::exists(path)) return;
    diagnostics.add(Error::cannot_read, place, fmt::format("there is no {}", path),
                    "paths begin at the folder of the cluster file, those of --set at the current one");
  };
  there(files.goal.empty() ? files.chakra + ".0.et" : files.goal, files.place);
  there(files.groups, run.places.of("groups"));
}

}  // namespace

NamedFile file_of(const TrafficOptions& options) {
  if (!options.matrix.empty()) return {"--matrix", options.matrix};
  if (!options.goal.empty()) return {"--goal", options.goal};
  if (!options.chakra.empty()) return {"--chakra", options.chakra + ".0.et"};
  return {};
}

NamedFile file_of(const WorkOptions& options, const experiment::Design& design) {
  if (!wants_trace(design.cluster(), options)) return file_of(options.traffic);
  const TraceFiles files = files_of(*traces_of(design.cluster())[0], design.diagnostics());
  return {"trace", files.goal.empty() ? files.chakra + ".0.et" : files.goal};
}

std::vector<Fidelity> parse_fidelities(const std::string& text) {
  if (text == "all") return {experiment::kFidelities.begin(), experiment::kFidelities.end()};
  std::vector<Fidelity> made;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto fidelity = parse_enum<experiment::Fidelity>(text.substr(at, comma - at));
    if (!fidelity || std::find(made.begin(), made.end(), *fidelity) != made.end()) return {};
    made.push_back(*fidelity);
    at = comma + 1;
  }
  return made;
}

std::size_t count_fidelities(const std::string& text) { return parse_fidelities(text).size(); }

bool asks_for_traffic(const TrafficOptions& options) {
  return !file_of(options).path.empty() || !options.pattern.empty() || !options.streams.empty();
}

bool wants_trace(const model::Cluster& cluster, const WorkOptions& options) {
  return options.collective.operation.empty() && !asks_for_traffic(options.traffic) && !traces_of(cluster).empty();
}

bool wants_training(const model::Cluster& cluster, const WorkOptions& options) {
  return options.collective.operation.empty() && !asks_for_traffic(options.traffic) && traces_of(cluster).empty() &&
         !experiment::training_of(cluster).empty();
}

bool wants_collectives(const model::Cluster& cluster, const WorkOptions& options) {
  if (!options.collective.operation.empty()) return true;
  return !asks_for_traffic(options.traffic) && traces_of(cluster).empty() &&
         !experiment::collectives_of(cluster).empty();
}

std::optional<Traffic> load_traffic(const TrafficOptions& options, const experiment::TrafficGround& ground,
                                    const experiment::Design& design, spec::Diagnostics& diagnostics) {
  std::vector<model::TrafficRun> runs;
  if (!asks_for_traffic(options)) runs = experiment::streams_of(design.cluster());
  check_flow_options(options, !runs.empty(), diagnostics);
  if (!options.groups.empty() && options.chakra.empty())
    diagnostics.add(Error::contradiction, {}, "--groups are of Chakra's traces", "--chakra PREFIX --groups FILE");
  const NamedFile file = file_of(options);
  if (!options.streams.empty() && (!file.path.empty() || !options.pattern.empty()))
    diagnostics.add(
        Error::contradiction, {}, "--stream has a pattern of its own",
        fmt::format("--stream NAME,pattern=... instead of {}", file.path.empty() ? "--pattern" : file.option));
  for (const std::string& text : options.streams)
    runs.push_back(model::read_traffic(text, design.catalog(), diagnostics));
  if (diagnostics.has_errors()) return std::nullopt;
  if (!options.goal.empty() || !options.chakra.empty())
    return load_trace({options.goal, options.chakra, options.groups}, ground, design, diagnostics);
  if (options.matrix.empty()) {
    if (runs.empty()) runs.push_back(pattern_of(options, diagnostics));
    if (diagnostics.has_errors()) return std::nullopt;
    return experiment::make_traffic(runs, ground, diagnostics);
  }
  const auto source = load_whole(options.matrix, "the matrix", "fewer connections", diagnostics);
  if (!source) return std::nullopt;
  return experiment::read_matrix(*source, ground, diagnostics);
}

namespace {

std::optional<Traffic> load_file_trace(const TrafficOptions& options, const experiment::TrafficGround& ground,
                                       const experiment::Design& design, spec::Diagnostics& diagnostics) {
  const model::TraceRun& run = *traces_of(design.cluster())[0];
  check_trace(run, design.cluster(), options, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return load_trace(files_of(run, diagnostics), ground, design, diagnostics);
}

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
  auto traffic = wants_trace(design.cluster(), options)
                     ? load_file_trace(options.traffic, ground, design, design.diagnostics())
                     : load_traffic(options.traffic, ground, design, design.diagnostics());
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
  if (!run.fidelity.empty())
    each.fidelity = parse_fidelities(run.fidelity)[0];
  else if (std::ranges::all_of(
               work, [](Fidelity one) { return one == Fidelity::message; }, experiment::usual_fidelity))
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
