#include "sim/packet/host_driver.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

using transport::PacketType;
using transport::Protocol;

constexpr std::int64_t kPacketsAhead =
    1;  // that a NIC takes ahead of the wire: who decides late decides with newer news

Event packet_of(const transport::Transmit& out) {
  Event packet;
  packet.type = out.type;
  packet.flags = out.flags & 0xF;
  packet.bytes = static_cast<std::uint16_t>(out.wire_bytes);
  packet.header = out.header;
  return packet;
}

}  // namespace

HostDriver::HostDriver(World& world, Windows& windows, Tally& tally, ComputedPorts& computed, ExactPorts& exact)
    : world_(world), windows_(windows), tally_(tally), computed_(computed), queues_(exact.queues()), exact_(exact) {
  stacks_.reserve(1 + world_.config.more_stacks.size());
  stacks_.emplace_back(world_.config.stack);
  for (const std::uint8_t protocols : world_.config.more_stacks)
    stacks_.emplace_back(world_.config.stack.in_lane(static_cast<std::uint32_t>(stacks_.size()), protocols));
  last_lane_ = static_cast<std::uint32_t>(stacks_.size() - 1);
  for (std::size_t lane = 0; lane < stacks_.size(); ++lane)
    stacks_[lane].for_each_used([&](Protocol protocol) {
      const std::size_t place = lane * transport::kProtocols + static_cast<std::size_t>(protocol);
      const std::uint8_t cls =
          world_.config.exact.class_of[lane << 4 | static_cast<std::size_t>(transport::data_of(protocol))];
      carriers_.push_back({static_cast<std::uint8_t>(place), static_cast<std::uint8_t>(lane), protocol, cls});
    });
}

void HostDriver::post(std::int64_t when, std::uint32_t endpoint, const transport::Operation& operation) {
  if (windows_.running() && when <= windows_.now()) {
    stacks_[operation.lane].post(clock_of(endpoint, windows_.now()), endpoint, operation);
    pump(endpoint, windows_.now());
    return;
  }
  windows_.emit(Event(Post{.endpoint = endpoint,
                           .peer = operation.peer,
                           .op = operation.op,
                           .context = operation.context,
                           .queue = operation.queue,
                           .tag = operation.tag,
                           .bytes = operation.bytes,
                           .protocol = operation.protocol,
                           .lane = operation.lane}),
                when, world_.layout.host_of(endpoint));
}

void HostDriver::call(std::int64_t when, std::uint32_t host, std::uint64_t context) {
  windows_.emit(Event(Call{.context = context}), std::max(when, windows_.now()), host);
}

void HostDriver::start_raw(std::uint32_t endpoint, const transport::RawStream& stream) {
  stacks_[0].raw().start(0, endpoint, stream);
  arm(endpoint, stacks_[0].raw().next_wake(endpoint), 0);
}

void HostDriver::send(std::uint32_t endpoint, const transport::Transmit& out, std::int64_t now) {
  ++tally_.injected;
  computed_.forward(packet_of(out), world_.layout.port_of_endpoint(endpoint), world_.layout.host_of(endpoint), now);
}

void HostDriver::arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now) {
  when = std::max(when, now + 1);
  std::int64_t& armed = world_.armed[endpoint];
  if (when == transport::kNever || (armed != 0 && when >= armed)) return;
  armed = when;
  windows_.emit(Event(Wake{.which = endpoint}), when, world_.layout.host_of(endpoint));
}

// The next packet of any of several transports, which take turns.
bool HostDriver::poll_in_turn(std::uint32_t endpoint, std::int64_t now, transport::Transmit& out) {
  std::uint8_t& last = world_.served[endpoint];
  std::size_t turn = 0;
  while (turn < carriers_.size() && carriers_[turn].number <= last) ++turn;
  for (std::size_t left = carriers_.size(); left > 0; --left, ++turn) {
    if (turn >= carriers_.size()) turn = 0;
    const Carrier& each = carriers_[turn];
    if (!stacks_[each.lane].poll(each.protocol, now, endpoint, out)) continue;
    last = each.number;
    return true;
  }
  return false;
}

void HostDriver::pump(std::uint32_t endpoint, std::int64_t now) {
  if (!world_.plain) return world_.config.exact.on ? pump_exactly(endpoint, now) : pump_program(endpoint, now);
  const Port& port = world_.ports[world_.layout.port_of_endpoint(endpoint)];
  const std::int64_t ahead = kPacketsAhead * world_.layout.slowest_packet();
  transport::Transmit out;
  if (transport::Raw& raw = stacks_[0].raw(); raw.used()) {
    while (raw.poll(now, endpoint, out)) send(endpoint, out, now);
    arm(endpoint, raw.next_wake(endpoint), now);
  }
  const bool only = last_lane_ == 0 && stacks_[0].with_only([&](auto& transport) {
    while (transport.poll_ack(endpoint, out)) send(endpoint, out, now);
    while (port.busy - now < ahead) {
      if (!transport.poll(now, endpoint, out)) return arm(endpoint, transport.next_wake(endpoint), now);
      send(endpoint, out, now);
    }
    arm(endpoint, port.busy - ahead + 1, now);
  });
  if (only) return;
  for (transport::Stack& stack : stacks_)
    stack.for_each_used([&](Protocol protocol) {
      while (stack.poll_ack(protocol, endpoint, out)) send(endpoint, out, now);
    });
  while (port.busy - now < ahead) {
    if (!poll_in_turn(endpoint, now, out)) {
      for (transport::Stack& stack : stacks_)
        stack.for_each_used([&](Protocol protocol) { arm(endpoint, stack.next_wake(protocol, endpoint), now); });
      return;
    }
    send(endpoint, out, now);
  }
  arm(endpoint, port.busy - ahead + 1, now);
}

void HostDriver::handle(const Event& event) {
  const std::int64_t now = event.time;
  std::uint32_t endpoint = 0;
  switch (event.kind) {
    case EventKind::packet:
    case EventKind::delivered:
      if (world_.plain) {
        ++tally_.arrived;
      } else if (!world_.config.exact.on) {
        return program_takes(event);
      } else if (!exact_.buffers().take_from_nic(event)) {
        return;
      }
      endpoint = event.header.destination;
      stack_of(event.header).handle(now, endpoint, event.type, event.flags, event.header);
      if (event.type == PacketType::raw) return complete(now);  // nobody answers
      break;
    case EventKind::post: {
      const Post& post = event.post;
      endpoint = post.endpoint;
      stacks_[post.lane].post(
          clock_of(endpoint, now), endpoint,
          {post.op, post.peer, post.bytes, post.tag, post.context, post.protocol, post.lane, post.queue});
      break;
    }
    case EventKind::wake:
      endpoint = event.wake.which;
      if (world_.armed[endpoint] != now) return;  // superseded
      world_.armed[endpoint] = 0;
      break;
    case EventKind::call:
      client_->called(now, event.to, event.call.context);
      return complete(now);
    case EventKind::control:
      if (exact_.at_control(event)) pump(world_.layout.endpoint_of_port(event.control.which), now);
      return;
  }
  pump(endpoint, now);
  complete(now);
}

void HostDriver::complete(std::int64_t now) {
  const auto tell = [&](std::vector<transport::Completion>& done) {
    // A client may post in answer, which may complete more.
    for (std::size_t i = 0; i < done.size(); ++i) {
      const transport::Completion each = done[i];
      client_->completed(now, each);
    }
    done.clear();
  };
  for (transport::Stack& stack : stacks_) stack.drain(tell);
}

}  // namespace weft::sim
