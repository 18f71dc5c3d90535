#pragma once
// A world of the deterministic simulation tests (src/dst), as far as a transport has a say in it. Each has a `Drawing`
// in its folder:
//
//   draw(config, world, random)    numbers of its own, anywhere within their bounds; what the world must know of them
//   text(config, world)            those numbers, for whoever reads of a seed that failed
//   most_held(config, load)        messages and the like that it may hold at once
//   overstate(ack)                 makes an acknowledgement claim one packet more than has arrived: a bug that must
//   show distort(config, random, acknowledges, out)   makes nonsense in a header look more like its own

#include <cstddef>
#include <cstdint>

#include "base/random.hpp"
#include "transport/operation.hpp"

namespace weft::transport {

struct Drawn {
  std::uint32_t payload = 1;  // of a full packet
  Instant packet_time = 1;    // of a full packet on a node's wire
  Instant base_rtt = 1;       // unloaded, of the longest path
  Instant give_up = 0;        // silence after which what waits for a peer fails
  Instant timeout = 0;        // silence before anything is sent again; 0: short beside all else
  std::uint32_t first_sequence = 0;
  std::uint32_t trim = 0;  // probability that a switch cuts a packet, in 1/1024
};

// What a node was asked for, and what others may make it hold.
struct DrawnLoad {
  std::size_t asked;  // messages, of all nodes
  std::size_t peers;
  bool hostile;  // one of them sends nonsense
};

inline constexpr Instant kDrawnMicrosecond = 1'000'000;

inline Instant up_to_microseconds(Random& random, std::uint32_t most) {
  return Instant{1 + random.below(most)} * kDrawnMicrosecond;
}

// Some give up before the faults are over; never before the second attempt.
inline Instant some_patience(Random& random, Instant timeout) {
  return random.below(3) == 0 ? 3 * timeout + up_to_microseconds(random, 1000) : 5'000'000 * kDrawnMicrosecond;
}

}  // namespace weft::transport
