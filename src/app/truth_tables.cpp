#include "app/truth_tables.hpp"

#include <algorithm>
#include <filesystem>

#include "app/collective_choice.hpp"
#include "collective/tuner.hpp"
#include "spec/files.hpp"

namespace weft::app {
namespace {

using collective::Constants;
using collective::Team;
using spec::Complaint;

constexpr std::size_t kMostText = std::size_t{1} << 20;

std::vector<std::filesystem::path> files_of(const std::string& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code fault;
  for (std::filesystem::directory_iterator each(directory, fault), end; !fault && each != end; each.increment(fault))
    if (each->path().extension() == ".csv" || each->path().extension() == ".txt") found.push_back(each->path());
  std::sort(found.begin(), found.end());
  return found;
}

// A scenario may say what is known about its table, and what is not.
std::vector<std::string> notes_of(std::string_view text) {
  constexpr std::string_view kMark = "# note: ";
  std::vector<std::string> notes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kMark)) notes.emplace_back(line.substr(kMark.size()));
    at = end + 1;
  }
  return notes;
}

std::optional<TruthTable> load(const std::filesystem::path& file, bool json, Console& console) {
  InputOptions input;
  input.file = (file.parent_path() / (file.stem().string() + ".weft.yaml")).string();
  input.json = json;
  TruthTable table;
  table.name = file.stem().string();
  table.session = std::make_unique<Session>(input, console);
  if (!table.session->ok()) return std::nullopt;
  const model::Cluster& cluster = table.session->cluster();
  spec::Diagnostics& diagnostics = table.session->diagnostics();
  auto rows = load_measurements(file, diagnostics);
  const std::vector<CollectiveJob> jobs = collectives_of(cluster);
  if (jobs.size() != 1)
    diagnostics.add(Complaint::contradiction, table.session->place("run", ""), "a scenario has one collective",
                    "run: [{all_reduce: {gpus: 16, stack: ib}}]");
  if (jobs.size() == 1) check_job(jobs[0], cluster, diagnostics);
  auto groups = jobs.size() == 1 ? groups_of(jobs[0], cluster, diagnostics) : std::vector<std::vector<std::uint32_t>>{};
  if (jobs.size() == 1 && (groups.size() > 1 || jobs[0].skew.count() > 0 || !jobs[0].slow_ranks.empty()))
    diagnostics.add(Complaint::not_simulated, table.session->place("run", ""),
                    "a table is of one group of ranks that are neither late nor slow",
                    "`gpus` or `on` without the others");
  const collective::Stack* stack = jobs.size() == 1 ? stack_of(jobs[0], "", cluster, diagnostics) : nullptr;
  if (app::report(diagnostics, input, console) || !rows || stack == nullptr) return std::nullopt;
  if (const auto source = spec::load_file(input.file, diagnostics, kMostText))
    table.notes = notes_of(diagnostics.sources().text(*source));
  table.rows = std::move(*rows);
  table.job = jobs[0];
  table.stack = stack->name;
  table.kind = cluster.groups[0].spec.kind;
  table.team = std::make_unique<Team>(table.session->fabric(), std::move(groups.front()));
  for (const Measurement& row : table.rows) {
    const auto best = collective::estimates(*table.team, table.job.operation, row.bytes, *stack).front();
    table.choices.push_back({best.algorithm, best.protocol, 0});
  }
  return table;
}

}  // namespace

bool TruthTable::uses(std::string_view owner) const {
  const collective::Stack& used = *collective::stack_named(stack);
  return owner == used.common.name || owner == used.launch.name ||
         owner == collective::generation_of(team->group(0).spec.gpu.kind).name ||
         ((owner == used.network.name || owner == used.network.like) && team->nodes() > 1);
}

std::vector<TruthTable> load_tables(const std::string& directory, bool json, Console& console, bool& failed) {
  std::vector<TruthTable> tables;
  for (const std::filesystem::path& file : files_of(directory)) {
    auto table = load(file, json, console);
    failed |= !table;
    if (table) tables.push_back(std::move(*table));
  }
  return tables;
}

const report::CollectiveRow& TruthClock::row(const TruthTable& table, std::size_t i, const Constants& constants) {
  std::vector<std::int64_t> key;
  for (const collective::Number& number : collective::numbers(constants))
    if (table.uses(number.owner)) key.push_back(number.value);
  auto& rows = known_[{&table, std::move(key)}];
  rows.resize(table.rows.size());
  if (rows[i].time > 0) return rows[i];
  const collective::Stack stack = collective::make_stack(constants, table.stack);
  const collective::Generation& generation = collective::generation_of(table.team->group(0).spec.gpu.kind, constants);
  rows[i] = time_collective(*table.team,
                            {.operation = table.job.operation,
                             .bytes = table.rows[i].bytes,
                             .choice = table.choices[i],
                             .stack = &stack,
                             .generation = &generation},
                            nullptr);
  return rows[i];
}

}  // namespace weft::app
