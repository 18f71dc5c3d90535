#pragma once
// Makes the programs of a plan. What all algorithms have in common is in planner.cpp; the ways of rings, trees and
// pairs are each in a file of their own.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "collective/chunks.hpp"
#include "collective/plan.hpp"
#include "collective/sharing.hpp"
#include "collective/tree.hpp"

namespace weft::collective {

// Into how many channels and bytes of a chunk a collective is cut: NCCL's rules, unless the options say.
std::pair<std::uint32_t, std::uint64_t> cut_of(const Team& team, const PlanOptions& options);
PairRule pair_rule(const Team& team, Operation operation, std::uint64_t bytes, const Stack& stack);

class Planner {
 public:
  Planner(const Team& team, const PlanOptions& options);

  Plan make();

 private:
  std::uint32_t nodes_class() const { return std::min(team_.nodes(), 3u) - 1; }
  bool alternates() const;
  std::uint32_t entry(std::uint32_t node, std::uint32_t channel) const;
  std::uint32_t port(std::uint32_t node, std::uint32_t channel) const;
  std::uint32_t heads() const;
  Rounds rounds_of(std::uint64_t bytes);
  Edge edge(const Path& path, bool posts = true);
  Edge switch_edge(const Path& path);
  Path path(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const;
  std::uint64_t part(std::uint64_t parts) const;

  void add_rings();
  void add_chains();
  void add_trees();
  void add_stars();
  void add_pairs();
  std::vector<Bandwidth> network_for_everybody(const std::vector<Bandwidth>& host);
  // Ranks differ in more than what they send over.
  bool uneven() const { return options_.conditions != nullptr && options_.conditions->of_ranks(); }
  void add(std::shared_ptr<const Program> program, std::uint32_t port_of, bool is_new) {
    if (is_new || uneven()) plan_.different.push_back(program);
    plan_.programs.push_back(std::move(program));
    plan_.port_of.push_back(port_of);
  }
  void set_conditions();
  void set_latencies();
  Duration nvls_hop() const;
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
  bool several_levels_ = false;  // of a tree are joined at each port,
  bool both_ways_ = false;       // which have chunks that go up while others come down
  bool fenced_ = true;           // a sender waits until what it sent can be seen
  Plan plan_;
};

}  // namespace weft::collective
