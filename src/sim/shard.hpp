#pragma once
// One partition of a packet simulation: its entities' events, and the transport of its hosts. Shards
// share what is immutable and hand each other packets at the end of a window; each touches only the
// state of its own entities.
//
// All events of one window are handled entity by entity, each in the order (time, cause, number). The
// window is as wide as the look-ahead, so effects on other entities fall behind it and the result is
// the same in whatever order the entities come, or on whatever thread. That order is what the caches
// like: a switch's ports stay close while its packets pass. Effects without delay (triggers of a
// connection matrix) break the rule; such a run is one shard that goes strictly in time order.

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.hpp"
#include "base/random.hpp"
#include "base/zeroed.hpp"
#include "model/choices.hpp"
#include "sim/conditions.hpp"
#include "sim/entropy.hpp"
#include "sim/exact.hpp"
#include "sim/layout.hpp"
#include "sim/scheduled.hpp"
#include "sim/wheel.hpp"
#include "transport/capture.hpp"
#include "transport/stack.hpp"

namespace weft::sim {

using model::Balance;

struct SimConfig {
  std::uint64_t seed = 1;
  transport::StackConfig stack;
  transport::Protocol protocol = transport::Protocol::srd;  // what carries messages, unless
  std::vector<transport::Protocol> streams;                 // they are of several streams: what carries each
  std::vector<transport::Op> verbs;                         // by stream, how: send, write or read; missing: send
  std::vector<std::uint8_t> lanes;                          // by stream: the stack that does; empty: all by the first
  std::vector<std::uint8_t> more_stacks;  // protocols of the second stack and those behind it, a bit each
  std::uint32_t header = 64;  // bytes: what a trimmed packet keeps, and what a switch that cuts through waits for
  std::uint32_t full_packet = 4150;  // bytes on the wire
  Balance balance = Balance::entropy;
  bool fifo = false;  // acknowledgements wait behind data, and nothing is trimmed
  bool trimming = true;
  bool cut_through = false;
  std::int64_t queue_bytes = 0;       // of one port; 0: one bandwidth-delay product
  std::uint32_t mark_from = 200'000;  // parts per million of the queue; equal to mark_to: a step
  std::uint32_t mark_to = 800'000;
  std::uint32_t mark_most = 1'000'000;  // parts per million of the packets marked just below mark_to
  std::int64_t flowlet_gap = 0;         // ps of silence after which a flow may move
  std::int64_t load_interval = 0;       // ps between two looks at other switches' queues
  std::uint32_t pins = 1;               // queue pairs of a pair of hosts that are pinned one by one
  std::int64_t fast_cnp = 0;  // ps between the CNPs that a switch itself sends to one queue pair; 0: it sends none
  ExactConfig exact;
  std::int64_t failover =
      0;  // ps of silence after which a part of a message goes by another NIC (failover.hpp); 0: never
  std::int64_t give_up = 0;    // ps from its first failure on for which a part is tried on other NICs
  bool in_time_order = false;  // effects between hosts without delay
  std::uint32_t threads = 1;
  std::int64_t sample = 0;                 // ps; 0: no time series
  std::uint32_t most_samples = 4'000'000;  // of all links together, but at least 16 of each; 48 bytes each
  std::size_t most_captured = 10'000'000;  // packets of a shard; 56 bytes each

