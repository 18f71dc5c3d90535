#pragma once
// What DCQCN costs collectives whose connections meet on links that switches hashed them to: of every such link the
// fluid of its senders (transport/roce/crowd.hpp), of which the slowest counts.
//
// That is of connections that last for as long as the collective: rings, chains and trees. Those of an all-to-all come
// and go, meet others all the time, and are not known.

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "collective/plan.hpp"
#include "experiment/network_shares.hpp"
#include "transport/roce/crowd.hpp"

namespace weft::experiment {

class CrowdedLinks {
 public:
  // Null where this is not what happens: senders that are not DCQCN's, packets that are not hashed, several queue pairs
  // between two NICs; and where it is not all that happens: packets that are lost, CNPs by switches, trips as long as
  // the time between CNPs.
  static std::unique_ptr<CrowdedLinks> of(const Design& design, const Experiment& experiment, NetworkShares& shares);

  struct Job {
    const collective::Team* team = nullptr;
    collective::PlanOptions plan;
  };
  // What all of them take longer at the same time than if senders knew their shares: on average, and of the draws that
  // are best and worst.
  struct Loss {
    Duration mean, least, most;
  };
  std::vector<Loss> losses(const std::vector<Job>& jobs);

 private:
  CrowdedLinks(transport::Roce senders, double header, Duration queue, double from, double to, double most,
               NetworkShares& shares);
  // Of one job, so many times its bytes.
  struct Load {
    std::vector<collective::Crossing> crossings;
    std::uint64_t bytes = 0;  // of each step
    std::uint64_t chunk = 0;
    std::uint64_t first = 0;  // chunks that are there at once
    Duration alone;           // that they take without the network's links
  };
  std::vector<std::vector<Duration>> losses_of(const std::vector<Load>& loads);  // by draw

  transport::Roce senders_;
  transport::Roce ideal_;  // that lose nothing
  double header_;          // of packets, beside 1 of payload
  Duration queue_;
  double mark_from_, mark_to_, mark_most_;
  NetworkShares& shares_;
  struct Ends {
    std::vector<std::vector<Duration>> with;  // DCQCN, by draw
    std::vector<Duration> without;
  };
  // By the link's rate, what of it is left, and who meets there.
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::vector<transport::Crowd::Flow>>, Ends> known_;
};

// Whether losses can be told of a job.
bool knows_losses(const CrowdedLinks::Job& job);

}  // namespace weft::experiment
