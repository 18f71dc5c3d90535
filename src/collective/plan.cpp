#include "collective/plan.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "collective/chunks.hpp"
#include "collective/direct.hpp"
#include "collective/gates.hpp"
#include "collective/hierarchical.hpp"
#include "collective/pat.hpp"
#include "collective/ring.hpp"
#include "collective/sharing.hpp"
#include "collective/tree.hpp"

namespace weft::collective {
namespace {

constexpr std::uint32_t kMostChannels = 32;      // on servers
constexpr std::uint32_t kMostRackChannels = 64;  // NCCL's MAXCHANNELS
constexpr std::uint32_t kNoNode = 0xFFFFFFFFu;
constexpr std::int64_t kNicPerMille = 960;  // that NCCL counts with: 48 GB/s of a 400G card's 50

constexpr std::uint32_t kMostHeads = 32;         // NCCL_MAX_NVLS_ARITY

constexpr std::int64_t kLlWire = 2000;      // a flag of 4 bytes with every 4 of data
constexpr std::int64_t kLl128Wire = 1067;  // 8 with every 120

std::int64_t wire_per_mille(Protocol protocol) {
  return protocol == Protocol::ll ? kLlWire : protocol == Protocol::ll128 ? kLl128Wire : 1000;
}

std::function<std::int64_t(std::uint32_t)> nic_speed(const PlanOptions& options) {
  if (options.conditions == nullptr || options.conditions->nics.empty()) return {};
  return [&slow = options.conditions->nics](std::uint32_t nic) {
    std::int64_t left = 1000;
    for (const Conditions::Slow& each : slow)
      if (each.which == nic) left = left * each.speed_per_mille / 1000;
    return left;
  };
}

class Planner {
 public:
  Planner(const Team& team, const PlanOptions& options)
      : team_(team),
        options_(options),
        generation_(options.generation != nullptr ? *options.generation
                                                  : generation_of(team.group(0).spec.gpu.kind)),
        sharing_(team, generation_, *options.stack, {options.pxn, options.beside, nic_speed(options)}) {}

  Plan make();

