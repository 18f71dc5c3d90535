#pragma once
// The common language of work. Producers (patterns, connection matrices, collectives) know nothing of
// executors, and executors know nothing of what the work is for.
//
// A rank has lanes; a lane is a stream of instructions, pulled one at a time and carried out in order:
//
//   send, recv, compute, copy, reduce   begin an operation; the lane goes on at once
//   wait, wait_older, wait_all          hold the lane until an operation, all but the last ones, or all of them are
//                                       finished
//   at, pause                           hold it until a time, or for a time
//
// What that means is the same to every executor; they differ in how long a message is on its way, and in nothing else:
//   - Lanes of a rank run beside each other, and so do the operations of a lane. A compute takes its time, one that
//   names
//     a processor (`peer`) after those that came to it before; a copy and a reduce take what the rank's memory does.
//   - A send is finished when its sender has the acknowledgement, and inside a scale-up domain, where nobody
//     acknowledges, when it is there; one that is detached, when it has begun. A recv is finished when its message is
//     there.
//   - A send may occupy its lane for a time before it leaves: the sends of a lane then leave one after another, while
//     its other operations go on. wait_all is also for those that have not left. To executors that share nothing this
//     is what links are; to the others it is what the GPU itself does for a message.
//   - A message may lag: its receiver learns of it later than its bytes come, which holds up nobody else (where links
//     are shared at most kMostLag, and not where there are signals). With a lag below zero it leaves so much before its
//     lane is free again. It may be told what it takes at least, from when it leaves, however idle the links are.
//   - A message to the rank itself is a copy there. It touches no link and is no flow of the result; one of no bytes
//     takes no time, and so lets one lane wait for another.
//   - Messages match by (source rank, tag), first come first served; one that comes before its recv is kept. Of several
//     on their way under one tag a short one may come first: who needs their order gives them tags.
//   - A run ends when its lanes have ended and all they began is finished, sends that nobody waits for included.
//
// Operations of a lane are counted; wait(1) is for the last one begun, wait(2) for the one before it. A lane is pulled
// again only when the operation kMostOutstanding places back is finished, as if it waited for that one each time. So
// what is kept for a lane never grows, however long it is.
//
// A message leaves by the NICs next to its sender and comes in by those next to its receiver, unless the send names
// others: the NICs next to rank `leaves`, to which it is handed inside the server first where `handed`, and those next
// to rank `enters`. What is handed crosses the scale-up network (PXN); what is not goes over PCIe, through host memory
// where it must.
//
// Between two ranks and the same NICs messages go one after another, as those of a connection do. A collective opens a
// connection for each of its channels: where messages of several wait, they have as many shares of the links together.
//
// Ranks are GPUs in the order of the cluster. Behind them come, one for each scale-up domain, the switches in it, as
// far as a schedule has ranks for them: they reduce and multicast.
//
// A one-sided message needs no recv. A channel of a collective is a lane: its steps are in order, those
// of different lanes run side by side.

#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace weft::schedule {

inline constexpr std::uint32_t kMostOutstanding = 64;
inline constexpr std::uint32_t kNoSignal = 0xFFFFFFFFu;
inline constexpr std::uint32_t kItself = 0xFFFFFFFFu;  // leaves, enters: the sender's and the receiver's own NICs
inline constexpr Duration kMostLag{0xFFFFFFFF};
inline constexpr std::uint64_t kOneSided = ~std::uint64_t{0};  // a tag that no recv waits for

struct Instruction {
  enum class Kind : std::uint8_t { send, recv, compute, copy, reduce, wait, wait_older, wait_all, at, pause };

  Kind kind = Kind::wait_all;
  bool detached = false;                    // send: the lane never waits for it
  std::uint8_t stream = 0;                  // send: which of several kinds of traffic it belongs to
  bool handed = false;                      // send: to rank `leaves`, before it goes to that one's NICs
  std::uint32_t peer = 0;                   // send, recv; compute: 0, or 1 + the processor that does one at a time
  std::uint64_t bytes = 0;                  // send, copy, reduce
  std::uint64_t tag = kOneSided;            // send, recv
  Duration time = {};                       // compute, pause: how long, at: when, send: how long it occupies the lane
  Duration lag = {};                        // send: how much later than its bytes it is there
  Duration least = {};                      // send: how long it takes at least, in whole nanoseconds
  std::uint32_t leaves = kItself;           // send: by the NICs next to this rank
  std::uint32_t enters = kItself;           // send
  std::uint32_t back = 0;                   // wait, wait_older
  std::uint32_t channel = 0;                // send: those of several share links as connections of their own do
  std::uint32_t when_sent = kNoSignal;      // send: fired when the sender has the last acknowledgement
  std::uint32_t when_received = kNoSignal;  // send: fired when the receiver has the last byte

  static Instruction send(std::uint32_t peer, std::uint64_t bytes, std::uint64_t tag) {
    return {.kind = Kind::send, .peer = peer, .bytes = bytes, .tag = tag};
  }
  // One-sided: the peer does nothing.
  static Instruction put(std::uint32_t peer, std::uint64_t bytes) { return send(peer, bytes, kOneSided); }
  static Instruction recv(std::uint32_t peer, std::uint64_t tag) {
    return {.kind = Kind::recv, .peer = peer, .tag = tag};
  }
  static Instruction compute(Duration time) { return {.kind = Kind::compute, .time = time}; }
  static Instruction copy(std::uint64_t bytes) { return {.kind = Kind::copy, .bytes = bytes}; }
  static Instruction reduce(std::uint64_t bytes) { return {.kind = Kind::reduce, .bytes = bytes}; }
  static Instruction wait(std::uint32_t back) { return {.kind = Kind::wait, .back = back}; }
  static Instruction wait_older(std::uint32_t than) { return {.kind = Kind::wait_older, .back = than}; }
  static Instruction wait_all() { return {.kind = Kind::wait_all}; }
  static Instruction at(Duration time) { return {.kind = Kind::at, .time = time}; }
  static Instruction pause(Duration time) { return {.kind = Kind::pause, .time = time}; }
};

// A send that a signal begins, on whatever rank.
struct Start {
  std::uint32_t rank = 0;
  Instruction send;
};

// Lanes of different ranks may be pulled from different threads at once, those of one rank never: a
// producer keeps its state per rank and needs no lock.
class Schedule {
 public:
  virtual ~Schedule();

  virtual std::uint32_t ranks() const = 0;
  virtual std::uint32_t lanes(std::uint32_t rank) const = 0;
  // The next instruction of a lane; false at its end, after which it is not asked again.
  virtual bool next(std::uint32_t rank, std::uint32_t lane, Instruction& out) = 0;

  // Signals are effects between ranks without any delay (the triggers of a connection matrix), and so the
  // one thing that look-ahead cannot hide: where they exist, executors run the whole schedule as one
  // partition, strictly in time order. `fire` adds the sends that begin now; nobody waits for them.
  virtual bool has_signals() const { return false; }
  virtual void fire(std::uint32_t signal, std::vector<Start>& begin);
};

}  // namespace weft::schedule
