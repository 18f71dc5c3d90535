#include "collective/planner.hpp"

#include <algorithm>
#include <tuple>

#include "collective/chunks.hpp"
#include "collective/gates.hpp"

namespace weft::collective {
namespace {

constexpr std::uint32_t kMostHeads = 32;    // NCCL_MAX_NVLS_ARITY
constexpr std::int64_t kNicPerMille = 960;  // that NCCL counts with: 48 GB/s of a 400G NIC's 50

constexpr Duration kOrdinary = microseconds(2);  // a way through NICs and a switch or three

constexpr std::int64_t kLlWire = 2000;     // a flag of 4 bytes with every 4 of data
constexpr std::int64_t kLl128Wire = 1067;  // 8 with every 120

std::int64_t wire_per_mille(Protocol protocol) {
  return protocol == Protocol::ll ? kLlWire : protocol == Protocol::ll128 ? kLl128Wire : 1000;
}

// Ranks of a node that stand next to a port, or all of them on one node: each takes a part of the data under NVLS.
std::uint32_t heads_of(const Team& team) {
  return std::min(kMostHeads, team.nodes() == 1 ? team.ranks() : team.least_ports());
}

}  // namespace

PairRule pair_rule(const Team& team, Operation operation, std::uint64_t bytes, const Stack& stack) {
  return {channels_for(team, Algorithm::direct), team.ranks(), team.nodes(),
          operation == Operation::send_recv,     bytes,        stack.release};
}

std::pair<std::uint32_t, std::uint64_t> cut_of(const Team& team, const PlanOptions& options) {
  const Algorithm algorithm = options.choice.algorithm;
  const Protocol protocol = options.choice.protocol;
  std::uint32_t channels = options.choice.channels;
  if (channels == 0) {
    const std::uint32_t most = options.limits.of(channels_for(team, algorithm));
    channels = algorithm == Algorithm::direct
                   ? pair_cut(pair_rule(team, options.operation, options.bytes, *options.stack), protocol).channels
                   : channels_used(most, algorithm, protocol, options.bytes, team.ranks());
  }
  const bool chains = options.operation == Operation::broadcast || options.operation == Operation::reduce;
  const ChunkRule rule{algorithm,
                       protocol,
                       options.bytes,
                       channels,
                       algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree ? heads_of(team) : 1,
                       team.ranks(),
                       team.nodes(),
                       chains,
                       static_cast<std::uint64_t>(options.stack->network.nvls_chunk),
                       static_cast<std::uint64_t>(options.stack->network.far_chunk),
                       options.stack->release};
  std::uint64_t chunk = options.chunk > 0 ? options.chunk : chunk_size(rule);
  const std::uint64_t parts = std::uint64_t{channels} * team.ranks();
  if (algorithm == Algorithm::ring && !chains)
    chunk = std::min(chunk, std::max<std::uint64_t>(1, (options.bytes + parts - 1) / parts));
  return {channels, chunk};
}

Planner::Planner(const Team& team, const PlanOptions& options)
    : team_(team),
      options_(options),
      generation_(options.generation != nullptr ? *options.generation : generation_of(team.group(0).spec.gpu.kind)),
      sharing_(team, generation_, *options.stack,
               {options.pxn, options.beside, options.network, options.with_crossings}) {}

std::uint32_t Planner::port(std::uint32_t node, std::uint32_t channel) const {
  return channel % static_cast<std::uint32_t>(team_.domain(node).ports.size());
}

// The rank of a node at which a channel comes in and the others of the node are counted from.
std::uint32_t Planner::entry(std::uint32_t node, std::uint32_t channel) const {
  const Domain& domain = team_.domain(node);
  if (team_.nodes() > 1 && !domain.ports.empty()) return domain.ports[port(node, channel)].rank;
  return domain.first_rank + channel % domain.ranks;
}

std::uint32_t Planner::heads() const { return heads_of(team_); }

// Equal parts of all bytes, rounded up.
std::uint64_t Planner::part(std::uint64_t parts) const { return (options_.bytes + parts - 1) / parts; }

Rounds Planner::rounds_of(std::uint64_t bytes) {
  Rounds rounds{bytes, plan_.chunk};
  // Ranks that are late or slow make early rounds unlike later ones: none is left out.
  if (uneven()) return rounds;
  const std::uint64_t whole = plan_.whole_rounds = bytes / rounds.chunk;
  if (options_.most_rounds > 0 && whole > options_.most_rounds)
    rounds.bytes -= (whole - options_.most_rounds) * rounds.chunk;
  return rounds;
}

Path Planner::path(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const {
  const std::uint32_t a = team_.node_of(from);
  const std::uint32_t b = team_.node_of(to);
  if (a == b) return sharing_.inside(from, to);
  return sharing_.across(from, port(a, leaves_by(channel, a, plan_.alternate)), to,
                         port(b, enters_by(channel, b, plan_.alternate)));
}

// NCCL looks for rings that leave a node by the NIC they came in by. From the last GPU to that NIC they cross NVLink
// once more; where NVLink has no room for that beside all NICs, it takes rings in pairs instead, which leave by each
// other's.
bool Planner::alternates() const {
  if (team_.nodes() == 1 || !team_.group(0).spec.scale_up || !options_.stack->release.alternates()) return false;
  Bandwidth nics;
  for (std::uint32_t node = 0; node < team_.nodes(); ++node)
    if (team_.domain(node).ports.size() % 2 == 1) return false;
  for (const Port& port : team_.domain(0).ports) nics = nics + port.nic_rate;
  const Bandwidth inside = team_.group(0).spec.scale_up->link.one_way() / 1000 * generation_.scale_up_per_mille;
  return nics / 1000 * kNicPerMille > inside;
}

// The share of the links, less what the protocol spends on flags, and no more than a channel's threads move.
Edge Planner::edge(const Path& path, bool posts) {
  plan_.host_memory |= path.host_memory;
  plan_.cut |= path.cut;
  const std::uint32_t by_nodes = nodes_class();
  const auto megabytes = [](std::int64_t n) { return Bandwidth(n * 8'000'000); };
  const bool tree = plan_.choice.algorithm == Algorithm::tree;
  const bool simple = plan_.choice.protocol == Protocol::simple;
  Bandwidth share = sharing_.share_of_host(path);
  if (const Bandwidth network = sharing_.share_of_network(path); network < share) {
    plan_.bound_by_network = true;
    share = network;
  }
  Bandwidth own = megabytes((!tree    ? generation_.ring_ll128_most
                             : simple ? generation_.tree_most
                                      : generation_.tree_ll128_most)[by_nodes]);
  const std::uint32_t posted = sharing_.posted(path);
  if (plan_.choice.protocol == Protocol::ll) {
    share = share / 2;
    // Within a domain a channel's threads decide. On the network a processor looks at every flag before it sends, and
    // NCCL has one figure for what all channels that are set up get of it, at work or not: that of Intel's, as what it
    // is is not known here.
    const std::uint32_t set_up = std::max(plan_.choice.channels, channels_for(team_, plan_.choice.algorithm));
    own = posted == 0 ? megabytes(generation_.ll_most[0]) / plan_.choice.channels
                      : megabytes(generation_of("v100").ll_most[by_nodes]) / set_up;
  } else if (plan_.choice.protocol == Protocol::ll128) {
    share = share / 128 * 120;
  }
  Edge made{std::min(share, own), {}, wire_per_mille(plan_.choice.protocol)};
  if (!simple) return made;
  if (posted > 0) {
    // NICs send from their buffers whatever the GPU does. A port's thread posts chunk after chunk while others are on
    // the wire, and keeps them waiting where it is slower.
    const std::int64_t message =
        options_.stack->network.message_ns * (generation_.posting > 0 ? generation_.posting : 1000) / 1000;
    const Duration posting = nanoseconds(posts ? message * posted : 0);
    const Duration wire = transfer_time(Bytes(static_cast<std::int64_t>(plan_.chunk / plan_.slices)), made.rate);
    made.overhead = std::max(Duration(0), posting - wire);
    if (several_levels_) {
      made.own_rate = both_ways_ ? std::min(own, made.rate * 2) : made.rate;
      const Duration alone = transfer_time(Bytes(static_cast<std::int64_t>(plan_.chunk / plan_.slices)), made.own_rate);
      made.own_overhead = std::max(Duration(0), posting / 2 - alone);
    }
  } else {
    // In trees and chains the fence is part of a hop's latency.
    made.overhead = nanoseconds(fenced_ ? generation_.slice_ns : 0);
  }
  return made;
}

// Between a GPU and the switches that reduce.
Edge Planner::switch_edge(const Path& path) {
  const Edge plain = edge(path);
  const bool tree = plan_.choice.algorithm == Algorithm::nvls_tree;
  const std::int64_t share = generation_.nvls_share * (tree ? options_.stack->common.nvls_tree : 1000) / 1000;
  return {plain.rate / 1000 * share, nanoseconds(generation_.nvls_chunk_ns),
          1'000'000 / std::max<std::int64_t>(1, share)};
}

Plan Planner::make() {
  plan_.operation = options_.operation;
  plan_.choice = options_.choice;
  plan_.gpus = plan_.ranks = team_.ranks();
  for (std::uint32_t rank = 0; rank < team_.ranks(); ++rank) plan_.node.push_back(team_.node_of(rank));
  const Algorithm algorithm = plan_.choice.algorithm;
  const Protocol protocol = plan_.choice.protocol;
  const bool chains = options_.operation == Operation::broadcast || options_.operation == Operation::reduce;
  std::tie(plan_.choice.channels, plan_.chunk) = cut_of(team_, options_);
  const bool ring = algorithm == Algorithm::ring && !chains;
  if (ring) plan_.slices = slices_of(protocol);
  fenced_ = algorithm != Algorithm::tree && !chains;
  plan_.alternate = ring && alternates();

  set_latencies();
  set_conditions();
  const bool stars =
      algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree || algorithm == Algorithm::collnet;
  if (stars)
    add_stars();
  else if (algorithm == Algorithm::tree)
    add_trees();
  else if (algorithm != Algorithm::ring)
    add_pairs();
  else if (chains)
    add_chains();
  else
    add_rings();
  plan_.loads = sharing_.loads();
  plan_.crossings = sharing_.crossings();
  plan_.bytes_per_load = plan_.bytes_per_load * static_cast<std::uint64_t>(wire_per_mille(protocol)) / 1000;
  std::tie(plan_.network_time, plan_.network_steps) = sharing_.busiest_link(plan_.bytes_per_load);
  return std::move(plan_);
}

// Of a way to the switches or back. Fitted to large messages it says nothing of small ones: towards them NCCL's own
// figure stands in, which is of a whole operation with four such ways.
Duration Planner::nvls_hop() const {
  constexpr std::int64_t kWays = 4;
  const Duration fitted = nanoseconds(generation_.nvls_hop_ns);
  const auto from = static_cast<std::uint64_t>(generation_.nvls_hop_from);
  if (options_.bytes >= from) return fitted;
  const Duration published = hop_latency(Hop::scale_up, Algorithm::nvls, Protocol::simple) / kWays;
  constexpr std::uint64_t kParts = 1024;
  return published + (fitted - published) * static_cast<std::int64_t>(options_.bytes / (from / kParts)) /
                         static_cast<std::int64_t>(kParts);
}

void Planner::set_latencies() {
  const Algorithm algorithm = plan_.choice.algorithm;
  const Protocol protocol = plan_.choice.protocol;
  const bool stars =
      algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree || algorithm == Algorithm::collnet;
  const Hop near = team_.group(0).spec.scale_up ? Hop::scale_up : Hop::pcie;
  const std::int64_t measured_hop = protocol == Protocol::ll      ? generation_.ll_hop_ns
                                    : protocol == Protocol::ll128 ? generation_.ll128_hop_ns
                                                                  : generation_.simple_hop_ns;
  plan_.inside = stars                   ? nvls_hop()
                 : near == Hop::scale_up ? nanoseconds(measured_hop)
                                         : hop_latency(near, algorithm, protocol);
  // A chunk of NVLSTree goes through the same proxies as any other of Simple. One rank to a node waits for the network
  // as a tree does, in NCCL's model, too.
  const bool as_tree =
      algorithm == Algorithm::nvls_tree || (algorithm == Algorithm::ring && team_.nodes() == team_.ranks());
  const Algorithm like = as_tree ? Algorithm::tree : algorithm;
  const bool simple = protocol == Protocol::simple;
  plan_.outside_lag = hop_latency(Hop::network, like, protocol) + nanoseconds(options_.stack->network.hop_ns);
  // With LL, where a flag goes with every word, NCCL's figure is of all there is between two nodes of an ordinary
  // network, and what is further apart takes longer. Of Simple it is of what is handed over at both ends, and where a
  // hop of a network's own was fitted, that is beside the network.
  if (protocol == Protocol::ll && options_.stack->network.hop_ns == 0)
    plan_.outside_lag = plan_.outside_lag - std::min(team_.network_latency(), kOrdinary);
  if (simple && keeps_order(team_.group(0).spec.nic.kind))
    plan_.outside_lag = plan_.outside_lag + nanoseconds(options_.stack->network.simple_ns);
  plan_.outside = plan_.outside_lag + team_.network_latency();
  // NCCL's figure within a domain is of all there is between two GPUs; to a switch it is half as far.
  plan_.inside_lag = std::max(Duration(0), plan_.inside - team_.inside_latency() / (stars ? 2 : 1));
  // NCCL's figure is of the way to the network's switches and back.
  if (algorithm == Algorithm::collnet) plan_.outside = plan_.outside / 2;
  // NCCL's figures are of how much longer the start of one protocol takes than of another.
  const Duration longer =
      stars ? Duration(0) : base_latency(algorithm, protocol) - base_latency(algorithm, Protocol::ll);
  plan_.launch = nanoseconds(generation_.start_ns + options_.stack->launch.delay_ns) + longer;
  const Launch& launch = options_.stack->launch;
  const auto gpus = std::min<std::int64_t>(team_.ranks(), team_.group(0).spec.gpus);
  // A group's launch is a barrier: nothing hides behind the operation before it. Between nodes the thread that launches
  // also hands every channel's work to a proxy.
  const Duration by_channel = nanoseconds(gpus * launch.channel_ns * plan_.choice.channels);
  const bool barrier = options_.stack->release.grouped();
  if (barrier) plan_.launch = plan_.launch + by_channel;
  plan_.least = nanoseconds(launch.least_ns + gpus * launch.gpu_ns);
  if (barrier || team_.nodes() > 1) plan_.least = plan_.least + by_channel;
}

void Planner::set_conditions() {
  plan_.pxn = options_.pxn;
  if (!uneven()) return;
  plan_.starts = options_.conditions->starts;
  if (options_.conditions->ranks.empty()) return;
  plan_.speed_per_mille.assign(team_.ranks(), 1000);
  for (const Conditions::Slow& each : options_.conditions->ranks)
    plan_.speed_per_mille[each.which] = plan_.speed_per_mille[each.which] * each.speed_per_mille / 1000;
}

}  // namespace weft::collective
