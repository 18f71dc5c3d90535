#include "sim/packet/shard.hpp"

#include <algorithm>

#include "sim/entropy.hpp"
#include "sim/packet/shard_ports.hpp"

namespace weft::sim {
namespace {

using transport::PacketType;
using transport::Protocol;

constexpr std::size_t kFewEvents = 64;  // one entity's share of a window is short and nearly sorted
constexpr std::uint32_t kDraws = 16;    // ways that are tried where the one that was hashed is down
constexpr std::int64_t kPacketsAhead =
    1;  // that a card takes ahead of the wire: who decides late decides with newer news

bool later(const Event& a, const Event& b) { return a.time != b.time ? a.time > b.time : cause(a) > cause(b); }

}  // namespace

Shard::Shard(World& world, std::uint32_t number, std::uint32_t shards)
    : world_(world),
      layout_(world.layout),
      config_(world.config),
      number_(number),
      alone_(shards == 1),
      wheel_(world.layout.look_ahead()),
      counts_(world.layout.entities() + 1),
      outbox_(shards),
      light_wakes_(!world.config.in_time_order && !world.config.exact.is_scheduled()) {
  stacks_.reserve(1 + config_.more_stacks.size());
  stacks_.emplace_back(config_.stack);
  for (const std::uint8_t protocols : config_.more_stacks)
    stacks_.emplace_back(config_.stack.in_lane(static_cast<std::uint32_t>(stacks_.size()), protocols));
  last_lane_ = static_cast<std::uint32_t>(stacks_.size() - 1);
  for (std::size_t lane = 0; lane < stacks_.size(); ++lane)
    stacks_[lane].for_each_used([&](Protocol protocol) {
      const std::size_t place = lane * transport::kProtocols + static_cast<std::size_t>(protocol);
      const std::uint8_t cls =
          config_.exact.class_of[lane << 4 | static_cast<std::size_t>(transport::data_of(protocol))];
      carriers_.push_back({static_cast<std::uint8_t>(place), static_cast<std::uint8_t>(lane), protocol, cls});
    });
}

void Shard::emit(const Event& event, std::int64_t time, std::uint32_t host) {
  if (time >= window_end_) {
    Event& slot = place(time, host);
    slot = event;
    return address(slot, time, host, host);
  }
  // A wake-up within the window, or a run in time order.
  late_.push_back(event);
  address(late_.back(), time, host, host);
  std::push_heap(late_.begin(), late_.end(), later);
}

void Shard::take_from(Shard& other) {
  std::vector<Event>& events = other.outbox_[number_];
  for (const Event& event : events) wheel_.add(event.time) = event;
  events.clear();
}

void Shard::post(std::int64_t when, std::uint32_t endpoint, const transport::Operation& operation) {
  if (window_end_ > 0 && when <= now_) {
    stacks_[operation.lane].post(now_, endpoint, operation);
    pump(endpoint, now_);
    return;
  }
  Event event;
  event.kind = EventKind::post;
  event.header.source = endpoint;
  event.header.destination = operation.peer;
  event.header.op = operation.op;
  event.header.stream = static_cast<std::uint16_t>(operation.lane << 8 | static_cast<int>(operation.protocol));
  event.header.sequence = operation.context;
  event.header.data = {operation.queue, operation.tag, operation.bytes};
  const std::uint32_t host = layout_.host_of(endpoint);
  emit(event, when, host);
}

void Shard::call(std::int64_t when, std::uint32_t host, std::uint64_t context) {
  Event event;
  event.kind = EventKind::call;
  event.header.data.size = context;
  emit(event, std::max(when, now_), host);
}

void Shard::start_raw(std::uint32_t endpoint, const transport::RawStream& stream) {
  stacks_[0].raw().start(0, endpoint, stream);
  arm(endpoint, stacks_[0].raw().next_wake(endpoint), 0);
}

// ---- ports

[[gnu::always_inline]] inline void Shard::forward(const Event& arrived, std::uint32_t index, std::uint32_t entity,
                                                  std::int64_t ready) {
  Port& port = world_.ports[index];
  if (port.special != 0) return forward_specially(arrived, index, entity, ready);
  const Layout::Far& far = layout_.far(index);
  const Link& link = layout_.link(far.link);
  Passing packet{arrived.bytes, arrived.flags};
  bool high = !config_.fifo && (transport::goes_first(arrived.type) || (packet.flags & transport::kTrimmed));
  if (!high) {
    if (!admit(packet, arrived.type, port, link, entity, port.busy - ready)) return;
    if (config_.fast_cnp > 0 && (packet.flags & ~arrived.flags & transport::kMarked) &&
        arrived.type == PacketType::roce_data)
      warn(arrived);
    high = packet.flags & transport::kTrimmed;
  }
  const std::int64_t wire = link.wire(packet.bytes);
  const std::int64_t takes = std::max(wire, link.gap);
  const std::int64_t begin = high ? book_high(port, link, ready, takes) : book(port, ready, takes);
  port.bytes += packet.bytes;
  port.waited += begin - ready;
  ++port.packets;
  ++tally_.hops;
  leave(arrived, packet, far, link, entity, begin, wire);
}

inline std::uint32_t Shard::choose_port(const Event& event, const Layout::Node& node) {
  if (layout_.makes_detours()) return choose_around(event);
  if (config_.balance >= Balance::flowlet) {
    const std::uint32_t port = choose_by_load(event);
    if (port != Layout::kNowhere) return port;
  }
  const std::uint32_t entropy = entropy_of(event);
  const std::uint32_t port = layout_.next_port(event.to, node, event.header.destination, entropy);
  if (port == Layout::kNowhere || world_.ports[port].special == 0) return port;
  return choose_again(event, port, entropy);
}

// A switch whose own link is down hashes again; what is broken further away it does not know.
std::uint32_t Shard::choose_again(const Event& event, std::uint32_t port, std::uint32_t entropy) {
  for (std::uint32_t draw = 1; draw <= kDraws && port != Layout::kNowhere && avoids(port, event.time); ++draw)
    port = layout_.next_port(event.to, event.header.destination, entropy + draw * 0x9e3779b1u);
  return port;
}

// Most of all events: a part of whoever calls it.
[[gnu::always_inline]] inline void Shard::pass(const Event& event) {
  if (config_.exact.is_scheduled()) return arrive_scheduled(event);
  const Layout::Node& node = layout_.node(event.to);
  const std::uint32_t port = choose_port(event, node);
  if (port == Layout::kNowhere) {
    ++tally_.lost;
    return;
  }
  if (config_.exact.on) return arrive_exactly(event, port);
  std::int64_t ready = event.time + node.latency;
  if (layout_.cut_through()) {
    // Where the way out is faster than the way in, it must not run dry.
    const std::int64_t in = layout_.rate(event.rate);
    const std::int64_t out = layout_.link(layout_.far(port).link).per_byte;
    if (out < in) ready += (in - out) * (event.bytes - config_.header) >> 10;
  }
  forward(event, port, event.to, ready);
}

void Shard::at_switch(const Event& event) {
  if (event.kind == EventKind::packet) return pass(event);
  event.kind == EventKind::control ? at_control(event) : at_port(event);
}

// ---- hosts

void Shard::send(std::uint32_t endpoint, const transport::Transmit& out, std::int64_t now) {
  ++tally_.injected;
  forward(packet_of(out), layout_.port_of_endpoint(endpoint), layout_.host_of(endpoint), now);
}

void Shard::arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now) {
  when = std::max(when, now + 1);
  std::int64_t& armed = world_.armed[endpoint];
  if (when == transport::kNever || (armed != 0 && when >= armed)) return;
  armed = when;
  Event wake;
  wake.kind = EventKind::wake;
  wake.header.source = endpoint;
  const std::uint32_t host = layout_.host_of(endpoint);
  emit(wake, when, host);
}

