#pragma once
// A scheduled fabric: cells with credits from the receiving port, as in a chassis whose line NICs stand in racks.
//
//   host -> ingress leaf: virtual queues, one per port of egress   -> cells over all uplinks -> egress leaf -> host
//                  | asks for as many bytes as a packet has                                      |
//                  `------------------------------<- the port grants them at its line rate ------'
//
// A leaf that gets a packet from a host puts it into the queue of the port that it is for and asks that port. The
// port grants at its line rate, to all queues that ask in turn, and never more than it can keep: `window` bytes
// granted and not yet sent on. So nothing is lost inside, and an incast waits where it came in; where that leaf's
// buffer is full it pauses its hosts (exact.hpp). There is no circle of waiting: nothing that was granted waits for
// anything but wires.
//
// A packet is cut into cells that leave by all uplinks at once. All spines then see the same: as many links, as many
// cells, the same instants. So one line for all uplinks of a leaf and one for all links down to it are exact as far
// as cells are small, a spine needs no events, and packets stay in order. The line down is kept by the leaf below it:
// a constant delay later, what waits is the same.
//
// Classes that may lose packets (acknowledgements, notices) are small; they ask nobody and go first.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/packet/exact.hpp"
#include "sim/packet/samples.hpp"

namespace weft::sim {

// What waits at a leaf for one port of egress in one class.
struct VirtualQueue {
  std::uint32_t endpoint = 0;  // behind that port
  std::uint32_t cls = 0;
  std::uint32_t head = PacketPool::kNone;
  std::uint32_t tail = PacketPool::kNone;
  std::int64_t bytes = 0;
  // Bytes that it may send. It sends while there are any, so the last packet may overdraw: were it to wait for the
  // rest, parts of packets could hold the whole window of a port with many senders.
  std::int64_t granted = 0;
  std::uint32_t next = PacketPool::kNone;  // in the line of those that may send
  bool in_line = false;
  // When the last packet sent is whole at the other leaf: a shorter one behind it must not be there before it.
  std::int64_t whole = 0;
};

// A virtual queue, as the port knows it that it asks.
struct Asking {
  std::uint32_t leaf = 0;
  std::uint32_t queue = 0;
  std::int64_t bytes = 0;  // asked for and not granted
  std::uint32_t next = PacketPool::kNone;
};

// How a port grants, by endpoint and class.
struct Granting {
  std::uint32_t first = PacketPool::kNone;  // of those that ask, in turn
  std::uint32_t last = PacketPool::kNone;
  std::int64_t next_time = 0;    // until then the line rate is granted
  std::int64_t outstanding = 0;  // bytes granted and not yet sent on
  std::int64_t armed = 0;
  std::int64_t held_until = 0;  // a packet waits for the line down, and who came behind it must not pass
};

struct ScheduledLeaf {
  std::vector<VirtualQueue> queues;
  std::unordered_map<std::uint64_t, std::uint32_t> queue_of;  // by endpoint and class; never walked
  std::vector<Asking> asking;
  std::unordered_map<std::uint64_t, std::uint32_t> asking_of;  // by leaf and queue; never walked
  std::uint32_t line_first = PacketPool::kNone;                // virtual queues that may send
  std::uint32_t line_last = PacketPool::kNone;
  std::uint32_t express_first = PacketPool::kNone;  // packets that ask nobody
  std::uint32_t express_last = PacketPool::kNone;
  std::int64_t armed = 0;
  // All uplinks together, and all links down together.
  struct Line {
    std::int64_t busy = 0;
    std::int64_t waited = 0;
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;
    std::int64_t longest = 0;  // bytes that waited
    std::uint64_t marked = 0;
    std::uint64_t dropped = 0;
    Samples samples;
  };
  Line up;
  Line down;
  std::int64_t waiting = 0;  // bytes in virtual queues for other leaves
};

struct ScheduledWorld {
  std::vector<ScheduledLeaf> leaves;    // by switch
  std::vector<Granting> granting;       // by endpoint and class
  std::vector<std::int64_t> window;     // by kind of link
  std::vector<std::int64_t> meanwhile;  // likewise: bytes that come while credit is fetched
  std::int64_t most = 0;                // bytes of one grant
};

}  // namespace weft::sim
