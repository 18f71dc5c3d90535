// Links and switches that fail, lose, damage or slow down at times of the run.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;
using Kind = Condition::Kind;

constexpr std::int64_t kMicrosecond = 1'000'000;

// One packet of 164 bytes from host 0 to host 1 over one leaf: 13,120 ps on each wire, 1 us of cable.
constexpr std::int64_t kWire = 164 * 80;

TEST(Faults, APacketWhoseTimeOnTheWireOverlapsTheOutageIsLost) {
  const std::int64_t second = kWire + kMicrosecond;  // it leaves the leaf then, and arrives a wire and a cable later
  const auto lost_when_down = [&](std::int64_t from, std::int64_t to) {
    return run({{0, 1, 100, 0}}, {},
               [&](PacketSim& sim) {
                 sim.add_condition(sim.layout().port_of(0, 1), {Kind::down, from, to, 0});
               })
        .result.counters.lost;
  };
  EXPECT_EQ(lost_when_down(0, second), 0u);  // ends as it starts
  EXPECT_EQ(lost_when_down(0, second + 1), 1u);
  EXPECT_EQ(lost_when_down(second + kWire + kMicrosecond - 1, second + kWire + kMicrosecond),
            1u);  // the last picosecond
  EXPECT_EQ(lost_when_down(second + kWire + kMicrosecond, 2 * second + 3 * kMicrosecond), 0u);
}

