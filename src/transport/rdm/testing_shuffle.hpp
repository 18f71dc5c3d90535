#pragma once
// A carrier that keeps its promises and nothing else: packets of all messages in any order, acknowledgements late,
// packets read from memory as late as may be, connections lost at any time. Or one that breaks a promise, which must be
// noticed.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transport/rdm/exercise.hpp"

namespace weft::transport::rdm {

class Shuffle {
 public:
  enum class Breaks { nothing, twice, other_byte, lost, misplaced };

  Shuffle(Exercise& exercise, std::uint64_t seed, std::uint32_t nodes, std::uint32_t packet, Breaks breaks)
      : exercise_(exercise), random_(seed, 0x5af, 1), nodes_(nodes), packet_(packet), breaks_(breaks) {}

  // One thing that may happen next.
  void step() {
    now_ += 1'000'000;
    const std::uint32_t draw = random_.below(8);
    if (draw < 2 || flights_.empty()) return take(random_.below(nodes_));
    move(random_.below(static_cast<std::uint32_t>(flights_.size())));
  }

  bool idle() {
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      take(i);
      if (exercise_.rdm(i).next_wake() != kNever) return false;
    }
    return flights_.empty();
  }

  void lose(std::uint32_t a, std::uint32_t b) {
    exercise_.lost(a, b);
    std::erase_if(flights_, [&](const Flight& it) {
      return (it.from == a && it.out.peer == b) || (it.from == b && it.out.peer == a);
    });
    exercise_.rdm(a).peer_failed(now_, b);
    if (a != b) exercise_.rdm(b).peer_failed(now_, a);
    exercise_.collect(a);
    exercise_.collect(b);
  }

 private:
  struct Flight {
    std::uint32_t from;
    Outgoing out;
    Sink sink;
    std::vector<std::uint64_t> packets;  // offsets of those under way
    bool landed = false;
  };

  void take(std::uint32_t node) {
    exercise_.rdm(node).tick(now_);
    Outgoing out;
    for (std::uint32_t i = random_.below(4); i < 4 && exercise_.rdm(node).next_outgoing(out); ++i) {
      Flight flight{.from = node, .out = out, .sink = {}, .packets = {}};
      for (std::uint64_t at = 0; at == 0 || at < out.bytes; at += packet_) flight.packets.push_back(at);
      if (breaks_ == Breaks::twice && random_.below(20) == 0) flights_.push_back(flight);
      if (breaks_ == Breaks::lost && random_.below(20) == 0) {
        flight.packets.clear();
        flight.landed = true;
      }
      flights_.push_back(flight);
    }
  }

  void move(std::uint32_t index) {
    Flight& flight = flights_[index];
    const std::uint32_t from = flight.from;
    const std::uint32_t to = flight.out.peer;
    if (flight.landed) {
      const std::uint32_t context = flight.out.context;
      const bool other = std::ranges::count_if(flights_, [&](const Flight& it) {
                           return it.from == from && it.out.context == context && it.landed;
                         }) == 1;
      flight = flights_.back();
      flights_.pop_back();
      if (other) exercise_.rdm(from).sent(now_, context);
      return exercise_.collect(from);
    }
    Rdm& rdm = exercise_.rdm(to);
    if (flight.sink.kind == Sink::Kind::refused)
      flight.sink = rdm.arrived(now_, from, flight.out.envelope.view(), flight.out.bytes);
    if (flight.sink.kind == Sink::Kind::refused) return;
    const std::uint32_t which = random_.below(static_cast<std::uint32_t>(flight.packets.size()));
    place(flight, flight.packets[which]);
    flight.packets.erase(flight.packets.begin() + which);
    if (!flight.packets.empty()) return;
    flight.landed = true;
    rdm.landed(now_, from, flight.sink.context);
    exercise_.collect(to);
  }

  void place(const Flight& flight, std::uint64_t at) {
    std::vector<std::byte> bytes(std::min<std::uint64_t>(packet_, flight.out.bytes - at));
    exercise_.get(flight.from, {flight.out.payload.memory, flight.out.payload.offset + at}, bytes);
    if (breaks_ == Breaks::other_byte && !bytes.empty() && random_.below(20) == 0) bytes[0] ^= std::byte{1};
    if (at >= flight.sink.room) return;
    bytes.resize(std::min<std::uint64_t>(bytes.size(), flight.sink.room - at));
    std::uint64_t offset = flight.sink.place.offset + at;
    if (breaks_ == Breaks::misplaced && offset > 0 && random_.below(20) == 0) --offset;
    exercise_.put(flight.out.peer, {flight.sink.place.memory, offset}, bytes);
  }

  Exercise& exercise_;
  Random random_;
  std::uint32_t nodes_;
  std::uint32_t packet_;
  Breaks breaks_;
  Instant now_ = 0;
  std::vector<Flight> flights_;
};

}  // namespace weft::transport::rdm
