#include "app/collective_runs.hpp"

#include <fmt/format.h>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/sim_run.hpp"
#include "base/text.hpp"

namespace weft::app {
namespace {

using collective::Choice;
using collective::PlanOptions;
using collective::Team;
using report::CollectiveRow;

constexpr std::size_t kDevicesShown = 64;
constexpr std::size_t kMostTraced = 200'000;  // messages: what a viewer opens in a moment

std::string name_of(const CollectiveJob& job) {
  return (job.on.empty() ? counted(job.gpus, "GPU") : "GPUs " + job.on) +
         (job.split.empty() ? "" : " split " + job.split);
}

std::string names_beside(const Traffic* beside) {
  if (beside == nullptr) return "";
  std::string names;
  for (const TrafficStream& each : beside->streams) names += (names.empty() ? " beside " : ", ") + each.name;
  return names;
}

}  // namespace

CollectiveRuns::CollectiveRuns(Session& session, const CollectiveRequest& request, const Wanted& wanted,
                               const std::vector<std::string>& fidelities, const Traffic* beside, const Limits& limits,
                               Console& console)
    : session_(session),
      request_(request),
      wanted_(wanted),
      beside_(beside),
      console_(console),
      fidelities_(fidelities),
      watch_(
          limits, [] { return std::uint64_t{0}; }, console) {}

CollectiveSide CollectiveRuns::side_of(const CollectiveJob& job) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  CollectiveSide made;
  made.job = &job;
  made.stack = stack_of(job, request_.options.stack, session_.cluster(), diagnostics);
  made.rows.resize(fidelities_.size());
  for (auto& gpus : groups_of(job, session_.cluster(), diagnostics)) {
    made.teams.push_back(std::make_unique<Team>(session_.fabric(), std::move(gpus)));
    const std::size_t group = made.conditions.size();
    made.conditions.push_back(conditions_of(job, made.teams.back()->ranks(), request_.run.seed + group, diagnostics));
  }
  return made;
}

report::CollectiveHead CollectiveRuns::head(const CollectiveSide& side) const {
  report::CollectiveHead made;
  made.version = build_info().version;
  made.cluster = session_.cluster().name;
  made.operation = collective::name(side.job->operation);
  const auto [least, most] = std::minmax_element(side.job->sizes.begin(), side.job->sizes.end());
  made.min_bytes = static_cast<std::uint64_t>(least->count());
  made.max_bytes = static_cast<std::uint64_t>(most->count());
  const fabric::Fabric& fabric = session_.fabric();
  std::uint32_t shown = 0;
  for (std::size_t group = 0; group < side.teams.size(); ++group)
    for (std::uint32_t rank = 0; rank < side.teams[group]->ranks() && shown < kDevicesShown; ++rank, ++shown) {
      const Team& team = *side.teams[group];
      const fabric::Node node = fabric.describe(fabric.gpu(team.gpu(rank)));
      const std::string gpu = fabric.name(fabric.gpu(team.gpu(rank)));
      made.devices.push_back(fmt::format("Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}", group, shown,
                                         gpu.substr(0, gpu.find('/')), node.local, gpu,
                                         team.group(rank).spec.gpu.kind));
    }
  return made;
}

// What one job does for a size: the choices, NCCL's own first.
bool CollectiveRuns::run_size(std::vector<CollectiveSide>& sides, std::size_t index) {
  std::vector<std::vector<Choice>> choices;
  std::size_t most = 1;
  for (const CollectiveSide& side : sides) {
    const Bytes size = side.job->sizes[std::min(index, side.job->sizes.size() - 1)];
    choices.push_back(choices_for(*side.teams[0], side.job->operation, static_cast<std::uint64_t>(size.count()),
                                  wanted_, *side.stack, request_.options.channels, by_links()));
    most = std::max(most, choices.back().size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<Choice> now;
    for (const auto& each : choices) now.push_back(each[std::min(i, each.size() - 1)]);
    if (!run_choice(sides, index, now)) return false;
  }
  return true;
}

bool CollectiveRuns::run_choice(std::vector<CollectiveSide>& sides, std::size_t index,
                                const std::vector<Choice>& choices) {
  std::vector<CollectiveGroup> groups;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Bytes size = sides[i].job->sizes[std::min(index, sides[i].job->sizes.size() - 1)];
    PlanOptions plan{.operation = sides[i].job->operation,
                     .bytes = static_cast<std::uint64_t>(size.count()),
                     .choice = choices[i],
                     .stack = sides[i].stack};
    plan.pxn = request_.options.pxn;
    for (std::size_t group = 0; group < sides[i].teams.size(); ++group) {
      plan.conditions = &sides[i].conditions[group];
      groups.push_back({sides[i].teams[group].get(), plan});
    }
  }
  for (std::size_t fidelity = 0; fidelity < fidelities_.size(); ++fidelity) {
    RunOptions run = request_.run;
    run.fidelity = fidelities_[fidelity];
    const std::size_t kept = !request_.trace.empty() && fidelity == 0 ? kMostTraced : 0;
    CollectiveTimes times = run_collectives(session_, groups, beside_, run, kept, watch_);
    stuck_ |= times.stuck;
    if (!watch_.stopped_by().empty() || stuck_) return false;
    if (times.too_many) {
      // A size is shown by all fidelities or by none, so that they can be compared.
      for (CollectiveSide& side : sides)
        for (std::size_t other = 0; other < fidelity; ++other) side.rows[other].pop_back();
      console_.err << fmt::format("{} of {} ranks at {} would be too many messages for {} level: left out\n",
                                  collective::name(choices[0].algorithm), groups[0].team->ranks(),
                                  exact(Bytes(static_cast<std::int64_t>(groups[0].plan.bytes))), run.fidelity);
      return true;
    }
    if (kept > 0) {
      traced_ = std::move(times.messages);
      traced_all_ = !times.more_messages;
    }
    std::size_t at = 0;
    for (CollectiveSide& side : sides) {
      const std::size_t end = at + side.teams.size();
      const auto slowest = std::max_element(
          times.rows.begin() + static_cast<std::ptrdiff_t>(at), times.rows.begin() + static_cast<std::ptrdiff_t>(end),
          [](const CollectiveRow& a, const CollectiveRow& b) { return a.time < b.time; });
      CollectiveRow row = *slowest;
      row.groups = static_cast<std::uint32_t>(side.teams.size());
      const bool first = side.rows[fidelity].empty() || side.rows[fidelity].back().bytes != row.bytes;
      row.chosen_by = wanted_.algorithms.empty() && first ? "auto" : "user";
      if (streams(sides)) print_row(side, row);
      side.rows[fidelity].push_back(std::move(row));
      at = end;
    }
  }
  return true;
}

