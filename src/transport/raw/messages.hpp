#pragma once
// Messages over raw: cut into packets that leave as fast as the NIC takes them, each once. Nobody
// acknowledges, repeats or slows down: what is lost is lost, and what queues do with an open-loop source shows.
//
// Driven like SRD. Every packet is told by itself, when it was handed to the NIC and when it arrived: how many make
// a message whole the driver knows, so a receiver keeps nothing and what never comes leaves nothing behind.

#include <cstdint>
#include <vector>

#include "transport/operation.hpp"
#include "transport/slab.hpp"

namespace weft::transport {

struct RawConfig {
  std::uint32_t payload = 4086;  // bytes of a message in one packet
  std::uint32_t header = 64;     // bytes on the wire beside it
  std::uint32_t paths = 64;      // entropies taken in turn
};

class RawMessages {
 public:
  explicit RawMessages(const RawConfig& config);

  // Packets of a message.
  static std::uint64_t packets_of(std::uint64_t bytes, std::uint32_t payload);

  bool post(Instant now, std::uint32_t endpoint,
            const Operation& operation);  // false: longer than 2^30 packets, or no send
  void handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header);
  bool poll_ack(std::uint32_t, Transmit&) { return false; }
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);  // messages of an endpoint in the order of their posts
  Instant next_wake(std::uint32_t) const { return kNever; }

  std::vector<Completion>& completions() { return completions_; }
  const Counters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  struct Waiting {
    std::uint64_t bytes;
    std::uint32_t peer;
    std::uint32_t tag;
    std::uint32_t context;
    std::uint32_t sent;  // packets
    std::uint32_t next;
  };
  struct Line {  // of an endpoint
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t sequence = 0;  // of the next packet
  };
  std::uint32_t length_of(std::uint64_t bytes, std::uint32_t packet) const;

  std::uint32_t payload_;
  std::uint32_t header_;
  std::uint32_t paths_;
  std::vector<Line> lines_;  // by endpoint
  Slab<Waiting> waiting_;
  std::vector<Completion> completions_;
  Counters counters_;
};

}  // namespace weft::transport
