#include "base/wide.hpp"
#include "collective/direct.hpp"
#include "collective/gates.hpp"
#include "collective/hierarchical.hpp"
#include "collective/pat.hpp"
#include "collective/planner.hpp"

namespace weft::collective {
namespace {

// Pairs of ports that are looked at one by one; of more, partners at even distances stand for all. Where places are
// alike, what crosses leaves and pods grows and falls steadily with the distance, and fewer tell it.
constexpr std::uint64_t kMostPairs = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostPairsAlike = std::uint64_t{1} << 18;
constexpr Wide kBits = Wide{1} << 62;  // whose times are added up

}  // namespace

// What the network leaves each rank of a node that sends the same to everybody, where the rest of its way leaves it
// `host`. Ranks go on from node to node in the same order, so that at any time all of them send about equally far
// ahead, to as many at once as are in flight: each such range of distances is a pattern of its own, and takes its own
// time. By node.
std::vector<Bandwidth> Planner::network_for_everybody(const std::vector<Bandwidth>& host) {
  const std::uint32_t nodes = team_.nodes();
  const std::uint64_t pairs = std::uint64_t{nodes} * nodes * team_.domain(0).ports.size();
  const bool alike = options_.network->place(team_.gpu(0)).has_value();
  const std::uint64_t most = alike ? kMostPairsAlike : kMostPairs;
  const auto distances =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most * (nodes - 1) / pairs, 1, nodes - 1));
  // Calls visit(network, over, under) for all that ranks of a node send to ranks of another: lanes beside each other.
  const auto for_each = [&](std::uint32_t node, std::uint32_t away, const auto& visit) {
    const Domain& from = team_.domain(node);
    const Domain& to = team_.domain((node + away) % nodes);
    for (std::uint32_t rank = to.first_rank; rank < to.first_rank + to.ranks; ++rank) {
      const std::uint32_t enters = team_.port_of(rank);
      const std::uint32_t same = enters % static_cast<std::uint32_t>(from.ports.size());
      if (options_.pxn) {
        visit(sharing_.network(from.ports[same].rank, to.ports[enters].rank), from.ranks, to.ranks);
        continue;
      }
      for (std::uint32_t own = from.first_rank; own < from.first_rank + from.ranks; ++own)
        visit(sharing_.network(from.ports[team_.port_of(own)].rank, to.ports[enters].rank), 1, to.ranks);
    }
  };
  const auto distance = [&](std::uint32_t i) {
    return 1 + static_cast<std::uint32_t>(std::uint64_t{i} * (nodes - 1) / distances);
  };
  const bool small = part(team_.ranks()) < Direct::kSmall;
  // Where places are alike, nodes stay in step. Elsewhere what is slow stays in flight until its sender is as far ahead
  // as it may be, and meets what others send up to that much before it and behind it.
  const std::uint32_t in_flight = (alike ? 1 : 2) * Direct::kInFlight;
  const std::uint32_t at_once = small ? distances : std::max(1u, in_flight / team_.domain(0).ranks);
  std::vector<std::uint64_t> load;                           // by link, of the distances that are looked at
  std::vector<std::span<const NetworkLinks::Part>> crossed;  // there, node by node
  std::vector<std::size_t> until(nodes);                     // of these, by node
  std::vector<Wide> took(nodes);
  std::vector<std::int64_t> steps(nodes);
  for (std::uint32_t first = 0; first < distances; first += at_once) {
    const std::uint32_t end = std::min(distances, first + at_once);
    load.assign(load.size(), 0);
    crossed.clear();
    for (std::uint32_t node = 0; node < nodes; ++node) {
      for (std::uint32_t i = first; i < end; ++i)
        for_each(node, distance(i),
                 [&](std::span<const NetworkLinks::Part> network, std::uint64_t over, std::uint64_t under) {
                   crossed.push_back(network);
                   plan_.cut |= network.empty();
                   sharing_.load(network, over, under * distances);
                   for (const NetworkLinks::Part& part : network) {
                     if (load.size() <= part.link) load.resize(part.link + std::size_t{1});
                     load[part.link] += part.weight * over / (under * (end - first));
                   }
                 });
      until[node] = crossed.size();
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
      Wide least = host[node].count();
      std::int64_t ranks = 0;
      for (std::uint32_t i = first; i < end; ++i) ranks += team_.domain((node + distance(i)) % nodes).ranks;
      for (std::size_t at = node == 0 ? 0 : until[node - 1]; at < until[node]; ++at)
        for (const NetworkLinks::Part& part : crossed[at])
          if (load[part.link] > 0)
            least = std::min(least, Wide{sharing_.rate(part.link, load[part.link]).count()} * NetworkLinks::kWhole /
                                        load[part.link]);
      plan_.bound_by_network |= least < host[node].count();
      took[node] += ranks * (kBits / std::max<Wide>(1, least));
      steps[node] += ranks;
    }
  }
  const auto count_full = [&](std::uint32_t node, std::span<const NetworkLinks::Part> network) {
    std::uint32_t full = 0;
    for (const NetworkLinks::Part& part : network) full += sharing_.left(part.link) * 2 <= host[node] ? 1 : 0;
    plan_.full_in_a_row = std::max(plan_.full_in_a_row, full);
  };
  for (std::uint32_t node = 0; !alike && node < nodes; ++node)
    for (std::uint32_t i = 0; i < distances; ++i)
      for_each(node, distance(i), [&](std::span<const NetworkLinks::Part> network, std::uint64_t, std::uint64_t) {
        count_full(node, network);
      });
  std::vector<Bandwidth> left;
  for (std::uint32_t node = 0; node < nodes; ++node)
    left.push_back(Bandwidth(static_cast<std::int64_t>(kBits * steps[node] / std::max<Wide>(1, took[node]))));
  return left;
}

