#include <algorithm>
#include <set>

#include "collective/double_tree.hpp"
#include "collective/planner.hpp"

namespace weft::collective {
namespace {

constexpr std::uint32_t kNoNode = 0xFFFFFFFFu;

}  // namespace

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
  const auto path_of = [&](const std::vector<Vertex>& tree, std::uint32_t from, std::uint32_t to, std::uint32_t by) {
    const std::uint32_t a = tree[from].rank;
    const std::uint32_t b = tree[to].rank;
    if (b >= gpus + team_.nodes()) return sharing_.to_network(a, port(team_.node_of(a), by));
    if (a >= gpus + team_.nodes()) return sharing_.from_network(b, port(team_.node_of(b), by));
    if (b >= gpus) return sharing_.to_switch(a);
    if (a >= gpus) return sharing_.from_switch(b);
    return path(a, b, by);
  };
  // Between nodes a single chunk goes up before it comes down; of many, some go up while others come down.
  const bool overlapping = team_.nodes() == 1 || part(set.parts) > plan_.chunk;
  // A chunk of NVLSTree is through before its port has done all that it keeps being busy with: what goes the other way
  // are other chunks, and of the channels that a port's thread takes in turn it is another one at every level that
  // comes last, so half of them is what a chunk waits for. With two servers there is one level, and the last one
  // decides. Racks, whose threads need much longer for a chunk, show all of it (twenty racks of GB200).
  several_levels_ = plan_.choice.algorithm == Algorithm::nvls_tree && team_.nodes() > 2 && generation_.posting == 0;
  both_ways_ = overlapping;
  for (std::uint32_t i = 0; i < set.trees.size(); ++i)
    for (std::uint32_t v = 0; v < set.trees[i].size(); ++v) {
      const std::uint32_t parent = set.trees[i][v].parent;
      if (parent == kNobody) continue;
      const bool up = set.direction != Tree::Direction::down;
      if (up) sharing_.load(path_of(set.trees[i], v, parent, set.port_of[i]), set.copies[i]);
      if (!up || (set.direction == Tree::Direction::both && overlapping))
        sharing_.load(path_of(set.trees[i], parent, v, set.port_of[i]), set.copies[i]);
    }
  // Trees that join nodes in the same way over the same kinds of links take the same time, whichever of a node's ranks
  // they begin at.
  struct Kind {
    std::vector<std::uint32_t> parents;
    std::vector<Edge> edges;
    auto operator<=>(const Kind&) const = default;
  };
  std::set<Kind> seen;
  const std::uint64_t bytes = plan_.bytes_per_load = part(set.parts);
  for (std::uint32_t i = 0; i < set.trees.size(); ++i) {
    std::vector<Vertex>& tree = set.trees[i];
    Kind kind;
    for (std::uint32_t v = 0; v < tree.size(); ++v) {
      Vertex& vertex = tree[v];
      if (vertex.parent == kNobody) continue;
      const bool inside = tree[vertex.parent].rank >= gpus || vertex.rank >= gpus;
      const bool network = std::max(tree[vertex.parent].rank, vertex.rank) >= gpus + team_.nodes();
      const Path up = path_of(tree, v, vertex.parent, set.port_of[i]);
      const Path down = path_of(tree, vertex.parent, v, set.port_of[i]);
      vertex.up = inside && !network ? switch_edge(up) : edge(up);
      // What the thread spends on both ways is in one of them.
      vertex.down = inside && !network ? switch_edge(down) : edge(down, set.direction == Tree::Direction::down);
      // The switch adds up while the sum is read: that costs nothing beside what the givers' part does.
      if (inside && !network && vertex.rank >= gpus) vertex.up = {};
      // And what the head of a tree writes, the switch gives to all at once. On one node adding and giving are one
      // step, before and after which data are copied: that takes as long as another one.
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

}  // namespace weft::collective
