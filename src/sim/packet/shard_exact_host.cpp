// What hosts do at exact ports: cards that send, hosts that take what their cards have received.

#include <algorithm>
#include <utility>

#include "sim/packet/shard.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

// A card takes one packet of each class ahead of the wire.
void Shard::pump_exactly(std::uint32_t endpoint, std::int64_t now) {
  const std::uint32_t index = layout_.port_of_endpoint(endpoint);
  const std::uint32_t host = layout_.host_of(endpoint);
  transport::Transmit out;
  if (transport::Raw& raw = stacks_[0].raw(); raw.used()) {
    while (raw.poll(now, endpoint, out)) put(out, index, now);
    arm(endpoint, raw.next_wake(endpoint), now);
  }
  bool more = false;
  // The next packet of a transport, if its class has none.
  const auto take = [&](const Carrier& carrier, auto poll, auto next_wake) {
    const Gate& way = gate(index, carrier.cls);
    if (way.head != kNone || !open(way, carrier.cls, config_.full_packet)) {
      more = more || (way.head != kNone && open(way, carrier.cls, pool_[way.head].bytes));
    } else if (poll()) {
      put(out, index, now);
      world_.served[endpoint] = carrier.number;
      more = true;
    } else {
      arm(endpoint, next_wake(), now);
    }
  };
  const bool only = last_lane_ == 0 && stacks_[0].with_only([&](auto& transport) {
    while (transport.poll_ack(endpoint, out)) put(out, index, now);
    take(
        carriers_[0], [&] { return transport.poll(now, endpoint, out); },
        [&] { return transport.next_wake(endpoint); });
  });
  if (!only) {
    for (transport::Stack& stack : stacks_)
      stack.for_each_used([&](transport::Protocol protocol) {
        while (stack.poll_ack(protocol, endpoint, out)) put(out, index, now);
      });
    // In turn, from behind the one that sent last.
    std::size_t turn = 0;
    while (turn < carriers_.size() && carriers_[turn].number <= world_.served[endpoint]) ++turn;
    for (std::size_t left = carriers_.size(); left > 0; --left, ++turn) {
      if (turn >= carriers_.size()) turn = 0;
      const Carrier& carrier = carriers_[turn];
      transport::Stack& stack = stacks_[carrier.lane];
      take(
          carrier, [&] { return stack.poll(carrier.protocol, now, endpoint, out); },
          [&] { return stack.next_wake(carrier.protocol, endpoint); });
    }
  }
  serve(index, host);
  more = more || world_.exact.ports[index].waiting != 0;
  if (more && world_.ports[index].busy > now) arm(endpoint, world_.ports[index].busy, now);
}

// A packet of a host's own.
inline void Shard::put(const transport::Transmit& packet, std::uint32_t port, std::int64_t now) {
  ++tally_.injected;
  const std::uint32_t index = pool_.take();
  Event& slot = pool_[index];
  slot.time = now;
  slot.from = 0;
  slot.bytes = static_cast<std::uint16_t>(packet.wire_bytes);
  slot.kind = EventKind::packet;
  slot.type = packet.type;
  slot.flags = packet.flags & 0xF;
  slot.header = packet.header;
  append(index, class_of(slot), slot.bytes, port);
}

// What a card has received waits until the host takes it. True: it is taken now.
bool Shard::intake(const Event& event) {
  const std::uint32_t endpoint = event.header.destination;
  const std::uint32_t cls = class_of(event);
  const std::uint32_t port = layout_.port_of_endpoint(endpoint);
  Intake& taking = world_.exact.intakes[endpoint];
  const bool by_credits = credits(cls);
  if (event.kind == EventKind::packet && taking.per_byte > 0) {
    const std::int64_t backlog = (std::max<std::int64_t>(0, taking.done - event.time) << 10) / taking.per_byte;
    if (backlog + event.bytes > config_.exact.nic_buffer && !by_credits) {
      ++world_.exact.drops[port].headroom;
      if (samples_of(port)) ++world_.specials[world_.ports[port].special - 1].refused.at(event.time).dropped;
      ++tally_.dropped;
      return false;
    }
    Hold& held = hold(port, cls);
    if (lossless(cls) && !by_credits && !held.pausing && backlog > config_.exact.nic_buffer / 2) {
      held.pausing = true;
      control(event.to, port, cls, Control::pause, 0);
    }
    taking.done = std::max(taking.done, event.time) + (taking.per_byte * event.bytes >> 10);
    Event later = event;
    later.kind = EventKind::delivered;
    emit(later, taking.done, event.to);
    return false;
  }
  ++tally_.arrived;
  if (by_credits) give_credit(event.to, port, cls, event.bytes);
  if (taking.per_byte == 0 || ((taking.done - event.time) << 10) / taking.per_byte > config_.exact.nic_buffer / 4)
    return true;
  // All classes share the card's buffer: one may have nothing left there, and no packet of its own to go on with.
  for (std::uint32_t each = 0; each < config_.exact.classes; ++each) {
    if (!std::exchange(hold(port, each).pausing, false)) continue;
    control(event.to, port, each, Control::resume, 0);
  }
  return true;
}

}  // namespace weft::sim
