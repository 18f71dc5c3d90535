#include "sim/packet/exact_ports.hpp"

#include <algorithm>
#include <array>

#include "sim/packet/scheduled_ports.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

ExactPorts::ExactPorts(World& world, Windows& windows, Tally& tally, CaptureLog& captures, FastCnp& cnps,
                       ScheduledPorts& scheduled)
    : world_(world),
      windows_(windows),
      tally_(tally),
      captures_(captures),
      queues_(world, windows),
      buffers_(world, windows, tally, queues_, cnps),
      scheduled_(scheduled),
      light_wakes_(!world.config.in_time_order && !world.config.exact.is_scheduled()) {}

// A packet leaves the buffer of a switch, in a class; it may have come in another channel of it.
inline void ExactPorts::let_out(const Event& packet, std::uint32_t bytes, std::uint32_t cls, std::uint32_t entity) {
  const ExactConfig& exact = world_.config.exact;
  if (!world_.config.exact.is_lossless(cls)) {
    world_.exact.used[entity] -= bytes;
    return;
  }
  if (exact.flow_control == FlowControl::scheduled) return scheduled_.sent_on(packet, cls);
  if (exact.flow_control == FlowControl::pause) return buffers_.release(packet, queues_.class_in(packet), entity);
  buffers_.give_credit(entity, world_.layout.port_of(entity, world_.exact.port_in(packet)), queues_.class_in(packet),
                       packet.bytes);
}

// What a packet that got lost on the cable was to fill is free. InfiniBand counts from the beginning, and each end
// tells the other its count, so that such credit is known again a round trip later.
void ExactPorts::regain_credit(const Queuing& packet, std::uint32_t port, std::uint32_t entity, std::int64_t lost) {
  const Link& link = link_of(port);
  windows_.emit(Event(ControlFrame{.which = port, .cls = packet.cls, .what = Control::credit, .amount = packet.bytes}),
                lost + 2 * link.latency + 2 * link.wire(kControlBytes), entity);
}

bool ExactPorts::at_control(const Event& event) {
  const std::uint32_t port = event.control.which;
  const std::uint32_t cls = event.control.cls;
  if (event.control.what >= Control::ask) {
    scheduled_.at_control(event);
    return false;
  }
  Gate& path = world_.exact.gate(port, cls);
  GateDetails& details = world_.exact.details_of(port, cls);
  switch (event.control.what) {
    case Control::pause:
      if (path.paused_since != 0) return false;
      path.paused_since = event.time;
      ++details.pauses;
      if (world_.config.exact.watchdog.count() > 0 && !world_.layout.is_host(event.to))
        windows_.emit(Event(ControlFrame{.which = port, .cls = cls, .what = Control::watch, .amount = event.time}),
                      event.time + world_.config.exact.watchdog.count(), event.to);
      return false;
    case Control::resume:
      if (path.paused_since != 0) details.paused_for += event.time - path.paused_since;
      path.paused_since = 0;
      world_.exact.ports[port].thrown_away &= static_cast<std::uint16_t>(~(1u << cls));
      break;
    case Control::credit:
      path.credit += event.control.amount;
      break;
    case Control::watch:
      if (path.paused_since == event.control.amount) throw_away(port, cls, event.to);
      return false;
    default:
      return false;
  }
  if (world_.layout.is_host(event.to)) return true;
  serve(port, event.to);
  if (world_.config.exact.is_scheduled())
    scheduled_.grant(world_.layout.endpoint_of_port(world_.layout.reverse_port(port)), cls);
  return false;
}

// The watchdog: a queue that has been paused for so long is part of a storm, and spreads it.
void ExactPorts::throw_away(std::uint32_t port, std::uint32_t cls, std::uint32_t entity) {
  Gate& path = world_.exact.gate(port, cls);
  world_.exact.ports[port].thrown_away |= static_cast<std::uint16_t>(1u << cls);
  world_.exact.ports[port].waiting &= static_cast<std::uint16_t>(~(1u << cls));
  while (path.head != kNone) {
    const std::uint32_t index = path.head;
    const Event packet = queues_.pool()[index];
    path.head = queues_.pool().next(index);
    queues_.pool().give_back(index);
    ++world_.exact.drops[port].watchdog;
    buffers_.count_drop(port);
    let_out(packet, packet.bytes, cls, entity);
  }
  path.tail = kNone;
  path.bytes = 0;
  queues_.note_length(port);
}

// ---- the wire

// From when on a packet may leave and finds its last byte there in time: a way out that is faster than the way in must
// not run dry.
inline std::int64_t ExactPorts::fed_from(const Event& packet, std::int64_t bytes, std::uint32_t index) const {
  if (!world_.layout.cut_through()) return packet.time;
  const std::int64_t slower = world_.layout.rate(packet.rate) - link_of(index).per_byte;
  return slower > 0 ? packet.time + (slower * (bytes - world_.config.header) >> 10) : packet.time;
}

// The wire is taken from `begin` on for as long as a packet needs.
inline void ExactPorts::occupy(const Event& event, const Queuing& packet, std::uint32_t index, std::int64_t begin,
                               std::int64_t wire) {
  Port& port = world_.ports[index];
  port.busy = begin + std::max(wire, link_of(index).gap);
  port.bytes += packet.bytes;
  port.waited += begin - event.time;
  ++port.packets;
}

