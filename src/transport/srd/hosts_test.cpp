// Hosts that stop for a while, clocks that jump, paths that are few or lose: nothing of it changes SRD for good.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "transport/srd/testing_lab.hpp"

namespace weft::transport {
namespace {

using testing::Lab;
using testing::LabConfig;

constexpr Instant kMillisecond = 1'000'000'000;
constexpr std::uint64_t kMessage = 64 << 10;

// What a stream of messages from host 0 to host 1 carries.
class Stream {
 public:
  explicit Stream(const LabConfig& lab, const SrdConfig& srd) : net(lab, srd) {
    net.checking = false;
    count_bytes();
    net.each = [this] { fill(); };
  }

  void count_bytes() {
    net.placed = [this](std::uint32_t to, const Header&, const Placement& placement) {
      if (to == 1 && placement.kind == Placement::Kind::place) bytes_ += placement.length;
    };
  }

  // Mb/s of payload.
  double run_for(Instant time) {
    fill();
    const Instant from = net.now();
    const std::uint64_t before = bytes_;
    net.run(from + time);
    return 8e6 * static_cast<double>(bytes_ - before) / static_cast<double>(time);
  }

  Lab net;

 private:
  void fill() {
    for (; told_ < net.done().size(); ++told_) open_ -= net.done()[told_].kind != Completion::Kind::received;
    for (; open_ < 64; ++open_) net[0].post(net.now(), 0, {Op::send, 1, kMessage, 0, 0});
  }
  std::uint64_t bytes_ = 0;
  std::size_t open_ = 0;
  std::size_t told_ = 0;
};

// Both hosts stop, or the clock of both jumps: what is under way arrives afterwards, all at once.
TEST(SrdHosts, APauseOfAnyLengthChangesNothingForGood) {
  for (const bool drops : {true, false}) {
    for (const Instant pause : {1, 20, 137, 140, 1100, 1101, 3000, 10'000}) {
      const LabConfig lab;
      SrdConfig srd = Lab::srd_of(lab);
      srd.drops = drops;
      Stream stream(lab, srd);
      stream.run_for(100 * kMillisecond);
      const double before = stream.run_for(100 * kMillisecond);
      stream.net.let_pass(pause * kMillisecond);
      stream.run_for(50 * kMillisecond);
      EXPECT_GE(stream.run_for(100 * kMillisecond), 0.97 * before) << pause << " ms" << (drops ? ", drops" : "");
      EXPECT_EQ(stream.net.count(Completion::Kind::failed), 0u) << pause;
      EXPECT_EQ(stream.net[0].check_invariants(), "");
    }
  }
}

// The peer computes and takes nothing; somebody on its host answers for it.
TEST(SrdHosts, APeerThatDoesNotRunIsNotDead) {
  const LabConfig lab;
  for (const Instant pause : {1, 100, 1000, 8000}) {
    Stream stream(lab, Lab::srd_of(lab));
    stream.run_for(100 * kMillisecond);
    const double before = stream.run_for(100 * kMillisecond);
    const Instant end = stream.net.now() + pause * kMillisecond;
    stream.net.stopped = 1;
    for (Instant left = pause; left > 0; left -= 500) {
      stream.run_for(std::min<Instant>(left, 500) * kMillisecond);
      stream.net[0].hear(stream.net.now(), 0, 1);
    }
    EXPECT_EQ(stream.net.now(), end);
    stream.net.stopped = 0xFFFFFFFF;
    stream.run_for(300 * kMillisecond);
    EXPECT_GE(stream.run_for(100 * kMillisecond), 0.95 * before) << pause << " ms";
    EXPECT_EQ(stream.net.count(Completion::Kind::failed), 0u) << pause;
  }
}

// ---- paths

TEST(SrdEntropies, StayBelowTheirBoundAndADeadOneIsLeft) {
  LabConfig lab;
  SrdConfig srd = Lab::srd_of(lab);
  srd.entropies = 24;
  srd.paths = 16;
  Stream stream(lab, srd);
  std::set<std::uint16_t> used;
  stream.net.placed = [&](std::uint32_t, const Header& header, const Placement&) { used.insert(header.path); };
  stream.run_for(50 * kMillisecond);
  for (auto* links : {&stream.net.up[0], &stream.net.up[1], &stream.net.down[0], &stream.net.down[1]})
    (*links)[0].dies = stream.net.now();
  stream.run_for(100 * kMillisecond);
  stream.count_bytes();
  EXPECT_GE(stream.run_for(100 * kMillisecond), 0.9 * 3 * lab.spine_mbps * lab.payload() / lab.mtu);
  EXPECT_LT(*used.rbegin(), 24u);
  EXPECT_GT(used.size(), 16u);
  EXPECT_EQ(stream.net[0].check_invariants(), "");
}

TEST(SrdTrains, AreAsLongAsAnEighthOfARoundTripAndNotInterrupted) {
  SrdConfig config;
  config.payload = 8900;
  config.packet_time = 1'000'000;
  config.base_rtt = 40 * config.packet_time;
  config.burst = 64;
  const auto trains = [&](const SrdConfig& with) {
    Srd srd(with);
    for (const std::uint32_t peer : {1u, 2u}) EXPECT_TRUE(srd.post(0, 0, {Op::send, peer, 4'000'000, 0, 0}));
    Transmit out{};
    std::vector<std::uint32_t> lengths;
    std::pair<std::uint32_t, std::uint16_t> last{};
    while (srd.poll(0, 0, out)) {
      const std::pair way{out.header.destination, out.header.path};
      if (way != last) lengths.push_back(0);
      ++lengths.back();
      last = way;
    }
    return lengths;
  };
  config.window = 100;
  for (const std::uint32_t length : trains(config)) EXPECT_LE(length, 7u);  // 64 KiB
  EXPECT_EQ(trains(config)[1], 7u);
  config.window = 40;
  for (const std::uint32_t length : trains(config)) EXPECT_LE(length, 5u);
  EXPECT_EQ(trains(config)[1], 5u);
  config.burst = 1;
  for (const std::uint32_t length : trains(config)) EXPECT_EQ(length, 1u);
}

// One packet vanishes, and others of its path arrive: nobody waits for other paths to tell.
TEST(SrdOrder, WhatALaterOneOfItsPathOvertookIsSentAgainAtOnce) {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = 100'000;
  config.base_rtt = 100'000'000;
  config.drops = true;
  config.paths = 2;
  Srd sender(config);
  Srd receiver(config);
  ASSERT_TRUE(sender.post(0, 0, {Op::send, 1, 1'000'000, 0, 0}));
  Instant now = 0;
  Transmit out{};
  std::vector<Transmit> flying;
  std::optional<std::uint32_t> lost;
  for (; sender.poll(now, 0, out); now += 20'000'000) {  // four in a round trip
    if (!lost) {
      lost = out.header.sequence;
      continue;
    }
    flying.push_back(out);
    if (flying.size() == 6) break;
  }
  now += config.base_rtt;
  Transmit ack{};
  for (const Transmit& each : flying) {
    receiver.handle(now, 1, each.type, each.flags, each.header);
    while (receiver.poll_ack(1, ack)) sender.handle(now, 0, ack.type, ack.flags, ack.header);
  }
  ASSERT_TRUE(sender.poll(now, 0, out));
  EXPECT_TRUE(out.flags & kResent);
  EXPECT_EQ(out.header.sequence, lost);
}

}  // namespace
}  // namespace weft::transport
