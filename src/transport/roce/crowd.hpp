#pragma once
// What DCQCN costs queue pairs that meet on one link, without packets: each is a fluid at the rate of its own reaction
// point (dcqcn.hpp, the very one of the transport), and what the link cannot take waits before it, first come, first
// served.
//
// All begin at line rate, with alpha at 1: a CNP halves a rate, and for milliseconds no later one cuts by much less. So
// what counts is how long a queue stands. While it waits for more than `mark_from`, some of what comes is marked,
// beyond `mark_to` all; every receiver answers with a CNP per interval, and those arrive when the marked packet has
// waited and crossed the network. Until the queue is gone rates are halved again and again, and the more flows there
// are the longer it is; then the link is idle until timers have brought the rates back. Of four flows that costs more
// than half of the link's first milliseconds, of two a tenth.
//
// A flow may have less to send than its share: `chunk` after `chunk` at the pace of `most`, each at the rate it may
// have, and never more than a few of them behind. Collectives begin all of theirs together.
//
// Whether one more CNP comes before the queue is gone halves what a flow has for the next milliseconds, and that hangs
// on less than can be known beforehand. So there are several draws, which differ in how far senders are from the link,
// in which packets are marked, and in how much there is to send at first: where these are far apart, nothing is known.

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "transport/roce/roce.hpp"

namespace weft::transport {

struct Crowd {
  // Bytes and rates as on the wire.
  struct Flow {
    std::uint64_t bytes = 0;
    std::uint64_t most = 0;   // bits/s at which it has something to send
    std::uint64_t chunk = 0;  // bytes that it gets at a time; 0: all at once
    std::uint64_t first = 0;  // bytes that it may have when it begins: a chunk at least, and so much at most
    auto operator<=>(const Flow&) const = default;
  };
  std::vector<Flow> flows;
  std::uint64_t rate = 0;  // of the link, bits/s
  Duration mark_from;      // of waiting before it
  Duration mark_to;
  double mark_most = 1;  // of the packets, just below mark_to
};

// When the last byte of each flow is over the link, with the numbers of such senders: of every draw. Those without
// control share it and lose nothing, in a single one.
std::vector<std::vector<Duration>> ends_of(const Roce& like, const Crowd& crowd);

inline constexpr std::size_t kCrowdDraws = 8;

}  // namespace weft::transport
