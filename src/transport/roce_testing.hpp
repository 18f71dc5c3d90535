#pragma once
// A small network for the tests of RoCE.
//
//   endpoint 0 ── wire ──┐            ┌── port ── endpoint 0
//   endpoint 1 ── wire ──┼── switch ──┼── port ── endpoint 1
//   ...                  ┘            └── ...
//
// Wires and ports have the rate that packet_time says; each way takes kDelay besides. Ports mark as RED does, by the
// queue that a packet finds. Acknowledgements and CNPs only take the time of the way. Each endpoint has a transport
// of its own, so that nothing is shared but packets.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "transport/roce.hpp"

namespace weft::transport {

inline constexpr Instant kMicrosecond = 1'000'000;
inline constexpr Instant kDelay = 2 * kMicrosecond;  // one way

inline Instant packet_time_at(const RoceConfig& config, std::uint64_t bits_per_second) {
  return static_cast<Instant>(std::uint64_t{config.mtu + config.header} * 8'000'000'000'000 / bits_per_second);
}

// 100 Gb/s.
inline RoceConfig roce_config() {
  RoceConfig config;
  config.mtu = 1024;
  config.packet_time = packet_time_at(config, 100'000'000'000);
  config.base_rtt = 2 * (kDelay + config.packet_time);
  return config;
}

struct RoceNet {
  // RED: nothing below `from` bytes, everything above `to`, in between rising to `most` percent.
  struct Marking {
    std::int64_t from = INT64_MAX;
    std::int64_t to = INT64_MAX;
    double most = 0;
  };
  struct Port {
    Instant busy = 0;
    Instant looked = 0;
    double area = 0;  // of the queue over time, ps^2
  };
  struct Event {
    Instant time;
    std::uint64_t number;
    std::uint32_t endpoint;
    enum class Kind { wake, port, arrival } kind;
    Transmit packet;
  };

  explicit RoceNet(std::uint32_t endpoints = 2, const RoceConfig& each = roce_config())
      : config(each), roce(endpoints, Roce(each)), wires(endpoints), ports(endpoints), armed(endpoints, kNever) {}

  RoceConfig config;
  std::vector<Roce> roce;
  std::vector<Instant> wires;  // busy until
  std::vector<Port> ports;
  std::vector<Instant> armed;
  Marking marking;
  Random random{1, 2, 3};
  bool checking = true;
  std::function<bool(Transmit&)> deliver = [](Transmit&) { return true; };  // leaves the sender: false loses it
  std::function<Instant()> extra = [] { return Instant{0}; };               // time on the way
  std::function<void(std::uint32_t, const Transmit&, const Placement&)> placed = [](auto, auto&, auto&) {};
  std::vector<Completion> done;
  Instant done_at = 0;  // the last of them
  std::map<Completion::Kind, int> count;
  std::vector<Event> events;
  std::uint64_t made = 0;
  Instant now = 0;

  void push(Instant time, std::uint32_t endpoint, Event::Kind kind, const Transmit& packet) {
    events.push_back({time, made++, endpoint, kind, packet});
    std::push_heap(events.begin(), events.end(), later);
  }
  static bool later(const Event& a, const Event& b) { return a.time != b.time ? a.time > b.time : a.number > b.number; }

  bool post(std::uint32_t from, const Operation& operation) {
    const bool taken = roce[from].post(now, from, operation);
    pump(from);
    return taken;
  }

  void pump(std::uint32_t endpoint) {
    Transmit out{};
    while (roce[endpoint].poll_ack(endpoint, out))
      if (deliver(out)) push(now + kDelay + extra(), out.header.destination, Event::Kind::arrival, out);
    Instant& wire = wires[endpoint];
    Instant wake = kNever;
    while (wake == kNever) {
      if (wire - now >= config.packet_time) {
        wake = wire - config.packet_time + 1;
      } else if (!roce[endpoint].poll(now, endpoint, out)) {
        wake = roce[endpoint].next_wake(endpoint);
        break;
      } else {
        wire = std::max(wire, now) + time_of(out.wire_bytes);
        if (deliver(out)) push(wire + extra(), out.header.destination, Event::Kind::port, out);
      }
    }
    for (const Completion& each : roce[endpoint].completions()) {
      done.push_back(each);
      done_at = now;
      ++count[each.kind];
    }
    roce[endpoint].completions().clear();
    if (checking) {
      EXPECT_EQ(roce[endpoint].check_invariants(), "");
    }
    wake = std::max(wake, now + 1);
    if (wake == kNever || wake >= armed[endpoint]) return;
    armed[endpoint] = wake;
    push(wake, endpoint, Event::Kind::wake, {});
  }

  Instant time_of(std::uint32_t bytes) const { return config.packet_time * bytes / (config.mtu + config.header); }

  void look(Port& port) {
    const auto dt = static_cast<double>(now - port.looked);
    const auto queue = static_cast<double>(std::max<Instant>(0, port.busy - port.looked));
    port.area += queue >= dt ? queue * dt - dt * dt / 2 : queue * queue / 2;
    port.looked = now;
  }
  // Bytes in the mean since the area was set to zero.
  double mean_queue(std::uint32_t endpoint, Instant since) {
    look(ports[endpoint]);
    return ports[endpoint].area / static_cast<double>(now - since) * (config.mtu + config.header) /
           static_cast<double>(config.packet_time);
  }

  void at_port(Event& event) {
    Port& port = ports[event.endpoint];
    look(port);
    const std::int64_t queue =
        std::max<Instant>(0, port.busy - now) * (config.mtu + config.header) / config.packet_time;
    const double share = static_cast<double>(queue - marking.from) / static_cast<double>(marking.to - marking.from);
    if (queue > marking.to || (queue > marking.from && random.below(1'000'000) < marking.most * share * 10'000))
      event.packet.flags |= kMarked;
    port.busy = std::max(port.busy, now) + time_of(event.packet.wire_bytes);
    push(port.busy + kDelay, event.endpoint, Event::Kind::arrival, event.packet);
  }

  // Runs until nothing is left to happen before `limit`.
  void run(Instant limit = kNever - 1) {
    while (!events.empty() && events.front().time <= limit) {
      std::pop_heap(events.begin(), events.end(), later);
      Event event = events.back();
      events.pop_back();
      now = event.time;
      if (made > 30'000'000) FAIL() << "it goes on and on";
      if (event.kind == Event::Kind::port) {
        at_port(event);
        continue;
      }
      if (event.kind == Event::Kind::wake) {
        if (armed[event.endpoint] != now) continue;  // superseded
        armed[event.endpoint] = kNever;
      } else {
        const Transmit& packet = event.packet;
        placed(event.endpoint, packet,
               roce[event.endpoint].handle(now, event.endpoint, packet.type, packet.flags, packet.header));
      }
      pump(event.endpoint);
    }
    if (limit < kNever - 1) now = std::max(now, limit);
  }
};

}  // namespace weft::transport