  transport::Protocol protocol_of(std::uint32_t stream) const { return streams.empty() ? protocol : streams[stream]; }
  transport::Op verb_of(std::uint32_t stream) const {
    return stream < verbs.size() ? verbs[stream] : transport::Op::send;
  }
  std::uint8_t lane_of(std::uint32_t stream) const { return lanes.empty() ? std::uint8_t{0} : lanes[stream]; }
  std::uint32_t payload() const { return full_packet - header; }
  std::uint32_t packet_of(std::uint32_t stream) const {
    return streams.empty() ? full_packet : stack.packet_of(streams[stream]);
  }
  std::uint32_t header_of(std::uint32_t stream) const {
    return streams.empty() ? header : stack.header_of(streams[stream]);
  }
  std::uint32_t payload_of(std::uint32_t stream) const { return packet_of(stream) - header_of(stream); }
};

// What runs on the hosts. Calls about different hosts come from different threads at once.
class Client {
 public:
  virtual ~Client() = default;
  virtual void completed(std::int64_t now, const transport::Completion& completion) = 0;
  virtual void called(std::int64_t now, std::uint32_t host, std::uint64_t context) = 0;
};

// State of all entities, each part touched by one shard only.
struct World {
  struct Entity {
    Digest digest;
    std::uint32_t caused = 0;  // number of its next effect
    Random random;
  };
  struct Flowlet {
    std::int64_t last = 0;  // when its latest packet came
    std::uint32_t port = 0;
  };
  const Layout& layout;
  const SimConfig& config;
  Zeroed<Port> ports;
  Zeroed<std::int64_t> armed;   // by endpoint: the wake-up that counts; 0: none
  Zeroed<std::uint8_t> served;  // by endpoint: the transport that sent last
  std::vector<Entity> entities;
  std::vector<Special> specials;
  std::vector<std::uint16_t> shard_of;
  std::uint32_t entropy_salt = 0;
  ExactWorld exact;
  ScheduledWorld scheduled;
  std::vector<std::vector<Flowlet>> flowlets;   // by switch
  std::vector<std::vector<std::int64_t>> told;  // by switch and queue pair (a hash): when it was last sent a CNP
  std::vector<std::int64_t> published;          // by port: its queue as other switches know it, ps
};

struct Tally {
  std::uint64_t events = 0;
  std::uint64_t hops = 0;
  std::uint64_t injected = 0;  // packets that hosts sent
  std::uint64_t arrived = 0;   // at hosts
  std::uint64_t dropped = 0;   // a queue was full
  std::uint64_t lost = 0;      // to a fault
  std::uint64_t corrupted = 0;
};

class Shard {
 public:
  Shard(World& world, std::uint32_t number, std::uint32_t shards);
  void set_client(Client& client) { client_ = &client; }

  void post(std::int64_t when, std::uint32_t endpoint, const transport::Operation& operation);
  void call(std::int64_t when, std::uint32_t host, std::uint64_t context);
  void start_raw(std::uint32_t endpoint, const transport::RawStream& stream);  // before the run

  // The first window with anything in it, of its own or on the way to another shard.
  std::int64_t next_window() const { return std::min(wheel_.next(), outbox_first_); }
  // Takes what another shard has for this one. Between windows.
  void take_from(Shard& other);
  void run(std::int64_t window);

  // The latest event it has handled; the same for all shards together however many there are.
  std::int64_t reached() const { return reached_; }
  const Tally& tally() const { return tally_; }
  const std::vector<transport::Stack>& stacks() const { return stacks_; }
  std::uint64_t packets_in_flight() const;
  const PacketPool& pool() const { return pool_; }
  // Picoseconds of work before a port.
  std::int64_t load(std::uint32_t port, std::int64_t now) const;
  const std::vector<transport::Captured>& captured() const { return captured_; }
  std::int64_t capture_end() const { return capture_end_; }  // the first packet that there was no room for

 private:
  // One event of a window, to be sorted: time within it, then cause.
  struct Pending {
    std::uint64_t when;  // time since the window's start, then the entity that caused it
    const Event* event;  // its number decides between equals

    bool operator<(const Pending& other) const {
      return when != other.when ? when < other.when : event->number < other.event->number;
    }
  };

  // What a port changes about a packet.
  struct Passing {
    std::uint32_t bytes;
    std::uint8_t flags;
  };

  // A packet on its way through an exact port.
  struct Queuing : Passing {
    std::uint8_t cls;    // in which it leaves
    std::uint32_t from;  // as of an event, with the channel in which it leaves
  };

  // shard.cpp
  void handle(const Event& event);
  void pass(const Event& packet);
  void at_switch(const Event& event);
  void at_host(const Event& event);
  void forward(const Event& packet, std::uint32_t port, std::uint32_t entity, std::int64_t ready);
  bool poll_in_turn(std::uint32_t endpoint, std::int64_t now, transport::Transmit& out);
  void pump(std::uint32_t endpoint, std::int64_t now);
  void send(std::uint32_t endpoint, const transport::Transmit& packet, std::int64_t now);
  void arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now);
  transport::Stack& stack_of(const transport::Header& header) {
    return last_lane_ == 0 ? stacks_[0]
                           : stacks_[std::min<std::uint32_t>(header.generation >> transport::kLaneShift, last_lane_)];
  }
  void complete(std::int64_t now);
  Event& place(std::int64_t time, std::uint32_t to);
  void address(Event& event, std::int64_t time, std::uint32_t to, std::uint32_t from);
  void emit(const Event& event, std::int64_t time, std::uint32_t host);  // of a host, to itself
  static Event packet_of(const transport::Transmit& packet);
  void handle_late();
  void run_group(std::span<Pending> group);