[[gnu::always_inline]] inline void ExactPorts::arrive_later(const Event& event, const Queuing& packet,
                                                            std::uint32_t index, std::uint32_t entity,
                                                            std::int64_t end) {
  const ExactWire& far = world_.exact.wires[index];
  const Link& link = link_of(index);
  // What a switch needs to decide is added here, so that it acts when the packet may leave.
  std::int64_t time = end + far.latency;
  if (world_.layout.cut_through() && !world_.layout.is_host(far.entity))
    time -= link.wire(packet.bytes) - link.wire(world_.config.header);
  std::uint32_t from = entity | far.ingress;
  if (world_.config.exact.channels > 1) from |= world_.exact.channel_out(packet.from) << world_.exact.in_shift;
  Event& slot = windows_.place(time, far.entity);
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

[[gnu::always_inline]] inline void ExactPorts::transmit(const Event& event, const Queuing& packet, std::uint32_t index,
                                                        std::uint32_t entity, std::int64_t begin) {
  if (world_.config.exact.has_credit(packet.cls)) world_.exact.gate(index, packet.cls).credit -= packet.bytes;
  if (world_.ports[index].special != 0) return transmit_specially(event, packet, index, entity, begin);
  const std::int64_t wire = link_of(index).wire(packet.bytes);
  occupy(event, packet, index, begin, wire);
  arrive_later(event, packet, index, entity, begin + wire);
}

void ExactPorts::transmit_specially(const Event& event, const Queuing& packet, std::uint32_t index,
                                    std::uint32_t entity, std::int64_t begin) {
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
  if (special.capture > 0) captures_.add(special, event, packet, begin);
  occupy(event, packet, index, begin, wire);
  const Fate end = fate(special.conditions, begin, begin + wire + link.latency, world_.entities[entity].random);
  if (end == Fate::arrives) return arrive_later(event, packet, index, entity, begin + wire);
  if (world_.config.exact.has_credit(packet.cls)) regain_credit(packet, index, entity, begin + wire);
  ++world_.ports[index].lost;
  if (special.samples.on()) ++special.samples.at(begin).lost;
  ++(end == Fate::lost ? tally_.lost : tally_.corrupted);
}

// False: no gate is open, or nothing is left.
bool ExactPorts::send_next(std::uint32_t index, std::uint32_t entity) {
  const std::uint32_t cls = queues_.next_class(index);
  if (cls == kNone) return false;
  PacketPool& pool = queues_.pool();
  const std::uint32_t first = queues_.take(index, cls);
  const Event& packet = pool[first];  // stays where it is until it is given back
  const Queuing as_sent{{packet.bytes, packet.flags}, static_cast<std::uint8_t>(cls), packet.from};
  const bool in_switch = !world_.layout.is_host(entity);
  if (world_.config.exact.flow_control != FlowControl::scheduled) {
    if (in_switch) let_out(packet, as_sent.bytes, cls, entity);
    const std::int64_t now = windows_.now();
    transmit(packet, as_sent, index, entity, in_switch ? std::max(now, fed_from(packet, as_sent.bytes, index)) : now);
  } else {
    transmit(packet, as_sent, index, entity, windows_.now());
    // The credit that it gives back may bring the next packet here at once, which must find the wire taken.
    if (in_switch) let_out(packet, as_sent.bytes, cls, entity);
  }
  pool.give_back(first);
  if (world_.exact.ports[index].waiting == 0) return false;
  queues_.foresee(index);
  return true;
}

void ExactPorts::look_again(std::uint32_t index, std::uint32_t entity) {
  const std::int64_t when = world_.ports[index].busy;
  world_.exact.ports[index].armed = when;
  if (light_wakes_ && when < windows_.end()) {
    waking_ = entity;
    return wakes_.add({when, world_.entities[entity].caused++, index});
  }
  windows_.emit(Event(Wake{.which = index}), when, entity);
}

// ---- switches

void ExactPorts::arrive(const Event& event, std::uint32_t out) {
  const std::uint32_t entity = event.to;
  Queuing packet{{event.bytes, event.flags}, static_cast<std::uint8_t>(queues_.class_of(event)), event.from};
  if (world_.config.exact.channels > 1) queues_.choose_channel(event, packet, out);
  if (!buffers_.take_in(event, packet, out)) return;
  if (world_.exact.ports[out].waiting == 0 && world_.ports[out].busy <= windows_.now() &&
      queues_.open(world_.exact.gate(out, packet.cls), packet.cls, packet.bytes)) {
    let_out(event, packet.bytes, packet.cls, entity);
    return transmit(event, packet, out, entity, fed_from(event, packet.bytes, out));
  }
  queues_.enqueue(event, packet, out);
  serve(out, entity);
}

// The first of the ports that are free again, as if an event had said so.
void ExactPorts::wake_first() {
  const PortWakes::Wake wake = wakes_.take();
  if (!wakes_.empty()) queues_.foresee(wakes_.first().port);
  const std::uint32_t entity = waking_;
  ++tally_.events;
  windows_.set_now(wake.time);
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
void ExactPorts::foresee(std::span<const Windows::Pending> group) const {
  for (const Windows::Pending& each : group)
    if (each.event->kind == EventKind::wake && !world_.layout.is_host(each.event->to))
      queues_.foresee(each.event->wake.which);
  asm volatile("");  // else calls are dropped, for nothing is changed
}

void ExactPorts::catch_up(const Event& event) {
  while (!wakes_.empty() && wakes_.before(event)) wake_first();
}

void ExactPorts::at_wake(const Event& event) {
  ExactPort& state = world_.exact.ports[event.wake.which];
  if (state.armed != event.time) return;  // superseded
  state.armed = 0;
  serve(event.wake.which, event.to);
}

}  // namespace weft::sim
