// Ports with real queues; exact.hpp says what they do.

#include <algorithm>
#include <array>
#include <bit>

#include "sim/packet/shard.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

// How much a queue of a switch may hold now.
inline std::int64_t Shard::threshold(std::uint32_t network_switch) const {
  const std::int64_t left = world_.exact.shared[network_switch] - world_.exact.used[network_switch];
  return std::max<std::int64_t>(0, left) * config_.exact.alpha >> 8;
}

// ---- into the buffer and out of it

// Whether a packet is marked at a port where so much waits; its sender may be told at once.
bool Shard::marks_at(const Event& packet, std::uint32_t out, std::int64_t waiting) {
  const Link& link = link_of(out);
  const std::int64_t ahead = link.wire(waiting);
  if (ahead <= link.mark_from) return false;
  if (ahead < link.mark_to &&
      !marks(link, ahead, static_cast<std::uint32_t>(world_.entities[packet.to].random.next() >> 33)))
    return false;
  if (config_.fast_cnp > 0 && packet.type == transport::PacketType::roce_data) warn(packet);
  return true;
}

// Marks, and where there is no room trims a packet; false: it does not fit all the same.
[[gnu::always_inline]] inline bool Shard::find_room(const Event& event, Queuing& packet, std::uint32_t out) {
  const ExactConfig& exact = config_.exact;
  const std::uint32_t entity = event.to;
  if (world_.exact.ports[out].thrown_away >> packet.cls & 1) {
    ++world_.exact.drops[out].watchdog;
    return false;
  }
  const std::int64_t waiting = gate(out, packet.cls).bytes;
  if (waiting > 0 && packet.cls != exact.trimmed_class && marks_at(event, out, waiting))
    packet.flags |= transport::kMarked;
  if (!lossless(packet.cls)) {
    const std::int64_t then = waiting + packet.bytes;
    const Link& link = link_of(out);
    if (packet.cls != exact.trimmed_class && (then > threshold(entity) || link.wire(then) > link.queue)) {
      if (!config_.trimming || !transport::can_be_trimmed(event.type)) return false;
      packet.flags &= 0xF & ~transport::kMarked;
      packet.flags |= transport::kTrimmed;
      packet.bytes = config_.header;
      packet.cls = exact.trimmed_class;
    }
    if (world_.exact.used[entity] + packet.bytes > world_.exact.shared[entity]) return false;
    world_.exact.used[entity] += packet.bytes;
    return true;
  }
  if (credits(packet.cls)) return true;  // who sent it had seen that there is room
  return hold_in(event, class_in(event), entity);
}

// Takes in a packet that goes out by a port; marks, trims or refuses (false) it.
[[gnu::always_inline]] inline bool Shard::take_in_here(const Event& event, Queuing& packet, std::uint32_t out) {
  if (!find_room(event, packet, out)) {
    count_drop(out);
    return false;
  }
  const int news = packet.flags & ~event.flags;
  if (news == 0) return true;
  const bool marked = (news & transport::kMarked) != 0;
  const bool trimmed = (news & transport::kTrimmed) != 0;
  world_.ports[out].marked += marked;
  world_.ports[out].trimmed += trimmed;
  if (Samples* const samples = samples_of(out)) {
    samples->at(now_).marked += marked;
    samples->at(now_).trimmed += trimmed;
  }
  return true;
}

bool Shard::take_in(const Event& event, Queuing& packet, std::uint32_t out) { return take_in_here(event, packet, out); }

void Shard::count_drop(std::uint32_t port) {
  ++world_.ports[port].dropped;
  ++tally_.dropped;
  if (Samples* const samples = samples_of(port)) ++samples->at(now_).dropped;
}

void Shard::note_queue(std::uint32_t port, Samples& samples) {
  const Link& link = link_of(port);
  std::int64_t longest = 0;
  for (std::uint32_t cls = 0; cls < config_.exact.classes; ++cls) longest = std::max(longest, gate(port, cls).bytes);
  samples.queue(now_, link.bytes_in(link.wire(longest)));
}

