#include "experiment/group_times.hpp"

#include <algorithm>

#include "experiment/network.hpp"
#include "experiment/run_collectives.hpp"

namespace weft::experiment {
namespace {

// Groups of more ranks than that are equal to those of the first block, which share servers and leaves with each other.
constexpr std::size_t kMostRanksTogether = 4'096;

}  // namespace

GroupTimes::GroupTimes(const Design& design, const Experiment& experiment, const training::Layout& layout,
                       const collective::Stack& stack, Watch& watch)
    : design_(design),
      experiment_(experiment),
      layout_(layout),
      stack_(stack),
      watch_(watch),
      uneven_(!all_faults(design, experiment).empty()) {
  if (experiment.fidelity == Fidelity::message && why_no_shares(design).empty()) shares_.emplace(design, experiment);
}

const std::vector<std::unique_ptr<collective::Team>>& GroupTimes::teams_of(training::Group group) {
  auto& teams = teams_[group];
  if (!teams.empty()) return teams;
  std::size_t ranks = 0;
  for (auto& gpus : training::groups_of(layout_, group)) {
    ranks += gpus.size();
    if (ranks > kMostRanksTogether && !teams.empty() && !uneven_) break;
    teams.push_back(std::make_unique<collective::Team>(design_.fabric(), std::move(gpus)));
    // Inside a scale-up domain groups share nothing: one stands for all.
    if (teams.back()->nodes() == 1 && !uneven_) break;
  }
  return teams;
}

training::Exchange GroupTimes::exchange(training::Group group, collective::Operation operation, std::uint64_t bytes) {
  const auto [found, is_new] = known_.try_emplace({group, operation, bytes});
  Known& known = found->second;
  if (is_new) {
    std::vector<const collective::Team*> teams;
    for (const auto& each : teams_of(group)) teams.push_back(each.get());
    const schedule::CollectiveRow row = time_groups(
        design_, teams, {operation, bytes, &stack_, shares_ ? &*shares_ : nullptr, uneven_}, experiment_, watch_);
    stuck_ |= row.time == 0;
    known.row = {group,
                 std::string(collective::name(operation)),
                 bytes,
                 row.ranks,
                 static_cast<std::uint32_t>(layout_.gpus / training::group_size(layout_, group)),
                 row.nodes,
                 row.algorithm,
                 Duration(row.time)};
    known.channels = row.channels;
  }
  return {known.row.time, known.channels};
}

std::vector<TrainingExchange> GroupTimes::timed() const {
  std::vector<TrainingExchange> all;
  for (const auto& [key, known] : known_) all.push_back(known.row);
  return all;
}

}  // namespace weft::experiment
