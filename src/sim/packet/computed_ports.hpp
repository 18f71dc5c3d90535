#pragma once
// Ports with computed departures (port.hpp says how): where a packet goes from there, and when.

#include <algorithm>
#include <cstdint>

#include "sim/packet/capture_log.hpp"
#include "sim/packet/fast_cnp.hpp"
#include "sim/packet/windows.hpp"

namespace weft::sim {

class ComputedPorts {
 public:
  ComputedPorts(World& world, Windows& windows, Tally& tally, CaptureLog& captures, FastCnp& cnps)
      : world_(world), windows_(windows), tally_(tally), captures_(captures), cnps_(cnps) {}

  // A packet that is ready at a time leaves an entity by one of its ports.
  void forward(const Event& packet, std::uint32_t port, std::uint32_t entity, std::int64_t ready);

 private:
  void forward_specially(const Event& packet, std::uint32_t port, std::uint32_t entity, std::int64_t ready);
  bool goes_first(const Event& packet) const {
    return !world_.config.fifo && (transport::goes_first(packet.type) || (packet.flags & transport::kTrimmed));
  }
  bool admit(Passing& packet, transport::PacketType type, Port& port, const Link& link, std::uint32_t entity,
             std::int64_t ahead);
  void leave(const Event& arrived, const Passing& packet, const Layout::Far& far, const Link& link,
             std::uint32_t entity, std::int64_t begin, std::int64_t wire);

  World& world_;
  Windows& windows_;
  Tally& tally_;
  CaptureLog& captures_;
  FastCnp& cnps_;
};

// Marks, trims or refuses (false) a packet by how far ahead the port is booked. A host's own port only queues.
inline bool ComputedPorts::admit(Passing& packet, transport::PacketType type, Port& port, const Link& link,
                                 std::uint32_t entity, std::int64_t ahead) {
  if (ahead > port.peak) port.peak = ahead;
  if (ahead <= link.mark_from || world_.layout.is_host(entity)) return true;
  if (ahead > link.queue) {
    if (!world_.config.trimming || world_.config.fifo || !transport::can_be_trimmed(type)) {
      ++port.dropped;
      ++tally_.dropped;
      return false;
    }
    packet.flags |= transport::kTrimmed;
    packet.bytes = world_.config.header;
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
[[gnu::always_inline]] inline void ComputedPorts::leave(const Event& arrived, const Passing& packet,
                                                        const Layout::Far& far, const Link& link, std::uint32_t entity,
                                                        std::int64_t begin, std::int64_t wire) {
  std::int64_t arrives = begin + wire + link.latency;
  // A degraded link gives the header out later, so that the next one does not run dry.
  if (world_.layout.cut_through() && !world_.layout.is_host(far.entity))
    arrives -= link.wire(packet.bytes) - link.wire(world_.config.header);
  Event& slot = windows_.place(arrives, far.entity);
  // Every field once: changing a copy would wait for the copy.
  windows_.address(slot, arrives, far.entity, entity);
  slot.lane = arrived.lane;
  slot.bytes = static_cast<std::uint16_t>(packet.bytes);
  slot.kind = arrived.kind;
  slot.rate = link.rate & 31;
  slot.type = arrived.type;
  slot.flags = packet.flags & 0xF;
  slot.header = arrived.header;
}

// Most of all events: a part of whoever calls it.
[[gnu::always_inline]] inline void ComputedPorts::forward(const Event& arrived, std::uint32_t index,
                                                          std::uint32_t entity, std::int64_t ready) {
  Port& port = world_.ports[index];
  if (port.special != 0) return forward_specially(arrived, index, entity, ready);
  const Layout::Far& far = world_.layout.far(index);
  const Link& link = world_.layout.link(far.link);
  Passing packet{arrived.bytes, arrived.flags};
  bool high = goes_first(arrived);
  if (!high) {
    if (!admit(packet, arrived.type, port, link, entity, port.busy - ready)) return;
    cnps_.marked(arrived, packet.flags & ~arrived.flags);
    high = packet.flags & transport::kTrimmed;
  }
  const std::int64_t wire = link.wire(packet.bytes);
  const std::int64_t takes = std::max(wire, link.gap);
  const std::int64_t begin = high ? book_high(port, link, ready, takes) : book(port, ready, takes);
  port.bytes += packet.bytes;
  port.waited += begin - ready;
  ++port.packets;
  leave(arrived, packet, far, link, entity, begin, wire);
}

}  // namespace weft::sim
