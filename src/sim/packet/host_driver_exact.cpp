// NICs that send by exact ports.

#include "sim/packet/host_driver.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

// A NIC takes one packet of each class ahead of the wire.
void HostDriver::pump_exactly(std::uint32_t endpoint, std::int64_t now) {
  const std::uint32_t index = world_.layout.port_of_endpoint(endpoint);
  const std::uint32_t host = world_.layout.host_of(endpoint);
  transport::Transmit out;
  if (transport::Raw& raw = stacks_[0].raw(); raw.used()) {
    while (raw.poll(now, endpoint, out)) put(out, 0, index, now);
    arm(endpoint, raw.next_wake(endpoint), now);
  }
  bool more = false;
  // The next packet of a transport, if its class has none.
  const auto take = [&](const Carrier& carrier, auto poll, auto next_wake) {
    const Gate& path = world_.exact.gate(index, carrier.cls);
    if (path.head != kNone || !queues_.open(path, carrier.cls, world_.config.full_packet)) {
      more = more || (path.head != kNone && queues_.open(path, carrier.cls, queues_.pool()[path.head].bytes));
    } else if (poll()) {
      put(out, carrier.lane, index, now);
      world_.served[endpoint] = carrier.number;
      more = true;
    } else {
      arm(endpoint, next_wake(), now);
    }
  };
  const bool only = last_lane_ == 0 && stacks_[0].with_only([&](auto& transport) {
    while (transport.poll_ack(endpoint, out)) put(out, 0, index, now);
    take(
        carriers_[0], [&] { return transport.poll(now, endpoint, out); },
        [&] { return transport.next_wake(endpoint); });
  });
  if (!only) {
    for (const Carrier& each : carriers_)
      while (stacks_[each.lane].poll_ack(each.protocol, endpoint, out)) put(out, each.lane, index, now);
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
  exact_.serve(index, host);
  more = more || world_.exact.ports[index].waiting != 0;
  if (more && world_.ports[index].busy > now) arm(endpoint, world_.ports[index].busy, now);
}

// A packet of a host's own.
inline void HostDriver::put(const transport::Transmit& packet, std::uint32_t lane, std::uint32_t port,
                            std::int64_t now) {
  ++tally_.injected;
  const std::uint32_t index = queues_.pool().take();
  Event& slot = queues_.pool()[index];
  slot.time = now;
  slot.from = 0;
  slot.lane = lane & 7;
  slot.bytes = static_cast<std::uint16_t>(packet.wire_bytes);
  slot.kind = EventKind::packet;
  slot.type = packet.type;
  slot.flags = packet.flags & 0xF;
  slot.header = packet.header;
  queues_.append(index, queues_.class_of(slot), slot.bytes, port);
}

}  // namespace weft::sim
