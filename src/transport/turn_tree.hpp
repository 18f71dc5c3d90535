#pragma once
// Whose turn it is where most of many have to wait: the rings of turns.hpp as trees in the order of the ring, in which
// each branch knows when the first in it wants to be asked. To find whose turn it is, and when it will be somebody's,
// takes steps that grow with the logarithm of their number. Trees are balanced by a hash of the numbers (treaps), so
// that equal runs have equal trees.
//
// Some wait for a greater share of what all of a ring share; `Wanted` says how much greater.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "transport/operation.hpp"
#include "transport/slab.hpp"
#include "transport/turns.hpp"

namespace weft::transport {

// Has `flying` packets in flight and could have so many more.
struct Wanted {
  std::uint16_t flying = 0xFFFF;  // nothing is wanted
  std::uint16_t more = 0;
  bool operator==(const Wanted&) const = default;
};

class TurnTree {
 public:
  struct Ring {
    std::uint32_t root = kNone;
    std::uint32_t last = kNone;  // served last; kNone: nobody has anything to do
  };
  bool has(std::uint32_t index) const { return index < nodes_.size() && nodes_[index].in; }
  Instant wake(std::uint32_t index) const { return nodes_[index].wake; }
  Instant earliest(const Ring& ring) const { return ring.root == kNone ? kNever : nodes_[ring.root].branch.earliest; }

  // Who is alone in a ring; kNone: nobody is.
  std::uint32_t only(const Ring& ring) const {
    return ring.root != kNone && alone(nodes_[ring.root]) ? ring.root : kNone;
  }

  // Is asked when its turn comes; who is not in the ring yet comes next.
  void join(Ring& ring, std::uint32_t index) {
    if (has(index)) return wait(index, 0);
    if (index >= nodes_.size()) nodes_.resize(index + std::size_t{1});
    Node& node = nodes_[index] = {};
    node.in = true;
    if (ring.last == kNone) {
      ring = {index, index};
      return;
    }
    std::uint32_t up = ring.last;
    bool left = false;
    if (nodes_[up].right != kNone) {
      up = leftmost(nodes_[up].right);
      left = true;
    }
    node.up = up;
    (left ? nodes_[up].left : nodes_[up].right) = index;
    refresh_from(up);
    while (node.up != kNone && mix64(node.up) < mix64(index)) rotate_up(index);
    if (node.up == kNone) ring.root = index;
  }

  void leave(Ring& ring, std::uint32_t index) {
    const std::uint32_t before_it = before(ring, index);
    if (ring.last == index || before_it == index) ring.last = before_it == index ? kNone : before_it;
    Node& node = nodes_[index];
    while (node.left != kNone && node.right != kNone) {
      const std::uint32_t heavier = mix64(node.left) < mix64(node.right) ? node.right : node.left;
      rotate_up(heavier);
      if (nodes_[heavier].up == kNone) ring.root = heavier;
    }
    const std::uint32_t child = node.left != kNone ? node.left : node.right;
    if (child != kNone) nodes_[child].up = node.up;
    link_of(ring, index) = child;
    if (node.up != kNone) refresh_from(node.up);
    node = {};
  }

  // Is asked no earlier than that, or when there is as great a share as it wants.
  void wait(std::uint32_t index, Instant until, Wanted wanted = {}) {
    Node& node = nodes_[index];
    if (node.wake == until && node.wanted == wanted) return;
    node.wake = until;
    node.wanted = wanted;
    if (alone(node)) {
      node.branch = {until, wanted};
    } else {
      refresh_from(index);
    }
  }

  // Asks those that want to be asked by now what they make of it, ask(index), in the order of the ring, from the one
  // behind the last served on. Who passes has said, by wait(), until when. False: none was served.
  template <class Ask>
  bool serve(Ring& ring, Instant now, Ask ask) {
    if (ring.last == kNone || nodes_[ring.root].branch.earliest > now) return false;
    if (alone(nodes_[ring.root])) {
      const Turn turn = ask(ring.root);
      if (turn == Turn::over) leave(ring, ring.root);
      return turn == Turn::served;
    }
    std::uint32_t at = ring.last;
    bool around = false;
    while (ring.last != kNone && nodes_[ring.root].branch.earliest <= now) {
      std::uint32_t next = first_after(at, now);
      if (next == kNone) {
        if (around) return false;
        around = true;
        next = first_in(ring.root, now);
      }
      if (around && next != ring.last && precedes(ring.last, next)) return false;
      at = next;
      const Turn turn = ask(at);
      if (turn == Turn::served) {
        ring.last = at;
        return true;
      }
      if (turn == Turn::over) {
        const std::uint32_t before_it = before(ring, at);
        leave(ring, at);
        at = ring.last = before_it == at ? kNone : before_it;
        around = false;
      }
    }
    return false;
  }