// The next packet of any of several transports, which take turns.
bool Shard::poll_in_turn(std::uint32_t endpoint, std::int64_t now, transport::Transmit& out) {
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

void Shard::pump(std::uint32_t endpoint, std::int64_t now) {
  if (config_.exact.on) return pump_exactly(endpoint, now);
  const Port& port = world_.ports[layout_.port_of_endpoint(endpoint)];
  const std::int64_t ahead = kPacketsAhead * layout_.slowest_packet();
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

void Shard::at_host(const Event& event) {
  const std::int64_t now = event.time;
  std::uint32_t endpoint = event.header.source;
  switch (event.kind) {
    case EventKind::packet:
    case EventKind::delivered:
      if (!config_.exact.on) {
        ++tally_.arrived;
      } else if (!intake(event)) {
        return;
      }
      endpoint = event.header.destination;
      stack_of(event.header).handle(now, endpoint, event.type, event.flags, event.header);
      if (event.type == PacketType::raw) return complete(now);  // nobody answers
      break;
    case EventKind::post:
      stacks_[event.header.stream >> 8].post(
          now, endpoint,
          {event.header.op, event.header.destination, event.header.data.size, event.header.data.tag,
           event.header.sequence, static_cast<Protocol>(event.header.stream & 0xFF),
           static_cast<std::uint8_t>(event.header.stream >> 8), event.header.data.first});
      break;
    case EventKind::wake:
      if (world_.armed[endpoint] != now) return;  // superseded
      world_.armed[endpoint] = 0;
      break;
    case EventKind::call:
      client_->called(now, event.to, event.header.data.size);
      return complete(now);
    case EventKind::control:
      return at_control(event);
  }
  pump(endpoint, now);
  complete(now);
}

void Shard::complete(std::int64_t now) {
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

[[gnu::always_inline]] inline void Shard::handle(const Event& event) {
  if (!wakes_.empty()) catch_up(event);
  ++tally_.events;
  now_ = event.time;
  world_.entities[event.to].digest.add(hash_of(event));
  if (layout_.is_host(event.to)) {
    at_host(event);
  } else if (event.kind == EventKind::packet) {
    pass(event);
  } else {
    at_switch(event);
  }
}

// ---- windows

void Shard::handle_late() {
  const Event event = late_.front();
  std::pop_heap(late_.begin(), late_.end(), later);
  late_.pop_back();
  handle(event);
}

void Shard::run_group(std::span<Pending> group) {
  Pending* const begin = group.data();
  Pending* const end = begin + group.size();
  if (group.size() > kFewEvents) {
    std::sort(begin, end);
  } else {
    for (Pending* each = begin + 1; each < end; ++each) {
      if (!(*each < each[-1])) continue;
      const Pending moving = *each;
      Pending* at = each;
      do *at = at[-1];
      while (--at > begin && moving < at[-1]);
      *at = moving;
    }
  }
  if (config_.exact.on) foresee_all(group);
  for (const Pending* next = begin; next != end;) {
    if (!late_.empty() && later(*next->event, late_.front())) {
      handle_late();
      continue;
    }
    const Event& event = *next->event;
    ++next;
    __builtin_prefetch(next->event);
    handle(event);
  }
  while (!late_.empty() || !wakes_.empty()) late_.empty() ? wake_port() : handle_late();
  reached_ = std::max(reached_, now_);
}

void Shard::run(std::int64_t window) {
  outbox_first_ = Wheel::kNothing;
  wheel_.move_to(window);
  window_start_ = wheel_.start_of(window);
  window_end_ = wheel_.end_of(window);
  const std::size_t size = wheel_.size();
  pending_.resize(size + 1);
  pending_[size] = {};
  const std::span<Pending> all(pending_.data(), size);
  const auto note = [&](std::size_t at, const Event& event) {
    all[at] = {(static_cast<std::uint64_t>(event.time - window_start_) << 32) | event.from, &event};
  };
  if (config_.in_time_order) {
    std::size_t n = 0;
    wheel_.for_each([&](const Event& event) { note(n++, event); });
    run_group(all);
  } else if (size * 16 < counts_.size()) {
    // A large fabric with little to do.
    std::size_t n = 0;
    wheel_.for_each([&](const Event& event) { note(n++, event); });
    std::sort(all.begin(), all.end(), [](const Pending& a, const Pending& b) { return a.event->to < b.event->to; });
    for (std::size_t begin = 0, end = 0; begin < size; begin = end) {
      while (end < size && all[end].event->to == all[begin].event->to) ++end;
      run_group(all.subspan(begin, end - begin));
    }
  } else {
    // Counting sort by entity, then each entity's events by time.
    std::fill(counts_.begin(), counts_.end(), 0);
    wheel_.for_each([&](const Event& event) { ++counts_[event.to + 1]; });
    for (std::size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
    wheel_.for_each([&](const Event& event) { note(counts_[event.to]++, event); });
    std::uint32_t begin = 0;
    while (begin < size) {
      const std::uint32_t end = counts_[all[begin].event->to];
      run_group(all.subspan(begin, end - begin));
      begin = end;
    }
  }
  wheel_.clear();
  window_end_ = 0;
}

std::uint64_t Shard::packets_in_flight() const {
  std::uint64_t packets = pool_.used();
  const auto count = [&](const Event& event) {
    packets += event.kind == EventKind::packet || event.kind == EventKind::delivered;
  };
  wheel_.for_all(count);
  for (const auto& events : outbox_)
    for (const Event& event : events) count(event);
  return packets;
}

}  // namespace weft::sim