  std::uint32_t entropy_of(const Event& packet);
  std::uint32_t choose_port(const Event& packet, const Layout::Node& node);
  std::uint32_t choose_again(const Event& packet, std::uint32_t port, std::uint32_t entropy);

  // shard_ports.hpp
  bool admit(Passing& packet, transport::PacketType type, Port& port, const Link& link, std::uint32_t entity,
             std::int64_t ahead);
  void leave(const Event& arrived, const Passing& packet, const Layout::Far& far, const Link& link,
             std::uint32_t entity, std::int64_t begin, std::int64_t wire);

  // shard_special.cpp
  void forward_specially(const Event& packet, std::uint32_t port, std::uint32_t entity, std::int64_t ready);
  void capture(const Special& special, const Event& arrived, const Passing& packet, std::int64_t begin);

  // shard_balance.cpp
  std::uint32_t choose_by_load(const Event& packet);
  std::uint32_t least_loaded(const Event& packet, std::uint32_t first, std::uint32_t count);
  bool avoids(std::uint32_t port, std::int64_t now) const;

  // shard_dragonfly.cpp
  std::uint32_t choose_around(const Event& packet);
  std::uint32_t detour_port(const Event& packet, std::uint32_t entropy) const;

  void warn(const Event& packet);

  Samples* samples_of(std::uint32_t port);  // null: nobody wants any

  // shard_exact.cpp
  const Link& link_of(std::uint32_t port) const;
  Gate& gate(std::uint32_t port, std::uint32_t cls);
  Hold& hold(std::uint32_t port, std::uint32_t cls);
  std::uint32_t class_of(const Event& packet) const;  // the first of its channels
  std::uint32_t class_in(const Event& packet) const;  // in which it is held
  bool lossless(std::uint32_t cls) const;
  bool credits(std::uint32_t cls) const;  // whether its packets wait for credit
  std::int64_t threshold(std::uint32_t network_switch) const;
  bool open(const Gate& gate, std::uint32_t cls, std::int64_t bytes) const;
  Queuing queuing(const Event& packet) const;
  bool marks_at(const Event& packet, std::uint32_t out, std::int64_t waiting);
  bool find_room(const Event& event, Queuing& packet, std::uint32_t out);
  bool take_in(const Event& event, Queuing& packet, std::uint32_t out);
  bool take_in_here(const Event& event, Queuing& packet, std::uint32_t out);
  void count_drop(std::uint32_t port);
  void note_queue(std::uint32_t port);
  void note_queue(std::uint32_t port, Samples& samples);
  bool hold_in(const Event& packet, std::uint32_t cls, std::uint32_t entity);
  void release(const Event& packet, std::uint32_t cls, std::uint32_t entity);
  void let_out(const Event& packet, std::uint32_t bytes, std::uint32_t cls, std::uint32_t entity);
  void give_credit(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, std::int64_t bytes);
  void regain_credit(const Queuing& packet, std::uint32_t port, std::uint32_t entity, std::int64_t lost);
  static Event control_event(std::uint32_t port, std::uint32_t cls, Control what, std::int64_t amount);
  void control(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, Control what, std::int64_t amount);
  void at_control(const Event& event);
  void throw_away(std::uint32_t port, std::uint32_t cls, std::uint32_t entity);
  void enqueue(const Event& event, const Queuing& packet, std::uint32_t port);
  void append(std::uint32_t index, std::uint32_t cls, std::uint32_t bytes, std::uint32_t port);
  void put(const transport::Transmit& packet, std::uint32_t port, std::int64_t now);
  std::uint32_t next_class(std::uint32_t port);
  std::uint32_t choose_class(std::uint32_t port);
  void serve(std::uint32_t port, std::uint32_t entity);
  void foresee(std::uint32_t port) const;
  [[gnu::noipa]] void foresee_all(std::span<const Pending> group) const;  // else dropped, for it changes nothing
  bool send_next(std::uint32_t port, std::uint32_t entity);
  void look_again(std::uint32_t port, std::uint32_t entity);
  void occupy(const Event& event, const Queuing& packet, std::uint32_t port, std::int64_t begin, std::int64_t wire);
  void arrive_later(const Event& event, const Queuing& packet, std::uint32_t port, std::uint32_t entity,
                    std::int64_t end);
  void transmit(const Event& event, const Queuing& packet, std::uint32_t port, std::uint32_t entity,
                std::int64_t begin);
  void transmit_specially(const Event& event, const Queuing& packet, std::uint32_t port, std::uint32_t entity,
                          std::int64_t begin);
  void arrive_exactly(const Event& event, std::uint32_t out);
  void at_port(const Event& event);
  void pump_exactly(std::uint32_t endpoint, std::int64_t now);
  void catch_up(const Event& event);
  void wake_port();
  bool intake(const Event& event);

