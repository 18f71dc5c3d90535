#include "truth/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "collective/tuner.hpp"
#include "experiment/run_collectives.hpp"
#include "spec/files.hpp"

namespace weft::truth {
namespace {

using collective::Constants;
using collective::Team;
using spec::Error;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::int64_t kFewRanks = 32;

// What was left out of a cluster file that names little more than servers: a switch that is large enough for all of
// them, and what the table says was run.
constexpr std::string_view kOneSwitch =
    "fabric={kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps, link_layer: ethernet}}";

std::filesystem::path cluster_of(const std::filesystem::path& table) {
  return table.parent_path() / (table.stem().string() + ".weft.yaml");
}

bool is_there(const std::filesystem::path& file) {
  std::error_code fault;
  return std::filesystem::exists(file, fault);
}

// Tables, and texts that have a cluster beside them: others are about something else.
std::vector<std::filesystem::path> files_of(const std::string& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code fault;
  for (std::filesystem::directory_iterator each(directory, fault), end; !fault && each != end; each.increment(fault)) {
    const std::filesystem::path kind = each->path().extension();
    const bool text = kind == ".txt" || kind == ".log" || kind == ".out";
    if (kind == ".csv" || kind == ".tsv" || (text && is_there(cluster_of(each->path())))) found.push_back(each->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Whether a line of a cluster file begins with that key.
bool has_key(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    const std::string_view line = text.substr(at, key.size() + 1);
    if (line.starts_with(key) && line.ends_with(':')) return true;
  }
  return false;
}

// nccl-tests' names of operations, as ours.
std::string operation_of(const std::string& collective) {
  return collective == "alltoall" ? "all_to_all" : collective == "sendrecv" ? "send_recv" : collective;
}

// Words of --set that say it.
std::vector<std::string> completion_of(std::string_view text, const Measurements& table) {
  std::vector<std::string> set;
  if (text.find_first_not_of(" \n") != std::string_view::npos && text[text.find_first_not_of(" \n")] == '{') return set;
  if (!has_key(text, "version")) set.emplace_back("version=1");
  if (!has_key(text, "fabric")) set.emplace_back(kOneSwitch);
  if (!has_key(text, "run") && collective::operation_named(operation_of(table.collective)))
    set.push_back("run=[{" + operation_of(table.collective) + ": {}}]");
  return set;
}

// Of all that NCCL would consider the best that the environment allows. Nothing when it leaves nothing.
std::optional<collective::Choice> forced_choice(const std::map<std::string, std::string>& environment,
                                                const std::vector<collective::Estimate>& best_first) {
  const auto value_of = [&](const char* name) -> std::string_view {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string_view{} : std::string_view(found->second);
  };
  for (const collective::Estimate& each : best_first)
    if (collective::allowed(each.algorithm, each.protocol, value_of))
      return collective::Choice{each.algorithm, each.protocol, 0};
  return std::nullopt;
}

// Blocks of threads (CTAs) are channels of every algorithm, those named channels or rings are not of NVLS (NCCL
// src/graph/connect.cc and src/transport/nvls.cc).
collective::ChannelLimits limits_of(collective::Algorithm algorithm,
                                    const std::map<std::string, std::string>& environment) {
  constexpr collective::ChannelLimits kNone;
  const bool nvls = algorithm == collective::Algorithm::nvls || algorithm == collective::Algorithm::nvls_tree;
  // 0 where it is not set, or below.
  const auto number = [&](const char* name) {
    std::uint32_t value = 0;
    if (const auto found = environment.find(name); found != environment.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    return std::min(value, kNone.most);
  };
  collective::ChannelLimits made;
  for (const char* name : {"NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS"})
    if (!nvls || name == std::string_view("NCCL_MIN_CTAS")) made.least = std::max(made.least, number(name));
  for (const char* name : {"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS"})
    if (const std::uint32_t most = number(name); most > 0 && (!nvls || name == std::string_view("NCCL_MAX_CTAS")))
      made.most = std::min(made.most, most);
  return made;
}

// Which half of all addresses a table is of: what is never fitted to is drawn, and not chosen.
bool has_odd_crc(std::string_view text) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 == 1 ? 0xedb88320u : 0u);
  }
  return (crc ^ 0xffffffff) % 2 == 1;
}

// A scenario may say what is known about its table, and what is not.
std::vector<std::string> marked_lines(std::string_view text, std::string_view mark) {
  std::vector<std::string> notes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(mark)) notes.emplace_back(line.substr(mark.size()));
    at = end + 1;
  }
  return notes;
}

