#pragma once
// What a seed draws: sizes, parameters and faults of one world.

#include <cstdint>
#include <string>

#include "transport/operation.hpp"
#include "transport/srd_config.hpp"

namespace weft::dst {

using transport::Instant;

inline constexpr Instant kMicrosecond = 1'000'000;

struct Scenario {
  std::uint32_t nodes = 2;
  bool hostile = false;  // the last node sends nonsense and takes part in nothing else
  bool codec = false;    // all packets go through encode and decode
  transport::SrdConfig srd;

  // The network. Probabilities in 1/1024 per packet.
  Instant delay = 2 * kMicrosecond;  // one way, shortest
  Instant spread = 0;                // a path is longer by up to this
  Instant jitter = 0;                // a packet is later by up to this
  std::uint32_t loss = 0;
  std::uint32_t duplicate = 0;  // second copies come soon or, one in eight, ages later
  std::uint32_t corrupt = 0;
  std::uint32_t mark = 0;
  std::uint32_t trim = 0;

  // Faults in the first phase; each of them at times drawn in the world.
  std::uint32_t dead_ways = 0;   // of 4 ways through the network, swallow everything for a while
  std::uint32_t clogs = 0;       // a pair's packets are held back, then come all at once
  std::uint32_t partitions = 0;  // a pair hears nothing of each other
  std::uint32_t restarts = 0;

  std::uint32_t operations = 0;
  std::uint32_t longest = 1;  // message, in packets
  Instant faulty = 0;         // how long the first phase lasts

  // Whether a partition of the first phase may outlast a peer's patience.
  bool impatient() const { return srd.give_up < 2 * faulty; }
  std::string text() const;
};

Scenario draw(std::uint64_t seed);

}  // namespace weft::dst
