#pragma once
// What every computed port does to a packet, usual or not: a part of whoever calls it.

#include "sim/packet/shard.hpp"

namespace weft::sim {

// Marks, trims or refuses (false) a packet by how far ahead the port is booked. A host's own port only queues.
inline bool Shard::admit(Passing& packet, transport::PacketType type, Port& port, const Link& link,
                         std::uint32_t entity, std::int64_t ahead) {
  if (ahead > port.peak) port.peak = ahead;
  if (ahead <= link.mark_from || layout_.is_host(entity)) return true;
  if (ahead > link.queue) {
    if (!config_.trimming || config_.fifo || !transport::can_be_trimmed(type)) {
      ++port.dropped;
      ++tally_.dropped;
      return false;
    }
    packet.flags |= transport::kTrimmed;
    packet.bytes = config_.header;
    ++port.trimmed;
    return true;
  }
  if (ahead >= link.mark_to ||
      marks(link, ahead, static_cast<std::uint32_t>(world_.entities[entity].random.next() >> 33))) {
    port.marked += (packet.flags & transport::kMarked) == 0;
    packet.flags |= transport::kMarked;
  }
  return true;
}

// A switch that cuts through acts when the header is in, everybody else when the last byte is.
inline void Shard::leave(const Event& arrived, const Passing& packet, const Layout::Far& far, const Link& link,
                         std::uint32_t entity, std::int64_t begin, std::int64_t wire) {
  std::int64_t arrives = begin + wire + link.latency;
  // A degraded link gives the header out later, so that the next one does not run dry.
  if (layout_.cut_through() && !layout_.is_host(far.entity))
    arrives -= link.wire(packet.bytes) - link.wire(config_.header);
  Event& slot = place(arrives, far.entity);
  // Every field once: changing a copy would wait for the copy.
  address(slot, arrives, far.entity, entity);
  slot.bytes = static_cast<std::uint16_t>(packet.bytes);
  slot.kind = arrived.kind;
  slot.rate = link.rate & 31;
  slot.type = arrived.type;
  slot.flags = packet.flags & 0xF;
  slot.header = arrived.header;
}

}  // namespace weft::sim