  bool somebody_wants(const Ring& ring) const {
    return ring.root != kNone && !(nodes_[ring.root].branch.wanted == Wanted{});
  }
  // One with less than `fair` packets in flight, or that could have more than `others` more; kNone: there is none.
  std::uint32_t find_wanting(const Ring& ring, std::uint32_t fair, std::uint32_t others) const {
    std::uint32_t at = ring.root;
    const auto in = [&](const Wanted& wanted) { return wanted.flying < fair || wanted.more > others; };
    if (at == kNone || !in(nodes_[at].branch.wanted)) return kNone;
    while (!in(nodes_[at].wanted)) {
      const std::uint32_t left = nodes_[at].left;
      at = left != kNone && in(nodes_[left].branch.wanted) ? left : nodes_[at].right;
    }
    return at;
  }
  // The one that wants to be asked first.
  std::uint32_t find_earliest(const Ring& ring) const {
    return ring.root == kNone ? kNone : first_in(ring.root, nodes_[ring.root].branch.earliest);
  }

  std::size_t bytes() const { return nodes_.capacity() * sizeof(Node); }
  // How many are in a ring; looks at all of them.
  std::size_t size(const Ring& ring) const {
    std::size_t count = 0;
    for (std::uint32_t at = ring.root == kNone ? kNone : leftmost(ring.root); at != kNone; at = after(at)) ++count;
    return count;
  }
  // What is wrong, or nothing. Looks at all of them.
  std::string_view check(const Ring& ring) const {
    if ((ring.root == kNone) != (ring.last == kNone)) return "a ring has somebody who was served last";
    for (std::uint32_t at = ring.root == kNone ? kNone : leftmost(ring.root); at != kNone; at = after(at)) {
      const Node& node = nodes_[at];
      if (node.up == kNone ? at != ring.root : mix64(node.up) < mix64(at)) return "trees of turns are balanced";
      if (!(sum(node) == node.branch)) return "branches know who wants to be asked first";
    }
    return {};
  }
  // None has this number or a greater one any more.
  void release_from(std::size_t size) {
    if (size < nodes_.size()) nodes_.resize(size);
    if (size == 0 || nodes_.capacity() > 4 * nodes_.size() + 16) nodes_.shrink_to_fit();
  }

 private:
  struct Branch {
    Instant earliest = 0;
    Wanted wanted;  // the fewest in flight, and the most that could be more
    bool operator==(const Branch&) const = default;
  };
  struct Node {
    Instant wake = 0;
    Branch branch;  // it and all below
    Wanted wanted;
    std::uint32_t up = kNone;
    std::uint32_t left = kNone;
    std::uint32_t right = kNone;
    bool in = false;
  };

  // Most rings have one in them.
  static bool alone(const Node& node) { return (node.up & node.left & node.right) == kNone; }
  // What a branch comes to, from one and the two branches below.
  Branch sum(const Node& node) const {
    Branch all = {node.wake, node.wanted};
    for (const std::uint32_t child : {node.left, node.right}) {
      if (child == kNone) continue;
      const Branch& below = nodes_[child].branch;
      all.earliest = std::min(all.earliest, below.earliest);
      all.wanted.flying = std::min(all.wanted.flying, below.wanted.flying);
      all.wanted.more = std::max(all.wanted.more, below.wanted.more);
    }
    return all;
  }
  // Something has changed: for all branches that it is in, until one comes to the same as before.
  void refresh_from(std::uint32_t index) {
    while (index != kNone) {
      Node& node = nodes_[index];
      const Branch all = sum(node);
      if (node.branch == all) return;
      node.branch = all;
      index = node.up;
    }
  }