// A network's numbers are its own, or those of one it is like.
bool draws_on(std::string_view network, std::string_view owner) {
  for (const collective::Network& each : collective::constants().networks)
    if (each.name == network) return network == owner || (!each.like.empty() && draws_on(each.like, owner));
  return false;
}

// Networks, and what may stand behind them.
std::string stacks_in_words() {
  std::vector<std::string> networks;
  for (const collective::Network& each : collective::constants().networks) networks.emplace_back(each.name);
  return fmt::format("one of {}, with -one-process or -pytorch and a release such as -nccl2.21 behind it",
                     either(networks));
}

// What all tables of a folder share.
struct Shared {
  spec::Diagnostics notes;  // with the catalog's texts
  std::shared_ptr<const model::Catalog> catalog;
  Shared() : catalog(std::make_shared<const model::Catalog>(model::Catalog::embedded(notes))) {}
};

// The one collective of the design's file that the table can be of; nothing with an error.
std::optional<experiment::CollectiveJob> job_of(experiment::Design& design) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const spec::Place place = design.place("run", "");
  const std::vector<experiment::CollectiveJob> jobs = experiment::collectives_of(design.cluster());
  if (jobs.size() != 1) {
    diagnostics.add(Error::contradiction, place, "a scenario has one collective",
                    "run: [{all_reduce: {gpus: 16, stack: ib}}]");
    return std::nullopt;
  }
  const experiment::CollectiveJob& job = jobs[0];
  experiment::check_job(job, design.cluster(), diagnostics);
  if (!job.split.empty() || job.skew.count() > 0 || !job.slow_ranks.empty())
    diagnostics.add(Error::not_simulated, place, "a table is of one group of ranks that are neither late nor slow",
                    "`gpus` or `on` without the others");
  if (!job.stack.empty() && collective::stack_named(job.stack) == nullptr)
    diagnostics.add(Error::not_a_choice, place, fmt::format("there is no stack '{}'", job.stack.substr(0, 40)),
                    stacks_in_words());
  return job;
}

