// What hosts do at exact ports: cards that send, hosts that take what their cards have received.

#include <algorithm>
#include <utility>

#include "sim/shard.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

// A card takes one packet of each class ahead of the wire.
void Shard::pump_exactly(std::uint32_t endpoint, std::int64_t now) {
  const std::uint32_t index = layout_.port_of_endpoint(endpoint);
  const std::uint32_t host = layout_.host_of(endpoint);
  transport::Transmit out;
  const auto put = [&](const transport::Transmit& packet) {
    Event event = packet_of(packet);
    event.time = now;
    ++tally_.injected;
    enqueue(event, queuing(event), index);
  };
  if (transport::Raw& raw = stacks_[0].raw(); raw.used()) {
    while (raw.poll(now, endpoint, out)) put(out);
    arm(endpoint, raw.next_wake(endpoint), now);
  }
  for (transport::Stack& stack : stacks_)
    stack.for_each_used([&](transport::Protocol protocol) {
      while (stack.poll_ack(protocol, endpoint, out)) put(out);
    });
  // In turn, from behind the one that sent last.
  std::uint8_t& last = world_.served[endpoint];
  std::size_t turn = 0;
  while (turn < carriers_.size() && carriers_[turn].number <= last) ++turn;
  bool more = false;
  for (std::size_t left = carriers_.size(); left > 0; --left, ++turn) {
    if (turn >= carriers_.size()) turn = 0;
    const auto& [number, lane, protocol, cls] = carriers_[turn];
    transport::Stack& stack = stacks_[lane];
    Gate& way = gate(index, cls);
    if (way.head != kNone || !open(way, cls, config_.full_packet)) {
      more = more || (way.head != kNone && open(way, cls, pool_[way.head].bytes));
      continue;
    }
    if (stack.poll(protocol, now, endpoint, out)) {
      put(out);
      last = number;
      more = true;
    } else {
      arm(endpoint, stack.next_wake(protocol, endpoint), now);
    }
  }
  serve(index, host);
  more = more || world_.exact.ports[index].waiting != 0;
  if (more && world_.ports[index].busy > now) arm(endpoint, world_.ports[index].busy, now);
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
