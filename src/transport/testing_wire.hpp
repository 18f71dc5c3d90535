#pragma once
// A network for tests where every endpoint hangs on one switch.
//
//   endpoint --- up: rate ---> switch --- down: rate, queue, marks, trims, drops ---> endpoint

#include <cstdint>

#include "base/random.hpp"
#include "transport/testing_net.hpp"

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

class OneSwitch : public TestingClock {
 public:
  explicit OneSwitch(const WireConfig& wire) : wire_(wire), random_(wire.seed, 0, 0), nodes_(wire.endpoints) {
    if (wire_.ps_per_byte_down == 0) wire_.ps_per_byte_down = wire_.ps_per_byte;
  }

  WireConfig& wire() { return wire_; }                 // may change while it runs: partitions, healing
  std::int64_t queued(std::uint32_t endpoint) const {  // bytes that wait for its link down
    return std::max<Instant>(0, nodes_[endpoint].down_busy - now_) / wire_.ps_per_byte_down;
  }

 protected:
  Instant ready(std::uint32_t endpoint) const { return nodes_[endpoint].up_busy; }

  void enter(Transmit packet, bool) {
    Node& node = nodes_[packet.header.source];
    node.up_busy = std::max(node.up_busy, now_) + wire_.ps_per_byte * packet.wire_bytes;
    if (!deliver(packet) || random_.below(1024) < wire_.lose) return;
    const int copies = random_.below(1024) < wire_.duplicate ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      Instant late = 0;
      if (wire_.jitter > 0 && random_.below(1024) < wire_.hold_back)
        late = static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(wire_.jitter));
      book(node.up_busy + wire_.delay / 2 + late, packet, 0);
    }
  }

  bool pass(Transmit& packet, int) {
    const std::uint32_t to = packet.header.destination;
    const std::int64_t waiting = queued(to);
    if (waiting + packet.wire_bytes > wire_.queue) {
      if (!wire_.trim) return false;
      packet.flags |= kTrimmed;
      packet.wire_bytes = wire_.trimmed_bytes;
    }
    if (waiting > wire_.mark_above) packet.flags |= kMarked;
    Instant& busy = nodes_[to].down_busy;
    busy = std::max(busy, now_) + wire_.ps_per_byte_down * packet.wire_bytes;
    book(busy + wire_.delay - wire_.delay / 2, packet);
    return false;
  }

 private:
  struct Node {
    Instant up_busy = 0;
    Instant down_busy = 0;
  };

  WireConfig wire_;
  Random random_;
  std::vector<Node> nodes_;
};

template <class Transport>
class TestingWire : public TestingNet<Transport, OneSwitch> {
 public:
  template <class Config>
  TestingWire(const WireConfig& wire, const Config& config)
      : TestingNet<Transport, OneSwitch>(OneSwitch(wire), wire.endpoints, wire.endpoints, config) {}
};

}  // namespace weft::transport
