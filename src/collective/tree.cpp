#include "collective/tree.hpp"

#include <algorithm>
#include <utility>

namespace weft::collective {
namespace {

// Lists by key in two arrays: the members of key k are lists[first[k] .. first[k + 1]].
void group(std::size_t keys, const std::vector<std::uint32_t>& key_of, std::vector<std::uint32_t>& first,
           std::vector<std::uint32_t>& lists) {
  first.assign(keys + 1, 0);
  for (const std::uint32_t key : key_of)
    if (key != kNobody) ++first[key + std::size_t{1}];
  for (std::size_t i = 1; i <= keys; ++i) first[i] += first[i - 1];
  lists.resize(first[keys]);
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t member = 0; member < key_of.size(); ++member)
    if (key_of[member] != kNobody) lists[next[key_of[member]]++] = member;
}

}  // namespace

Tree::Tree(Shape shape) : shape_(std::move(shape)) {
  std::vector<std::uint32_t> parents;
  std::vector<std::uint32_t> ranks;
  std::uint32_t last_rank = 0;
  for (const Vertex& vertex : shape_.vertices) {
    parents.push_back(vertex.parent);
    ranks.push_back(vertex.rank);
    last_rank = std::max(last_rank, vertex.rank);
  }
  group(shape_.vertices.size(), parents, first_child_, children_);
  group(last_rank + std::size_t{1}, ranks, first_role_, roles_);
}

std::uint32_t Tree::lanes(std::uint32_t rank) const {
  if (rank + std::size_t{1} >= first_role_.size()) return 0;
  return 2 * (first_role_[rank + 1] - first_role_[rank]);
}

Tree::Turn Tree::turn(std::uint32_t vertex, bool downwards) const {
  const bool root = shape_.vertices[vertex].parent == kNobody;
  const bool up = shape_.direction != Direction::down;
  const bool down = shape_.direction != Direction::up;
  Turn made;
  if (!downwards) {
    if (up) made.takes_up = children(vertex);
    if (up && !root) made.gives_up = 1;
    if (down && root) made.gives_down = children(vertex);
  } else if (down && !root) {
    made.takes_down = 1;
    made.gives_down = children(vertex);
  }
  return made;
}

// Children are sent to at once: the slowest one decides when the next chunk can go.
Edge Tree::slowest_below(std::uint32_t vertex, std::uint64_t bytes) const {
  Edge slowest = shape_.vertices[child(vertex, 0)].down;
  for (std::uint32_t i = 1; i < children(vertex); ++i) {
    const Edge& edge = shape_.vertices[child(vertex, i)].down;
    if (edge != slowest && occupancy(edge, bytes) > occupancy(slowest, bytes)) slowest = edge;
  }
  return slowest;
}

bool Tree::step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const {
  const std::uint32_t vertex = roles_[first_role_[rank] + lane / 2];
  const Turn turn = this->turn(vertex, lane % 2 == 1);
  if (turn.total() == 0) return false;
  const std::uint64_t round = at / turn.total();
  if (round >= rounds()) return false;
  auto now = static_cast<std::uint32_t>(at % turn.total());
  out = Step{};
  out.round = round;
  out.bytes = shape_.rounds.size(round);
  const auto upwards = [&](std::uint32_t from) { return shape_.tag + 2 * std::uint64_t{from}; };
  const auto downwards = [&](std::uint32_t to) { return shape_.tag + 2 * std::uint64_t{to} + 1; };
  const Vertex& here = shape_.vertices[vertex];
  if (now < turn.takes_up) {
    const std::uint32_t from = child(vertex, now);
    // A vertex without data of its own begins with what comes first.
    out.kind = here.gives || now > 0 ? Step::Kind::reduce : Step::Kind::recv;
    out.peer = shape_.vertices[from].rank;
    out.tag = upwards(from);
    return true;
  }
  now -= turn.takes_up;
  if (now < turn.gives_up) {
    out.peer = shape_.vertices[here.parent].rank;
    out.tag = upwards(vertex);
    out.edge = here.up;
    return true;
  }
  now -= turn.gives_up;
  if (now < turn.takes_down) {
    out.kind = Step::Kind::recv;
    out.peer = shape_.vertices[here.parent].rank;
    out.tag = downwards(vertex);
    return true;
  }
  now -= turn.takes_down;
  const std::uint32_t to = child(vertex, now);
  out.peer = shape_.vertices[to].rank;
  out.tag = downwards(to);
  out.joined = now > 0;
  // What each carries is its own.
  const Edge& own = shape_.vertices[to].down;
  out.edge = out.joined ? own : slowest_below(vertex, out.bytes);
  out.edge.wire_per_mille = own.rate.count() == 0 ? 0 : own.wire_per_mille;
  return true;
}

}  // namespace weft::collective
