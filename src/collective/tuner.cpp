#include "collective/tuner.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace weft::collective {
namespace {

// Up to this size per peer, point-to-point messages go with LL (NCCL_P2P_LL_THRESHOLD).
constexpr std::uint64_t kPeerLl = 16 << 10;

// NCCL counts with 12 GB/s of a 100G NIC's 12.5, and 48 of 50.
constexpr std::int64_t kNicPerMille = 960;

// From this many bytes for each rank of a channel on, a ring between nodes waits longer (NCCL's plateau effect).
constexpr std::uint64_t kPlateauBytes = 64;
constexpr double kPlateau = 1.4;
constexpr double kOlderPlateau = 1.9;  // before Ampere

// Until 2.27, what NVLS and NVLSTree get of links, and what a hop of NVLSTree takes.
constexpr double kOlderNvls = 5.0 / 6;
constexpr double kOlderNvlsHop = 14.0;

// What NCCL takes off where a tree enters and leaves a node at the same GPU.
constexpr double kPlainTree = 0.85;

// From 64 B on, a factor for each doubling (NCCL's tree correction).
constexpr std::array<std::array<double, 24>, 3> kTreeCorrection = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

double us(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }
double gigabytes(Bandwidth rate) { return static_cast<double>(rate.count()) / 8e9; }
double part(Bandwidth rate, std::int64_t per_mille) { return gigabytes(rate) * static_cast<double>(per_mille) / 1e3; }
double gigabytes(std::int64_t megabytes) { return static_cast<double>(megabytes) / 1e3; }

class Model {
 public:
  Model(const Team& team, Operation operation, const Stack& stack)
      : team_(team),
        operation_(operation),
        stack_(stack),
        generation_(generation_of(team.group(0).spec.gpu.kind)),
        nodes_class_(std::min(team.nodes(), 3u) - 1) {
    const model::ServerKind& server = team.group(0).spec;
    has_scale_up_ = server.scale_up.has_value();
    inside_ = has_scale_up_ ? part(server.scale_up->link.one_way(), generation_.scale_up_per_mille)
                            : part(team.group(0).pcie.one_way(server.pcie_lanes), 500);
    outside_ = inside_;
    if (team.nodes() == 1) return;
    outside_ = 0;
    for (const Port& port : team.domain(0).ports) outside_ += part(port.nic_rate, kNicPerMille);
  }

  Estimate estimate(Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const {
    Estimate made{algorithm, protocol, latency(algorithm, protocol), bandwidth(algorithm, protocol), 0};
    double rate = made.bandwidth_gbps;
    // Of Blackwell those with x86 processors: its racks have others.
    const bool corrected =
        algorithm == Algorithm::nvls_tree && generation_.name == "Blackwell" && stack_.release.tuned_anew();
    if (algorithm == Algorithm::tree || corrected) {
      const auto step = static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(bytes >> 6, 1))) - 1;
      if (step < 24) rate *= kTreeCorrection[static_cast<std::size_t>(protocol)][step];
    }
    const bool level = algorithm == Algorithm::ring && protocol == Protocol::simple && team_.nodes() > 1 &&
                       operation_ == Operation::all_reduce &&
                       bytes / (std::uint64_t{channels_for(team_, algorithm)} * team_.ranks()) >= kPlateauBytes;
    if (level) made.latency_us *= generation_.name == "Volta" ? kOlderPlateau : kPlateau;
    made.time_us = made.latency_us + static_cast<double>(bytes) / (1e3 * rate);
    return made;
  }

 private:
  double ranks() const { return team_.ranks(); }
  double steps() const { return operation_ == Operation::all_reduce ? 2 * (ranks() - 1) : std::max(1.0, ranks() - 1); }

