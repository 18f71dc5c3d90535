#include "experiment/group_times.hpp"

#include <algorithm>

#include "experiment/network.hpp"
#include "experiment/run_collectives.hpp"

namespace weft::experiment {
namespace {

// Where there are more ranks than that, groups of the first ones stand for all: those share servers and leaves.
constexpr std::int64_t kMostRanksTogether = 1'024;

}  // namespace

TimedGroups::TimedGroups(const Design& design, const Experiment& experiment, const collective::Stack& stack,
                         Watch& watch)
    : design_(design),
      experiment_(experiment),
      stack_(stack),
      watch_(watch),
      uneven_(!all_faults(design, experiment).empty()) {
  if (experiment.fidelity == Fidelity::message && why_no_shares(design).empty()) shares_.emplace(design, experiment);
}

const std::vector<std::unique_ptr<collective::Team>>& TimedGroups::teams_of(const training::GroupPattern& pattern) {
  auto& teams = teams_[pattern];
  if (!teams.empty()) return teams;
  const std::int64_t groups = pattern.lanes * pattern.blocks;
  for (std::int64_t group = 0; group < groups; ++group) {
    if (group > 0 && (group + 1) * pattern.size > kMostRanksTogether && !uneven_) break;
    teams.push_back(std::make_unique<collective::Team>(design_.fabric(), training::ranks_of(pattern, group)));
    // Inside a scale-up domain groups share nothing: one stands for all.
    if (teams.back()->nodes() == 1 && !uneven_) break;
  }
  return teams;
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
