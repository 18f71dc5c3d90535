#pragma once
// Collectives of the groups of a training job, at the experiment's level: all groups of a kind do the same at the same
// time, and share what they meet on.

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

class GroupTimes final : public training::Communication {
 public:
  GroupTimes(const Design& design, const Experiment& experiment, const training::Layout& layout,
             const collective::Stack& stack, Watch& watch);

  training::Exchange exchange(training::Group group, collective::Operation operation, std::uint64_t bytes) override;

  // All that was timed.
  std::vector<TrainingExchange> timed() const;
  // Somebody waits for what never comes.
  bool stuck() const { return stuck_; }

 private:
  struct Known {
    TrainingExchange row;
    std::uint32_t channels = 0;
  };
  const std::vector<std::unique_ptr<collective::Team>>& teams_of(training::Group group);

  const Design& design_;
  const Experiment& experiment_;
  const training::Layout& layout_;
  const collective::Stack& stack_;
  Watch& watch_;
  bool uneven_;                          // faults make groups differ
  std::optional<NetworkShares> shares_;  // message level
  std::map<training::Group, std::vector<std::unique_ptr<collective::Team>>> teams_;
  std::map<std::tuple<training::Group, collective::Operation, std::uint64_t>, Known> known_;
  bool stuck_ = false;
};

}  // namespace weft::experiment
