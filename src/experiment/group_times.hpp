#pragma once
// Collectives of the groups of training jobs, at the experiment's level: all groups of a kind do the same at the same
// time, and share what they meet on. What was timed once is known to all layouts of a cluster.

#include <map>
#include <memory>
#include <optional>
#include <tuple>
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
  // Whether the seed decides what groups share, at message level.
  bool is_drawn() const { return shares_ && shares_->is_drawn(); }

 private:
  const std::vector<std::unique_ptr<collective::Team>>& teams_of(const training::GroupPattern& pattern);
  // Those that stand for all: the first ones, and with faults all, or (of too many) those near a fault.
  std::vector<std::int64_t> groups_of(const training::GroupPattern& pattern) const;
  // GPUs of a group in one of the equal jobs that run at the same time.
  std::vector<std::uint32_t> gpus_in(std::int64_t job, std::vector<std::uint32_t> ranks) const;

  const Design& design_;
  const Experiment& experiment_;
  const collective::Stack& stack_;
  Watch& watch_;
  std::int64_t jobs_;
  model::JobsBy jobs_by_;
  std::int64_t gpus_;                    // of a job
  bool uneven_;                          // faults make groups differ
  std::vector<std::uint32_t> near_;      // of too many to look at all groups: GPUs near faults
  std::optional<NetworkShares> shares_;  // message level
  std::map<training::GroupPattern, std::vector<std::unique_ptr<collective::Team>>> teams_;
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
