#pragma once
// Exact ports: real queues, for what computed departures cannot know: pauses, credits, weights, shared buffers.
// A packet costs one event per link, and a second one only where it finds the wire taken.
//
// A switch has one buffer. What waits in a class that may lose packets is held by its queue on the way out: the
// queue may be as long as `alpha` times what is free (Choudhury and Hahne, dynamic thresholds, 1998). In a class
// that must not lose any, packets are held by the port they came in by, likewise; one that goes beyond the
// threshold stands in that port's headroom and makes it pause its neighbour (802.1Qbb). Headroom must take what
// is still on its way until the neighbour has stopped; what does not fit is dropped, and counted.
// With credits (InfiniBand) each port has a buffer of its own for what comes in, and the neighbour sends no more
// than has room there.
// In a scheduled fabric leaves pause their hosts likewise, and ports grant what may come to them (scheduled.hpp).
// In a Dragonfly ports that wait could do so in a circle; virtual channels break it (channels.cpp).
//
// A packet leaves the buffer when its first bit leaves.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/choices.hpp"
#include "sim/packet/event.hpp"
#include "transport/stack.hpp"

namespace weft::sim {

inline constexpr std::uint32_t kMostClasses = 8;

// What goes first in class 0, all else in class 1.
constexpr std::array<std::uint8_t, 16 * transport::kMostLanes> usual_classes() {
  std::array<std::uint8_t, 16 * transport::kMostLanes> classes{};
  for (std::size_t i = 0; i < classes.size(); ++i)
    classes[i] = !transport::goes_first(static_cast<transport::PacketType>(i % 16));
  return classes;
}

using model::FlowControl;

struct ExactConfig {
  bool on = false;
  std::uint32_t classes = 2;
  // By lane of the transport (transport/stack.hpp), 16 each, and PacketType. Class 0 is served first.
  std::array<std::uint8_t, 16 * transport::kMostLanes> class_of = usual_classes();
  std::uint8_t trimmed_class = 0;
  std::array<std::uint32_t, kMostClasses> weight{};  // of what strict classes leave; 0: strict, lower numbers first
  std::uint8_t lossless = 0;                         // bit per class
  // Of each lossless class, which then stands for so many classes, one behind another.
  std::uint32_t channels = 1;
  FlowControl flow_control = FlowControl::none;
  std::int64_t buffer = 0;            // bytes of a switch; 0: as the catalog says
  std::uint32_t alpha = 256;          // 1/256
  Duration headroom_latency;          // of cable that headroom is meant for; 0: what the cables have
  std::int64_t resume_below = 0;      // bytes under the threshold; 0: two full packets
  Duration reaction;                  // from the arrival of a pause to its effect
  std::int64_t nic_buffer = 2 << 20;  // bytes that a NIC holds for its host
  Duration watchdog;                  // of pause after which a queue is thrown away; 0: never
  Duration deadlock_check;            // between looks for circles of paused ports; 0: never

  bool is_lossless(std::uint32_t cls) const { return lossless >> cls & 1; }
  // Whether its packets wait for credit.
  bool has_credit(std::uint32_t cls) const { return flow_control == FlowControl::credits && is_lossless(cls); }
  std::uint32_t channels_of(std::uint32_t cls) const { return is_lossless(cls) ? channels : 1; }
  bool is_scheduled() const { return on && flow_control == FlowControl::scheduled; }
};

// What waits to leave by a port in one class.
struct Gate {
  std::uint32_t head = 0xFFFFFFFFu;
  std::uint32_t tail = 0xFFFFFFFFu;
  std::int64_t bytes = 0;
  union {
    std::int64_t credit = 0;    // bytes that the other end has room for, where credits control
    std::int64_t paused_since;  // elsewhere; 0: not paused
  };
};

// The rest about a gate, which few packets need.
struct GateDetails {
  std::int64_t paused_for = 0;  // in all, until the last pause ended
  std::uint32_t pauses = 0;
  std::int32_t deficit = 0;  // bytes that it may still send in its turn
};

// What has come in by a port in one class and is still here.
struct Hold {
  std::int64_t shared = 0;
  std::int64_t headroom = 0;
  std::int64_t owed = 0;  // credit not yet given back
  bool pausing = false;
};

// All that a packet touches of a port with two classes is one cache line.
struct alignas(64) ExactPort {
  static constexpr std::uint32_t kGates = 2;
  std::int64_t armed = 0;  // when it is looked at next; 0: no need
  // No bytes: a compiler must take a write to one for a write to anything.
  std::uint16_t waiting = 0;      // bit per class: something waits
  std::uint16_t thrown_away = 0;  // bit per class: by the watchdog, until the pause ends
  std::uint16_t turn = 0;         // class whose turn it is among the weighted
  std::array<Gate, kGates> gates;
};
static_assert(sizeof(ExactPort) == 64 && kMostClasses == 8);

// What is the same for all packets that leave by a port.
struct ExactWire {
  std::int64_t latency = 0;   // of the cable, and of the switch at its end to decide
  std::uint32_t entity = 0;   // there
  std::uint32_t ingress = 0;  // the port there, as it stands in Event::from; 0 at a host
  std::uint32_t link = 0;     // its kind
};

struct ExactDrops {
  std::uint32_t headroom = 0;
  std::uint32_t watchdog = 0;
};

// What the channels of a class have in common at a port.
struct ChannelTurn {
  std::int32_t deficit = 0;  // as of a gate, for all of them
  std::uint32_t last = 0;    // that sent
};

// How a host takes what its NIC has received.
struct Intake {
  std::int64_t per_byte = 0;  // 1/1024 ps; 0: at once
  std::int64_t done = 0;      // when it has taken all that has come
};

// Why exact ports cannot work; `what` says it with its figures.
struct ExactProblem {
  enum class Kind : std::uint8_t { none, too_large, not_two_tiers, headroom, credit };
  Kind kind = Kind::none;
  std::string what;
};

// State of all entities; each part is touched by the shard of its entity only.
struct ExactWorld {
  std::uint32_t classes = 0;
  std::vector<ExactPort> ports;
  std::vector<ExactWire> wires;        // by port
  std::vector<Gate> more_gates;        // by port and class, those behind the first classes
  std::vector<GateDetails> details;    // by port and class
  std::vector<Hold> holds;             // likewise: the same cable, the other direction
  std::vector<ExactDrops> drops;       // by port
  std::vector<std::int64_t> used;      // by switch: bytes of the shared buffer
  std::vector<std::int64_t> shared;    // by switch: its size
  std::vector<std::int64_t> headroom;  // by kind of link
  std::int64_t credit = 0;             // bytes of the buffer that each port has for each lossless class
  std::vector<Intake> intakes;         // by endpoint
  std::vector<ChannelTurn> turns;      // by port and first channel, where there are several
  // Event::from of a packet: the entity in the lowest bits, then the port that it came in by, the channel that it came
  // in, and the one that it leaves in.
  std::uint32_t ingress_shift = 0;
  std::uint32_t ingress_mask = 0xFFFFFFFFu;
  std::uint32_t in_shift = 32;
  std::uint32_t out_shift = 32;
  std::uint32_t channel_mask = 0;

