#pragma once
// A packet as the transports see it: a decoded header, never payload bytes. 40 bytes, so that a
// packet in flight and its event share one cache line (sim/event.hpp).

#include <cstdint>

namespace weft::transport {

enum class PacketType : std::uint8_t { data, ack };

enum PacketFlags : std::uint8_t {
  kMarked = 1,      // a switch marked it (ECN)
  kTrimmed = 2,     // a switch dropped its payload
  kAckNow = 4,      // the sender wants to hear at once
  kResent = 8,      // not the first transmission: says nothing about round-trip time
};

struct Header {
  std::uint32_t source = 0;       // endpoint that sent it
  std::uint32_t destination = 0;  // endpoint it is for
  std::uint16_t path = 0;
  std::uint16_t fan_in = 0;       // ack: senders the receiver is listening to
  std::uint32_t sequence = 0;     // data: its number; ack: all below have arrived
  union {
    struct {
      std::uint32_t message;  // of the sender, counted per peer
      std::uint32_t first;    // sequence of the message's first packet
      std::uint64_t size;     // of the whole message, bytes
    } data;
    struct {
      std::uint64_t arrived;  // bit i: sequence + i has arrived
      std::uint64_t marked;   // bit i: echo - i was marked
    } ack{};
  };
  std::uint32_t echo = 0;  // ack: the packet that caused it
  std::uint32_t tag = 0;   // data: the poster's own, handed over with the message
};
static_assert(sizeof(Header) == 40);

}  // namespace weft::transport