// Algorithms in which ranks talk to any others: what one channel does, all do, so one program stands for all.
void Planner::add_pairs() {
  Pairs pairs;
  const std::uint32_t size = team_.ranks();
  const bool all_to_all = options_.operation == Operation::all_to_all;
  const bool neighbours = options_.operation == Operation::send_recv;
  for (std::uint32_t rank = 0; rank < size; ++rank) pairs.node.push_back(team_.node_of(rank));
  for (std::uint32_t node = 0; node < team_.nodes(); ++node) pairs.first.push_back(team_.domain(node).first_rank);
  pairs.first.push_back(size);
  // The next rank, or else a partner in another domain with the same number there: what it has in common with all
  // others there is the port.
  const auto outside_partner = [&](std::uint32_t rank) {
    if (neighbours) return (rank + 1) % size;
    const std::uint32_t node = team_.node_of(rank);
    const Domain& other = team_.domain((node + 1) % team_.nodes());
    return other.first_rank + (rank - team_.domain(node).first_rank) % other.ranks;
  };
  const auto inside = [&](std::uint32_t rank) {
    const Domain& domain = team_.domain(team_.node_of(rank));
    return sharing_.inside(rank, domain.first_rank + (rank - domain.first_rank + 1) % domain.ranks);
  };
  const auto outside_by = [&](std::uint32_t rank, std::uint32_t to) {
    const std::uint32_t node = team_.node_of(rank);
    const std::uint32_t from_port =
        options_.pxn ? team_.port_of(to) % static_cast<std::uint32_t>(team_.domain(node).ports.size())
                     : team_.port_towards(node, team_.port_of(rank), team_.node_of(to), team_.port_of(to));
    Path path = sharing_.across(rank, from_port, to, team_.port_of(to));
    if (all_to_all) path.network = {};  // it is everybody's, and told below
    return path;
  };
  const auto outside = [&](std::uint32_t rank) { return outside_by(rank, outside_partner(rank)); };
  // Without PXN a rank reaches the rails of others through host memory, and its own directly: by one way after another.
  const bool by_turns = all_to_all && !options_.pxn && team_.has_rails_apart() && team_.nodes() > 1;
  const auto in_turn = [&](std::uint32_t rank) {
    const Domain& other = team_.domain((team_.node_of(rank) + 1) % team_.nodes());
    std::vector<Path> paths;
    for (const Port& port : other.ports) paths.push_back(outside_by(rank, port.rank));
    return paths;
  };
  if (by_turns) sharing_.take_turns(static_cast<std::uint32_t>(team_.domain(0).ports.size()));
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const Domain& domain = team_.domain(team_.node_of(rank));
    const bool last = rank + 1 == domain.first_rank + domain.ranks;
    if (domain.ranks > 1 && (!neighbours || !last)) sharing_.load(inside(rank));
    if (team_.nodes() == 1 || (neighbours && !last)) continue;
    if (by_turns)
      for (const Path& path : in_turn(rank)) sharing_.load_in_turn(path);
    else
      sharing_.load(outside(rank));
  }
  std::vector<Bandwidth> left;  // by node
  if (all_to_all && options_.network != nullptr && team_.nodes() > 1) {
    for (std::uint32_t node = 0; node < team_.nodes(); ++node) {
      const std::uint32_t rank = team_.domain(node).first_rank;
      left.push_back(sharing_.share_of_host(outside(rank)));
      if (by_turns)
        for (const Path& path : in_turn(rank)) left.back() = std::min(left.back(), sharing_.share_of_host(path));
    }
    left = network_for_everybody(left);
  }
  const bool scale_up = team_.group(0).spec.scale_up.has_value();
  // Channels copy what a rank sends itself, too: where peers have channels of their own, those are lost to others.
  const PairCut cut =
      pair_cut(pair_rule(team_, options_.operation, options_.bytes, *options_.stack), plan_.choice.protocol);
  const std::uint32_t carrying = neighbours || options_.choice.channels > 0
                                     ? plan_.choice.channels
                                     : std::min(plan_.choice.channels, cut.each * (size - 1));
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    // All channels at once, and no more than their threads move.
    const auto whole = [&](Path path, bool crosses) {
      Edge made = edge(path);
      Bandwidth share = sharing_.share(path);
      if (crosses && !left.empty()) share = std::min(share, left[team_.node_of(rank)]);
      made.overhead = made.overhead / plan_.choice.channels;
      const bool ll = plan_.choice.protocol == Protocol::ll;
      made.rate = ll ? share / 2 : plan_.choice.protocol == Protocol::ll128 ? share / 128 * 120 : share;
      if (crosses || !scale_up) return made;
      const std::int64_t by_one = ll ? generation_.ll_most[0] / generation_.ring_channels : generation_.pair_mbps;
      made.rate = std::min(made.rate, Bandwidth(by_one * 8'000'000 * carrying));
      return made;
    };
    const Domain& domain = team_.domain(team_.node_of(rank));
    pairs.within.push_back(domain.ranks > 1 ? whole(inside(rank), false) : Edge{});
    pairs.across.push_back(team_.nodes() > 1 ? whole(outside(rank), true) : Edge{});
    if (by_turns)
      for (const Path& path : in_turn(rank)) {
        const Edge other = whole(path, true);
        if (other.rate < pairs.across.back().rate) pairs.across.back() = other;
      }
  }
  const std::uint64_t bytes = part(neighbours ? 1 : size);
  const std::uint64_t others = neighbours                                          ? 1
                               : plan_.choice.algorithm == Algorithm::hierarchical ? team_.nodes() - 1
                                                                                   : size - team_.domain(0).ranks;
  plan_.bytes_per_load = bytes * others * (options_.operation == Operation::all_reduce ? 2 : 1);
  const Rounds rounds = rounds_of(bytes);
  if (plan_.choice.algorithm == Algorithm::pat) {
    add(std::make_shared<Pat>(Pat::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  } else if (all_to_all || neighbours) {
    add(std::make_shared<Direct>(Direct::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  } else {
    add(std::make_shared<Hierarchical>(Hierarchical::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver,
        true);
  }
}

}  // namespace weft::collective
