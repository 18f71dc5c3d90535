#pragma once
// Queues of exact ports: what waits at each of them, in which class, and which class sends next.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sim/packet/windows.hpp"

namespace weft::sim {

// A packet on its way through an exact port.
struct Queuing : Passing {
  std::uint8_t cls;    // in which it leaves
  std::uint32_t from;  // as of an event, with the channel in which it leaves
};

class PortQueues {
 public:
  PortQueues(World& world, Windows& windows) : world_(world), windows_(windows) {}

  // ---- classes

  // The first of its channels.
  std::uint32_t class_of(const Event& packet) const {
    return packet.flags & transport::kTrimmed
               ? world_.config.exact.trimmed_class
               : world_.config.exact.class_of[std::size_t{packet.lane} << 4 | static_cast<std::size_t>(packet.type)];
  }
  // In which it is held.
  std::uint32_t class_in(const Event& packet) const {
    const std::uint32_t cls = class_of(packet);
    return world_.config.exact.channels == 1 ? cls : cls + world_.exact.channel_in(packet);
  }
  // As a packet leaves whose channel is known.
  Queuing queuing(const Event& packet) const {
    const std::uint32_t channel = world_.config.exact.channels == 1 ? 0 : world_.exact.channel_out(packet.from);
    return {{packet.bytes, packet.flags}, static_cast<std::uint8_t>(class_of(packet) + channel), packet.from};
  }
  void choose_channel(const Event& event, Queuing& packet, std::uint32_t out) const;  // channels.cpp

  // ---- queues

  bool open(const Gate& gate, std::uint32_t cls, std::int64_t bytes) const {
    if (!world_.config.exact.is_lossless(cls)) return true;
    if (world_.config.exact.flow_control == FlowControl::credits) return gate.credit >= bytes;
    return gate.paused_since == 0;
  }
  PacketPool& pool() { return pool_; }
  const PacketPool& pool() const { return pool_; }

  // Puts a packet of the pool behind the others.
  void append(std::uint32_t index, std::uint32_t cls, std::uint32_t bytes, std::uint32_t port) {
    Gate& path = world_.exact.gate(port, cls);
    pool_.chain(path.head, path.tail, index);
    path.bytes += bytes;
    world_.exact.ports[port].waiting |= static_cast<std::uint16_t>(1u << cls);
    const Link& link = world_.layout.link(world_.exact.wires[port].link);
    world_.ports[port].peak = std::max(world_.ports[port].peak, link.wire(path.bytes));
    note_length(port);
  }
  void enqueue(const Event& event, const Queuing& packet, std::uint32_t port) {
    const std::uint32_t index = pool_.take();
    // Written, not read: who changes what it has just copied waits for the copy.
    Event& slot = pool_[index];
    slot = event;
    slot.from = packet.from;
    slot.bytes = static_cast<std::uint16_t>(packet.bytes);
    slot.flags = packet.flags & 0xF;
    append(index, packet.cls, packet.bytes, port);
  }
  // The class that sends next of those where something waits; kNone when none may. Strict classes first, the others by
  // weight (deficit round robin).
  std::uint32_t next_class(std::uint32_t port) {
    const auto first = static_cast<std::uint32_t>(__builtin_ctz(world_.exact.ports[port].waiting));
    if (world_.config.exact.weight[first] == 0 && !world_.config.exact.is_lossless(first)) return first;
    return world_.config.exact.channels > 1 ? next_channel(port) : choose_class(port);
  }
  // Takes the first packet of a class out of its queue. It stays in the pool until it is given back.
  std::uint32_t take(std::uint32_t port, std::uint32_t cls);
  // What waits at a port has changed.
  void note_length(std::uint32_t port) {
    if (Samples* const samples = world_.samples_of(port)) note_length(port, *samples);
  }
  // Fetches what leaves next by a port. Always a part of its caller: a call that does nothing else would be dropped.
  [[gnu::always_inline]] void foresee(std::uint32_t port) const {
    const std::uint32_t waiting = world_.exact.ports[port].waiting;
    if (waiting != 0)
      __builtin_prefetch(&pool_[world_.exact.gate(port, static_cast<std::uint32_t>(std::countr_zero(waiting))).head]);
  }

 private:
  std::uint32_t choose_class(std::uint32_t port);
  std::uint32_t next_channel(std::uint32_t port);  // channels.cpp
  void note_length(std::uint32_t port, Samples& samples);

  World& world_;
  Windows& windows_;
  PacketPool pool_;
};

inline std::uint32_t PortQueues::take(std::uint32_t port, std::uint32_t cls) {
  Gate& path = world_.exact.gate(port, cls);
  const std::uint32_t first = path.head;
  const std::uint16_t bytes = pool_[first].bytes;
  path.head = pool_.next(first);
  path.bytes -= bytes;
  const bool weighted = world_.config.exact.weight[cls] > 0;
  if (weighted) world_.exact.details_of(port, cls).deficit -= bytes;
  if (path.head == PacketPool::kNone) {
    path.tail = PacketPool::kNone;
    if (weighted) world_.exact.details_of(port, cls).deficit = 0;
    world_.exact.ports[port].waiting &= static_cast<std::uint16_t>(~(1u << cls));
  }
  note_length(port);
  return first;
}

}  // namespace weft::sim