// Holds a packet by the port it came in by, which pauses its neighbour where that is too much; false: it does not fit.
bool Shard::hold_in(const Event& packet, std::uint32_t cls, std::uint32_t entity) {
  const std::uint32_t in = layout_.port_of(entity, world_.exact.port_in(packet));
  Hold& held = hold(in, cls);
  if (held.shared + packet.bytes <= threshold(entity) && held.headroom == 0) {
    held.shared += packet.bytes;
    world_.exact.used[entity] += packet.bytes;
    return true;
  }
  if (!held.pausing) {
    held.pausing = true;
    control(entity, in, cls, Control::pause, 0);
  }
  if (held.headroom + packet.bytes > world_.exact.headroom[layout_.far(in).link]) {
    ++world_.exact.drops[in].headroom;
    return false;
  }
  held.headroom += packet.bytes;
  return true;
}

// A packet leaves the buffer of a switch, in a class; it may have come in another channel of it.
inline void Shard::let_out(const Event& packet, std::uint32_t bytes, std::uint32_t cls, std::uint32_t entity) {
  const ExactConfig& exact = config_.exact;
  if (!lossless(cls)) {
    world_.exact.used[entity] -= bytes;
    return;
  }
  if (exact.flow_control == FlowControl::scheduled) return sent_on(packet, cls);
  if (exact.flow_control == FlowControl::pause) return release(packet, class_in(packet), entity);
  give_credit(entity, layout_.port_of(entity, world_.exact.port_in(packet)), class_in(packet), packet.bytes);
}

void Shard::release(const Event& packet, std::uint32_t cls, std::uint32_t entity) {
  const std::uint32_t in = layout_.port_of(entity, world_.exact.port_in(packet));
  Hold& held = hold(in, cls);
  const std::int64_t from_headroom = std::min<std::int64_t>(held.headroom, packet.bytes);
  held.headroom -= from_headroom;
  held.shared -= packet.bytes - from_headroom;
  world_.exact.used[entity] -= packet.bytes - from_headroom;
  if (!held.pausing || held.headroom > 0) return;
  // Where others fill the buffer, what is empty may go on all the same.
  if (held.shared > 0 && held.shared + config_.exact.resume_below > threshold(entity)) return;
  held.pausing = false;
  control(entity, in, cls, Control::resume, 0);
}

// Credit goes back a quarter of the buffer at a time: the neighbour never lacks more than that.
void Shard::give_credit(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, std::int64_t bytes) {
  Hold& held = hold(port, cls);
  held.owed += bytes;
  if (held.owed < world_.exact.credit / 4) return;
  control(entity, port, cls, Control::credit, held.owed);
  held.owed = 0;
}

// What a packet that got lost on the cable was to fill is free. InfiniBand counts from the beginning, and each end
// tells the other its count, so that such credit is known again a round trip later.
void Shard::regain_credit(const Queuing& packet, std::uint32_t port, std::uint32_t entity, std::int64_t lost) {
  const Link& link = link_of(port);
  emit(control_event(port, packet.cls, Control::credit, packet.bytes),
       lost + 2 * link.latency + 2 * link.wire(kControlBytes), entity);
}

Event Shard::control_event(std::uint32_t port, std::uint32_t cls, Control what, std::int64_t amount) {
  Event event;
  event.kind = EventKind::control;
  event.header.source = port;
  event.header.destination = cls;
  event.header.sequence = static_cast<std::uint32_t>(what);
  event.header.data.size = static_cast<std::uint64_t>(amount);
  return event;
}

// Tells the neighbour on a port. Such a frame goes before all that waits, but not through what is on the wire.
void Shard::control(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, Control what, std::int64_t amount) {
  const Layout::Far& far = layout_.far(port);
  const Link& link = layout_.link(far.link);
  const std::int64_t begin = std::max(now_, world_.ports[port].busy);
  const std::int64_t end = begin + link.wire(kControlBytes);
  world_.ports[port].busy = end;
  const std::int64_t time = end + link.latency + config_.exact.reaction;
  Event& slot = place(time, far.entity);
  slot = control_event(layout_.reverse_port(port), cls, what, amount);
  address(slot, time, far.entity, entity);
}

