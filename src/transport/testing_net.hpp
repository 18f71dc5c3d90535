#pragma once
// What the tests of transports share: endpoints that are driven as operation.hpp says, and a clock that goes from event
// to event; equal seeds give equal runs. What lies between the endpoints is a Way:
//
//   OneSwitch    testing_wire.hpp       a queue that marks, trims and drops; packets lost, sent twice, held back
//   RedSwitch    roce/testing_net.hpp   ports that mark as RED does, and acknowledgements that nothing holds up
//   TwoSwitches  uet/testing_net.hpp    many links between two switches
//
// A Way is a TestingClock with
//   Instant ready(endpoint) const   from when on its NIC takes another packet
//   void enter(Transmit, is_ack)    puts what an endpoint sends on its way, if `deliver` lets it
//   bool pass(Transmit&, hop)       takes on what was booked; true: it is there

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "transport/operation.hpp"

namespace weft::transport {

class TestingClock {
 public:
  static constexpr int kThere = -1;  // the hop behind all others

  // Sees every packet as it is sent and may change it, or lose it by returning false.
  std::function<bool(Transmit&)> deliver = [](Transmit&) { return true; };

  Instant now() const { return now_; }
  void let_pass(Instant time) { now_ += time; }  // and nobody looks meanwhile
  void book(Instant when, const Transmit& packet, int hop = kThere) { booked_.push({when, order_++, hop, packet}); }

 protected:
  struct Booked {
    Instant time;
    std::uint64_t order;
    int hop;
    Transmit packet;
    Instant waited = 0;  // for the endpoint to run
    bool operator<(const Booked& other) const { return time != other.time ? time > other.time : order > other.order; }
  };

  std::priority_queue<Booked> booked_;
  std::uint64_t order_ = 0;
  Instant now_ = 0;
};

template <class Transport, class Path>
class TestingNet : public Path {
 public:
  // `transports`: one for each endpoint, so that nothing is shared but packets, or one that serves them all.
  template <class Config>
  TestingNet(const Path& path, std::uint32_t endpoints, std::uint32_t transports, const Config& config)
      : Path(path), wake_(endpoints, kNever) {
    for (std::uint32_t i = 0; i < transports; ++i) at_.push_back(std::make_unique<Transport>(config));
  }

  // Sees every payload's placement at an endpoint.
  std::function<void(std::uint32_t, const Header&, const Placement&)> placed = [](std::uint32_t, const Header&,
                                                                                  const Placement&) {};
  // Called after every event: where a test samples what is inside.
  std::function<void()> each = [] {};
  bool checking = true;                 // that what is inside is consistent
  std::uint32_t stopped = 0xFFFFFFFFu;  // an endpoint that does not run: what comes to it waits until it does

  Transport& operator[](std::uint32_t endpoint) { return *at_[endpoint % at_.size()]; }
  const std::vector<Completion>& done() const { return done_; }
  Instant done_at() const { return done_at_; }  // the last of them
  std::size_t count(Completion::Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(done_.begin(), done_.end(), [&](const Completion& one) { return one.kind == kind; }));
  }

  bool post(std::uint32_t endpoint, const Operation& operation) {
    const bool taken = (*this)[endpoint].post(now_, endpoint, operation);
    pump(endpoint);
    return taken;
  }

  // The process at an endpoint is replaced by another, which knows nothing.
  template <class Config>
  void restart(std::uint32_t endpoint, const Config& config) {
    at_[endpoint] = std::make_unique<Transport>(config);
    wake_[endpoint] = kNever;
  }

  // Puts a packet on the wire as if its source had sent it.
  void inject(const Transmit& packet) { this->enter(packet, false); }

  // Until nothing is left to happen, or nothing before `limit`, when the clock stands at the limit.
  void run(Instant limit = kNever) {
    if (stopped == kNobody)
      for (const Booked& late : std::exchange(waiting_, {}))
        booked_.push({now_, this->order_++, TestingClock::kThere, late.packet, now_ - late.time});
    for (std::uint32_t i = 0; i < wake_.size(); ++i) pump(i);  // a test may have told an endpoint something by itself
    for (std::uint64_t events = 0; events < 30'000'000; ++events) {
      Instant next = booked_.empty() ? kNever : booked_.top().time;
      std::uint32_t waking = kNobody;
      for (std::uint32_t i = 0; i < wake_.size(); ++i) {
        if (wake_[i] >= next) continue;
        next = wake_[i];
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
  using Booked = typename Path::Booked;
  using Path::booked_;
  using Path::now_;
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

  void pump(std::uint32_t endpoint) {
    if (endpoint == stopped) {
      wake_[endpoint] = kNever;
      return;
    }
    Transport& transport = (*this)[endpoint];
    Transmit out{};
    while (transport.poll_ack(endpoint, out)) this->enter(out, true);
    bool more = true;
    while (this->ready(endpoint) <= now_ && (more = transport.poll(now_, endpoint, out))) this->enter(out, false);
    wake_[endpoint] = std::max(now_ + 1, more ? this->ready(endpoint) : transport.next_wake(endpoint));
    // Completions and packets that a poll gave rise to.
    while (transport.poll_ack(endpoint, out)) this->enter(out, true);
    if (!transport.completions().empty()) done_at_ = now_;
    done_.insert(done_.end(), transport.completions().begin(), transport.completions().end());
    transport.completions().clear();
    // Looking at everything takes long; in long runs, now and then is enough.
    if (!checking || (++pumped_ > 5000 && pumped_ % 64 != 0)) return;
    if (const auto wrong = transport.check_invariants(); !wrong.empty()) ADD_FAILURE() << wrong << " at " << now_;
  }

  void arrive() {
    auto [time, order, hop, packet, waited] = booked_.top();
    booked_.pop();
    const std::uint32_t to = packet.header.destination;
    if (to >= wake_.size()) return;
    if (hop != TestingClock::kThere && !this->pass(packet, hop)) return;
    if (to == stopped) {
      if (waiting_.size() < kMostWaiting) waiting_.push_back({now_, 0, hop, packet});
      return;
    }
    placed(to, packet.header, take(to, packet, waited));
    pump(to);
  }

  // What waited is known to who asks: drivers have the time when it came.
  Placement take(std::uint32_t to, const Transmit& packet, Instant waited) {
    Transport& transport = (*this)[to];
    if constexpr (requires { transport.handle(now_, to, packet.type, packet.flags, packet.header, waited); }) {
      return transport.handle(now_ - waited, to, packet.type, packet.flags, packet.header, waited);
    } else {
      return transport.handle(now_, to, packet.type, packet.flags, packet.header);
    }
  }

  static constexpr std::size_t kMostWaiting = 256;  // as in a socket

  std::vector<std::unique_ptr<Transport>> at_;
  std::vector<Booked> waiting_;
  std::vector<Instant> wake_;  // by endpoint
  std::uint64_t pumped_ = 0;
  std::vector<Completion> done_;
  Instant done_at_ = 0;
};

}  // namespace weft::transport
