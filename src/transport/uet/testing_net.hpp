#pragma once
// A network for tests of UET: endpoints on two switches with several links between them.
//
//      endpoint --nic--> switch A ==spines, by entropy==> switch B --port--> endpoint
//
// Acknowledgements go the same way over spines of their own, so that data crosses an otherwise empty network.
// Every link has a rate, a delay and, behind a switch, a queue that marks from 20 to 80 % of a round trip's worth, and
// trims from one on or drops from five on (as in htsim); acknowledgements and trimmed headers have a class of their
// own, served first. Packets may also be lost, doubled and delayed at random, by seed. One Uet serves all endpoints.

#include <cstdint>

#include "base/random.hpp"
#include "transport/testing_net.hpp"
#include "transport/testing_times.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport::testing {

struct TestLink {
  Instant ps_per_byte = 80;  // 100 Gb/s
  Instant busy = 0;
  Instant busy_high = 0;
  std::uint64_t packets = 0;  // that came with payload
};

class TwoSwitches : public TestingClock {
 public:
  static constexpr Instant kDelay = 2 * kMicrosecond;  // of each link

  TwoSwitches(std::uint32_t endpoints, std::uint32_t spine_links, const UetConfig& config)
      : spines(spine_links), ports(endpoints), config_(config), nics_(endpoints), returns_(spine_links) {}

  std::vector<TestLink> spines;
  std::vector<TestLink> ports;

  struct Trouble {
    std::uint32_t loss = 0;       // percent
    std::uint32_t duplicate = 0;  // percent
    Instant jitter = 0;           // at most so much later
    Instant until = 0;
  } trouble;
  Random random{1, 1, 1};

 protected:
  Instant ready(std::uint32_t endpoint) const { return nics_[endpoint].busy; }

  void enter(Transmit packet, bool) {
    if (!deliver(packet)) return;
    const bool troubled = now_ < trouble.until;
    if (troubled && random.below(100) < trouble.loss) return;
    const int copies = troubled && random.below(100) < trouble.duplicate ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Instant extra = troubled ? random.below(static_cast<std::uint32_t>(trouble.jitter) + 1) : 0;
      cross(nics_[packet.header.source], packet, 1, extra);
    }
  }

  bool pass(Transmit& packet, int hop) {
    const Header& header = packet.header;
    if (hop == 1) {
      auto& links = packet.type == PacketType::uet_ack ? returns_ : spines;
      const std::uint32_t pair = header.source * 31 + header.destination;
      const std::uint64_t hash = mix64(pair * 65536 + header.path);
      TestLink& link = links[pick(hash, static_cast<std::uint32_t>(links.size()))];
      if (queue_for(link, packet)) cross(link, packet, 2, 0);
    } else if (queue_for(ports[header.destination], packet)) {
      cross(ports[header.destination], packet, kThere, 0);
    }
    return false;
  }

 private:
  static bool goes_first(const Transmit& packet) {
    return packet.type == PacketType::uet_ack || (packet.flags & kTrimmed);
  }

  // False: there is no room, and nothing is trimmed.
  bool queue_for(TestLink& link, Transmit& packet) {
    if (goes_first(packet)) return true;
    ++link.packets;
    const Instant round_trip = config_.base_rtt.count() / 80 * link.ps_per_byte;  // a queue is of bytes
    const Instant ahead = link.busy - now_;
    const Instant span = round_trip * 3 / 5;
    if (ahead > (config_.trimming ? 1 : 5) * round_trip) {
      if (!config_.trimming) return false;
      packet.flags |= kTrimmed;
      packet.wire_bytes = config_.header;
    } else if (static_cast<Instant>(random.below(1000)) * span < (ahead - round_trip / 5) * 1000) {
      packet.flags |= kMarked;
    }
    return true;
  }

  void cross(TestLink& link, const Transmit& packet, int hop, Instant extra) {
    const Instant wire = link.ps_per_byte * packet.wire_bytes;
    const bool first = goes_first(packet);
    const Instant begin = std::max(now_, first ? link.busy_high : link.busy);
    if (first) {
      link.busy_high = begin + wire;
      link.busy = std::max(now_, link.busy) + wire;
    } else {
      link.busy = begin + wire;
    }
    book(begin + wire + kDelay + extra, packet, hop);
  }

  UetConfig config_;
  std::vector<TestLink> nics_;
  std::vector<TestLink> returns_;  // spines for acknowledgements
};

class TestNet : public TestingNet<Uet, TwoSwitches> {
 public:
  // With the two times that a driver fills in.
  static UetConfig with_times(UetConfig config) {
    config.packet_time = Duration(80 * (config.payload + config.header));
    config.base_rtt = Duration(3 * (config.packet_time.count() + 80 * config.header) + 6 * kDelay);
    return config;
  }

  TestNet(std::uint32_t endpoints, std::uint32_t spine_links, const UetConfig& config = {})
      : TestingNet(TwoSwitches(endpoints, spine_links, with_times(config)), endpoints, 1, with_times(config)),
        uet((*this)[0]),
        placed_from(endpoints) {
    placed = [this](std::uint32_t, const Header& header, const Placement& placement) {
      if (placement.kind == Placement::Kind::place) placed_from[header.source] += placement.length;
    };
  }
  TestNet(const TestNet&) = delete;
  TestNet& operator=(const TestNet&) = delete;

  Uet& uet;
  std::vector<std::uint64_t> placed_from;  // bytes, by sender

  void post(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Op op = Op::send, std::uint32_t tag = 0) {
    ASSERT_TRUE(TestingNet::post(from, {op, to, bytes, tag, tag}));
  }
};

}  // namespace weft::transport::testing