void Shard::at_control(const Event& event) {
  if (event.header.sequence >= static_cast<std::uint32_t>(Control::ask)) return at_word(event);
  const std::uint32_t port = event.header.source;
  const std::uint32_t cls = event.header.destination;
  Gate& way = gate(port, cls);
  GateDetails& details = world_.exact.details_of(port, cls);
  const auto amount = static_cast<std::int64_t>(event.header.data.size);
  switch (static_cast<Control>(event.header.sequence)) {
    case Control::pause:
      if (way.paused_since != 0) return;
      way.paused_since = event.time;
      ++details.pauses;
      if (config_.exact.watchdog > 0 && !layout_.is_host(event.to)) {
        Event watch = event;
        watch.header.sequence = static_cast<std::uint32_t>(Control::watch);
        watch.header.data.size = static_cast<std::uint64_t>(event.time);
        emit(watch, event.time + config_.exact.watchdog, event.to);
      }
      return;
    case Control::resume:
      if (way.paused_since != 0) details.paused_for += event.time - way.paused_since;
      way.paused_since = 0;
      world_.exact.ports[port].thrown_away &= static_cast<std::uint16_t>(~(1u << cls));
      break;
    case Control::credit:
      way.credit += amount;
      break;
    case Control::watch:
      if (way.paused_since == amount) throw_away(port, cls, event.to);
      return;
    default:
      return;
  }
  if (layout_.is_host(event.to)) return pump(layout_.endpoint_of_port(port), event.time);
  serve(port, event.to);
  if (config_.exact.is_scheduled()) grant(layout_.endpoint_of_port(layout_.reverse_port(port)), cls);
}

// The watchdog: a queue that has been paused for so long is part of a storm, and spreads it.
void Shard::throw_away(std::uint32_t port, std::uint32_t cls, std::uint32_t entity) {
  Gate& way = gate(port, cls);
  world_.exact.ports[port].thrown_away |= static_cast<std::uint16_t>(1u << cls);
  world_.exact.ports[port].waiting &= static_cast<std::uint16_t>(~(1u << cls));
  while (way.head != kNone) {
    const std::uint32_t index = way.head;
    const Event packet = pool_[index];
    way.head = pool_.next(index);
    pool_.give_back(index);
    ++world_.exact.drops[port].watchdog;
    count_drop(port);
    let_out(packet, packet.bytes, cls, entity);
  }
  way.tail = kNone;
  way.bytes = 0;
  note_queue(port);
}

// ---- the wire

// The class that sends next; kNone when none may. Strict classes first, the others by weight (deficit round robin).
inline std::uint32_t Shard::next_class(std::uint32_t port) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(world_.exact.ports[port].waiting));
  if (config_.exact.weight[first] == 0 && !lossless(first)) return first;
  return config_.exact.channels > 1 ? next_channel(port) : choose_class(port);
}

std::uint32_t Shard::choose_class(std::uint32_t port) {
  ExactPort& state = world_.exact.ports[port];
  std::uint32_t ready = 0;
  std::uint32_t weighted = 0;
  for (std::uint32_t left = state.waiting; left != 0; left &= left - 1) {
    const auto cls = static_cast<std::uint32_t>(std::countr_zero(left));
    const Gate& way = gate(port, cls);
    if (!open(way, cls, pool_[way.head].bytes)) continue;
    if (config_.exact.weight[cls] == 0) return cls;
    ready |= 1u << cls;
    ++weighted;
  }
  if (ready == 0) return kNone;
  if (weighted == 1) {
    // What nobody else wants costs no turn: it would be held against it when somebody does.
    const auto only = static_cast<std::uint32_t>(std::countr_zero(ready));
    const Gate& way = gate(port, only);
    std::int32_t& deficit = world_.exact.details_of(port, only).deficit;
    deficit = std::max<std::int32_t>(deficit, pool_[way.head].bytes);
    return only;
  }
  while (true) {
    const std::uint32_t cls = state.turn;
    if (ready >> cls & 1) {
      std::int32_t& deficit = world_.exact.details_of(port, cls).deficit;
      if (deficit >= pool_[gate(port, cls).head].bytes) return cls;
      deficit += static_cast<std::int32_t>(config_.exact.weight[cls] * config_.full_packet);
    }
    state.turn = static_cast<std::uint16_t>((cls + 1) % config_.exact.classes);
  }
}

