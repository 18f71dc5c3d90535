#include "experiment/group_times.hpp"

#include <algorithm>
#include <set>

#include "collective/alike.hpp"
#include "experiment/network.hpp"
#include "experiment/run_collectives.hpp"
#include "experiment/run_training.hpp"

namespace weft::experiment {
namespace {

// Where there are more ranks than that, groups of the first ones stand for all: those share servers and leaves.
constexpr std::int64_t kMostRanksTogether = 1'024;

}  // namespace

std::optional<std::vector<std::uint32_t>> gpus_near_faults(const Design& design, const Experiment& experiment,
                                                           const model::TrainingRun& run) {
  const std::vector<model::FaultSpec> faults = all_faults(design, experiment);
  if (faults.empty() || run.jobs > 1) return std::nullopt;
  if (gpus_of(design.cluster(), run) <= collective::kMostOneByOne) return std::nullopt;
  return gpus_near(design.fabric(), faults);
}

TimedGroups::TimedGroups(const Design& design, const Experiment& experiment, const model::TrainingRun& run,
                         const collective::Stack& stack, Watch& watch)
    : design_(design),
      experiment_(experiment),
      stack_(stack),
      watch_(watch),
      jobs_(run.jobs),
      jobs_by_(run.jobs_by),
      gpus_(gpus_of(design.cluster(), run)),
      uneven_(!all_faults(design, experiment).empty()) {
  if (experiment.fidelity == Fidelity::message && why_no_shares(design).empty()) shares_.emplace(design, experiment);
  if (auto near = gpus_near_faults(design, experiment, run)) near_ = std::move(*near);
}

std::vector<std::int64_t> TimedGroups::groups_of(const training::GroupPattern& pattern) const {
  const std::int64_t groups = pattern.lanes * pattern.blocks;
  const bool all = uneven_ && near_.empty();
  std::set<std::int64_t> chosen;
  for (std::int64_t group = 0; group < groups; ++group) {
    if (group > 0 && (group + 1) * pattern.size * jobs_ > kMostRanksTogether && !all) break;
    chosen.insert(group);
  }
  for (const std::uint32_t gpu : near_) {
    const std::int64_t block = gpu / pattern.block;
    for (std::int64_t i = 0; i < pattern.size && block < pattern.blocks; ++i)
      if (const std::int64_t lane = gpu % pattern.block - i * pattern.stride; lane >= 0 && lane < pattern.lanes)
        chosen.insert(block * pattern.lanes + lane);
  }
  return {chosen.begin(), chosen.end()};
}

const std::vector<std::unique_ptr<collective::Team>>& TimedGroups::teams_of(const training::GroupPattern& pattern) {
  auto& teams = teams_[pattern];
  if (!teams.empty()) return teams;
  for (const std::int64_t group : groups_of(pattern)) {
    for (std::int64_t job = 0; job < jobs_; ++job)
      teams.push_back(
          std::make_unique<collective::Team>(design_.fabric(), gpus_in(job, training::ranks_of(pattern, group))));
    // Inside a scale-up domain groups share nothing: one stands for all.
    if (teams.back()->nodes() == 1 && !uneven_) break;
  }
  return teams;
}

std::vector<std::uint32_t> TimedGroups::gpus_in(std::int64_t job, std::vector<std::uint32_t> ranks) const {
  if (jobs_ == 1) return ranks;
  const auto domain = static_cast<std::uint32_t>(domain_of(design_.cluster()));
  const auto first = static_cast<std::uint32_t>(job * gpus_);
  const auto jobs = static_cast<std::uint32_t>(jobs_);
  for (std::uint32_t& each : ranks)
    each = jobs_by_ == model::JobsBy::block
               ? first + each
               : (each / domain * jobs + static_cast<std::uint32_t>(job)) * domain + each % domain;
  return ranks;
}

const TimedGroups::Known& TimedGroups::time(const training::GroupPattern& pattern, collective::Operation operation,
                                            std::uint64_t bytes) {
  Known& known = known_[{pattern, operation, bytes}];
  if (known.ranks > 0) return known;
  std::vector<const collective::Team*> teams;
  for (const auto& each : teams_of(pattern)) teams.push_back(each.get());
  const schedule::CollectiveRow row = time_groups(
      design_, teams, {operation, bytes, &stack_, shares_ ? &*shares_ : nullptr, uneven_}, experiment_, watch_);
  known = {teams[0]->ranks(), teams[0]->nodes(), row.channels, row.algorithm, row.time};
  return known;
}

training::Exchange GroupTimes::exchange(training::Group group, collective::Operation operation, std::uint64_t bytes) {
  const training::GroupPattern pattern = training::pattern_of(layout_, group);
  const TimedGroups::Known& known = groups_.time(pattern, operation, bytes);
  stuck_ |= known.time.count() == 0;
  const std::string name(collective::name(operation));
  const auto same = [&](const TrainingExchange& each) {
    return each.group == group && each.operation == name && each.bytes == bytes;
  };
  if (std::none_of(exchanges_.begin(), exchanges_.end(), same))
    exchanges_.push_back({group, name, bytes, known.ranks, static_cast<std::uint32_t>(pattern.lanes * pattern.blocks),
                          known.nodes, known.algorithm, known.time});
  return {known.time, known.channels};
}

}  // namespace weft::experiment
