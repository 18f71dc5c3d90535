#include "sim/packet/software.hpp"

#include <gtest/gtest.h>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

constexpr std::int64_t kCall = 2'000'000;  // ps
constexpr std::int64_t kPacket = 300'000;
constexpr std::int64_t kUs = 1'000'000;

Software program(const SoftwareCosts& costs) {
  Software made;
  made.set_costs(costs);
  return made;
}

// All hosts.
std::function<void(PacketSim&)> on_all(const SoftwareCosts& costs) {
  return [costs](PacketSim& sim) {
    for (std::uint32_t i = 0; i < sim.layout().endpoints(); ++i) sim.software_of(i).set_costs(costs);
  };
}

TEST(Software, ACallTakesAllThatIsThereWhenItBegins) {
  Software host = program({.call = kCall, .packet = kPacket});
  EXPECT_EQ(host.take(0, 1, 0, 1000), kCall + kPacket);
  // While that call runs two come: they are of the next one.
  EXPECT_EQ(host.take(1000, 1, 1, 1000), 2 * (kCall + kPacket));
  EXPECT_EQ(host.take(2000, 1, 2, 1000), 2 * kCall + 3 * kPacket);
  // This one comes when that has begun.
  EXPECT_EQ(host.take(kCall + kPacket + 1, 1, 3, 1000), 3 * kCall + 4 * kPacket);
  EXPECT_EQ(host.take(100 * kUs, 1, 4, 1000), 100 * kUs + kCall + kPacket);
}

TEST(Software, PacketsOfOnePathThatWaitTogetherAreOne) {
  Software host = program({.call = kCall, .packet = kPacket, .merged = 2500});
  host.take(0, 1, 7, 1000);
  const std::int64_t first = host.take(1, 1, 7, 1000);
  EXPECT_EQ(host.take(2, 1, 7, 1000), first) << "with the one before";
  EXPECT_EQ(host.take(3, 1, 7, 1000), first + kPacket) << "more than may be one";
  EXPECT_EQ(host.take(4, 1, 8, 1000), first + 2 * kPacket) << "another path";
  EXPECT_EQ(host.take(5, 2, 8, 1000), first + 3 * kPacket) << "another sender";
}

TEST(Software, WhatFindsNoRoomIsLost) {
  Software host = program({.call = kCall, .buffer = 2500});
  EXPECT_NE(host.take(0, 1, 0, 1000), Software::kLost);
  EXPECT_NE(host.take(0, 1, 0, 1000), Software::kLost);
  EXPECT_EQ(host.take(0, 1, 0, 1000), Software::kLost);
  host.taken(1000);
  EXPECT_NE(host.take(0, 1, 0, 1000), Software::kLost);
}

TEST(Software, WhoStandsStillGoesOnWhereItWas) {
  Software host = program({.call = kCall, .packet = kPacket});
  host.stand_still(20 * kUs, 30 * kUs);
  host.stand_still(10 * kUs, 20 * kUs);
  EXPECT_EQ(host.take(15 * kUs, 1, 0, 1000), 30 * kUs + kCall + kPacket);
  EXPECT_EQ(host.may_send(12 * kUs), 30 * kUs);
  EXPECT_EQ(host.may_send(9 * kUs), 9 * kUs);
  host.send_for(9 * kUs, kUs);
  EXPECT_EQ(host.may_send(9 * kUs), 30 * kUs) << "it would be done when it stands still";
  host.send_for(40 * kUs, 5 * kUs);
  EXPECT_EQ(host.take(41 * kUs, 1, 0, 1000), 45 * kUs + kCall + kPacket) << "sending takes the time of taking";
}

TEST(Software, AClockThatJumpsShowsNoTimeInBetween) {
  Software host;
  host.jump(10 * kUs, 100 * kUs);
  host.jump(20 * kUs, 5 * kUs);
  EXPECT_EQ(host.clock(9 * kUs), 9 * kUs);
  EXPECT_EQ(host.clock(10 * kUs), 110 * kUs);
  EXPECT_EQ(host.clock(20 * kUs), 125 * kUs);
  EXPECT_EQ(host.when_clock_shows(9 * kUs), 9 * kUs);
  EXPECT_EQ(host.when_clock_shows(50 * kUs), 10 * kUs);
  EXPECT_EQ(host.when_clock_shows(115 * kUs), 15 * kUs);
  EXPECT_EQ(host.when_clock_shows(122 * kUs), 20 * kUs);
  EXPECT_EQ(host.when_clock_shows(130 * kUs), 25 * kUs);
  EXPECT_EQ(host.when_clock_shows(INT64_MAX), INT64_MAX);
}

TEST(Software, APacketAloneTakesACallOnEachSideAndSoDoesItsAcknowledgement) {
  const std::int64_t alone = run({{0, 63, 100, 0}}).sent.at(0);
  const Outcome by_program = run({{0, 63, 100, 0}}, {}, on_all({.call = kCall, .packet = kPacket}));
  EXPECT_EQ(by_program.sent.at(0), alone + 4 * (kCall + kPacket));
}

// 4 MB are 979 packets: at the receiver as many times what one of them costs, and an acknowledgement for eight, unless
// they come as one.
TEST(Software, AStreamIsAsFastAsItsHosts) {
  const auto took = [](std::int64_t merged) {
    SimConfig config;
    config.fifo = true;
    config.trimming = false;
    config.stack.srd.burst = 15;
    return run({{0, 63, 4'000'000, 0}}, config, on_all({.packet = 1 * kUs, .train = 65536, .merged = merged})).last();
  };
  EXPECT_GT(took(1), 979 * kUs);
  EXPECT_LT(took(1), 979 * kUs * 9 / 8 * 11 / 10);
  EXPECT_LT(took(65536), took(1));
}

TEST(Software, AHostThatStandsStillHoldsUpItsMessagesAndNoLonger) {
  for (const std::uint32_t who : {0u, 63u}) {
    const auto pause = [&](PacketSim& sim) { sim.software_of(who).stand_still(20 * kUs, 3'000 * kUs); };
    const Outcome out = run({{0, 63, 2'000'000, 0}}, {}, pause);
    EXPECT_EQ(out.times_received.at(0), 1);
    EXPECT_GT(out.last(), 3'000 * kUs);
    EXPECT_LT(out.last(), 3'600 * kUs) << "the rest of 160 us, and what was sent again";
  }
}

TEST(Software, AClockThatJumpsHoldsUpNothing) {
  const std::int64_t alone = run({{0, 63, 2'000'000, 0}}).last();
  for (const std::uint32_t who : {0u, 63u}) {
    const auto jump = [&](PacketSim& sim) { sim.software_of(who).jump(50 * kUs, 10'000'000 * kUs); };
    const Outcome out = run({{0, 63, 2'000'000, 0}}, {}, jump);
    EXPECT_EQ(out.times_received.at(0), 1);
    EXPECT_LT(out.last(), 2 * alone);
  }
}

TEST(Software, AnyNumberOfThreadsGivesTheSame) {
  std::vector<std::uint64_t> digests;
  for (const std::uint32_t threads : {1u, 2u, 3u}) {
    SimConfig config;
    config.threads = threads;
    const auto prepare = [](PacketSim& sim) {
      on_all({.call = kCall, .packet = kPacket, .train = 65536, .merged = 65536})(sim);
      sim.software_of(5).stand_still(30 * kUs, 200 * kUs);
      sim.software_of(9).jump(40 * kUs, 1'000 * kUs);
    };
    digests.push_back(run(shifted(17, 300'000), config, prepare).result.digest);
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(digests[0], digests[2]);
}

}  // namespace
}  // namespace weft::sim