// The wire is taken from `begin` on for as long as a packet needs.
inline void Shard::occupy(const Event& event, const Queuing& packet, std::uint32_t index, std::int64_t begin,
                          std::int64_t wire) {
  Port& port = world_.ports[index];
  port.busy = begin + std::max(wire, link_of(index).gap);
  port.bytes += packet.bytes;
  port.waited += begin - event.time;
  ++port.packets;
  ++tally_.hops;
}

[[gnu::always_inline]] inline void Shard::arrive_later(const Event& event, const Queuing& packet, std::uint32_t index,
                                                       std::uint32_t entity, std::int64_t end) {
  const ExactWire& far = world_.exact.wires[index];
  const Link& link = link_of(index);
  // What a switch needs to decide is added here, so that it acts when the packet may leave.
  std::int64_t time = end + far.latency;
  if (layout_.cut_through() && !layout_.is_host(far.entity))
    time -= link.wire(packet.bytes) - link.wire(config_.header);
  std::uint32_t from = entity | far.ingress;
  if (config_.exact.channels > 1) from |= world_.exact.channel_out(packet.from) << world_.exact.in_shift;
  Event& slot = place(time, far.entity);
  // Every field once: changing a copy would wait for the copy.
  slot.time = time;
  slot.to = far.entity;
  slot.from = from;
  slot.number = world_.entities[entity].caused++;
  slot.bytes = static_cast<std::uint16_t>(packet.bytes);
  slot.kind = EventKind::packet;
  slot.rate = link.rate & 31;
  slot.type = event.type;
  slot.flags = packet.flags & 0xF;
  slot.header = event.header;
}

[[gnu::always_inline]] inline void Shard::transmit(const Event& event, const Queuing& packet, std::uint32_t index,
                                                   std::uint32_t entity, std::int64_t begin) {
  if (credits(packet.cls)) gate(index, packet.cls).credit -= packet.bytes;
  if (world_.ports[index].special != 0) return transmit_specially(event, packet, index, entity, begin);
  const std::int64_t wire = link_of(index).wire(packet.bytes);
  occupy(event, packet, index, begin, wire);
  arrive_later(event, packet, index, entity, begin + wire);
}

void Shard::transmit_specially(const Event& event, const Queuing& packet, std::uint32_t index, std::uint32_t entity,
                               std::int64_t begin) {
  const Link& link = link_of(index);
  Special& special = world_.specials[world_.ports[index].special - 1];
  if (special.bucket.ps_per_byte > 0) {
    begin = special.bucket.conforms(begin, packet.bytes);
    special.bucket.take(begin, packet.bytes);
  }
  const std::int64_t wire = finish(special.conditions, begin, link.wire(packet.bytes)) - begin;
  if (special.samples.on()) {
    special.samples.carry(begin, wire, packet.bytes);
    ++special.samples.at(begin).packets;
  }
  if (special.capture > 0) capture(special, event, packet, begin);
  occupy(event, packet, index, begin, wire);
  const Fate end = fate(special.conditions, begin, begin + wire + link.latency, world_.entities[entity].random);
  if (end == Fate::arrives) return arrive_later(event, packet, index, entity, begin + wire);
  if (credits(packet.cls)) regain_credit(packet, index, entity, begin + wire);
  ++world_.ports[index].lost;
  if (special.samples.on()) ++special.samples.at(begin).lost;
  ++(end == Fate::lost ? tally_.lost : tally_.corrupted);
}

// Sends the next packet of a port if the wire is free, else sees to it that it is looked at again.
void Shard::serve(std::uint32_t index, std::uint32_t entity) {
  const ExactPort& state = world_.exact.ports[index];
  if (state.waiting == 0) return;
  const std::int64_t& busy = world_.ports[index].busy;
  if (busy <= now_ && !send_next(index, entity)) return;
  if (layout_.is_host(entity)) return;  // its endpoint is woken
  if (state.armed <= now_ || state.armed > busy) look_again(index, entity);
}

