#pragma once
// The network of a design as collectives share it at message level: the links that packets would take, with the same
// entropies and the same dead and slow parts, each with what it carries.
//
// Where packets are spread over all paths of a tree that has no faults, the links between two tiers of one place are
// one: what a leaf has upwards, what a pod has. Any other network is known link by link.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/flat_map.hpp"
#include "collective/network_links.hpp"
#include "collective/team.hpp"
#include "experiment/experiment.hpp"
#include "experiment/worst_place.hpp"
#include "sim/flow/flow_routes.hpp"

namespace weft::experiment {

class NetworkShares final : public collective::NetworkLinks {
 public:
  NetworkShares(const Design& design, const Experiment& experiment);

  // Whether the seed decides which links these are.
  bool is_drawn() const { return !routes_.config().split; }
  std::span<const Part> between(std::uint32_t from_gpu, std::uint32_t to_gpu) override;
  Bandwidth rate(std::uint32_t link) const override { return rates_[link]; }
  std::optional<Place> place(std::uint32_t gpu) const override;
  // The place that stands for all, where faults are not looked at one by one.
  const std::optional<WorstPlace>& worst() const { return worst_; }
  const sim::FlowRoutes& routes() const { return routes_; }  // whose links these are where switches hash

 private:
  enum class Bundle : std::uint8_t { out, in, leaf_up, leaf_down, pod_up, pod_down };
  void take_links(std::uint32_t from, std::uint32_t to);
  void take_tiers(std::uint32_t from, std::uint32_t to);
  void take_tiers(const sim::NicPair& pair, std::uint64_t weight);
  std::uint32_t bundle(Bundle kind, std::uint32_t plane, std::uint32_t place, Bandwidth rate);
  std::span<const Part> keep();
  void add(std::uint32_t link, std::uint64_t weight);

  const fabric::Fabric& fabric_;
  sim::FlowRoutes routes_;
  const fabric::Clos* tiers_ = nullptr;  // of which links of a place are one; else link by link
  std::optional<WorstPlace> worst_;      // that stands for all places
  std::vector<Bandwidth> rates_;         // by link
  FlatMap bundles_;                      // by what each is
  FlatMap known_;                        // which of `ways_`, by both GPUs
  std::vector<std::span<const Part>> ways_;
  std::vector<std::vector<Part>> blocks_;  // in which those are, none of which ever moves
  std::vector<Part> parts_;                // of the pair that is looked at
  std::vector<sim::NicPair> pairs_;
};

// Empty, or why places of the network differ from each other.
std::string why_uneven(const Design& design, const Experiment& experiment);
// Why nothing is known of a network's shares before a run; empty: it is.
std::string why_no_shares(const Design& design);
// Says of faults that shares do not show, and of those that leave ranks without a way to each other.
void check_shares(Design& design, const Experiment& experiment, const std::vector<const collective::Team*>& teams);
// The second alone.
void check_joined(Design& design, collective::NetworkLinks& network, const collective::Team& team);

}  // namespace weft::experiment
