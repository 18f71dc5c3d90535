#pragma once
// The traffic class of RDMA, alike on hosts and switches: a packet that is marked otherwise than the switch expects is
// in the class that may be dropped. And when switches begin to mark.

#include <cstdint>

#include "base/units.hpp"
#include "fabric/fabric.hpp"

namespace weft::render {

inline constexpr std::uint32_t kRdmaDscp = 26;  // AF31, by habit of RoCE's guides
inline constexpr std::uint32_t kRdmaClass = 3;  // traffic class, queue and PFC priority
inline constexpr std::uint32_t kCnpDscp = 48;   // CS6: congestion notifications overtake what they are about
inline constexpr std::uint32_t kCnpClass = 6;
inline constexpr std::uint32_t kOtherClass = 0;

// The IP header's byte for RDMA: DSCP, and ECN's bits for "may be marked".
inline constexpr std::uint32_t kRdmaTrafficClass = kRdmaDscp << 2 | 2;

// The round trip of the longest path, unloaded: what a queue is measured by.
Duration longest_round_trip(const fabric::Fabric& fabric);

// From where on packets are marked, and from where on all are, as the simulator has it: parts (switching.mark_from,
// mark_to) of switching.queue, or of what the rate holds in a round trip.
struct Marking {
  Bytes from;
  Bytes to;
  std::int64_t most_percent = 100;  // just below `to`
};
Marking marking(const model::SwitchingSpec& switching, Bandwidth rate, Duration round_trip);

}  // namespace weft::render
