#pragma once
// One event is one cache line: a packet arriving at an entity, with the packet in it. Nothing is
// allocated per packet and nothing is shared between partitions.

#include <cstdint>

#include "transport/packet.hpp"

namespace weft::sim {

enum class EventKind : std::uint8_t {
  packet,
  wake,       // an endpoint has something to do; at a switch, a port
  post,
  call,
  control,    // between neighbours: pause, resume, credit
  delivered,  // a packet that the host has taken out of its card
};

struct alignas(64) Event {
  std::int64_t time = 0;     // ps
  std::uint32_t to = 0;      // entity that handles it
  std::uint32_t from = 0;    // entity that caused it
  std::uint32_t number = 0;  // of its cause, counted by `from`
  std::uint16_t bytes = 0;   // on the wire
  EventKind kind : 3 = EventKind::packet;
  std::uint8_t rate : 5 = 0;  // of the link it came by, where a switch cuts through (Layout::rates)
  transport::PacketType type : 4 = transport::PacketType::data;
  std::uint8_t flags : 4 = 0;
  transport::Header header;
};
static_assert(sizeof(Event) == 64);

// The order in which an entity handles what happens at one time.
inline std::uint64_t cause(const Event& event) { return (std::uint64_t{event.from} << 32) | event.number; }

}  // namespace weft::sim