  // shard_channels.cpp
  void choose_channel(const Event& event, Queuing& packet, std::uint32_t out) const;
  std::uint32_t next_channel(std::uint32_t port);

  // shard_scheduled.cpp
  void arrive_scheduled(const Event& event);
  void await_credit(const Event& event);
  void notify(std::uint32_t entity, std::uint32_t target, Control what, std::uint32_t endpoint, std::uint32_t cls,
              std::uint32_t queue, std::int64_t bytes);
  void granted(std::uint32_t entity, std::uint32_t queue, std::int64_t bytes);
  void stand_in_line(ScheduledLeaf& leaf, std::uint32_t queue);
  Event take_out(VirtualQueue& queue, std::uint32_t entity);
  void send_cells(std::uint32_t entity);
  void leave_scheduled(const Event& event);
  void asked(std::uint32_t endpoint, std::uint32_t cls, std::uint32_t leaf, std::uint32_t queue, std::int64_t bytes);
  void grant(std::uint32_t endpoint, std::uint32_t cls);
  void sent_on(const Event& packet, std::uint32_t cls);
  void remind(std::uint32_t entity, Control what, std::uint32_t endpoint, std::uint32_t cls, std::int64_t time);
  void at_word(const Event& event);

  World& world_;
  const Layout& layout_;
  const SimConfig& config_;
  Client* client_ = nullptr;
  std::uint32_t number_;
  bool alone_;                            // it is the only one
  std::vector<transport::Stack> stacks_;  // by lane
  std::uint32_t last_lane_ = 0;
  // All transports of all stacks that are used, by number: lane, then protocol.
  struct Carrier {
    std::uint8_t number;
    std::uint8_t lane;
    transport::Protocol protocol;
    std::uint8_t cls;  // of its data, where ports are exact
  };
  std::vector<Carrier> carriers_;
  Wheel wheel_;
  std::int64_t window_start_ = 0;
  std::int64_t window_end_ = 0;
  std::int64_t now_ = 0;  // of the entity at work; the next one may start earlier
  std::int64_t reached_ = 0;
  std::vector<Pending> pending_;            // and one more that is nobody
  std::vector<std::uint32_t> counts_;       // by entity
  std::vector<Event> late_;                 // min-heap of events within the running window
  std::vector<std::vector<Event>> outbox_;  // by shard
  std::int64_t outbox_first_ = Wheel::kNothing;
  std::vector<transport::Captured> captured_;
  std::int64_t capture_end_ = INT64_MAX;
  PacketPool pool_;  // what waits in exact ports
  // Exact ports of the switch at work whose wire is free again within the window. They are half of all events, so they
  // are none but in name: counted, part of the digest, handled in their place.
  PortWakes wakes_;
  std::uint32_t waking_ = 0;  // the switch
  bool light_wakes_;
  Tally tally_;
};

// Room for an event behind the running window, with all but its content.
inline Event& Shard::place(std::int64_t time, std::uint32_t to) {
  if (alone_ || world_.shard_of[to] == number_) return wheel_.add(time);
  outbox_first_ = std::min(outbox_first_, wheel_.window_of(time));
  return outbox_[world_.shard_of[to]].emplace_back();
}

inline void Shard::address(Event& event, std::int64_t time, std::uint32_t to, std::uint32_t from) {
  event.time = time;
  event.to = to;
  event.from = from;
  event.number = world_.entities[from].caused++;
}

inline Samples* Shard::samples_of(std::uint32_t port) {
  const std::uint32_t number = world_.ports[port].special;
  if (number == 0 || !world_.specials[number - 1].samples.on()) return nullptr;
  return &world_.specials[number - 1].samples;
}

