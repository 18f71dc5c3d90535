#pragma once
// Every number of SRD in one place, with its default and where that comes from. Zero where a time or a
// count is asked means: derived, as said beside it.

#include <cstdint>

#include "base/units.hpp"

namespace weft::transport {

// Packets in flight to one peer at most. A peer's state fits 2 KiB, and its slots are half of that; a path counts its
// packets in 8 bits and its cost in 15. Twice as many would take 3 KiB for each active peer and wider sums over all
// paths for each packet.
inline constexpr std::uint32_t kMostSrdWindow = 255;
// Where packets vanish, ways may be long and packets small: who needs more has its slots elsewhere, 64 KiB of them.
inline constexpr std::uint32_t kMostFarWindow = 4095;

struct SrdConfig {
  // ---- packets
  std::uint32_t payload = 4086;      // bytes of a message in one packet; with 64 of headers uet-htsim's 4150. Of peers
                                     // with which no other was agreed (Srd::set_payload)
  std::uint32_t header = 64;         // bytes on the wire beside it
  std::uint32_t ack_every = 8;       // packets per acknowledgement: a quarter of the smallest round trip's worth
  std::uint32_t first_sequence = 0;  // both ends must agree; other than 0 only in tests of the wrap

  // ---- paths
  std::uint32_t paths = 64;     // at most 64, as EFA's SRD (Shalev et al., IEEE Micro 2020); fewer find fewer spines
  std::uint32_t burst = 1;      // packets per choice of path, 1 to 64: 1 balances best, more makes trains for GSO
  std::uint32_t entropies = 0;  // numbers of paths stay below it, as where each is a port; 0: below 65,536
  // Trimmed packets in a row after which a path is left for another entropy; so is one as slow as that, which is
  // half as long again as the mean over all paths with 1, 80 % more with 3 and 130 % with 6.
  std::uint32_t bad_marks = 3;

  // ---- what the network is like: given by the driver
  Duration packet_time;  // that a full packet takes on the sender's wire
  Duration base_rtt;     // unloaded, longest path
  bool drops = false;    // what finds no room vanishes, until a trimmed header was seen; false: it is trimmed, or waits
  // Time that a packet may wait in a fabric that loses none: so much longer silence means nothing. 0 where what finds
  // no room is trimmed or dropped
  Duration longest_wait;

  // ---- congestion
  std::uint32_t window = 0;  // packets in flight to one peer at most; 0: 1.5 base round trips' worth + ack_every
  // The next two and trim_cut were swept together (25 to 80 % of base_rtt, 1 to 8 packets, 0.25 to 2 packets):
  // below 70 % a permutation at full load loses 5 % and more to collisions of paths; with fewer than 4 packets
  // or a greater cut, flows on an oversubscribed uplink stay unequal too long.
  Duration delay_target;        // of queueing, over all hops, that is fine; 0: 4/5 of base_rtt
  std::uint32_t increase = 5;   // packets per round trip
  std::uint32_t trim_cut = 96;  // 1/256 packets that the window shrinks for each trimmed packet
  std::uint32_t most_cut = 50;  // percent of the window lost in one round trip at most (Swift, SIGCOMM 2020)

  // ---- loss and silence
  // A link that has fallen to a quarter of its rate holds a queue of four round trips; taken for lost, each of its
  // packets would be sent twice.
  Duration reorder;  // by which a later packet may overtake; 0: 5 base_rtt, above what queues differ, +
                     // longest_wait; where it `drops`, as measured
  Duration rto;  // of silence after a probe before all is sent again; 0: 5 base_rtt + longest_wait; doubles each time
  Duration not_ready_wait;  // before a refused packet is tried again; 0: base_rtt
  // Long enough for routing to converge around a failure (BGP without BFD: 3 s), shorter than the
  // watchdogs of jobs (minutes).
  Duration give_up = microseconds(5'000'000);  // without a word from a peer before its messages fail

  // ---- bounds on what others can make us hold
  std::uint32_t receive_messages = 16384;  // incomplete ones per endpoint, and the oldest of each peer: 40 bytes each
  std::uint32_t reads = 64;                // open to one peer; it must be able to answer as many. A verbs QP has 16

  // The receiver's driver hears of a write that is complete, as of a send: for simulators, whose hosts move what has
  // come.
  bool tell_writes = false;

  std::uint16_t generation = 1;  // of this process, greater than that of the one it replaces; not 0

  // Of a driver that knows nothing of its network, as weft's own over UDP: only to begin with, for all of it is
  // measured.
  void guess_network() {
    constexpr Duration kHundredMicroseconds = microseconds(100);
    constexpr std::int64_t kAByteAt10Gbps = 800;  // ps
    base_rtt = kHundredMicroseconds;
    packet_time = Duration((payload + header) * kAByteAt10Gbps);
  }
};

}  // namespace weft::transport
