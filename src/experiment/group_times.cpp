#include "experiment/group_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collective/alike.hpp"
#include "collective/tuner.hpp"
#include "experiment/network.hpp"
#include "experiment/run_collectives.hpp"
#include "experiment/run_training.hpp"

namespace weft::experiment {
namespace {

// Where there are more ranks than that, some groups stand for all: those of the first ones, and those that meet them.
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
      algorithms_(algorithms_of(run)),
      watch_(watch),
      jobs_(run.jobs),
      jobs_by_(run.jobs_by),
      gpus_(gpus_of(design.cluster(), run)),
      domain_(domain_of(design.cluster())),
      uneven_(!all_faults(design, experiment).empty()) {
  if (experiment.fidelity == Fidelity::message && why_no_shares(design).empty()) shares_.emplace(design, experiment);
  if (worst_place()) uneven_ = false;
  if (auto near = uneven_ ? gpus_near_faults(design, experiment, run) : std::nullopt) near_ = std::move(*near);
  if (gpus_ * jobs_ > kMostRanksTogether && (!uneven_ || !near_.empty())) beside_ = gpus_beside_first(design.fabric());
}

std::vector<TimedGroups::Place> TimedGroups::of_each_shape(const training::GroupPattern& pattern) const {
  std::map<std::vector<std::int64_t>, Place> first_of;
  for (std::int64_t job = 0; job < jobs_; ++job) {
    // Where in its domain the first rank is decides the rest.
    std::vector<bool> seen(static_cast<std::size_t>(domain_));
    for (std::int64_t group = 0; group < pattern.lanes * pattern.blocks; ++group) {
      const std::int64_t first = group / pattern.lanes * pattern.block + group % pattern.lanes;
      auto begins = seen[gpu_of(job, first) % domain_];
      if (begins) continue;
      begins = true;
      std::vector<std::int64_t> shape;
      std::int64_t domain = -1;
      for (const std::uint32_t gpu : gpus_in({job, group}, pattern)) {
        if (std::exchange(domain, gpu / domain_) != gpu / domain_) shape.push_back(0);
        ++shape.back();
      }
      first_of.try_emplace(std::move(shape), job, group);
    }
  }
  std::vector<Place> places;
  for (const auto& [shape, place] : first_of) places.push_back(place);
  std::sort(places.begin(), places.end());
  return places;
}

std::set<TimedGroups::Place> TimedGroups::standing_for_all(const training::GroupPattern& pattern) const {
  const std::int64_t groups = pattern.lanes * pattern.blocks;
  const bool all = uneven_ && near_.empty();
  std::set<std::int64_t> chosen;
  for (std::int64_t group = 0; group < groups; ++group) {
    if (group > 0 && (group + 1) * pattern.size * jobs_ > kMostRanksTogether && !all) break;
    chosen.insert(group);
  }
  if (!all) add_groups_with(beside_, pattern, chosen);
  add_groups_with(near_, pattern, chosen);
  std::set<Place> places;
  for (const std::int64_t group : chosen)
    for (std::int64_t job = 0; job < jobs_; ++job) places.insert({job, group});
  return places;
}

void TimedGroups::add_groups_with(const std::vector<std::uint32_t>& gpus, const training::GroupPattern& pattern,
                                  std::set<std::int64_t>& groups) const {
  for (const std::uint32_t gpu : gpus) {
    const std::int64_t rank = rank_of(gpu);
    const std::int64_t block = rank / pattern.block;
    for (std::int64_t i = 0; i < pattern.size && block < pattern.blocks; ++i)
      if (const std::int64_t lane = rank % pattern.block - i * pattern.stride; lane >= 0 && lane < pattern.lanes)
        groups.insert(block * pattern.lanes + lane);
  }
}

const TimedGroups::Teams& TimedGroups::teams_of(const training::GroupPattern& pattern) {
  Teams& teams = teams_[pattern];
  if (!teams.all.empty()) return teams;
  const auto add = [&](const Place& place) {
    teams.all.push_back(std::make_unique<collective::Team>(design_.fabric(), gpus_in(place, pattern)));
  };
  const std::vector<Place> shapes = of_each_shape(pattern);
  for (const Place& place : shapes) add(place);
  teams.differ = shapes.size();
  // Inside a scale-up domain groups share nothing: one stands for all.
  if (!uneven_ && std::all_of(teams.all.begin(), teams.all.end(), [](const auto& team) { return team->nodes() == 1; }))
    return teams;
  for (const Place& place : standing_for_all(pattern))
    if (std::find(shapes.begin(), shapes.end(), place) == shapes.end()) add(place);
  if (uneven_) teams.differ = teams.all.size();
  return teams;
}

std::int64_t TimedGroups::rank_of(std::uint32_t gpu) const {
  if (jobs_ == 1) return gpu;
  if (jobs_by_ == model::JobsBy::block) return gpu % gpus_;
  return gpu / domain_ / jobs_ * domain_ + gpu % domain_;
}

std::uint32_t TimedGroups::gpu_of(std::int64_t job, std::int64_t rank) const {
  const std::int64_t gpu = jobs_ == 1 ? rank
                           : jobs_by_ == model::JobsBy::block
                               ? job * gpus_ + rank
                               : (rank / domain_ * jobs_ + job) * domain_ + rank % domain_;
  return static_cast<std::uint32_t>(gpu);
}

std::vector<std::uint32_t> TimedGroups::gpus_in(const Place& place, const training::GroupPattern& pattern) const {
  std::vector<std::uint32_t> gpus = training::ranks_of(pattern, place.second);
  for (std::uint32_t& each : gpus) each = gpu_of(place.first, each);
  return gpus;
}

const TimedGroups::Known& TimedGroups::time(const training::GroupPattern& pattern, collective::Operation operation,
                                            std::uint64_t bytes) {
  Known& known = known_[{pattern, operation, bytes}];
  if (known.ranks > 0) return known;
  std::vector<const collective::Team*> teams;
  const Teams& chosen = teams_of(pattern);
  for (const auto& each : chosen.all) teams.push_back(each.get());
  const schedule::CollectiveRow row = time_groups(
      design_, teams, {operation, bytes, &stack_, shares_ ? &*shares_ : nullptr, chosen.differ, algorithms_},
      experiment_, watch_);
  known = {teams[0]->ranks(), row.nodes, row.channels, row.algorithm, row.time};
  return known;
}

std::uint64_t TimedGroups::messages_by_links() {
  std::uint64_t sum = 0;
  for (const auto& [what, known] : known_) {
    const auto& [pattern, operation, bytes] = what;
    std::vector<const collective::Team*> teams;
    const Teams& chosen = teams_of(pattern);
    for (const auto& each : chosen.all) teams.push_back(each.get());
    sum += least_messages(teams, {operation, bytes, &stack_, nullptr, chosen.differ, algorithms_});
  }
  return sum;
}

std::string TimedGroups::why_nobody(collective::Algorithm algorithm) const {
  for (const auto& [what, known] : known_) {
    const auto& [pattern, operation, bytes] = what;
    const collective::Team& team = *teams_.at(pattern).all[0];
    const auto protocol = collective::protocol_for(team, operation, algorithm, bytes, stack_);
    if (const std::string why = collective::why_not(team, operation, algorithm, protocol); !why.empty())
      return fmt::format(": {} of {} ranks: {}", collective::name(operation), team.ranks(), why);
  }
  return "";
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
