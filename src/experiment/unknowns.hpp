#pragma once
// What shares of links do not tell of a collective: what transports lose on the network is added to its time where that
// can be told, and what cannot is said in words.

#include <memory>
#include <string>
#include <vector>

#include "experiment/crowded_links.hpp"
#include "schedule/collective_row.hpp"

namespace weft::experiment {

class Unknowns {
 public:
  using Job = CrowdedLinks::Job;
  // Of jobs that cross the network, at a level below packets.
  Unknowns(const Design& design, const Experiment& experiment);

  // Whether it takes the network's shares to say which of them count for a job; without, all do.
  bool wants_shares() const { return !losses_.empty() || !overtaking_.empty(); }
  // These. They outlive it.
  void take(NetworkShares& shares);
  // Of jobs that ran at the same time, whose plans know these shares.
  void add_to(std::vector<schedule::CollectiveRow>& rows, const std::vector<Job>& jobs);
  // Of many different ones, of which any may lose something, and none is told what.
  std::string of_any() const;

 private:
  void add_losses(std::vector<schedule::CollectiveRow>& rows, const std::vector<Job>& jobs);
  bool has_choice(const collective::Team& team) const;

  const Design& design_;
  const Experiment& experiment_;
  std::string detours_;     // of the network
  std::string losses_;      // to links that are full
  std::string held_back_;   // between sites
  std::string overtaking_;  // where there are several ways
  NetworkShares* shares_ = nullptr;
  std::unique_ptr<CrowdedLinks> crowds_;  // on these, where that costs senders their rates
};

// What becomes of packets that need their order where switches choose the way of each; empty: nothing.
std::string why_overtaken(const model::Cluster& cluster);

// Whether its senders find their rates by DCQCN.
bool has_dcqcn(const model::Cluster& cluster);

}  // namespace weft::experiment
