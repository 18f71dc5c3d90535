#include "endpoint/wire.hpp"

#include <algorithm>
#include <cstring>

namespace weft::endpoint {

using transport::rdm::Outgoing;
using transport::rdm::Place;
using transport::rdm::Sink;

Result<std::unique_ptr<Wire>, std::string> Wire::open(const net::Address& local,
                                                      const transport::rdm::RdmConfig& config) {
  std::unique_ptr<Wire> wire(new Wire(config));
  auto node = net::Node::open({.local = local}, *wire, *wire);
  if (!node) return Failure<std::string>(node.error());
  wire->node_ = std::move(*node);
  wire->self_ = wire->node_->peer_at(wire->node_->address());
  return wire;
}

bool Wire::next_outgoing(Outgoing& out) {
  while (rdm_.next_outgoing(out)) {
    if (out.peer != self_) return true;
    bring_home(out);
  }
  return false;
}

void Wire::bring_home(const Outgoing& out) {
  const transport::Instant now = net::Node::now();
  const Sink sink = rdm_.arrived(now, self_, out.envelope.view(), out.bytes);
  if (sink.kind == Sink::Kind::refused) return rdm_.peer_failed(now, self_);
  if (const std::uint64_t bytes = std::min(out.bytes, sink.room); bytes > 0)
    std::memmove(bytes_at(sink.place), bytes_at(out.payload), bytes);
  rdm_.landed(now, self_, sink.context);
  rdm_.sent(now, out.context);
}

void Wire::peer_failed(transport::Instant now, std::uint32_t peer) {
  if (peer >= lost_.size()) lost_.resize(peer + 1);
  ++lost_[peer];
  rdm_.peer_failed(now, peer);
}

std::byte* Wire::bytes_at(Place place) {
  if (place.memory & transport::rdm::kOwnMemory) return rdm_.own(place.memory).data() + place.offset;
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(place.offset));
}

void Wire::get(Place from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), bytes_at(from), to.size());
}

void Wire::put(Place to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(bytes_at(to), from.data(), from.size());
}

}  // namespace weft::endpoint
