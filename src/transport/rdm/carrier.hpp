#pragma once
// The seam between messages and what carries them: a socket loop over SRD, rings in shared memory, a test.
//
// A carrier moves messages: each once, whole, in any order, with an envelope of a few bytes that every packet of
// the message repeats, so that any packet may come first and tell where its payload goes. It drives a Layer:
//
//   next_outgoing()   gives a message to carry; ask when it could go out soon, for what waits meanwhile shares packets.
//                     Its memory must not be touched again after sent() or peer_failed()
//   sent()            the peer's carrier has all of a message
//   arrived()         a message's first packet, whichever, is here; says where the payload goes. Once for each
//                     message: a copy of a packet of a message that has landed is the carrier's to drop
//   landed()          the last of its bytes is in place
//   peer_failed()     the connection is lost. On both sides it is called before anything of the peer's next
//                     connection arrives, and nothing given out or taken in before it counts any more: no sent(), no
//                     landed(), no byte placed. Whatever fails, fails the connection: a message is never lost alone
//   tick()            when next_wake() has come; late and repeated calls are harmless
//
// Messages to oneself come back like any other. Peers are numbers of the driver, small and dense, never of the wire;
// memory is a handle and an offset, never a pointer: `kOwnMemory` marks what the layer holds itself (own()), the rest
// are the driver's own business. Calls come from one thread at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/operation.hpp"

namespace weft::transport::rdm {

inline constexpr std::uint32_t kMostEnvelope = 48;
inline constexpr std::uint64_t kOwnMemory = std::uint64_t{1} << 63;

struct Place {
  std::uint64_t memory = 0;
  std::uint64_t offset = 0;
};

struct Envelope {
  std::uint8_t size = 0;
  std::array<std::byte, kMostEnvelope> bytes{};
  std::span<const std::byte> view() const { return std::span(bytes).first(size); }
};

struct Outgoing {
  std::uint32_t peer = 0;
  std::uint32_t context = 0;  // comes back with sent()
  Envelope envelope;
  Place payload;
  std::uint64_t bytes = 0;
};

// Where the payload of a message goes: the byte at i < room to `place.offset + i`; what lies beyond is dropped.
struct Sink {
  enum class Kind : std::uint8_t {
    place,
    refused,  // no room, or nonsense: take no packet of it now; if the peer tries again, ask again
  };
  Kind kind = Kind::refused;
  std::uint32_t context = 0;  // comes back with landed()
  Place place;
  std::uint64_t room = 0;
};

class Layer {
 public:
  virtual bool next_outgoing(Outgoing& out) = 0;
  virtual void sent(Instant now, std::uint32_t context) = 0;
  // `bytes` are those of the whole message, as its sender says; the envelope may say anything.
  virtual Sink arrived(Instant now, std::uint32_t peer, std::span<const std::byte> envelope, std::uint64_t bytes) = 0;
  virtual void landed(Instant now, std::uint32_t peer, std::uint32_t context) = 0;
  virtual void peer_failed(Instant now, std::uint32_t peer) = 0;
  virtual Instant next_wake() const = 0;
  virtual void tick(Instant now) = 0;
  // The bytes of a handle with kOwnMemory; empty where there is none of that number.
  virtual std::span<std::byte> own(std::uint64_t memory) = 0;

 protected:
  ~Layer() = default;
};

// The driver's memory, for what the layer moves itself: small messages, what came before anybody waited for it,
// atomics.
class Memory {
 public:
  virtual void get(Place from, std::span<std::byte> to) = 0;
  virtual void put(Place to, std::span<const std::byte> from) = 0;

 protected:
  ~Memory() = default;
};

}  // namespace weft::transport::rdm