  std::uint32_t port_in(const Event& packet) const { return packet.from >> ingress_shift & ingress_mask; }
  std::uint32_t channel_in(const Event& packet) const {
    return static_cast<std::uint32_t>(std::uint64_t{packet.from} >> in_shift) & channel_mask;
  }
  std::uint32_t channel_out(std::uint32_t from) const {
    return static_cast<std::uint32_t>(std::uint64_t{from} >> out_shift);
  }

  const Gate& gate(std::uint32_t port, std::uint32_t cls) const {
    return cls < ExactPort::kGates ? ports[port].gates[cls]
                                   : more_gates[port * (classes - ExactPort::kGates) + cls - ExactPort::kGates];
  }
  Gate& gate(std::uint32_t port, std::uint32_t cls) { return const_cast<Gate&>(std::as_const(*this).gate(port, cls)); }
  const GateDetails& details_of(std::uint32_t port, std::uint32_t cls) const { return details[port * classes + cls]; }
  GateDetails& details_of(std::uint32_t port, std::uint32_t cls) { return details[port * classes + cls]; }
};

// Packets that wait, of one shard.
class PacketPool {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  // Room for a packet; the caller fills it.
  std::uint32_t take() {
    ++used_;
    const std::uint32_t index = free_;
    if (index == kNone) {
      packets_.emplace_back();
      next_.push_back(kNone);
      return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    free_ = next_[index];
    next_[index] = kNone;
    return index;
  }
  std::uint32_t take(const Event& packet) {
    const std::uint32_t index = take();
    packets_[index] = packet;
    return index;
  }
  void give_back(std::uint32_t index) {
    --used_;
    next_[index] = free_;
    free_ = index;
  }
  // The one behind it in its queue.
  std::uint32_t next(std::uint32_t index) const { return next_[index]; }
  // Puts one behind the others of a queue.
  void chain(std::uint32_t& head, std::uint32_t& tail, std::uint32_t index) {
    (head == kNone ? head : next_[tail]) = index;
    tail = index;
  }
  Event& operator[](std::uint32_t index) { return packets_[index]; }
  const Event& operator[](std::uint32_t index) const { return packets_[index]; }
  std::uint64_t used() const { return used_; }

 private:
  std::vector<Event> packets_;
  std::vector<std::uint32_t> next_;  // apart, so that who chains two touches neither
  std::uint32_t free_ = kNone;
  std::uint64_t used_ = 0;
};

// Ports whose wire is free again, the earliest first. The one added last is mostly the latest, so that a sorted list
// takes fewer steps than a heap.
class PortWakes {
 public:
  struct Wake {
    std::int64_t time;
    std::uint32_t number;
    std::uint32_t port;
  };
  bool empty() const { return left_ == 0; }
  const Wake& first() const { return wakes_[first_]; }
  // Whether the first comes before an event at the same switch.
  bool before(const Event& event) const {
    const Wake& wake = first();
    return wake.time < event.time ||
           (wake.time == event.time && (std::uint64_t{event.to} << 32 | wake.number) < cause(event));
  }
  void add(const Wake& wake) {
    wakes_.push_back(wake);
    ++left_;
    std::size_t at = wakes_.size() - 1;
    for (; at > first_ && wakes_[at - 1].time > wake.time; --at) wakes_[at] = wakes_[at - 1];
    wakes_[at] = wake;
  }
  Wake take() {
    const Wake wake = wakes_[first_++];
    if (--left_ == 0) {
      wakes_.clear();
      first_ = 0;
    }
    return wake;
  }

 private:
  std::vector<Wake> wakes_;  // those before the first were taken
  std::size_t first_ = 0;
  std::size_t left_ = 0;
};

}  // namespace weft::sim
