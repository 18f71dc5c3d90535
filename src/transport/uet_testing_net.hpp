#pragma once
// A small network for tests of UET: endpoints on two switches with several links between them.
//
//      endpoint --nic--> switch A ==spines, by entropy==> switch B --port--> endpoint
//
// Acknowledgements go the same way over spines of their own, so that data crosses an otherwise empty network.
// Every link has a rate, a delay and, behind a switch, a queue that marks from 20 to 80 % of a round trip's worth, and
// trims from one on or drops from five on (as in htsim); acknowledgements and trimmed headers have a class of their
// own, served first. Packets may also be lost, doubled and delayed at random, by seed. The clock goes from event to
// event.

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <vector>

#include "base/random.hpp"
#include "transport/uet.hpp"

namespace weft::transport::testing {

inline constexpr Instant kMicrosecond = 1'000'000;

struct TestLink {
  Instant ps_per_byte = 80;  // 100 Gb/s
  Instant busy = 0;
  Instant busy_high = 0;
  std::uint64_t packets = 0;  // that came with payload
};

class TestNet {
 public:
  static constexpr Instant kDelay = 2 * kMicrosecond;  // of each link

  // With the two times that a driver fills in.
  static UetConfig with_times(UetConfig config) {
    config.packet_time = 80 * (config.payload + config.header);
    config.base_rtt = 3 * (config.packet_time + 80 * config.header) + 6 * kDelay;
    return config;
  }

  TestNet(std::uint32_t endpoints, std::uint32_t spine_links, const UetConfig& config = {})
      : uet(with_times(config)), nics(endpoints), spines(spine_links), returns(spine_links), ports(endpoints) {}

  Uet uet;
  std::vector<TestLink> nics;
  std::vector<TestLink> spines;
  std::vector<TestLink> returns;  // spines for acknowledgements
  std::vector<TestLink> ports;
  std::function<bool(Transmit&)> deliver = [](Transmit&) { return true; };  // asked when a packet leaves its sender

  struct Trouble {
    std::uint32_t loss = 0;       // percent
    std::uint32_t duplicate = 0;  // percent
    Instant jitter = 0;           // at most so much later
    Instant until = 0;
  } trouble;
  Random random{1, 1, 1};

  Instant now = 0;
  Instant last_done = 0;  // when the last completion came
  std::vector<Completion> done;
  std::vector<std::uint64_t> placed;  // bytes, by sender
  std::uint32_t completed(Completion::Kind kind) const {
    std::uint32_t n = 0;
    for (const Completion& each : done) n += each.kind == kind;
    return n;
  }

  void post(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Op op = Op::send, std::uint32_t tag = 0) {
    ASSERT_TRUE(uet.post(now, from, {op, to, bytes, tag, tag}));
    pump(from);
  }

  // Until nothing is left to happen before `limit`.
  void run(Instant limit = kNever - 1) {
    placed.resize(nics.size());
    for (std::uint64_t step = 0; step < 5'000'000; ++step) {
      std::uint32_t waker = 0;
      Instant wake = kNever;
      for (std::uint32_t e = 0; e < nics.size(); ++e) {
        const Instant at = std::max(uet.next_wake(e), nics[e].busy);
        if (at < wake) {
          wake = at;
          waker = e;
        }
      }
      const Instant arrival = events_.empty() ? kNever : events_.top().time;
      const Instant next = std::min(arrival, wake);
      if (next > limit) {
        EXPECT_EQ(uet.check_invariants(), "");
        return;
      }
      now = std::max(now, next);
      if (arrival <= wake) {
        const Event event = events_.top();
        events_.pop();
        arrive(event);
      } else {
        pump(waker);
      }
      if (step % 64 == 0) {
        ASSERT_EQ(uet.check_invariants(), "");
      }
    }
    ADD_FAILURE() << "it goes on and on";
  }

 private:
  struct Event {
    Instant time;
    std::uint64_t order;
    int hops;  // behind it
    Transmit packet;
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };

  void pump(std::uint32_t e) {
    Transmit out;
    while (uet.poll_ack(e, out)) send(e, out);
    while (nics[e].busy <= now && uet.poll(now, e, out)) send(e, out);
    for (const Completion& each : uet.completions()) {
      done.push_back(each);
      last_done = now;
    }
    uet.completions().clear();
  }

  void send(std::uint32_t e, Transmit& out) {
    if (!deliver(out)) return;
    const bool troubled = now < trouble.until;
    if (troubled && random.below(100) < trouble.loss) return;
    const int copies = troubled && random.below(100) < trouble.duplicate ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Instant extra = troubled ? random.below(static_cast<std::uint32_t>(trouble.jitter) + 1) : 0;
      pass(nics[e], out, 0, false, extra);
    }
  }

  void arrive(Event event) {
    const Header& header = event.packet.header;
    if (event.hops == 1) {
      auto& links = event.packet.type == PacketType::uet_ack ? returns : spines;
      const std::uint32_t pair = header.source * 31 + header.destination;
      const std::uint64_t hash = mix64(pair * 65536 + header.path);
      pass(links[pick(hash, static_cast<std::uint32_t>(links.size()))], event.packet, 1, true, 0);
    } else if (event.hops == 2) {
      pass(ports[header.destination], event.packet, 2, true, 0);
    } else {
      const Placement placement = uet.handle(now, header.destination, event.packet.type, event.packet.flags, header);
      if (placement.kind == Placement::Kind::place) placed[header.source] += placement.length;
      pump(header.destination);
    }
  }

  void pass(TestLink& link, Transmit packet, int hops, bool queues, Instant extra) {
    const auto high = [&] { return packet.type == PacketType::uet_ack || (packet.flags & kTrimmed); };
    link.packets += !high();
    if (queues && !high()) {
      const Instant round_trip = uet.config().base_rtt / 80 * link.ps_per_byte;  // a queue is of bytes
      const Instant ahead = link.busy - now;
      const Instant span = round_trip * 3 / 5;
      if (ahead > (uet.config().trimming ? 1 : 5) * round_trip) {
        if (!uet.config().trimming) return;
        packet.flags |= kTrimmed;
        packet.wire_bytes = uet.config().header;
      } else if (static_cast<Instant>(random.below(1000)) * span < (ahead - round_trip / 5) * 1000) {
        packet.flags |= kMarked;
      }
    }
    const Instant wire = link.ps_per_byte * packet.wire_bytes;
    const Instant begin = std::max(now, high() ? link.busy_high : link.busy);
    if (high()) {
      link.busy_high = begin + wire;
      link.busy = std::max(now, link.busy) + wire;
    } else {
      link.busy = begin + wire;
    }
    events_.push({begin + wire + kDelay + extra, order_++, hops + 1, packet});
  }

  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
};

}  // namespace weft::transport::testing
