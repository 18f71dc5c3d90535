#pragma once
// Collectives of the groups of training jobs, at the experiment's level: all groups of a kind do the same at the same
// time, and share what they meet on. What was timed once is known to all layouts of a cluster.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "collective/team.hpp"
#include "experiment/network_shares.hpp"
#include "experiment/training.hpp"
#include "experiment/watch.hpp"

namespace weft::experiment {

// Where there are faults, and more GPUs than can be looked at one by one: those near the faults, beside which the first
// ones stand for all others. Nothing: there are no faults or fewer GPUs, or few cannot stand for all.
std::optional<std::vector<std::uint32_t>> gpus_near_faults(const Design& design, const Experiment& experiment,
                                                           const model::TrainingRun& run);

// By where groups are.
class TimedGroups {
 public:
  struct Known {
    std::uint32_t ranks = 0;  // 0: not yet
    std::uint32_t nodes = 0;
    std::uint32_t channels = 0;
    std::string algorithm;
    Duration time;  // nothing: it never ends, or was stopped
  };

  // Beside the groups of a job are those of the equal jobs that its `run` names.
  TimedGroups(const Design& design, const Experiment& experiment, const model::TrainingRun& run,
              const collective::Stack& stack, Watch& watch);

  const Known& time(const training::GroupPattern& pattern, collective::Operation operation, std::uint64_t bytes);
  // Of what was timed, how many messages a level with links has at least.
  std::uint64_t messages_by_links();
  // Of what was timed, why no group takes an algorithm: the reason of the first; empty: there were others before it.
  std::string why_nobody(collective::Algorithm algorithm) const;
  // The place that stands for all, where faults are not looked at one by one.
  std::optional<WorstPlace> worst_place() const { return shares_ ? shares_->worst() : std::nullopt; }
  // Whether the seed decides what groups share, at message level.
  bool is_drawn() const { return shares_ && shares_->is_drawn(); }

 private:
  // Groups of a pattern that are timed: the first `differ` are unlike each other, the others stand beside them.
  struct Teams {
    std::vector<std::unique_ptr<collective::Team>> all;
    std::size_t differ = 0;
  };
  const Teams& teams_of(const training::GroupPattern& pattern);
  using Place = std::pair<std::int64_t, std::int64_t>;  // a job's group
  // One of each shape: by how many of its ranks follow each other in each scale-up domain.
  std::vector<Place> of_each_shape(const training::GroupPattern& pattern) const;
  // Those that stand for all: the first ones with whatever meets them, and with faults all, or (of too many) those near
  // a fault.
  std::set<Place> standing_for_all(const training::GroupPattern& pattern) const;
  // Groups that have one of these GPUs, of whichever job.
  void add_groups_with(const std::vector<std::uint32_t>& gpus, const training::GroupPattern& pattern,
                       std::set<std::int64_t>& groups) const;
  // Of one of the equal jobs that run at the same time, which of its ranks a GPU is,
  std::int64_t rank_of(std::uint32_t gpu) const;
  // and the other way round.
  std::uint32_t gpu_of(std::int64_t job, std::int64_t rank) const;
  std::vector<std::uint32_t> gpus_in(const Place& place, const training::GroupPattern& pattern) const;

  const Design& design_;
  const Experiment& experiment_;
  const collective::Stack& stack_;
  std::vector<collective::Algorithm> algorithms_;  // asked for; empty: NCCL's choice
  Watch& watch_;
  std::int64_t jobs_;
  model::JobsBy jobs_by_;
  std::int64_t gpus_;                    // of a job
  std::int64_t domain_;                  // GPUs of one scale-up domain
  bool uneven_;                          // faults make groups differ
  std::vector<std::uint32_t> beside_;    // of too many to look at all groups: GPUs that meet the first one,
  std::vector<std::uint32_t> near_;      // and those near faults
  std::optional<NetworkShares> shares_;  // message level
  std::map<training::GroupPattern, Teams> teams_;
  std::map<std::tuple<training::GroupPattern, collective::Operation, std::uint64_t>, Known> known_;
};

// Of one layout.
class GroupTimes final : public training::Communication {
 public:
  GroupTimes(TimedGroups& groups, const training::Layout& layout) : groups_(groups), layout_(layout) {}

  training::Exchange exchange(training::Group group, collective::Operation operation, std::uint64_t bytes) override;

  // All that the layout needed, each once.
  const std::vector<TrainingExchange>& exchanges() const { return exchanges_; }
  // Somebody waits for what never comes.
  bool stuck() const { return stuck_; }

 private:
  TimedGroups& groups_;
  const training::Layout& layout_;
  std::vector<TrainingExchange> exchanges_;
  bool stuck_ = false;
};

}  // namespace weft::experiment