// Nothing with an error in `diagnostics`.
std::optional<TruthTable> load(const std::filesystem::path& file, const Shared& shared, spec::Diagnostics& diagnostics,
                               std::vector<std::string>& remarks) {
  const std::filesystem::path cluster_file = cluster_of(file);
  const auto measured = load_measurements(file, diagnostics);
  if (!is_there(cluster_file))
    diagnostics.add(Error::cannot_read, {}, fmt::format("{} has no cluster file beside it", file.string()),
                    fmt::format("{}, with the servers and one run: [{{all_reduce: {{gpus: 16, stack: ib}}}}]",
                                cluster_file.filename().string()));
  if (diagnostics.has_errors() || !measured) return std::nullopt;
  const auto source = spec::load_file(cluster_file, diagnostics, kMostText);
  if (!source) return std::nullopt;
  const std::string text = diagnostics.sources().text(*source);
  TruthTable table;
  table.name = file.stem().string();
  table.design =
      experiment::Design::read(*source, table.name, completion_of(text, *measured), shared.catalog, diagnostics);
  if (!table.design) return std::nullopt;
  const model::Cluster& cluster = table.design->cluster();
  const auto job = job_of(*table.design);
  diagnostics = table.design->diagnostics();
  if (diagnostics.has_errors() || !job) return std::nullopt;
  auto groups = experiment::groups_of(*job, cluster, diagnostics);
  const collective::Stack* stack = experiment::stack_of(*job, cluster, diagnostics);
  if (diagnostics.has_errors() || stack == nullptr) return std::nullopt;
  table.notes = marked_lines(text, "# note: ");
  table.blind = marked_lines(text, "# blind: ");
  const auto sources = marked_lines(diagnostics.sources().text(measured->source), "# source: ");
  table.never_fitted =
      sources.empty() || !sources[0].starts_with("http") || has_odd_crc(sources[0].substr(0, sources[0].find(' ')));
  for (const auto& [name, value] : measured->environment)
    if (const std::string_view word = collective::refused_word(name, value); !word.empty())
      diagnostics.add(Error::not_a_choice, {measured->source, 1, 1, 1},
                      fmt::format("NCCL has no '{}' for {}", word.substr(0, 40), name),
                      "names as NCCL_ALGO and NCCL_PROTO have them");
  if (diagnostics.has_errors()) return std::nullopt;
  table.rows = measured->rows;
  table.job = *job;
  table.stack = stack->name;
  table.kind = cluster.groups[0].spec.kind;
  table.team = std::make_unique<Team>(table.design->fabric(), std::move(groups.front()));
  time_from_bus(table.rows, collective::bus_factor(table.job.operation, table.team->ranks()));
  const std::int64_t said = table.job.operation == collective::Operation::all_reduce ? measured->ranks : 0;
  // Of few ranks two decimals tell how many there were; labels are often wrong about it.
  if (said > 0 && said <= kFewRanks && said != table.team->ranks())
    remarks.push_back(fmt::format("{}: busbw / algbw is that of {} ranks, and the run has {}", file.string(), said,
                                  table.team->ranks()));
  for (const Measurement& row : table.rows) {
    const auto all = collective::estimates(*table.team, table.job.operation, row.bytes, *stack);
    table.choices.push_back(
        forced_choice(measured->environment, all).value_or(collective::Choice{all[0].algorithm, all[0].protocol, 0}));
    table.limits.push_back(limits_of(table.choices.back().algorithm, measured->environment));
  }
  return table;
}

}  // namespace

bool TruthTable::uses(std::string_view owner) const {
  const collective::Stack& used = *collective::stack_named(stack);
  return owner == used.common.name || owner == used.launch.name ||
         owner == collective::generation_of(team->group(0).spec.gpu.kind).name ||
         (team->nodes() > 1 && draws_on(used.network.name, owner));
}

LoadedTables load_tables(const std::string& directory) {
  LoadedTables loaded;
  const std::vector<std::filesystem::path> files = files_of(directory);
  if (files.empty()) return loaded;
  const Shared shared;
  for (const std::filesystem::path& file : files) {
    spec::Diagnostics diagnostics = shared.notes;
    if (auto table = load(file, shared, diagnostics, loaded.remarks))
      loaded.tables.push_back(std::move(*table));
    else
      loaded.wrong.push_back(std::move(diagnostics));
  }
  return loaded;
}

const schedule::CollectiveRow& TruthClock::row(const TruthTable& table, std::size_t i, const Constants& constants) {
  std::vector<std::int64_t> key;
  for (const collective::Number& number : collective::numbers(constants))
    if (table.uses(number.owner)) key.push_back(number.value);
  auto& rows = known_[{&table, std::move(key)}];
  rows.resize(table.rows.size());
  if (rows[i].time > Duration(0)) return rows[i];
  const collective::Stack stack = collective::make_stack(constants, table.stack);
  const collective::Generation& generation = collective::generation_of(table.team->group(0).spec.gpu.kind, constants);
  rows[i] = experiment::time_collective(*table.team, {.operation = table.job.operation,
                                                      .bytes = table.rows[i].bytes,
                                                      .choice = table.choices[i],
                                                      .stack = &stack,
                                                      .generation = &generation,
                                                      .limits = table.limits[i]});
  return rows[i];
}

}  // namespace weft::truth