TEST(Faults, ADegradedLinkIsSlowerByWhatItSays) {
  // All of it, or only the second half of the packet.
  const auto took = [](std::int64_t from) {
    return run({{0, 1, 100, 0}}, {},
               [&](PacketSim& sim) {
                 sim.add_condition(sim.layout().port_of_endpoint(0), {Kind::degraded, from, kForever, 250'000});
               })
        .received.at(0);
  };
  const std::int64_t healthy = run({{0, 1, 100, 0}}).received.at(0);
  EXPECT_EQ(took(0), healthy + 3 * kWire);
  EXPECT_EQ(took(kWire / 2), healthy + 3 * kWire / 2);
  EXPECT_EQ(took(kWire), healthy);
}

// A switch that cuts through must not send on what has not come yet.
TEST(Faults, WhatASlowLinkTakesIsWaitedForByASwitchThatCutsThrough) {
  SimConfig config;
  config.cut_through = true;
  const auto took = [&](std::uint32_t share) {
    return run({{0, 63, 100, 0}}, config,
               [&](PacketSim& sim) {
                 for (std::uint32_t up = 4; up < 8; ++up)
                   sim.add_condition(sim.layout().port_of(0, up), {Kind::degraded, 0, kForever, share});
               })
        .received.at(0);
  };
  EXPECT_EQ(took(10'000) - took(1'000'000), 99 * kWire);
}

RC_GTEST_PROP(Faults, RatesThatChangeDuringAPacketAddUp, ()) {
  // Against stepping picosecond by picosecond.
  std::vector<Condition> conditions;
  std::int64_t at = 0;
  const auto pieces = *rc::gen::inRange(1, 5);
  for (int i = 0; i < pieces; ++i) {
    at += *rc::gen::inRange(0, 50);
    const std::int64_t from = at;
    at += *rc::gen::inRange(1, 50);
    conditions.push_back({Kind::degraded, from, at, static_cast<std::uint32_t>(*rc::gen::inRange(1, 10)) * 100'000});
  }
  const std::int64_t begin = *rc::gen::inRange(0, 100);
  const std::int64_t takes = *rc::gen::inRange(1, 200);
  std::int64_t left = takes * 1'000'000;
  std::int64_t now = begin;
  while (left > 0) {
    std::int64_t rate = 1'000'000;
    for (const Condition& each : conditions)
      if (each.from <= now && now < each.to) rate = each.amount;
    left -= rate;
    ++now;
  }
  RC_ASSERT(finish(conditions, begin, takes) == now);
}

TEST(Faults, RandomLossIsAsOftenAsSaidAndRepaired) {
  SimConfig config;
  const Outcome out = run({{0, 1, 20'000'000, 0}}, config, [](PacketSim& sim) {
    sim.add_condition(sim.layout().port_of_endpoint(0), {Kind::loss, 0, kForever, 10'000});
  });
  EXPECT_TRUE(delivered_once(out, 1));
  // 4,895 packets and those sent again, one in a hundred: within five standard deviations of 49.
  EXPECT_GT(out.result.counters.lost, 49u - 35);
  EXPECT_LT(out.result.counters.lost, 49u + 40);
}

TEST(Faults, DamagedPacketsCountAsLostAndAreRepaired) {
  const Outcome out = run(shifted(21, 500'000), {}, [](PacketSim& sim) {
    for (std::uint32_t port = 4; port < 8; ++port)
      sim.add_to_link(sim.layout().port_of(0, port), {Kind::corrupt, 0, kForever, 20'000});
  });
  EXPECT_TRUE(delivered_once(out, 64));
  EXPECT_GT(out.result.counters.lost, 0u);
}

TEST(Faults, EverythingArrivesOnceAfterASwitchWasGoneForAWhile) {
  // Spine 0 of the first pod, silently: routing goes on sending to it.
  const Outcome out = run(shifted(21, 2'000'000), {}, [](PacketSim& sim) {
    sim.add_to_switch(16, {Kind::blackhole, 20 * kMicrosecond, 120 * kMicrosecond, 0});
  });
  EXPECT_TRUE(delivered_once(out, 64));
  EXPECT_GT(out.result.counters.lost, 0u);
}

TEST(Faults, ASwitchAvoidsItsOwnLinkThatIsDown) {
  // Two of the four uplinks of leaf 0, from the start and for good. From the spines down nobody knows
  // better, so it is only the way up that must not lose anything.
  const auto lost = [](Kind kind) {
    return run({{0, 63, 400'000, 0}}, {},
               [&](PacketSim& sim) {
                 for (const std::uint32_t port : {4u, 6u})
                   sim.add_condition(sim.layout().port_of(0, port), {kind, 0, 1'000 * kMicrosecond, 0});
               })
        .result.counters.lost;
  };
  EXPECT_EQ(lost(Kind::down), 0u);
  EXPECT_GT(lost(Kind::blackhole), 0u);
}

TEST(Shaper, BurstThenRate) {
  // A bucket of ten packets at a tenth of the rate: ten at once, then one every ten packet times.
  constexpr std::int64_t kPacket = 4150 * 80;
  PacketSim sim(fat_tree(), {});
  Bucket bucket;
  bucket.ps_per_byte = 800;
  bucket.burst = 10 * 4150;
  bucket.queue = 1'000'000;
  sim.shape(sim.layout().port_of(0, 1), bucket);
  const Outcome out = run_on(sim, {{0, 1, 15 * 4086, 0}});
  // Packet n arrives at the leaf after n wires; tokens of 10 + k/10 packets are there after k wires.
  // The 15th needs the first ten gone and 15 - 10 more tokens, counted from the first packet on.
  const std::int64_t first = kPacket + kMicrosecond;
  EXPECT_EQ(out.received.at(0), first + 5 * 10 * kPacket + kPacket + kMicrosecond);
}

// What waits for tokens are bytes: at a tenth of the rate ten times as long a wait is no longer a queue. With 30
// packets of room, 20 are neither dropped nor trimmed.
TEST(Shaper, AQueueIsOfBytesAtItsRate) {
  SimConfig config;
  config.queue_bytes = 30 * 4150;
  PacketSim sim(fat_tree(), config);
  Bucket bucket;
  bucket.ps_per_byte = 800;
  bucket.burst = 4150;
  bucket.queue = 1'000'000;
  sim.shape(sim.layout().port_of(0, 1), bucket);
  const Outcome out = run_on(sim, {{0, 1, 20 * 4086, 0}});
  EXPECT_TRUE(delivered_once(out, 1));
  EXPECT_EQ(out.result.counters.trimmed, 0u);
  EXPECT_EQ(out.result.counters.data_resent, 0u);
}

TEST(Shaper, ItsQueueIsBounded) {
  SimConfig config;
  config.trimming = false;
  PacketSim sim(fat_tree(), config);
  Bucket bucket;
  bucket.ps_per_byte = 800;
  bucket.burst = 4150;
  bucket.queue = 3 * 4150;
  sim.shape(sim.layout().port_of(0, 1), bucket);
  const Outcome out = run_on(sim, {{0, 1, 40 * 4086, 0}});
  EXPECT_GT(out.result.counters.dropped, 0u);
  EXPECT_TRUE(delivered_once(out, 1));
}

}  // namespace
}  // namespace weft::sim
