#pragma once
// Every number of the Ultra Ethernet transport in one place, with its default and where that comes from. Zero
// where a time is asked means: derived, as said beside it.
//
// Sources: [htsim] ultraethernet/uet-htsim, the simulator of those who wrote the Ultra Ethernet Specification 1.0
// (2025): sim/uec.cpp, sim/uec_mp.cpp and datacenter/main_uec.cpp; [REPS] Bonato et al., "REPS: Recycled Entropy
// Packet Spraying", arXiv 2407.21625.

#include <cstdint>

#include "base/units.hpp"

namespace weft::transport {

struct UetConfig {
  // ---- packets
  std::uint32_t payload = 4086;      // bytes of a message in one packet; with 64 of headers [htsim]'s 4150
  std::uint32_t header = 64;         // bytes on the wire beside it
  std::uint32_t ack_bytes = 16384;   // received before an unmarked packet is acknowledged [htsim]
  std::uint32_t first_sequence = 0;  // both ends must agree; other than 0 only in tests of the wrap

  // ---- entropies
  std::uint32_t paths = 64;           // in use, at most 64 [htsim, with which weft is compared]
  std::uint32_t recycle = 8;          // entropies of unmarked packets remembered, 0 to 8: 8 is the cache of [REPS]
  std::uint32_t marked_penalty = 1;   // turns for which an entropy is passed over, [htsim]'s bitmap: it was marked
  std::uint32_t trimmed_penalty = 4;  // ... its packet was trimmed
  std::uint32_t lost_penalty = 15;    // ... its packet vanished; also the most that adds up

  // ---- what the network is like: given by the driver
  Duration packet_time;   // that a full packet takes on the sender's wire
  Duration base_rtt;      // unloaded, longest path
  Duration longest_wait;  // that a packet may wait in a fabric that loses none; else 0. Timers begin behind it
  bool trimming = true;   // switches cut packets for which they have no room, instead of dropping them

  // ---- window: NSCC, all [htsim]. A "round trip" is a window's worth of acknowledged bytes.
  std::uint32_t most_window = 150;  // percent of what fills the round trip; also the first window
  // Queueing that is fine; 0: 3/4 of base_rtt, and all of it where nothing is trimmed
  Duration target_delay;
  // The increases are for this network and grow with the product of rate and round trip.
  Duration reference_rtt = microseconds(12);
  std::uint64_t reference_bytes = 150'000;  // 100 Gb/s times 12 us
  std::uint32_t proportional = 4;           // packets per round trip without delay, none at the target: alpha
  std::uint32_t fair = 5;                   // packets per round trip, unmarked though above the target: beta
  std::uint32_t constant = 15;              // percent of a packet every base_rtt: eta
  std::uint32_t fast = 25;                  // percent of acknowledged bytes, after a round trip of no delay at all
  Duration fast_delay = microseconds(1);    // that still count as none
  std::uint32_t decrease = 80;              // percent of the mean delay's excess over the target: gamma
  std::uint32_t most_cut = 50;              // percent of the window in one decrease
  std::uint32_t delay_weight = 80;          // samples over which the mean delay forgets: 1/0.0125
  std::uint32_t quick_gate = 3;             // quick adapt where less than 1/2^3 of the greatest window arrived
  std::uint32_t quick_delay = 4;            // target delays that are as bad as a trimmed packet
  std::uint32_t adjust_packets = 8;         // acknowledged before an increase takes effect, or a base_rtt

  // ---- loss and silence
  Duration probe;        // without news before the receiver is asked; 0: 3 base_rtt [htsim: SLEEK]
  Duration probe_again;  // before it is asked again; 0: 5 base_rtt [htsim: SLEEK]
  // Where nothing is trimmed, a packet is lost when so many have overtaken it; where lost packets are announced,
  // overtaking says nothing. [htsim: SLEEK]
  std::uint32_t overtaken = 150;      // percent of the window
  std::uint32_t least_overtaken = 5;  // packets
  // Time after which a packet without an answer is sent again, doubled (as probe_again) while nothing is heard; 0:
  // 15 us and six full queues [htsim], of a round trip's worth each, five where nothing is trimmed
  Duration rto;
  // As SRD: longer than routing takes to converge, shorter than the watchdogs of jobs.
  Duration give_up = microseconds(5'000'000);  // without a word from a peer before its messages fail

  std::uint16_t generation = 1;  // of this process, greater than that of the one it replaces; not 0
};

}  // namespace weft::transport
