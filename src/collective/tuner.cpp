#include "collective/tuner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "collective/graph.hpp"
#include "collective/planner.hpp"

namespace weft::collective {
namespace {

// From this many bytes for each rank of a channel on, a ring between nodes waits longer (NCCL's plateau effect).
constexpr std::uint64_t kPlateauBytes = 64;
constexpr double kPlateau = 1.4;
constexpr double kOlderPlateau = 1.9;  // before Ampere

// Until 2.27, what NVLS and NVLSTree get of links, and what a hop of NVLSTree takes.
constexpr double kOlderNvls = 5.0 / 6;
constexpr double kOlderNvlsHop = 14.0;

// What NCCL takes off where a tree enters and leaves a node at the same GPU.
constexpr double kPlainTree = 0.85;

// Of Blackwell: what 2.28 has for a channel of a ring with LL128 between two nodes, and 2.28 and 2.29 for one of
// NVLSTree between more.
constexpr double kRingLl128Two = 34.6;
constexpr double kNvlsTreeMany = 43.8;

// From 64 B on, a factor for each doubling (NCCL's tree correction).
constexpr std::array<std::array<double, 24>, 3> kTreeCorrection = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

double us(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }
double gigabytes(std::int64_t megabytes) { return static_cast<double>(megabytes) / 1e3; }

class Model {
 public:
  Model(const Team& team, Operation operation, const Stack& stack)
      : team_(team),
        operation_(operation),
        release_(stack.release),
        generation_(generation_of(team.group(0).spec.gpu.kind)),
        graph_(graph_of(team, generation_, release_)),
        nodes_class_(std::min(team.nodes(), 3u) - 1) {
    const auto& socket = team.group(0).spec.socket_link;
    amd_ = socket && socket->kind == "xgmi";
    x86_ = !socket || socket->kind != "grace-clink";
  }

