#pragma once
// A packet as the transports see it: a decoded header, never payload bytes. 40 bytes, so that a
// packet in flight and its event share one cache line (sim/event.hpp). srd/codec.hpp says how it looks on
// the wire.

#include <cstdint>

namespace weft::transport {

// A number for each transport and for each type of their packets; transports.hpp says what belongs to whom.
enum class Protocol : std::uint8_t { srd, rocev2, tcp, uet, raw, tcp_over_srd };

// Four bits: all that an event of the simulator has room for.
enum class PacketType : std::uint8_t {
  data,
  ack,
  raw,
  roce_data,
  roce_ack,
  roce_cnp,
  tcp_data,
  tcp_ack,
  uet_data,
  uet_ack,
  ordered_data,
  ordered_ack,  // SRD's, of a stream that is handed over in order
};

inline constexpr std::uint32_t kPacketTypes = 12;

// Four bits: all that an event of the simulator has room for.
enum PacketFlags : std::uint8_t {
  kMarked = 1,    // a switch marked it (ECN)
  kTrimmed = 2,   // a switch dropped its payload; in an ack: the echoed packet came without it
  kAckNow = 4,    // data: the sender wants to hear at once
  kNotReady = 4,  // ack: no room for the echoed packet's message now, send it again later
  kResent = 8,    // data: not the first transmission
  kStale = 8,     // ack: the receiver has given up this stream
  kNak = 4,       // roce_ack: `sequence` is missing and a later packet has come
  kRepeated = 4,  // tcp ack: `tcp.repeated` arrived once more (a D-SACK, RFC 2883)
};

enum class Op : std::uint16_t {
  send,      // the receiver is told
  write,     // placed without telling
  read,      // one packet without payload that asks for `size` bytes
  response,  // what was read; its tag is the `first` of the request
};

struct DataFields {
  std::uint32_t first;  // sequence of the message's first packet: names the message
  std::uint32_t tag;    // the poster's own, handed over with the message
  std::uint64_t size;   // of the whole message, bytes
};

struct AckFields {
  std::uint64_t arrived;  // bit i: arrived_from() + i has arrived
  std::uint64_t marked;   // bit i: echo - i was marked
};

// `path` is the queue pair, `echo` counts split messages (roce/roce.hpp).
struct RoceFields {
  std::uint32_t packet;  // place in the message, in packets: the first, the last and all between
  std::uint32_t tag;     // the poster's own
  std::uint64_t size;    // of the whole message, bytes
};

struct TcpAckFields {
  struct Range {
    std::uint16_t from;  // segments from `sequence` on that have arrived beyond a gap
    std::uint16_t to;    // behind the last of them; from == to: none
  };
  Range sack[3];  // the first has the newest arrival (RFC 2018)
  std::uint32_t repeated;
};

struct Header {
  std::uint32_t source = 0;       // endpoint that sent it
  std::uint32_t destination = 0;  // endpoint it is for
  std::uint16_t path = 0;
  union {
    std::uint16_t fan_in = 0;  // ack: senders the receiver is listening to
    Op op;                     // data
    std::uint16_t marks;       // tcp ack: segments that came marked since the connection began, low bits
  };
  std::uint32_t sequence = 0;  // data: its number; ack: all below have arrived
  union {
    DataFields data;
    AckFields ack{};
    RoceFields roce;
    TcpAckFields tcp;
  };
  // Ack: low bits of the sequence that caused it. Data: what to add to its path for that of its answer.
  std::uint16_t echo = 0;
  std::uint16_t stream = 0;           // numbers begin anew with each; an ack repeats that of the data
  std::uint16_t generation = 0;       // of the source: grows when it restarts, never 0
  std::uint16_t peer_generation = 0;  // of the destination as far as the source knows, else 0

  // Near `sequence`, so the low bits say all.
  std::uint32_t echoed() const {
    return sequence +
           static_cast<std::uint32_t>(static_cast<std::int16_t>(echo - static_cast<std::uint16_t>(sequence)));
  }
  // Acks: usually the 64 from `sequence` on; where the echo is beyond them, the 64 up to it. Otherwise one
  // packet that is missing for long would hide the arrival of all later ones.
  std::uint32_t arrived_from() const {
    const std::uint32_t at = echoed();
    return static_cast<std::int32_t>(at - sequence) >= 64 ? at - 63 : sequence;
  }
};
static_assert(sizeof(Header) == 40);

}  // namespace weft::transport
