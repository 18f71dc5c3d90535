#pragma once
// A small network for the tests of transports: every endpoint hangs on one switch.
//
//   endpoint --- up: rate ---> switch --- down: rate, queue, marks, trims, drops ---> endpoint
//
// Each endpoint has a Transport of its own, so that nothing travels but headers. The clock is virtual and
// goes from event to event; equal seeds give equal runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "transport/operation.hpp"

namespace weft::transport {

struct WireConfig {
  std::uint32_t endpoints = 2;
  Instant delay = 2'000'000;          // ps, one way, beside the time on the two links
  std::int64_t ps_per_byte = 80;      // of every link up: 100 Gb/s
  std::int64_t ps_per_byte_down = 0;  // of every link down; 0: as up
  std::int64_t queue = 1 << 30;       // bytes that may wait for a link down
  std::int64_t mark_above = 1 << 30;  // bytes that wait before a packet is marked
  bool trim = false;                  // what finds no room loses its payload rather than its life
  std::uint32_t trimmed_bytes = 64;
  // Of 1024 packets so many are lost, sent twice, or held back by up to `jitter`.
  std::uint32_t lose = 0;
  std::uint32_t duplicate = 0;
  std::uint32_t hold_back = 0;
  Instant jitter = 0;
  std::uint64_t seed = 1;
};

template <class Transport>
class TestingWire {
 public:
  template <class Config>
  TestingWire(const WireConfig& wire, const Config& config) : wire_(wire), random_(wire.seed, 0, 0) {
    if (wire_.ps_per_byte_down == 0) wire_.ps_per_byte_down = wire_.ps_per_byte;
    for (std::uint32_t i = 0; i < wire.endpoints; ++i) at_.push_back(std::make_unique<Transport>(config));
    nodes_.resize(wire.endpoints);
  }

  // Sees every packet as it is sent and may change it, or lose it by returning false.
  std::function<bool(Transmit&)> deliver = [](Transmit&) { return true; };
  // Sees every payload's placement at an endpoint.
  std::function<void(std::uint32_t, const Header&, const Placement&)> placed = [](std::uint32_t, const Header&,
                                                                                  const Placement&) {};
  // Called after every event: where a test samples what is inside.
  std::function<void()> each = [] {};

  Transport& operator[](std::uint32_t endpoint) { return *at_[endpoint]; }
  WireConfig& wire() { return wire_; }  // may change while it runs: partitions, healing
  Instant now() const { return now_; }
  const std::vector<Completion>& done() const { return done_; }
  std::size_t count(Completion::Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(done_.begin(), done_.end(), [&](const Completion& one) { return one.kind == kind; }));
  }
  std::int64_t queued(std::uint32_t endpoint) const {  // bytes that wait for its link down
    return std::max<Instant>(0, nodes_[endpoint].down_busy - now_) / wire_.ps_per_byte_down;
  }

  bool post(std::uint32_t endpoint, const Operation& operation) {
    const bool taken = at_[endpoint]->post(now_, endpoint, operation);
    pump(endpoint);
    return taken;
  }

  // The process at an endpoint is replaced by another, which knows nothing.
  template <class Config>
  void restart(std::uint32_t endpoint, const Config& config) {
    at_[endpoint] = std::make_unique<Transport>(config);
    nodes_[endpoint].wake = kNever;
  }

  // Puts a packet on the wire as if its source had sent it.
  void inject(const Transmit& packet) { enter(packet); }

  // Until nothing is left to happen, or nothing before `limit`, when the clock stands at the limit.
  void run(Instant limit = kNever) {
    for (std::uint64_t events = 0; events < 20'000'000; ++events) {
      Instant next = arriving_.empty() ? kNever : arriving_.begin()->first.first;
      std::uint32_t waking = kNobody;
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].wake >= next) continue;
        next = nodes_[i].wake;
        waking = i;
      }
      if (next == kNever || next > limit) {
        if (limit != kNever) now_ = std::max(now_, limit);
        return;
      }
      now_ = std::max(now_, next);
      if (waking != kNobody) {
        pump(waking);
      } else {
        arrive();
      }
      each();
    }
    ADD_FAILURE() << "it goes on and on";
  }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

  struct Node {
    Instant up_busy = 0;
    Instant down_busy = 0;
    Instant wake = kNever;
  };
  struct Arrival {
    Transmit packet;
    bool at_switch;
  };

  void pump(std::uint32_t endpoint) {
    Transport& transport = *at_[endpoint];
    Node& node = nodes_[endpoint];
    Transmit out;
    while (transport.poll_ack(endpoint, out)) enter(out);
    bool more = true;
    while (node.up_busy <= now_ && (more = transport.poll(now_, endpoint, out))) enter(out);
    node.wake = more ? node.up_busy : std::max(now_ + 1, transport.next_wake(endpoint));
    // Completions and packets that a poll gave rise to.
    while (transport.poll_ack(endpoint, out)) enter(out);
    done_.insert(done_.end(), transport.completions().begin(), transport.completions().end());
    transport.completions().clear();
    // Looking at everything takes long; in long runs, now and then is enough.
    if (++pumped_ > 5000 && pumped_ % 64 != 0) return;
    if (const auto wrong = transport.check_invariants(); !wrong.empty()) ADD_FAILURE() << wrong << " at " << now_;
  }

  void enter(Transmit packet) {
    Node& node = nodes_[packet.header.source];
    node.up_busy = std::max(node.up_busy, now_) + wire_.ps_per_byte * packet.wire_bytes;
    if (!deliver(packet) || random_.below(1024) < wire_.lose) return;
    const int copies = random_.below(1024) < wire_.duplicate ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      Instant late = 0;
      if (wire_.jitter > 0 && random_.below(1024) < wire_.hold_back)
        late = static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(wire_.jitter));
      book(node.up_busy + wire_.delay / 2 + late, {packet, true});
    }
  }

  void book(Instant when, const Arrival& arrival) { arriving_.emplace(std::pair(when, booked_++), arrival); }

  void arrive() {
    Arrival arrival = arriving_.begin()->second;
    arriving_.erase(arriving_.begin());
    Transmit& packet = arrival.packet;
    const std::uint32_t to = packet.header.destination;
    if (to >= nodes_.size()) return;
    if (arrival.at_switch) {
      const std::int64_t waiting = queued(to);
      if (waiting + packet.wire_bytes > wire_.queue) {
        if (!wire_.trim) return;
        packet.flags |= kTrimmed;
        packet.wire_bytes = wire_.trimmed_bytes;
      }
      if (waiting > wire_.mark_above) packet.flags |= kMarked;
      Instant& busy = nodes_[to].down_busy;
      busy = std::max(busy, now_) + wire_.ps_per_byte_down * packet.wire_bytes;
      return book(busy + wire_.delay - wire_.delay / 2, {packet, false});
    }
    placed(to, packet.header, at_[to]->handle(now_, to, packet.type, packet.flags, packet.header));
    pump(to);
  }

  WireConfig wire_;
  Random random_;
  std::vector<std::unique_ptr<Transport>> at_;
  std::vector<Node> nodes_;
  std::map<std::pair<Instant, std::uint64_t>, Arrival> arriving_;
  std::uint64_t booked_ = 0;
  std::uint64_t pumped_ = 0;
  std::vector<Completion> done_;
  Instant now_ = 0;
};

}  // namespace weft::transport
