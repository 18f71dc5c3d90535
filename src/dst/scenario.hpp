#pragma once
// What a seed draws: sizes, parameters and faults of one world.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/drawn.hpp"
#include "transport/transports.hpp"

namespace weft::dst {

using transport::Instant;
using transport::Protocol;

inline constexpr Instant kMicrosecond = 1'000'000;

// Those that promise delivery.
const std::vector<Protocol>& tested();
inline std::string_view name_of(Protocol transport) { return transport::describe(transport).name; }

// With the numbers of every transport, and what the world must know of the one that it is drawn for.
struct Scenario : transport::Transports::Settings, transport::Drawn {
  Protocol transport = Protocol::srd;
  std::uint32_t nodes = 2;
  bool hostile = false;  // the last node sends nonsense and takes part in nothing else
  bool codec = false;    // all packets go through encode and decode

  // The network. Probabilities in 1/1024 per packet, as `trim`.
  Instant delay = 2 * kMicrosecond;  // one way, shortest
  Instant spread = 0;                // a path is longer by up to this
  Instant jitter = 0;                // a packet is later by up to this
  std::uint32_t loss = 0;
  std::uint32_t duplicate = 0;  // second copies come soon or, one in eight, ages later
  std::uint32_t corrupt = 0;
  std::uint32_t mark = 0;

  // Faults in the first phase; each of them at times drawn in the world.
  std::uint32_t dead_paths = 0;  // of 4 ways through the network, swallow everything for a while
  std::uint32_t clogs = 0;       // a pair's packets are held back, then come all at once
  std::uint32_t partitions = 0;  // a pair hears nothing of each other
  std::uint32_t restarts = 0;
  std::uint32_t pauses = 0;     // a node does not run for a while; what comes to it waits
  std::uint32_t jumps = 0;      // a node's clock goes ahead by less than a quarter of its patience
  std::uint32_t slow = 0;       // a pair's packets wait in a long queue for a link of a 10th to a 200th of the rate
  std::uint32_t lossy_way = 0;  // one of the ways loses so many more

  std::uint32_t operations = 0;
  std::uint32_t longest = 1;  // message, in packets
  Instant faulty = 0;         // how long the first phase lasts

  // Whether a partition of the first phase may outlast a peer's patience; or a pause, or a long queue.
  bool impatient() const {
    constexpr Instant kLongQueue = 1'000'000 * kMicrosecond;
    const Instant patience = jumps > 0 ? give_up / 2 : give_up;
    return patience < 2 * (faulty * (1 + pauses) + timeout) + (slow > 0 ? kLongQueue : 0);
  }
  std::string text() const;
};

Scenario draw(Protocol transport, std::uint64_t seed);

}  // namespace weft::dst
