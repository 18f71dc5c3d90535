#pragma once
// Anything that reduces towards a root, spreads from a root, or both: chains inside servers joined by binary trees
// (Tree), stars through an NVSwitch (NVLS), both (NVLSTree), stars through the network's switches (CollNet), and a
// ring cut open (broadcast, reduce).
//
// A vertex is a role of a rank; a rank may have several: under NVLS a head gives its own part to the switch like
// everybody else, and takes the sum from it.
//
//        head            a vertex' lanes: up, which takes from its children and sends to its parent,
//          |             and down, which takes from its parent and sends to its children;
//       NVSwitch         the root has one lane that turns around
//      /   |   \ ..
//   GPU0 GPU1 GPU2

#include <vector>

#include "collective/double_tree.hpp"
#include "collective/program.hpp"

namespace weft::collective {

struct Vertex {
  std::uint32_t rank = 0;
  std::uint32_t parent = kNobody;  // another vertex
  bool gives = true;               // has data of its own to add; else it passes on only
  Edge up;                         // to the parent
  Edge down;                       // from the parent
};

class Tree final : public Program {
 public:
  enum class Direction : std::uint8_t { up, down, both };
  struct Shape {
    std::vector<Vertex> vertices;  // one has no parent
    Direction direction = Direction::both;
    Rounds rounds;
    std::uint64_t tag = 0;  // with room behind it for two times the vertices
  };
  explicit Tree(Shape shape);

  std::uint32_t lanes(std::uint32_t rank) const override;
  bool step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const override;
  std::uint32_t blocks() const override { return 1; }
  std::uint64_t rounds() const override { return shape_.rounds.count(); }
  std::uint64_t messages() const override {
    return rounds() * (shape_.vertices.size() - 1) * (shape_.direction == Direction::both ? 2 : 1);
  }

  const Shape& shape() const { return shape_; }
  std::uint32_t children(std::uint32_t vertex) const { return first_child_[vertex + 1] - first_child_[vertex]; }
  std::uint32_t child(std::uint32_t vertex, std::uint32_t index) const {
    return children_[first_child_[vertex] + index];
  }

 private:
  struct Turn {
    std::uint32_t takes_up = 0;  // from children
    std::uint32_t gives_up = 0;  // to the parent
    std::uint32_t takes_down = 0;
    std::uint32_t gives_down = 0;
    std::uint32_t total() const { return takes_up + gives_up + takes_down + gives_down; }
  };
  Turn turn(std::uint32_t vertex, bool downwards) const;
  Edge slowest_below(std::uint32_t vertex, std::uint64_t bytes) const;

  Shape shape_;
  std::vector<std::uint32_t> first_child_;  // by vertex, and one behind the last
  std::vector<std::uint32_t> children_;
  std::vector<std::uint32_t> first_role_;  // by rank, and one behind the last
  std::vector<std::uint32_t> roles_;       // vertices
};

}  // namespace weft::collective