// False: no gate is open, or nothing is left.
bool Shard::send_next(std::uint32_t index, std::uint32_t entity) {
  const std::uint32_t cls = next_class(index);
  if (cls == kNone) return false;
  ExactPort& state = world_.exact.ports[index];
  Gate& way = gate(index, cls);
  const std::uint32_t first = way.head;
  const Event& packet = pool_[first];  // stays where it is until it is given back
  const Queuing as_sent{{packet.bytes, packet.flags}, static_cast<std::uint8_t>(cls), packet.from};
  way.head = pool_.next(first);
  way.bytes -= as_sent.bytes;
  const bool weighted = config_.exact.weight[cls] > 0;
  if (weighted) world_.exact.details_of(index, cls).deficit -= packet.bytes;
  if (way.head == kNone) {
    way.tail = kNone;
    if (weighted) world_.exact.details_of(index, cls).deficit = 0;
    state.waiting &= static_cast<std::uint16_t>(~(1u << cls));
  }
  note_queue(index);
  const bool in_switch = !layout_.is_host(entity);
  const bool scheduled = config_.exact.flow_control == FlowControl::scheduled;
  if (in_switch && !scheduled) let_out(packet, as_sent.bytes, cls, entity);
  transmit(packet, as_sent, index, entity, now_);
  // The credit that it gives back may bring the next packet here at once, which must find the wire taken.
  if (in_switch && scheduled) let_out(packet, as_sent.bytes, cls, entity);
  pool_.give_back(first);
  if (state.waiting == 0) return false;
  foresee(index);
  return true;
}

void Shard::look_again(std::uint32_t index, std::uint32_t entity) {
  const std::int64_t when = world_.ports[index].busy;
  world_.exact.ports[index].armed = when;
  if (light_wakes_ && when < window_end_) {
    waking_ = entity;
    return wakes_.add({when, world_.entities[entity].caused++, index});
  }
  Event wake;
  wake.kind = EventKind::wake;
  wake.header.source = index;
  emit(wake, when, entity);
}

// ---- switches

void Shard::arrive_exactly(const Event& event, std::uint32_t out) {
  const std::uint32_t entity = event.to;
  Queuing packet{{event.bytes, event.flags}, static_cast<std::uint8_t>(class_of(event)), event.from};
  if (config_.exact.channels > 1) choose_channel(event, packet, out);
  if (!take_in_here(event, packet, out)) return;
  if (world_.exact.ports[out].waiting == 0 && world_.ports[out].busy <= now_ &&
      open(gate(out, packet.cls), packet.cls, packet.bytes)) {
    let_out(event, packet.bytes, packet.cls, entity);
    std::int64_t begin = now_;
    if (layout_.cut_through()) {
      // Where the way out is faster than the way in, it must not run dry.
      const std::int64_t slower = layout_.rate(event.rate) - link_of(out).per_byte;
      if (slower > 0) begin += slower * (packet.bytes - config_.header) >> 10;
    }
    return transmit(event, packet, out, entity, begin);
  }
  enqueue(event, packet, out);
  serve(out, entity);
}

// The first of the ports that are free again, as if an event had said so.
void Shard::wake_port() {
  const PortWakes::Wake wake = wakes_.take();
  if (!wakes_.empty()) foresee(wakes_.first().port);
  const std::uint32_t entity = waking_;
  ++tally_.events;
  now_ = wake.time;
  const auto words = [&](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
  const std::array<std::uint64_t, 8> as_event = {static_cast<std::uint64_t>(wake.time), words(entity, entity),
                                                 words(wake.number, static_cast<std::uint64_t>(EventKind::wake) << 16),
                                                 wake.port};
  world_.entities[entity].digest.add(hash_words([&](std::size_t i) { return as_event[i]; }));
  ExactPort& state = world_.exact.ports[wake.port];
  if (state.armed != wake.time) return;  // superseded
  state.armed = 0;
  serve(wake.port, entity);
}

// What the ports send that are woken by these events.
void Shard::foresee_all(std::span<const Pending> group) const {
  for (const Pending& each : group)
    if (each.event->kind == EventKind::wake && !layout_.is_host(each.event->to)) foresee(each.event->header.source);
}

// All that comes before an event.
void Shard::catch_up(const Event& event) {
  while (!wakes_.empty() && wakes_.before(event)) wake_port();
}

void Shard::at_port(const Event& event) {
  ExactPort& state = world_.exact.ports[event.header.source];
  if (state.armed != event.time) return;  // superseded
  state.armed = 0;
  serve(event.header.source, event.to);
}

}  // namespace weft::sim