  double latency(Algorithm algorithm, Protocol protocol) const {
    const double nodes = team_.nodes();
    const double per_node = ranks() / nodes;
    const double base = us(base_latency(algorithm, protocol));
    const double inside = us(hop_latency(has_scale_up_ ? Hop::scale_up : Hop::pcie, algorithm, protocol));
    const bool older_hop = algorithm == Algorithm::nvls_tree && !stack_.release.tuned_anew();
    // One rank to a node waits for the network as a tree does.
    const Algorithm like = team_.nodes() == team_.ranks() ? Algorithm::tree : algorithm;
    const double outside = older_hop ? kOlderNvlsHop : us(hop_latency(Hop::network, like, protocol));
    const double depth = std::bit_width(team_.nodes() - 1);
    const double net_overhead = team_.nodes() > 1 ? (protocol == Protocol::simple ? 3.0 : 1.0) : 0;
    switch (algorithm) {
      case Algorithm::tree:
        return base + 2 * ((per_node - 1) * inside + depth * outside);
      case Algorithm::nvls:
        return base + inside;
      case Algorithm::nvls_tree:
        return base + inside + 2 * depth * outside;
      case Algorithm::pat:
        return base + depth * outside / 3.5 + 2.8 * ranks();
      default: {
        const double crossings = (nodes - 1) * (operation_ == Operation::all_reduce ? 2 : 1);
        return base + (steps() - crossings) * std::max(inside, net_overhead) + crossings * outside;
      }
    }
  }

  // Of the operation's bytes.
  double bandwidth(Algorithm algorithm, Protocol protocol) const {
    const double channels = graph_channels(algorithm);
    const double all = std::min(inside_, outside_);
    const double per_node = ranks() / team_.nodes();
    switch (algorithm) {
      case Algorithm::tree: {
        // Up to two nodes NCCL looks at what a channel gets inside.
        const double links = team_.nodes() <= 2 ? inside_ : all;
        const double rate =
            std::min(0.92 * links, channels * most(&Generation::tree_most)) * (team_.nodes() == 1 ? 1 : kPlainTree);
        if (protocol == Protocol::ll) return std::min(rate / 3.8, ll_most()) / 2;
        if (protocol == Protocol::ll128)
          return std::min(rate * (team_.nodes() == 1 ? 7.0 / 9 : 120.0 / 128),
                          channels * most(&Generation::tree_ll128_most)) /
                 2;
        return rate / 2;
      }
      case Algorithm::nvls: {
        const double share = nvls(per_node, channels);
        return operation_ == Operation::all_reduce ? share : share * (per_node - 1) / per_node;
      }
      case Algorithm::nvls_tree: {
        const double heads = team_.least_ports();
        if (!stack_.release.tuned_anew())
          return kOlderNvls * std::min(inside_, team_.nodes() == 2 ? outside_ : outside_ / 2);
        // Between two nodes both count twice: with its two NICs to a server ACP saw NVLSTree there, and not a plain
        // tree.
        const double links =
            std::min(outside_, heads * most(&Generation::nvls_tree_most)) * (team_.nodes() == 2 ? 2 : 1);
        return std::min(nvls(heads, channels_for(team_, algorithm)), links * ranks() / steps());
      }
      case Algorithm::pat:
        return 0.75 * all * ranks() / steps();
      default: {
        double rate = all;
        if (protocol == Protocol::ll) rate = std::min(all / 2, ll_most());
        if (protocol == Protocol::ll128) rate = std::min(0.92 * all, channels * most(&Generation::ring_ll128_most));
        const bool whole = operation_ == Operation::broadcast || operation_ == Operation::reduce;
        return whole ? rate : rate * ranks() / steps();
      }
    }
  }

  // Between nodes NCCL's search has a channel for each port, and takes all of them twice where each could be faster
  // than one channel is. Later they are doubled in any case, but not for this model.
  double graph_channels(Algorithm algorithm) const {
    const std::uint32_t ports = team_.nodes() == 1 ? 0 : team_.least_ports();
    if (ports == 0 || ports > 8) return channels_for(team_, algorithm);
    const double each = outside_ / ports;
    const bool newer = generation_.nvls_channels > 0;
    return each < 25 || (newer && each < 50 && ports > 4) ? ports : 2 * ports;
  }