 private:
  std::uint32_t nodes_class() const { return std::min(team_.nodes(), 3u) - 1; }
  bool alternates() const;
  std::uint32_t entry(std::uint32_t node, std::uint32_t channel) const;
  std::uint32_t port(std::uint32_t node, std::uint32_t channel) const;
  std::uint32_t heads() const;
  Rounds rounds_of(std::uint64_t bytes);
  Edge edge(const Way& way, bool posts = true);
  Edge switch_edge(const Way& way);
  Way way(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const;
  std::uint64_t part(std::uint64_t parts) const;

  void add_rings();
  void add_chains();
  void add_trees();
  void add_stars();
  void add_pairs();
  // Ranks differ in more than what they send over.
  bool uneven() const { return options_.conditions != nullptr && options_.conditions->of_ranks(); }
  void add(std::shared_ptr<const Program> program, std::uint32_t port_of, bool is_new) {
    if (is_new || uneven()) plan_.different.push_back(program);
    plan_.programs.push_back(std::move(program));
    plan_.port_of.push_back(port_of);
  }
  void set_conditions();
  void set_latencies();
  std::vector<std::uint32_t> ring_order(std::uint32_t channel) const;
  std::vector<Vertex> channel_tree(std::uint32_t channel) const;
  std::vector<Vertex> star(std::uint32_t channel, std::uint32_t head) const;
  struct TreeSet {
    std::vector<std::vector<Vertex>> trees;
    std::vector<std::uint32_t> port_of;  // by tree: what the ports of its nodes are counted by
    std::vector<std::uint32_t> copies;   // by tree: how many there are of it
    std::uint64_t parts = 1;             // of all bytes, each tree has one
    Tree::Direction direction = Tree::Direction::both;
    bool stars = false;
  };
  void add_tree_set(TreeSet set);

  const Team& team_;
  const PlanOptions& options_;
  const Generation& generation_;
  Sharing sharing_;
  bool fenced_ = true;  // a sender waits until what it sent can be seen
  Plan plan_;
};

std::uint32_t Planner::port(std::uint32_t node, std::uint32_t channel) const {
  return channel % static_cast<std::uint32_t>(team_.domain(node).ports.size());
}

// The rank of a node at which a channel comes in and the others of the node are counted from.
std::uint32_t Planner::entry(std::uint32_t node, std::uint32_t channel) const {
  const Domain& domain = team_.domain(node);
  if (team_.nodes() > 1 && !domain.ports.empty()) return domain.ports[port(node, channel)].rank;
  return domain.first_rank + channel % domain.ranks;
}

// Ranks of a node that stand next to a port, or all of them on one node: each takes a part of the data under NVLS.
std::uint32_t Planner::heads() const {
  return std::min(kMostHeads, team_.nodes() == 1 ? team_.ranks() : team_.least_ports());
}

// Equal parts of all bytes, rounded up.
std::uint64_t Planner::part(std::uint64_t parts) const {
  return (options_.bytes + parts - 1) / parts;
}

Rounds Planner::rounds_of(std::uint64_t bytes) {
  Rounds rounds{bytes, plan_.chunk};
  // Ranks that are late or slow make early rounds unlike later ones: none is left out.
  if (uneven()) return rounds;
  const std::uint64_t whole = plan_.whole_rounds = bytes / rounds.chunk;
  if (options_.most_rounds > 0 && whole > options_.most_rounds)
    rounds.bytes -= (whole - options_.most_rounds) * rounds.chunk;
  return rounds;
}

Way Planner::way(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const {
  const std::uint32_t a = team_.node_of(from);
  const std::uint32_t b = team_.node_of(to);
  if (a == b) return sharing_.inside(from, to);
  return sharing_.across(from, port(a, leaves_by(channel, a, plan_.alternate)), to,
                         port(b, enters_by(channel, b, plan_.alternate)));
}

// NCCL looks for rings that leave a node by the NIC they came in by. From the last GPU to that NIC they cross NVLink once
// more; where NVLink has no room for that beside all NICs, it takes rings in pairs instead, which leave by each other's.
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
Edge Planner::edge(const Way& way, bool posts) {
  plan_.host_memory |= way.host_memory;
  const std::uint32_t by_nodes = nodes_class();
  const auto megabytes = [](std::int64_t n) { return Bandwidth(n * 8'000'000); };
  const bool tree = plan_.choice.algorithm == Algorithm::tree;
  const bool simple = plan_.choice.protocol == Protocol::simple;
  Bandwidth share = sharing_.share(way);
  Bandwidth own = megabytes((!tree    ? generation_.ring_ll128_most
                             : simple ? generation_.tree_most
                                      : generation_.tree_ll128_most)[by_nodes]);
  if (plan_.choice.protocol == Protocol::ll) {
    share = share / 2;
    own = megabytes(generation_.ll_most[by_nodes]) / plan_.choice.channels;
  } else if (plan_.choice.protocol == Protocol::ll128) {
    share = share / 128 * 120;
  }
  Edge made{std::min(share, own), {}, share};
  made.wire_per_mille = wire_per_mille(plan_.choice.protocol);
  if (!simple) return made;
  if (const std::uint32_t posted = sharing_.posted(way); posted > 0) {
    // Cards send from their buffers whatever the GPU does. A port's thread posts chunk after chunk while others are on
    // the wire, and keeps them waiting where it is slower.
    const std::int64_t message =
        options_.stack->network.message_ns * (generation_.posting > 0 ? generation_.posting : 1000) / 1000;
    const Duration posting = nanoseconds(posts ? message * posted : 0);
    const Duration wire = transfer_time(Bytes(static_cast<std::int64_t>(plan_.chunk / plan_.slices)), made.rate);
    made.overhead = std::max(Duration(0), posting - wire);
  } else {
    // In trees and chains the fence is part of a hop's latency.
    made.overhead = nanoseconds(fenced_ ? generation_.slice_ns : 0);
  }
  return made;
}

// Between a GPU and the switches that reduce.
Edge Planner::switch_edge(const Way& way) {
  const Edge plain = edge(way);
  const bool tree = plan_.choice.algorithm == Algorithm::nvls_tree;
  const std::int64_t share = generation_.nvls_share * (tree ? options_.stack->common.nvls_tree : 1000) / 1000;
  Edge made{plain.rate / 1000 * share, nanoseconds(generation_.nvls_chunk_ns), plain.links / 1000 * share};
  made.wire_per_mille = 1'000'000 / std::max<std::int64_t>(1, share);
  return made;
}

// Node after node; within a node from the channel's entry on in order, and to the GPU next to where it leaves last.
std::vector<std::uint32_t> Planner::ring_order(std::uint32_t channel) const {
  std::vector<std::uint32_t> order;
  order.reserve(team_.ranks());
  for (std::uint32_t node = 0; node < team_.nodes(); ++node) {
    const Domain& domain = team_.domain(node);
    const std::uint32_t first = entry(node, enters_by(channel, node, plan_.alternate));
    const std::uint32_t last = plan_.alternate ? entry(node, leaves_by(channel, node, true)) : first;
    for (std::uint32_t i = 0; i < domain.ranks; ++i) {
      const std::uint32_t rank = domain.first_rank + (first - domain.first_rank + i) % domain.ranks;
      if (last == first || rank != last) order.push_back(rank);
    }
    if (last != first) order.push_back(last);
  }
  return order;
}

void Planner::add_rings() {
  const std::uint32_t channels = plan_.choice.channels;
  const std::uint32_t size = team_.ranks();
  std::vector<std::vector<std::uint32_t>> orders;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    orders.push_back(ring_order(channel));
    for (std::uint32_t i = 0; i < size; ++i)
      sharing_.load(way(orders[channel][i], orders[channel][(i + 1) % size], channel));
  }
  const bool simple = plan_.choice.protocol == Protocol::simple;
  // What came last is copied out of the buffer; what came before it, while the next came.
  const Bandwidth landing(generation_.copy_mbps * 8'000'000 / channels);
  const std::uint64_t block = part(std::uint64_t{channels} * size);
  const std::uint64_t last = block % plan_.chunk == 0 ? std::min(block, plan_.chunk) : block % plan_.chunk;
  std::set<std::vector<Edge>> seen;  // rings whose edges are alike take the same time
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < size; ++i)
      edges.push_back(edge(way(orders[channel][i], orders[channel][(i + 1) % size], channel)));
    const std::uint64_t bytes = part(std::uint64_t{channels} * size);
    const bool is_new = seen.insert(edges).second;
    add(std::make_shared<Ring>(Ring::Shape{options_.operation, orders[channel], std::move(edges), rounds_of(bytes),
                                           plan_.slices, channel}),
        channel, is_new);
  }
  if (simple) plan_.launch = plan_.launch + transfer_time(Bytes(static_cast<std::int64_t>(last)), landing);
}

// A tree over all ranks: chains within nodes, from the channel's entry on, and the entries in a binary tree. Every
// second half of the channels takes the other of the two trees.
std::vector<Vertex> Planner::channel_tree(std::uint32_t channel) const {
  const std::uint32_t which = channel < (plan_.choice.channels + 1) / 2 ? 0 : 1;
  std::vector<Vertex> vertices(team_.ranks());
  for (std::uint32_t node = 0; node < team_.nodes(); ++node) {
    const Domain& domain = team_.domain(node);
    const std::uint32_t start = entry(node, channel) - domain.first_rank;
    for (std::uint32_t i = 0; i < domain.ranks; ++i) {
      const std::uint32_t rank = domain.first_rank + (start + i) % domain.ranks;
      vertices[rank].rank = rank;
      if (i > 0) vertices[rank].parent = domain.first_rank + (start + i - 1) % domain.ranks;
    }
    const std::uint32_t above = double_tree(team_.nodes(), node, which).parent;
    if (above != kNobody) vertices[domain.first_rank + start].parent = entry(above, channel);
  }
  return vertices;
}

void Planner::add_trees() {
  TreeSet set;
  set.parts = plan_.choice.channels;
  for (std::uint32_t channel = 0; channel < plan_.choice.channels; ++channel) {
    set.trees.push_back(channel_tree(channel));
    set.port_of.push_back(channel);
    set.copies.push_back(1);
  }
  add_tree_set(std::move(set));
}

// A ring cut open at the root.
void Planner::add_chains() {
  const bool spreads = options_.operation == Operation::broadcast;
  TreeSet set;
  set.parts = plan_.choice.channels;
  set.direction = spreads ? Tree::Direction::down : Tree::Direction::up;
  for (std::uint32_t channel = 0; channel < plan_.choice.channels; ++channel) {
    std::vector<std::uint32_t> order = ring_order(channel);
    std::rotate(order.begin(), std::find(order.begin(), order.end(), options_.root), order.end());
    // A reduction runs the other way round, towards the root.
    if (!spreads) std::reverse(order.begin() + 1, order.end());
    std::vector<Vertex> vertices(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      vertices[order[i]].rank = order[i];
      if (i > 0) vertices[order[i]].parent = order[i - 1];
    }
    set.trees.push_back(std::move(vertices));
    set.port_of.push_back(channel);
    set.copies.push_back(1);
  }
  add_tree_set(std::move(set));
}

// NVLS and what is built on it. In each node all GPUs give to the NVSwitch, which hands the sum to the head; heads are
// joined by a binary tree or by the switches of the network. Switch ranks come behind the GPUs, one per node, and one
// for the network.
std::vector<Vertex> Planner::star(std::uint32_t channel, std::uint32_t head) const {
  const std::uint32_t gpus = team_.ranks();
  const std::uint32_t nodes = team_.nodes();
  const bool sharp = plan_.choice.algorithm == Algorithm::collnet;
  const std::uint32_t which = channel % 2;
  std::vector<Vertex> vertices;
  // Vertices: heads of all nodes, then their switches, then every GPU in its role as a giver, then the network.
  const std::uint32_t first_switch = nodes;
  const std::uint32_t first_giver = 2 * nodes;
  const std::uint32_t network = first_giver + gpus;
  vertices.resize(first_giver + gpus + (sharp ? 1 : 0));
  for (std::uint32_t node = 0; node < nodes; ++node) {
    Vertex& top = vertices[node];
    top.rank = entry(node, head);
    top.gives = false;
    top.parent = sharp ? network : double_tree(nodes, node, which).parent;
    vertices[first_switch + node] = {.rank = gpus + node, .parent = node, .gives = false, .up = {}, .down = {}};
    const Domain& domain = team_.domain(node);
    for (std::uint32_t i = 0; i < domain.ranks; ++i) {
      const std::uint32_t rank = domain.first_rank + i;
      vertices[first_giver + rank] = {.rank = rank, .parent = first_switch + node, .up = {}, .down = {}};
    }
  }
  if (sharp) vertices[network] = {.rank = gpus + nodes, .gives = false, .up = {}, .down = {}};
  return vertices;
}

void Planner::add_stars() {
  const std::uint32_t channels = plan_.choice.channels;
  plan_.ranks = team_.ranks() + team_.nodes() + (plan_.choice.algorithm == Algorithm::collnet ? 1 : 0);
  for (std::uint32_t node = 0; node < team_.nodes(); ++node) plan_.node.push_back(node);
  plan_.node.push_back(kNoNode);
  // Channels differ only in which of the two trees joins their heads, so two can stand for all.
  const std::uint32_t standing = options_.every_channel ? channels : std::min(channels, 2u);
  TreeSet set;
  set.parts = std::uint64_t{channels} * heads();
  set.stars = true;
  for (std::uint32_t which = 0; which < standing; ++which)
    for (std::uint32_t head = 0; head < heads(); ++head) {
      set.trees.push_back(star(which, head));
      set.port_of.push_back(head);
      set.copies.push_back(options_.every_channel ? 1 : (channels + 1 - which) / 2);
    }
  if (options_.operation == Operation::all_gather) set.direction = Tree::Direction::down;
  if (options_.operation == Operation::reduce_scatter) set.direction = Tree::Direction::up;
  add_tree_set(std::move(set));
}

void Planner::add_tree_set(TreeSet set) {
  const std::uint32_t gpus = team_.ranks();
  const auto way_of = [&](const std::vector<Vertex>& tree, std::uint32_t from, std::uint32_t to, std::uint32_t by) {
    const std::uint32_t a = tree[from].rank;
    const std::uint32_t b = tree[to].rank;
    if (b >= gpus + team_.nodes()) return sharing_.to_network(a, port(team_.node_of(a), by));
    if (a >= gpus + team_.nodes()) return sharing_.from_network(b, port(team_.node_of(b), by));
    if (b >= gpus) return sharing_.to_switch(a);
    if (a >= gpus) return sharing_.from_switch(b);
    return way(a, b, by);
  };
  // Between nodes a single chunk goes up before it comes down; of many, some go up while others come down.
  const bool overlapping = team_.nodes() == 1 || part(set.parts) > plan_.chunk;
  for (std::uint32_t i = 0; i < set.trees.size(); ++i)
    for (std::uint32_t v = 0; v < set.trees[i].size(); ++v) {
      const std::uint32_t parent = set.trees[i][v].parent;
      if (parent == kNobody) continue;
      const bool up = set.direction != Tree::Direction::down;
      if (up) sharing_.load(way_of(set.trees[i], v, parent, set.port_of[i]), set.copies[i]);
      if (!up || (set.direction == Tree::Direction::both && overlapping))
        sharing_.load(way_of(set.trees[i], parent, v, set.port_of[i]), set.copies[i]);
    }
  // Trees that join nodes in the same way over the same kinds of links take the same time, whichever of a node's ranks
  // they begin at.
  struct Kind {
    std::vector<std::uint32_t> parents;
    std::vector<Edge> edges;
    auto operator<=>(const Kind&) const = default;
  };
  std::set<Kind> seen;
  const std::uint64_t bytes = part(set.parts);
  for (std::uint32_t i = 0; i < set.trees.size(); ++i) {
    std::vector<Vertex>& tree = set.trees[i];
    Kind kind;
    for (std::uint32_t v = 0; v < tree.size(); ++v) {
      Vertex& vertex = tree[v];
      if (vertex.parent == kNobody) continue;
      const bool inside = tree[vertex.parent].rank >= gpus || vertex.rank >= gpus;
      const bool network = std::max(tree[vertex.parent].rank, vertex.rank) >= gpus + team_.nodes();
      const Way up = way_of(tree, v, vertex.parent, set.port_of[i]);
      const Way down = way_of(tree, vertex.parent, v, set.port_of[i]);
      vertex.up = inside && !network ? switch_edge(up) : edge(up);
      // What the thread spends on both ways is in one of them.
      vertex.down = inside && !network ? switch_edge(down) : edge(down, set.direction == Tree::Direction::down);
      // The switch adds up while the sum is read: that costs nothing beside what the givers' part does.
      if (inside && !network && vertex.rank >= gpus) vertex.up = {};
      // And what the head of a tree writes, the switch gives to all at once. On one node adding and giving are one step,
      // before and after which data are copied: that takes as long as another one.
      if (inside && !network && vertex.rank < gpus && plan_.choice.algorithm == Algorithm::nvls_tree) vertex.down = {};
      kind.edges.push_back(vertex.up);
      kind.edges.push_back(vertex.down);
    }
    for (std::uint32_t node = 0; node < team_.nodes(); ++node) {
      const std::uint32_t parent = tree[set.stars ? node : entry(node, set.port_of[i])].parent;
      kind.parents.push_back(parent == kNobody || tree[parent].rank >= gpus ? kNobody
                                                                            : team_.node_of(tree[parent].rank));
    }
    std::sort(kind.edges.begin(), kind.edges.end());
    const bool is_new = seen.insert(std::move(kind)).second;
    const std::uint64_t tag = std::uint64_t{i} << 32;
    add(std::make_shared<Tree>(Tree::Shape{std::move(tree), set.direction, rounds_of(bytes), tag}), set.port_of[i],
        is_new);
  }
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
  // A partner in another domain with the same number there: what it has in common with all others there is the port.
  const auto outside_partner = [&](std::uint32_t rank) {
    const std::uint32_t node = team_.node_of(rank);
    const Domain& other = team_.domain((node + 1) % team_.nodes());
    return other.first_rank + (rank - team_.domain(node).first_rank) % other.ranks;
  };
  const auto inside = [&](std::uint32_t rank) {
    const Domain& domain = team_.domain(team_.node_of(rank));
    return sharing_.inside(rank, domain.first_rank + (rank - domain.first_rank + 1) % domain.ranks);
  };
  const auto outside = [&](std::uint32_t rank) {
    const std::uint32_t to = outside_partner(rank);
    const std::uint32_t from_port =
        options_.pxn ? team_.port_of(to) % static_cast<std::uint32_t>(team_.domain(team_.node_of(rank)).ports.size())
                     : team_.port_of(rank);
    return sharing_.across(rank, from_port, to, team_.port_of(to));
  };
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const Domain& domain = team_.domain(team_.node_of(rank));
    const bool last = rank + 1 == domain.first_rank + domain.ranks;
    if (domain.ranks > 1 && (!neighbours || !last)) sharing_.load(inside(rank));
    if (team_.nodes() > 1 && (!neighbours || last)) sharing_.load(outside(rank));
  }
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    // Many channels work side by side, so that no single one's speed counts.
    const auto whole = [&](Way way) {
      Edge made = edge(way);
      const Bandwidth share = sharing_.share(way);
      made.overhead = made.overhead / plan_.choice.channels;
      made.rate = plan_.choice.protocol == Protocol::ll      ? share / 2
                  : plan_.choice.protocol == Protocol::ll128 ? share / 128 * 120
                                                             : share;
      made.links = made.rate;
      return made;
    };
    const Domain& domain = team_.domain(team_.node_of(rank));
    pairs.within.push_back(domain.ranks > 1 ? whole(inside(rank)) : Edge{});
    pairs.across.push_back(team_.nodes() > 1 ? whole(outside(rank)) : Edge{});
  }
  const std::uint64_t bytes = part(neighbours ? 1 : size);
  const Rounds rounds = rounds_of(bytes);
  if (plan_.choice.algorithm == Algorithm::pat) {
    add(std::make_shared<Pat>(Pat::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  } else if (all_to_all || neighbours) {
    add(std::make_shared<Direct>(Direct::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  } else {
    add(std::make_shared<Hierarchical>(Hierarchical::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  }
}

Plan Planner::make() {
  plan_.operation = options_.operation;
  plan_.choice = options_.choice;
  plan_.gpus = plan_.ranks = team_.ranks();
  for (std::uint32_t rank = 0; rank < team_.ranks(); ++rank) plan_.node.push_back(team_.node_of(rank));
  const Algorithm algorithm = plan_.choice.algorithm;
  const Protocol protocol = plan_.choice.protocol;
  const std::uint32_t most = channels_for(team_, algorithm);
  if (plan_.choice.channels == 0)
    plan_.choice.channels = channels_used(most, algorithm, protocol, options_.bytes, team_.ranks());
  const bool chains = options_.operation == Operation::broadcast || options_.operation == Operation::reduce;
  const ChunkRule rule{algorithm,
                       protocol,
                       options_.bytes,
                       plan_.choice.channels,
                       algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree ? heads() : 1,
                       team_.ranks(),
                       team_.nodes(),
                       chains,
                       static_cast<std::uint64_t>(options_.stack->network.nvls_chunk),
                       static_cast<std::uint64_t>(options_.stack->network.far_chunk),
                       options_.stack->release};
  plan_.chunk = options_.chunk > 0 ? options_.chunk : chunk_size(rule);
  const bool ring = algorithm == Algorithm::ring && !chains;
  if (ring) plan_.chunk = std::min(plan_.chunk, std::max<std::uint64_t>(1, part(std::uint64_t{plan_.choice.channels} * team_.ranks())));
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
  return std::move(plan_);
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
  plan_.inside = stars                   ? nanoseconds(generation_.nvls_hop_ns)
                 : near == Hop::scale_up ? nanoseconds(measured_hop)
                                         : hop_latency(near, algorithm, protocol);
  // A chunk of NVLSTree goes through the same proxies as any other of Simple.
  const Algorithm like = algorithm == Algorithm::nvls_tree ? Algorithm::tree : algorithm;
  plan_.outside_lag = hop_latency(Hop::network, like, protocol) + nanoseconds(options_.stack->network.hop_ns);
  plan_.outside = plan_.outside_lag + team_.network_latency();
  // NCCL's figure within a domain is of all there is between two GPUs; to a switch it is half as far.
  plan_.inside_lag = std::max(Duration(0), plan_.inside - team_.inside_latency() / (stars ? 2 : 1));
  // NCCL's figure is of the way to the network's switches and back.
  if (algorithm == Algorithm::collnet) plan_.outside = plan_.outside / 2;
  // NCCL's figures are of how much longer the start of one protocol takes than of another.
  const Duration longer = stars ? Duration(0) : base_latency(algorithm, protocol) - base_latency(algorithm, Protocol::ll);
  plan_.launch = nanoseconds(generation_.start_ns + options_.stack->launch.delay_ns) + longer;
  const Launch& launch = options_.stack->launch;
  const auto gpus = std::min<std::int64_t>(team_.ranks(), team_.group(0).spec.gpus);
  // A group's launch is a barrier: nothing hides behind the operation before it.
  const Duration barrier =
      nanoseconds(options_.stack->release.grouped() ? gpus * launch.channel_ns * plan_.choice.channels : 0);
  plan_.launch = plan_.launch + barrier;
  plan_.least = nanoseconds(launch.least_ns + gpus * launch.gpu_ns) + barrier;
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

}  // namespace

std::uint32_t channels_for(const Team& team, Algorithm algorithm) {
  const Generation& generation = generation_of(team.group(0).spec.gpu.kind);
  const bool nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  if (nvls && generation.nvls_channels > 0) return static_cast<std::uint32_t>(generation.nvls_channels);
  if (team.nodes() == 1) return static_cast<std::uint32_t>(generation.ring_channels);
  // Two for each port: NCCL's graph has one, and every channel is set up twice.
  const std::uint32_t ports = team.least_ports();
  if (ports > kMostChannels) return std::min(ports, kMostRackChannels);
  return std::clamp(2 * ports, 2u, kMostChannels);
}

std::string why_not(const Team& team, Operation operation, Algorithm algorithm, Protocol protocol) {
  const bool rings = operation == Operation::all_reduce || operation == Operation::all_gather ||
                     operation == Operation::reduce_scatter;
  const bool parts = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  const bool simple = protocol == Protocol::simple;
  const bool switches = generation_of(team.group(0).spec.gpu.kind).nvls_channels > 0 && team.group(0).spec.scale_up &&
                        team.group(0).spec.scale_up->switches > 0;
  switch (algorithm) {
    case Algorithm::ring:
      return operation == Operation::all_to_all || operation == Operation::send_recv ? "a ring has no way to everybody"
                                                                                     : "";
    case Algorithm::tree:
      return operation == Operation::all_reduce ? "" : "trees do all_reduce only";
    case Algorithm::nvls:
      if (!switches) return "its scale-up switches do not reduce";
      if (!simple) return "NVLS knows the protocol Simple only";
      if (team.nodes() > 1) return "NVLS works within one domain; NVLSTree spans several";
      if (team.ranks() < 3) return "NVLS needs three GPUs";
      return rings ? "" : "NVLS does all_reduce, all_gather and reduce_scatter";
    case Algorithm::nvls_tree:
      if (!switches) return "its scale-up switches do not reduce";
      if (!simple) return "NVLSTree knows the protocol Simple only";
      if (team.nodes() < 2) return "NVLSTree spans several domains; NVLS works within one";
      return operation == Operation::all_reduce ? "" : "NVLSTree does all_reduce only";
    case Algorithm::collnet:
      if (!simple) return "CollNet knows the protocol Simple only";
      if (team.nodes() < 2) return "there is no network between the ranks that could reduce";
      if (!switches) return "its scale-up switches do not reduce";
      return operation == Operation::all_reduce ? "" : "CollNet does all_reduce only";
    case Algorithm::pat:
      if (!simple) return "PAT knows the protocol Simple only";
      if (team.nodes() != team.ranks()) return "PAT is for one rank per domain";
      return parts ? "" : "PAT does all_gather and reduce_scatter";
    case Algorithm::direct:
      return operation == Operation::all_to_all || operation == Operation::send_recv
                 ? ""
                 : "Direct does all_to_all and send_recv";
    case Algorithm::hierarchical:
      if (!team.even()) return "the hierarchical algorithm needs equally many ranks in every domain";
      if (team.nodes() < 2 || team.most_per_node() < 2) return "there is only one level";
      return rings ? "" : "Hierarchical does all_reduce, all_gather and reduce_scatter";
  }
  return "";
}

Plan make_plan(const Team& team, const PlanOptions& options) {
  return Planner(team, options).make();
}

}  // namespace weft::collective
