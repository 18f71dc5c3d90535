#pragma once
// What drivers and transports say to each other; the same for every transport. A transport is driven so:
//
//   post()            hands in an operation; completions() tells what became of it
//   handle()          takes every packet that arrives
//   poll_ack()        gives the acknowledgements due; to be asked after every handle()
//   poll()            gives the next packet to send, or nothing until next_wake()
//
// Late and repeated calls are harmless. One object serves all endpoints of a driver's partition.

#include <cstdint>

#include "transport/packet.hpp"

namespace weft::transport {

using Instant = std::int64_t;  // picoseconds
inline constexpr Instant kNever = INT64_MAX;

struct Operation {
  Op op = Op::send;  // send, write or read
  std::uint32_t peer = 0;
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;      // travels to the peer
  std::uint32_t context = 0;  // comes back with the completion
  Protocol protocol = Protocol::srd;
  std::uint8_t lane = 0;    // which of the driver's stacks (stack.hpp)
  std::uint32_t queue = 0;  // 1 + number of the queue pair or connection that it takes; 0: the one whose turn it is
};

struct Completion {
  enum class Kind : std::uint8_t {
    sent,       // a send or write: the last acknowledgement is in
    received,   // a send of the peer: the last byte is in; context means nothing
    read_done,  // a read: the last byte is in
    failed,     // the peer restarted or stayed silent; it may or may not have arrived
  };
  std::uint32_t endpoint;
  std::uint32_t peer;
  std::uint32_t tag;
  std::uint32_t context;
  std::uint64_t bytes;
  Kind kind;
};

// Where the payload of a packet goes.
struct Placement {
  enum class Kind : std::uint8_t {
    none,       // it has no payload
    place,      // at `offset` of the message
    duplicate,  // seen before
    dropped,    // old, refused or nonsense
  };
  Kind kind = Kind::none;
  bool complete = false;  // the message's last missing packet
  Op op = Op::send;       // send, write, or response: what this endpoint read
  std::uint32_t length = 0;
  std::uint64_t offset = 0;
  std::uint32_t first = 0;    // names the message among those of the peer
  std::uint32_t tag = 0;      // of the poster: the peer for send and write, ourselves for a response
  std::uint32_t context = 0;  // response: of the read
};

struct Transmit {
  Header header;
  PacketType type;
  std::uint8_t flags;
  std::uint32_t wire_bytes;
};

struct Counters {
  std::uint64_t data_sent = 0;  // first transmissions
  std::uint64_t data_resent = 0;
  std::uint64_t acks_sent = 0;
  std::uint64_t trimmed_seen = 0;
  std::uint64_t marked_seen = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t payload_delivered = 0;
  std::uint64_t ignored = 0;  // of an earlier life of the peer, or nonsense
};

}  // namespace weft::transport