  std::uint32_t& link_of(Ring& ring, std::uint32_t index) {
    const std::uint32_t up = nodes_[index].up;
    if (up == kNone) return ring.root;
    return nodes_[up].left == index ? nodes_[up].left : nodes_[up].right;
  }
  // It and what it hangs on change places.
  void rotate_up(std::uint32_t index) {
    const std::uint32_t up = nodes_[index].up;
    const std::uint32_t above = nodes_[up].up;
    const bool left = nodes_[up].left == index;
    const std::uint32_t moved = left ? nodes_[index].right : nodes_[index].left;
    (left ? nodes_[up].left : nodes_[up].right) = moved;
    if (moved != kNone) nodes_[moved].up = up;
    (left ? nodes_[index].right : nodes_[index].left) = up;
    nodes_[up].up = index;
    nodes_[index].up = above;
    if (above != kNone) (nodes_[above].left == up ? nodes_[above].left : nodes_[above].right) = index;
    nodes_[up].branch = sum(nodes_[up]);
    nodes_[index].branch = sum(nodes_[index]);
  }

  std::uint32_t leftmost(std::uint32_t at) const {
    while (nodes_[at].left != kNone) at = nodes_[at].left;
    return at;
  }
  std::uint32_t rightmost(std::uint32_t at) const {
    while (nodes_[at].right != kNone) at = nodes_[at].right;
    return at;
  }
  std::uint32_t after(std::uint32_t at) const {
    if (nodes_[at].right != kNone) return leftmost(nodes_[at].right);
    std::uint32_t up = nodes_[at].up;
    for (; up != kNone && nodes_[up].right == at; up = nodes_[up].up) at = up;
    return up;
  }
  // Of the first of a ring the last.
  std::uint32_t before(const Ring& ring, std::uint32_t at) const {
    if (nodes_[at].left != kNone) return rightmost(nodes_[at].left);
    std::uint32_t up = nodes_[at].up;
    for (; up != kNone && nodes_[up].left == at; up = nodes_[up].up) at = up;
    return up != kNone ? up : rightmost(ring.root);
  }

  bool wants(std::uint32_t branch, Instant now) const {
    return branch != kNone && nodes_[branch].branch.earliest <= now;
  }
  // In a branch where there is one.
  std::uint32_t first_in(std::uint32_t at, Instant now) const {
    while (true) {
      if (wants(nodes_[at].left, now)) {
        at = nodes_[at].left;
      } else if (nodes_[at].wake <= now) {
        return at;
      } else {
        at = nodes_[at].right;
      }
    }
  }
  std::uint32_t first_after(std::uint32_t at, Instant now) const {
    if (wants(nodes_[at].right, now)) return first_in(nodes_[at].right, now);
    for (std::uint32_t up = nodes_[at].up; up != kNone; at = up, up = nodes_[at].up) {
      if (nodes_[up].left != at) continue;
      if (nodes_[up].wake <= now) return up;
      if (wants(nodes_[up].right, now)) return first_in(nodes_[up].right, now);
    }
    return kNone;
  }
  bool precedes(std::uint32_t a, std::uint32_t b) const {
    const auto depth = [&](std::uint32_t at) {
      std::uint32_t steps = 0;
      for (; nodes_[at].up != kNone; at = nodes_[at].up) ++steps;
      return steps;
    };
    if (a == b) return false;
    std::uint32_t deep_a = depth(a);
    std::uint32_t deep_b = depth(b);
    // Which way each hangs on what both hang on: on its left, or on its right, or it is it.
    int side_a = 0;
    int side_b = 0;
    const auto climb = [&](std::uint32_t& at, int& side) {
      side = nodes_[nodes_[at].up].left == at ? -1 : 1;
      at = nodes_[at].up;
    };
    for (; deep_a > deep_b; --deep_a) climb(a, side_a);
    for (; deep_b > deep_a; --deep_b) climb(b, side_b);
    while (a != b) {
      climb(a, side_a);
      climb(b, side_b);
    }
    return side_a < side_b;
  }

  std::vector<Node> nodes_;  // by number
};

}  // namespace weft::transport