  // Of a channel; until 2.27 Blackwell was taken for two times Hopper.
  double most(ByNodes Generation::*table) const {
    const bool twice = generation_.name.starts_with("Blackwell") && !stack_.release.tuned_anew();
    return twice ? 2 * gigabytes((generation_of("h100").*table)[nodes_class_])
                 : gigabytes((generation_.*table)[nodes_class_]);
  }

  // Every GPU that takes a part of the data has a channel in NCCL's search.
  double nvls(double heads, double channels) const {
    return inside_ * static_cast<double>(generation_.nvls_per_mille) / 1e3 * (heads - 1) / heads * (channels - 1) /
           channels;
  }

  // Across nodes NCCL takes the figure of the CPUs: those of Intel, as what they are is not known here.
  double ll_most() const {
    return gigabytes((team_.nodes() == 1 ? generation_ : generation_of("v100")).ll_most[nodes_class_]);
  }

  const Team& team_;
  Operation operation_;
  const Stack& stack_;
  const Generation& generation_;
  std::size_t nodes_class_;
  bool has_scale_up_ = false;
  double inside_ = 0;   // GB/s of a GPU
  double outside_ = 0;  // GB/s of all ports of a node
};

bool offers(const Team& team, Protocol protocol) {
  if (protocol == Protocol::simple) return true;
  if (team.nodes() > 1 && !keeps_order(team.group(0).spec.nic.kind)) return false;
  return protocol == Protocol::ll || team.group(0).spec.scale_up.has_value();
}

// PAT is off unless asked for with more than one rank per node, CollNet needs a plugin, and a hierarchy is not NCCL's.
bool considered(const Team& team, Operation operation, Algorithm algorithm, Protocol protocol) {
  if (algorithm == Algorithm::collnet || algorithm == Algorithm::hierarchical) return false;
  return offers(team, protocol) && why_not(team, operation, algorithm, protocol).empty();
}

}  // namespace

std::vector<Estimate> estimates(const Team& team, Operation operation, std::uint64_t bytes, const Stack& stack) {
  if (operation == Operation::all_to_all || operation == Operation::send_recv) {
    const Protocol protocol = protocol_for(team, operation, Algorithm::direct, bytes, stack);
    return {Model(team, operation, stack).estimate(Algorithm::direct, protocol, bytes)};
  }
  const Model model(team, operation, stack);
  std::vector<Estimate> all;
  for (const Algorithm algorithm : kAlgorithms)
    for (const Protocol protocol : kProtocols)
      if (considered(team, operation, algorithm, protocol)) all.push_back(model.estimate(algorithm, protocol, bytes));
  std::stable_sort(all.begin(), all.end(), [](const Estimate& a, const Estimate& b) { return a.time_us < b.time_us; });
  return all;
}

Protocol protocol_for(const Team& team, Operation operation, Algorithm algorithm, std::uint64_t bytes,
                      const Stack& stack) {
  if (algorithm == Algorithm::direct) {
    const std::uint64_t per_peer = operation == Operation::all_to_all ? bytes / team.ranks() : bytes;
    return per_peer <= kPeerLl && offers(team, Protocol::ll) ? Protocol::ll : Protocol::simple;
  }
  if (algorithm == Algorithm::hierarchical) return Protocol::simple;
  const Model model(team, operation, stack);
  Estimate best{algorithm, Protocol::simple, 0, 0, 1e300};
  for (const Protocol protocol : kProtocols) {
    if (!offers(team, protocol) || !why_not(team, operation, algorithm, protocol).empty()) continue;
    const Estimate made = model.estimate(algorithm, protocol, bytes);
    if (made.time_us < best.time_us) best = made;
  }
  return best.protocol;
}

}  // namespace weft::collective
