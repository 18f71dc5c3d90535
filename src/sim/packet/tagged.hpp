#pragma once
// Messages with tags above the transport of a packet run (transport/rdm), as programs have them over libfabric: small
// ones share packets, those of 16 KiB and more wait until their receiver asks for them.
//
//   Runner ── Tagged::send ── Rdm of the sender ── carried messages ── PacketRun ── Rdm of the receiver ── Runner
//
// What the layer hands to its carrier crosses servers and network as any message does, numbered among those of its
// rank. Receives of any message are posted at every rank, kReceives of them: nobody waits for a program to ask. What
// the layer itself costs a host is not counted, nor are the bytes of envelopes.
//
// Threads: as with message_log.hpp. A rank's layer is touched by the rank's thread; what is carried was handed in at
// least a look-ahead before its receiver reads it.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/run/runner.hpp"
#include "transport/rdm/rdm.hpp"

namespace weft::sim {

class Tagged {
 public:
  using Instant = transport::Instant;
  // Has called() called at a time.
  using Call = std::function<void(Instant when, std::uint32_t rank)>;

  Tagged(std::uint32_t ranks, std::uint32_t streams, Network& carrier, Runner& runner, Call call);
  ~Tagged();

  // A message of the schedule. It has one part.
  void send(Instant now, const Transfer& transfer, std::uint32_t stream);

  // What the carrier is given is told apart from the schedule's own messages by this bit of its number.
  void mark_carried_by(std::uint32_t bit) { mark_ = bit; }
  bool is_carried(std::uint32_t message) const { return (message & mark_) != 0; }
  std::uint32_t stream_of(std::uint32_t from, std::uint32_t message) const { return entry(from, message).stream; }
  std::uint32_t destination_of(std::uint32_t from, std::uint32_t message) const { return entry(from, message).to; }

  // A part of what was carried was acknowledged, or has arrived.
  void sent(Instant now, std::uint32_t from, std::uint32_t message);
  void received(Instant now, std::uint32_t to, std::uint32_t from, std::uint32_t message);
  void called(Instant now, std::uint32_t rank);

 private:
  static constexpr std::uint32_t kReceives = 256;

  struct Carried {
    std::uint32_t to;
    std::uint32_t stream;
    std::uint32_t context;  // of the sender's layer
    std::uint64_t bytes;
    transport::rdm::Envelope envelope;
    std::unique_ptr<std::byte[]> own;  // what the sender's layer wrote itself
    std::int32_t sent;                 // less than 0: parts that are on their way
    std::int32_t received;             // the receiver's, as is `own` once it has come
  };
  struct End;  // a rank's layer in one stream
  struct Rank {
    std::vector<std::unique_ptr<End>> ends;  // by stream; made for those that talk
    Instant armed = transport::kNever;
  };

  Carried& entry(std::uint32_t from, std::uint32_t message) const { return logs_[from][message & ~mark_]; }
  End& end_of(std::uint32_t rank, std::uint32_t stream);
  void carry(Instant now, std::uint32_t rank, std::uint32_t stream, End& end);
  void settle(Instant now, std::uint32_t rank, std::uint32_t stream, End& end);

  Network& carrier_;
  Runner& runner_;
  Call call_;
  std::uint32_t streams_;
  std::uint32_t mark_ = 0;
  std::vector<Rank> ranks_;
  std::vector<SentLog<Carried>> logs_;  // by rank
};

}  // namespace weft::sim