inline const Link& Shard::link_of(std::uint32_t port) const { return layout_.link(world_.exact.wires[port].link); }
// Fetches what leaves next by a port. Always a part of its caller: a call that does nothing else would be dropped.
[[gnu::always_inline]] inline void Shard::foresee(std::uint32_t port) const {
  const std::uint32_t waiting = world_.exact.ports[port].waiting;
  if (waiting != 0)
    __builtin_prefetch(&pool_[world_.exact.gate(port, static_cast<std::uint32_t>(std::countr_zero(waiting))).head]);
}

inline Gate& Shard::gate(std::uint32_t port, std::uint32_t cls) { return world_.exact.gate(port, cls); }
inline Hold& Shard::hold(std::uint32_t port, std::uint32_t cls) {
  return world_.exact.holds[port * config_.exact.classes + cls];
}

inline std::uint32_t Shard::class_of(const Event& packet) const {
  return packet.flags & transport::kTrimmed
             ? config_.exact.trimmed_class
             : config_.exact.class_of[std::size_t{packet.header.generation} >> transport::kLaneShift << 4 |
                                      static_cast<std::size_t>(packet.type)];
}

inline std::uint32_t Shard::class_in(const Event& packet) const {
  const std::uint32_t cls = class_of(packet);
  return config_.exact.channels == 1 ? cls : cls + world_.exact.channel_in(packet);
}

inline Shard::Queuing Shard::queuing(const Event& packet) const {
  const std::uint32_t channel = config_.exact.channels == 1 ? 0 : world_.exact.channel_out(packet.from);
  return {{packet.bytes, packet.flags}, static_cast<std::uint8_t>(class_of(packet) + channel), packet.from};
}

inline bool Shard::lossless(std::uint32_t cls) const { return config_.exact.is_lossless(cls); }

inline bool Shard::credits(std::uint32_t cls) const {
  return config_.exact.flow_control == FlowControl::credits && lossless(cls);
}

inline bool Shard::open(const Gate& gate, std::uint32_t cls, std::int64_t bytes) const {
  if (!lossless(cls)) return true;
  if (config_.exact.flow_control == FlowControl::credits) return gate.credit >= bytes;
  return gate.paused_since == 0;
}

// What waits at a port has changed.
inline void Shard::note_queue(std::uint32_t port) {
  if (Samples* const samples = samples_of(port)) note_queue(port, *samples);
}

// Puts a packet of the pool behind the others.
inline void Shard::append(std::uint32_t index, std::uint32_t cls, std::uint32_t bytes, std::uint32_t port) {
  Gate& way = gate(port, cls);
  pool_.chain(way.head, way.tail, index);
  way.bytes += bytes;
  world_.exact.ports[port].waiting |= static_cast<std::uint16_t>(1u << cls);
  const Link& link = link_of(port);
  world_.ports[port].peak = std::max(world_.ports[port].peak, link.wire(way.bytes));
  note_queue(port);
}

inline void Shard::enqueue(const Event& event, const Queuing& packet, std::uint32_t port) {
  const std::uint32_t index = pool_.take();
  // Written, not read: who changes what it has just copied waits for the copy.
  Event& slot = pool_[index];
  slot = event;
  slot.from = packet.from;
  slot.bytes = static_cast<std::uint16_t>(packet.bytes);
  slot.flags = packet.flags & 0xF;
  append(index, packet.cls, packet.bytes, port);
}

inline Event Shard::packet_of(const transport::Transmit& out) {
  Event packet;
  packet.type = out.type;
  packet.flags = out.flags & 0xF;
  packet.bytes = static_cast<std::uint16_t>(out.wire_bytes);
  packet.header = out.header;
  return packet;
}

inline bool Shard::avoids(std::uint32_t port, std::int64_t now) const {
  const std::uint32_t special = world_.ports[port].special;
  return special != 0 && known_down(world_.specials[special - 1].conditions, now);
}

inline std::uint32_t Shard::entropy_of(const Event& packet) {
  const transport::Header& header = packet.header;
  const std::uint32_t pair = pair_entropy(header.source, header.destination, world_.entropy_salt);
  switch (config_.balance) {
    case Balance::spray:
      return static_cast<std::uint32_t>(world_.entities[packet.to].random.next());
    case Balance::ecmp:
      if (transport::renews_paths(packet.type)) return pair;
      [[fallthrough]];
    default:
      return path_entropy(pair, header.path);
  }
}

}  // namespace weft::sim
