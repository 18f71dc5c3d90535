#pragma once
// The cluster of a job, and what it would do if something about it were different. A variant is a change of the model:
// of the cluster file, in the words of --set, of what NCCL chooses, or of the stack below it. Each is simulated.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/constants.hpp"
#include "collective/names.hpp"
#include "collective/plan.hpp"
#include "collective/team.hpp"
#include "experiment/design.hpp"
#include "experiment/network_shares.hpp"

namespace weft::why {

struct Job {
  collective::Operation operation = collective::Operation::all_reduce;
  std::uint32_t gpus = 0;
  std::uint32_t per_server = 0;  // 0: all
  const collective::Stack* stack = nullptr;
  collective::Conditions conditions = {};  // ranks that are late or slow
};

struct Variant {
  std::string text = {};              // "1 of 8 NICs"
  std::vector<std::string> set = {};  // of the cluster file

  // What NCCL chooses from.
  std::optional<collective::Algorithm> algorithm = {};
  std::optional<collective::Protocol> protocol = {};
  std::uint64_t protocol_below = 0;  // only for sizes below it; 0: for all
  bool nvls = true;
  std::uint32_t channels = 0;
  bool pxn = true;
  bool even = false;  // whatever the job's ranks are like, here they are in time and equally fast

  // What lies below it.
  std::string stack = {};              // another one
  std::int64_t nic_per_mille = 1'000;  // of what the NIC would give
  Duration per_hop = {};               // more, over the network
  Duration launch = {};                // more

  bool changes_nothing() const;
};

// Both at once; where both choose an algorithm, a protocol or a stack, the second does.
Variant both(const Variant& first, const Variant& second);

struct Prediction {
  Duration time = {};
  collective::Choice choice;
};

class Machine {
 public:
  // Variants are of this design, which outlives the machine.
  explicit Machine(const experiment::Design& design);

  // With more words of --set; nullptr when they give no cluster, which is then no variant of it.
  experiment::Design* design(const std::vector<std::string>& set);
  const model::Cluster* cluster(const std::vector<std::string>& set = {});
  // Ranks of a job on it; nullptr likewise, or when it does not join them.
  const collective::Team* team(const Job& job, const std::vector<std::string>& set);
  // How the network of a variant is shared; nullptr where that is not known before a run.
  experiment::NetworkShares* network(const std::vector<std::string>& set);
  // By size; empty when the variant makes no sense on this cluster.
  std::vector<Prediction> predict(const Job& job, const Variant& variant, const std::vector<std::uint64_t>& sizes);
  // "servers", or "servers.0" where the file has a list of groups: the first stands for all.
  const std::string& servers() const { return servers_; }

 private:
  const experiment::Design& base_;
  std::string servers_ = "servers";
  std::map<std::vector<std::string>, std::unique_ptr<experiment::Design>> designs_;
  struct TeamKey {
    std::vector<std::string> set;
    std::uint32_t gpus;
    std::uint32_t per_server;
    auto operator<=>(const TeamKey&) const = default;
  };
  std::map<TeamKey, std::unique_ptr<collective::Team>> teams_;
  std::map<std::vector<std::string>, std::unique_ptr<experiment::NetworkShares>> networks_;
  // Variants differ in few sizes or in nothing that a plan shows: the same is not simulated twice.
  struct Simulated {
    const collective::Team* team;
    collective::Operation operation;
    std::uint64_t bytes;
    collective::Algorithm algorithm;
    collective::Protocol protocol;
    std::uint32_t channels;
    bool pxn;
    std::string stack;
    std::int64_t nic_per_mille;
    std::int64_t hop_ns;
    std::int64_t launch_ns;
    collective::Conditions conditions;
    auto operator<=>(const Simulated&) const = default;
  };
  std::map<Simulated, std::optional<Prediction>> simulated_;
};

// What NCCL would choose, of what the variant leaves it; nothing when it leaves nothing.
std::optional<collective::Choice> choose(const collective::Team& team, const Job& job, const Variant& variant,
                                         std::uint64_t bytes, const collective::Stack& stack);

// GB/s that nccl-tests would print.
double bus_bandwidth(const Job& job, std::uint64_t bytes, Duration time);

}  // namespace weft::why
