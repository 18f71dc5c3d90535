#pragma once
// A port with computed departures: when a packet arrives, the time it leaves is known, so one event
// per packet and link is enough. Queue length, marks, trimming and drops follow from how far ahead
// the port is booked.
//
// *fifo*: one class. *two-class*: acknowledgements and trimmed headers in a strict-priority class
// with a booking of its own. A header waits for the packet on the wire, which is not interrupted, and
// for headers before it. It is an approximation: data packets are taken to be full ones, which tells
// when the one on the wire ends, and the departures of data that were told already are not moved
// (port_exact_test.cpp says how far it is from a port with real queues).
// Link faults and shapers are known in advance, so departures are exact under them too (conditions.hpp).

#include <algorithm>
#include <cstdint>

#include "base/wide.hpp"

namespace weft::sim {

inline constexpr std::int64_t kControlBytes = 64;  // a pause, a credit: the smallest frame of Ethernet

// Times are plain picoseconds, as is all that a hop calculates with: rates, marks and the wheel multiply and shift
// them.
struct alignas(64) Port {
  std::int64_t busy;       // data leaves until then
  std::int64_t busy_high;  // headers and acknowledgements
  std::int64_t waited;     // all packets together
  std::int64_t peak;       // longest that it was booked ahead
  std::uint64_t bytes;
  std::uint32_t packets;
  std::uint32_t marked;
  std::uint32_t trimmed;
  std::uint32_t dropped;  // the queue was full
  std::uint32_t lost;     // to a fault
  std::uint32_t special;  // 1 + index of what is unusual about it; 0: nothing
};

// What a kind of link is like; few exist.
struct Link {
  std::int64_t latency = 0;
  std::int64_t per_byte = 0;  // 1/1024 ps: a byte at 3.2 Tb/s takes 2.5 ps
  std::int64_t gap = 0;       // least time between the starts of two packets: a NIC's packet rate
  std::int64_t queue = 0;     // in time: how far ahead a port may be booked
  std::int64_t mark_from = 0;
  std::int64_t mark_to = 0;
  std::int64_t mark_most = INT64_C(1) << 31;  // of 2^31: the share that is marked just below mark_to
  std::int64_t full_packet = 0;               // what a data packet takes
  std::uint8_t rate = 0;                      // its number among the rates of the fabric

  std::int64_t wire(std::int64_t bytes) const { return (per_byte * bytes + 1023) >> 10; }
  std::int64_t occupancy(std::int64_t bytes) const { return std::max(wire(bytes), gap); }
  std::int64_t bytes_in(std::int64_t picoseconds) const {
    return static_cast<std::int64_t>((static_cast<Wide>(picoseconds) << 10) / per_byte);
  }
};

// Whether a packet is marked that finds so much before it, between mark_from and mark_to, given 31 random bits.
// Wide, because a slow port's queue may be seconds long.
inline bool marks(const Link& link, std::int64_t ahead, std::uint32_t draw) {
  return static_cast<Wide>(draw) * (link.mark_to - link.mark_from) <
         static_cast<Wide>(ahead - link.mark_from) * link.mark_most;
}

// Each books a packet that is ready at a time and takes so long, and gives the start of its first bit.
inline std::int64_t book(Port& port, std::int64_t ready, std::int64_t takes) {
  const std::int64_t begin = std::max({ready, port.busy, port.busy_high});
  port.busy = begin + takes;
  return begin;
}

inline std::int64_t book_high(Port& port, const Link& link, std::int64_t ready, std::int64_t takes) {
  // Behind other headers it goes at once; else the data packet on the wire ends first.
  std::int64_t begin = std::max(ready, port.busy_high);
  if (begin > port.busy_high && port.busy > begin) begin += (port.busy - begin) % link.full_packet;
  port.busy_high = begin + takes;
  if (port.busy > begin) port.busy += takes;
  return begin;
}

}  // namespace weft::sim