  // Nothing where NCCL does not consider it.
  std::optional<Estimate> estimate(Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const {
    if (protocol == Protocol::ll128 && team_.nodes() > 1 && !graph_.ll128) return std::nullopt;
    Estimate made{algorithm, protocol, latency(algorithm, protocol), bandwidth(algorithm, protocol), 0};
    if (made.bandwidth_gbps <= 0) return std::nullopt;
    double rate = made.bandwidth_gbps;
    const bool all_reduce = operation_ == Operation::all_reduce;
    const bool corrected = algorithm == Algorithm::nvls_tree && generation_.name.starts_with("Blackwell") && x86_ &&
                           release_.corrects_nvls_tree();
    if (all_reduce && (algorithm == Algorithm::tree || corrected) && bytes >= 64) {
      const auto step = static_cast<std::size_t>(std::bit_width(bytes >> 6)) - 1;
      const std::size_t known = kTreeCorrection[0].size() - (release_.corrects_nvls_tree() ? 0 : 1);
      if (step < known) rate *= kTreeCorrection[static_cast<std::size_t>(protocol)][step];
    }
    const bool level = algorithm == Algorithm::ring && protocol == Protocol::simple && team_.nodes() > 1 &&
                       all_reduce &&
                       bytes / static_cast<std::uint64_t>(graph_.channels_set_up * ranks()) >= kPlateauBytes;
    if (level) made.latency_us *= generation_.name == "Volta" ? kOlderPlateau : kPlateau;
    made.time_us = made.latency_us + static_cast<double>(bytes) / (1e3 * rate);
    return made;
  }

 private:
  double ranks() const { return team_.ranks(); }
  double per_node() const { return ranks() / team_.nodes(); }
  bool whole() const { return operation_ == Operation::broadcast || operation_ == Operation::reduce; }
  double steps() const {
    return operation_ == Operation::all_reduce ? 2 * (ranks() - 1) : whole() ? ranks() : std::max(1.0, ranks() - 1);
  }

  double latency(Algorithm algorithm, Protocol protocol) const {
    const double nodes = team_.nodes();
    const double base = us(base_latency(algorithm, protocol));
    const Hop near = team_.group(0).spec.scale_up ? Hop::scale_up : Hop::pcie;
    const double inside = us(hop_latency(near, algorithm, protocol));
    const bool older_hop = algorithm == Algorithm::nvls_tree && !release_.tuned_anew();
    // One rank to a node waits for the network as a tree does.
    const Algorithm like = team_.nodes() == team_.ranks() ? Algorithm::tree : algorithm;
    const double outside = older_hop ? kOlderNvlsHop : us(hop_latency(Hop::network, like, protocol));
    const double depth = std::bit_width(team_.nodes()) - 1;
    const double post = team_.nodes() > 1 ? (amd_ ? 2.0 : 1.0) * (protocol == Protocol::simple ? 3.0 : 1.0) : 0;
    switch (algorithm) {
      case Algorithm::tree:
        return base + 2 * ((std::floor(per_node()) - 1) * inside + depth * outside);
      case Algorithm::nvls:
        return base + inside;
      case Algorithm::nvls_tree:
        return base + inside + 2 * depth * outside;
      case Algorithm::pat:
        return base + depth * outside / 3.5 + 2.8 * ranks();
      default: {
        if (whole()) return base + chain_latency(protocol, team_.nodes() > 1 ? Hop::network : near);
        const double crossings = (nodes - 1) * (operation_ == Operation::all_reduce ? 2 : 1);
        return base + (steps() - crossings) * std::max(inside, post) + crossings * outside;
      }
    }
  }

  // Of a broadcast or reduction along a ring. Where all channels go the same way NCCL counts one step.
  double chain_latency(Protocol protocol, Hop hop) const {
    const double each = us(hop_latency(hop, Algorithm::ring, protocol));
    if (graph_.same_rings) return each;
    return steps() * (protocol == Protocol::simple ? us(hop_latency(hop, Algorithm::tree, protocol)) : each);
  }

  // Of the operation's bytes.
  double bandwidth(Algorithm algorithm, Protocol protocol) const {
    switch (algorithm) {
      case Algorithm::tree:
        return tree(protocol);
      case Algorithm::nvls:
      case Algorithm::nvls_tree:
        return nvls(algorithm);
      case Algorithm::pat:
        return 0.75 * of_lanes(graph_.tree);
      default: {
        const double all = of_lanes(graph_.ring);
        double rate = all;
        if (protocol == Protocol::ll) rate = std::min(all / 2, ll_most());
        if (protocol == Protocol::ll128)
          rate = std::min(0.92 * all, graph_.ring.channels * most(&Generation::ring_ll128_most));
        return rate * ranks() / steps();
      }
    }
  }

  // Up to two nodes NCCL looks at what a channel gets inside.
  double of_lanes(const Graph::Lanes& lanes) const {
    return lanes.channels * (team_.nodes() <= 2 ? lanes.inside : lanes.outside);
  }

  double tree(Protocol protocol) const {
    const double channels = graph_.tree.channels;
    double rate = std::min(0.92 * of_lanes(graph_.tree), channels * most(&Generation::tree_most));
    if (protocol == Protocol::ll) rate = std::min(rate / 3.8, ll_most());
    if (protocol == Protocol::ll128)
      rate =
          std::min(rate * (team_.nodes() == 1 ? 7.0 / 9 : 120.0 / 128), channels * most(&Generation::tree_ll128_most));
    return rate * (graph_.plain_tree ? kPlainTree : 1) / 2;
  }

  double nvls(Algorithm algorithm) const {
    const Graph::Lanes& lanes = graph_.nvls;
    const bool across = algorithm == Algorithm::nvls_tree;
    const bool all_reduce = operation_ == Operation::all_reduce;
    const double without_own = (per_node() - 1) / per_node();
    if (!release_.tuned_anew()) {
      if (!all_reduce) return lanes.channels * std::min(lanes.inside * without_own, 0.9 * lanes.outside);
      const double outside = across && team_.nodes() > 2 ? lanes.outside / 2 : lanes.outside;
      return kOlderNvls * lanes.channels * std::min(lanes.inside, outside);
    }
    if (lanes.channels < 2) return 0;
    const double inside = lanes.inside * static_cast<double>(generation_.nvls_per_mille) / 1e3 * (lanes.channels - 1) /
                          lanes.channels * (all_reduce ? 2 : without_own);
    const double outside = lanes.outside * (across && team_.nodes() == 2 ? 2 : 1);
    const double each = std::min(inside, outside);
    if (!all_reduce) return lanes.channels * each;
    return lanes.channels * (across ? std::min(each, most(&Generation::nvls_tree_most)) : each) * ranks() / steps();
  }

  // Of a channel; until 2.27 Blackwell was taken for two times Hopper, and some of it for longer.
  double most(ByNodes Generation::*table) const {
    const bool blackwell = generation_.name.starts_with("Blackwell");
    const double hopper = gigabytes((generation_of("h100").*table)[nodes_class_]);
    if (blackwell && !release_.tuned_anew()) return 2 * hopper;
    if (blackwell && table == &Generation::ring_ll128_most && !release_.corrects_nvls_tree())
      return nodes_class_ == 1 ? kRingLl128Two : 2 * hopper;
    if (blackwell && table == &Generation::nvls_tree_most && nodes_class_ == 2 && !release_.wide_nvls_tree())
      return kNvlsTreeMany;
    return gigabytes((generation_.*table)[nodes_class_]);
  }

  // Across nodes NCCL takes the figure of the CPUs: of AMD's, or of Intel's, which stand for all others.
  double ll_most() const {
    return gigabytes((team_.nodes() == 1 ? generation_ : generation_of(amd_ ? "a100" : "v100")).ll_most[nodes_class_]);
  }

  const Team& team_;
  Operation operation_;
  const Release& release_;
  const Generation& generation_;
  Graph graph_;
  std::size_t nodes_class_;
  bool amd_ = false;
  bool x86_ = true;
};

bool offers(const Team& team, Protocol protocol) {
  if (protocol == Protocol::simple) return true;
  if (team.nodes() > 1 && !keeps_order(team.group(0).spec.nic.kind)) return false;
  return protocol == Protocol::ll || team.group(0).spec.scale_up.has_value();
}

// Of "NAME=VALUE NAME=VALUE"; empty: it is not set.
std::string_view setting(std::string_view profile, std::string_view name) {
  while (!profile.empty()) {
    const std::size_t end = std::min(profile.find(' '), profile.size());
    const std::string_view word = profile.substr(0, end);
    if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
      return word.substr(name.size() + 1);
    profile.remove_prefix(std::min(end + 1, profile.size()));
  }
  return {};
}

// PAT is off unless asked for with more than one rank per node, CollNet needs a plugin, and a hierarchy is not NCCL's.
bool considered(const Team& team, Operation operation, Algorithm algorithm, Protocol protocol, const Stack& stack) {
  if (algorithm == Algorithm::collnet || algorithm == Algorithm::hierarchical) return false;
  return offers(team, protocol) &&
         allowed(algorithm, protocol, [&](std::string_view name) { return setting(stack.network.profile, name); }) &&
         why_not(team, operation, algorithm, protocol).empty();
}

}  // namespace

std::vector<Estimate> estimates(const Team& team, Operation operation, std::uint64_t bytes, const Stack& stack) {
  if (operation == Operation::all_to_all || operation == Operation::send_recv) {
    const Protocol protocol = protocol_for(team, operation, Algorithm::direct, bytes, stack);
    return {*Model(team, operation, stack).estimate(Algorithm::direct, protocol, bytes)};
  }
  const Model model(team, operation, stack);
  std::vector<Estimate> all;
  for (const Algorithm algorithm : kAlgorithms)
    for (const Protocol protocol : kProtocols)
      if (considered(team, operation, algorithm, protocol, stack))
        if (const auto made = model.estimate(algorithm, protocol, bytes)) all.push_back(*made);
  std::stable_sort(all.begin(), all.end(), [](const Estimate& a, const Estimate& b) { return a.time_us < b.time_us; });
  return all;
}

Protocol protocol_for(const Team& team, Operation operation, Algorithm algorithm, std::uint64_t bytes,
                      const Stack& stack) {
  if (algorithm == Algorithm::direct) return pair_protocol(pair_rule(team, operation, bytes, stack));
  if (algorithm == Algorithm::hierarchical) return Protocol::simple;
  const Model model(team, operation, stack);
  Estimate best{algorithm, Protocol::simple, 0, 0, 1e300};
  for (const Protocol protocol : kProtocols) {
    if (!offers(team, protocol) || !why_not(team, operation, algorithm, protocol).empty()) continue;
    const auto made = model.estimate(algorithm, protocol, bytes);
    if (made && made->time_us < best.time_us) best = *made;
  }
  return best.protocol;
}

}  // namespace weft::collective
