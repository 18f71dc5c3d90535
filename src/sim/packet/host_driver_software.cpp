// Hosts whose transport is a program (software.hpp).

#include <algorithm>

#include "sim/packet/host_driver.hpp"

namespace weft::sim {

// When a packet comes, it is known when the program will get to it.
void HostDriver::program_takes(const Event& event) {
  const std::uint32_t endpoint = event.header.destination;
  Software& program = world_.software[endpoint];
  if (event.kind == EventKind::delivered) {
    program.taken(event.bytes);
    stack_of(event.header).handle(program.clock(event.time), endpoint, event.type, event.flags, event.header);
    pump(endpoint, event.time);
    return complete(event.time);
  }
  const std::int64_t at = program.take(event.time, event.header.source, event.header.path, event.bytes);
  if (at == Software::kLost) {
    ++tally_.dropped;
    return;
  }
  ++tally_.arrived;
  Event later = event;
  later.kind = EventKind::delivered;
  windows_.emit(later, at, event.to);
}

// All acknowledgements that are due, then as much as a call hands down: on one path, or more calls with less.
void HostDriver::pump_program(std::uint32_t endpoint, std::int64_t now) {
  Software& program = world_.software[endpoint];
  if (const std::int64_t when = program.may_send(now); when > now) return arm(endpoint, when, now);
  const std::uint32_t index = world_.layout.port_of_endpoint(endpoint);
  const Port& port = world_.ports[index];
  const SoftwareCosts& costs = program.costs();
  const std::int64_t clock = program.clock(now);
  std::int64_t time = 0;
  transport::Transmit out;
  for (transport::Stack& stack : stacks_)
    stack.for_each_used([&](transport::Protocol protocol) {
      while (stack.poll_ack(protocol, endpoint, out)) {
        time += costs.call + costs.packet;
        send(endpoint, out, now + time);
      }
    });
  const std::int64_t ahead =
      std::max(world_.layout.slowest_packet(), world_.layout.link(world_.layout.far(index).link).wire(costs.train));
  std::int64_t handed = 0;
  std::optional<std::uint16_t> path;
  bool nothing = false;
  while (!nothing && port.busy - (now + time) < ahead && (handed == 0 || handed < costs.train)) {
    nothing = !poll_in_turn(endpoint, clock, out);
    if (nothing) break;
    time += costs.packet + (path == out.header.path ? 0 : costs.call);
    path = out.header.path;
    handed += out.wire_bytes;
    send(endpoint, out, now + time);
  }
  program.send_for(now, time);
  if (!nothing) return arm(endpoint, std::max(now + time, port.busy - ahead + 1), now);
  for (transport::Stack& stack : stacks_)
    stack.for_each_used([&](transport::Protocol protocol) {
      arm(endpoint, std::max(now + time, program.when_clock_shows(stack.next_wake(protocol, endpoint))), now);
    });
}

}  // namespace weft::sim
