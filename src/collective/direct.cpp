#include "collective/direct.hpp"

#include "collective/double_tree.hpp"

namespace weft::collective {

std::uint32_t Direct::peer(std::uint32_t rank, std::uint32_t lane, std::uint64_t index) const {
  const Pairs& pairs = shape_.pairs;
  const std::uint32_t first = pairs.first[pairs.node[rank]];
  const std::uint32_t inside = pairs.first[pairs.node[rank] + 1] - first;
  const std::uint32_t local = rank - first;
  if (shape_.operation == Operation::send_recv) {
    if (index > 0 || size_ < 2) return kNobody;
    const std::uint32_t next = rank + 1 == size_ ? 0 : rank + 1;
    if (lane == kTaking) return rank == 0 ? size_ - 1 : rank - 1;
    return (pairs.node[next] == pairs.node[rank]) == (lane == kInside) ? next : kNobody;
  }
  if (lane == kInside)
    return index + 1 < inside ? first + static_cast<std::uint32_t>((local + 1 + index) % inside) : kNobody;
  if (lane == kTaking)
    return index + 1 < size_ ? static_cast<std::uint32_t>((rank + size_ - 1 - index) % size_) : kNobody;
  const std::uint64_t outside = size_ - inside;
  if (index >= outside) return kNobody;
  return static_cast<std::uint32_t>((first + inside + (index + local) % outside) % size_);
}

Direct::Sends Direct::sends(std::uint32_t rank, std::uint32_t lane) const {
  const Pairs& pairs = shape_.pairs;
  const std::uint64_t inside = pairs.first[pairs.node[rank] + 1] - pairs.first[pairs.node[rank]];
  const bool one = shape_.operation == Operation::send_recv;
  Sends made;
  made.peers = one ? peer(rank, lane, 0) != kNobody : lane == kInside ? inside - 1 : size_ - inside;
  made.rounds = rounds();
  if (made.peers == 0) return made;
  const Edge& edge = lane == kInside ? pairs.within[rank] : pairs.across[rank];
  made.round = occupancy(edge, shape_.rounds.size(0));
  made.last = occupancy(edge, shape_.rounds.size(made.rounds - 1));
  return made;
}

bool Direct::step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const {
  const std::uint32_t peer = this->peer(rank, lane, at / rounds());
  if (peer == kNobody) return false;
  out = Step{};
  out.kind = lane == kTaking ? Step::Kind::recv : Step::Kind::send;
  out.peer = out.first = peer;
  out.tag = shape_.tag;
  out.round = at % rounds();
  out.bytes = shape_.rounds.size(out.round);
  if (lane != kTaking) out.edge = shape_.pairs.of(rank, peer);
  return true;
}

}  // namespace weft::collective
