#pragma once
// TCP's promise carried by SRD, as AWS' ENA Express does it: the application sees one stream of bytes per peer, in
// order, while its segments go out over many paths and come in any order. Sans I/O, driven like the others.
//
// - A message is an SRD message whose packets are segments: each carries TCP's and IP's headers inside SRD's.
// - SRD numbers the packets to a peer and a message is a run of numbers, in the order of posting. So order needs
// nothing
//   on the wire: a message is handed over when all numbers before it have been.
// - The sender learns of an end in order too, as by cumulative acknowledgements.
// - When SRD gives a run of numbers up (silence, a restart), the connection is reset: all that was not handed over is
//   lost to the receiver, all that was not acknowledged in order fails at the sender, and the next message begins anew.
//
// Not modelled: TCP's own window, which has long grown on a network that loses nothing, its timers, which SRD is always
// ahead of, and the product's limit of 25 Gb/s for one connection.

#include <cstdint>
#include <string_view>
#include <vector>

#include "transport/peers.hpp"
#include "transport/slab.hpp"
#include "transport/srd/srd.hpp"

namespace weft::transport {

class TcpOverSrd {
 public:
  // Payload and header are those of a segment.
  explicit TcpOverSrd(const SrdConfig& config) : srd_(config) {}

  // False for a read, and where SRD has no room.
  bool post(Instant now, std::uint32_t endpoint, const Operation& operation);
  Placement handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header);
  bool poll_ack(std::uint32_t endpoint, Transmit& out);
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  Instant next_wake(std::uint32_t endpoint) const { return srd_.next_wake(endpoint); }

  std::vector<Completion>& completions() { return completions_; }
  const SrdCounters& counters() const { return srd_.counters(); }
  const SrdConfig& config() const { return srd_.config(); }
  std::uint64_t underway_bytes() const { return srd_.underway_bytes(); }

  // What is wrong inside, or nothing: for tests.
  std::string_view check_invariants() const;
  std::size_t messages_held() const { return srd_.messages_held() + sends_.used() + early_.used(); }

 private:
  static constexpr std::uint32_t kMostEarly = 256;  // SRD's window: no honest peer has more beyond a gap

  struct Send {
    std::uint32_t context;  // of the poster; SRD is given the number of this
    std::uint32_t next;
    Completion end;  // once `known`
    bool known;
  };
  struct Sender {  // to one peer: messages whose end was not reported
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  struct Early {  // a whole message beyond a gap
    Completion end;
    std::uint32_t first;
    std::uint32_t packets;
    std::uint32_t next;  // ascending
    bool told;           // a write is not
  };
  struct Receiver {          // from one peer
    std::uint32_t next = 0;  // number of the packet that is to be handed over next
    std::uint32_t early = kNone;
    std::uint32_t count = 0;
    std::uint16_t generation = 0;
    std::uint16_t stream = 0;
  };

  void collect(const Placement& placement, const Header* header);
  void note_end(const Completion& end);
  void arrived(std::uint32_t endpoint, const Placement& placement, const Header& header, const Completion* end);
  void hand_over(Receiver& receiver);

  Srd srd_;
  Slab<Send> sends_;
  Peers<Sender> senders_;
  Slab<Early> early_;
  Peers<Receiver> receivers_;
  std::vector<Completion> completions_;
};

}  // namespace weft::transport