int CollectiveRuns::stopped() const {
  if (stuck_) {
    console_.err << "some of the collective waits for what never comes\n";
    return kExpectationFailed;
  }
  const bool interrupted = watch_.stopped_by() == "ctrl-c";
  console_.err << fmt::format("{}: the table is partial\n",
                              interrupted ? "interrupted" : "limit " + watch_.stopped_by() + " reached");
  return interrupted ? kInterrupted : kLimitReached;
}

void CollectiveRuns::print_row(const CollectiveSide& side, const CollectiveRow& row) const {
  if (request_.input.json)
    report::write_collective_record(row, head(side), console_.out);
  else
    report::write_collective_line(row, console_.out);
}

// All rows, where they were not printed as they came.
void CollectiveRuns::print_rows(const CollectiveSide& side) const {
  if (!request_.input.json) report::write_collective_head(head(side), console_.out);
  for (std::size_t row = 0; row < side.rows[0].size(); ++row)
    for (std::size_t fidelity = 0; fidelity < side.rows.size(); ++fidelity)
      if (row < side.rows[fidelity].size() && (request_.input.json || fidelity == 0))
        print_row(side, side.rows[fidelity][row]);
}

// What stands below them.
void CollectiveRuns::print_foot(const CollectiveSide& side) const {
  const bool several = side.rows.size() > 1 && side.rows.back().size() == side.rows[0].size() && !side.rows[0].empty();
  if (!request_.input.json) report::write_collective_foot(side.rows[0], console_.out);
  if (several && request_.input.json) report::write_difference_records(side.rows, console_.out);
  if (several && !request_.input.json) report::write_collective_differences(side.rows, console_.out);
}

int CollectiveRuns::run(std::span<const CollectiveJob> jobs) {
  std::vector<CollectiveSide> sides;
  for (const CollectiveJob& job : jobs) {
    sides.push_back(side_of(job));
    if (check(sides.back())) continue;
    app::report(session_.diagnostics(), request_.input, console_);
    return kYourInput;
  }
  check_networks(sides);
  if (app::report(session_.diagnostics(), request_.input, console_)) return kYourInput;
  std::size_t sizes = 0;
  for (CollectiveSide& side : sides) {
    sizes = std::max(sizes, side.job->sizes.size());
    if (has("message"))
      for (collective::Conditions& each : side.conditions)
        add_slow_nics(all_faults(session_, request_.run, session_.diagnostics()), session_.fabric(), each);
  }
  bool whole = true;
  if (streams(sides) && !request_.input.json) report::write_collective_head(head(sides[0]), console_.out);
  for (std::size_t index = 0; whole && index < sizes; ++index) whole = run_size(sides, index);
  watch_.finish();
  for (const CollectiveSide& side : sides) {
    if (side_by_side() && !request_.input.json) {
      report::write_algorithms_side_by_side(side.rows[0], console_.out);
      continue;
    }
    if (!streams(sides)) print_rows(side);
    if (whole || !streams(sides)) print_foot(side);
  }
  if (!whole) return stopped();
  for (const CollectiveSide& side : sides) all_rows_.insert(all_rows_.end(), side.rows[0].begin(), side.rows[0].end());
  for (const CollectiveSide& side : sides)
    if (!side.rows[0].empty())
      last_.emplace_back(name_of(*side.job) + (sides.size() > 1 ? " beside others" : "") + names_beside(beside_),
                         side.rows[0].back());
  return request_.trace.empty() || sides[0].rows[0].empty() ? kFine : write_trace(sides);
}

}  // namespace weft::app
