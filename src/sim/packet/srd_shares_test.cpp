// How SRD shares wires: a receiver's among its senders, a sender's among its peers, and a slow link's with patience.

#include <gtest/gtest.h>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

constexpr std::int64_t kPacketTime = 4150 * 80;  // on a wire of 100G
constexpr std::uint64_t kPayload = 4086;

double of_ideal(const Outcome& outcome, std::uint64_t packets) {
  return static_cast<double>(outcome.last()) / static_cast<double>(static_cast<std::int64_t>(packets) * kPacketTime);
}

// However many packets come to each: windows are whole packets, and what is cut off must not be missed.
TEST(SrdShares, AnIncastOfAnySizeFillsTheReceiversWire) {
  for (std::uint32_t senders = 20; senders <= 63; senders += 3) {
    std::vector<Flow> flows;
    for (std::uint32_t i = 1; i <= senders; ++i) flows.push_back({i, 0, 400 * kPayload, 0});
    EXPECT_LT(of_ideal(run(flows), std::uint64_t{400} * senders), 1.04) << senders;
  }
}

// Host 16 sends to one that has 31 other senders, and to one that has none.
TEST(SrdShares, WhatABusyReceiverCannotTakeGoesToTheOthers) {
  std::vector<Flow> flows = {{16, 40, 4000 * kPayload, 0}, {16, 0, 4000 * kPayload, 0}};
  for (std::uint32_t i = 17; i <= 47; ++i)
    if (i != 40) flows.push_back({i, 0, 4000 * kPayload, 0});
  const Outcome outcome = run(flows);
  EXPECT_LT(static_cast<double>(outcome.sent.at(0)), 1.07 * 4000 * kPacketTime);
}

// Everybody reads from the next one: the requests that wait for their answers take nothing from the answers given.
TEST(SrdShares, ReadsAroundARingAreAsFastAsWrites) {
  struct : Client {
    std::int64_t last = 0;
    void completed(std::int64_t now, const transport::Completion&) override { last = std::max(last, now); }
    void called(std::int64_t, std::uint32_t, std::uint64_t) override {}
  } client;
  const auto around = [&](transport::Op op) {
    PacketSim sim(fat_tree(), {});
    for (std::uint32_t i = 0; i < 64; ++i)
      sim.post(0, i, {.op = op, .peer = (i + 20) % 64, .bytes = 1000 * kPayload, .tag = i});
    client.last = 0;
    sim.run(client);
    return static_cast<double>(client.last);
  };
  EXPECT_LT(around(transport::Op::read), 1.03 * around(transport::Op::write));
}

// What is only late is not lost: at a twentieth and a fortieth of the rate round trips are many times as long.
TEST(SrdShares, ASlowLinkIsWaitedFor) {
  for (const std::uint32_t share : {200'000u, 50'000u, 25'000u}) {
    const Outcome outcome = run({{0, 63, 1000 * kPayload, 0}}, {}, [&](PacketSim& sim) {
      sim.add_condition(sim.layout().port_of(15, 3), {Condition::Kind::degraded, 0, kForever, share});
    });
    EXPECT_LT(of_ideal(outcome, 1000) * share / 1e6, 1.06) << share;
    EXPECT_LT(outcome.result.counters.data_resent, 250u) << share;
  }
}

// Where nothing is lost, hardly anything is sent twice: what waits in two switches waits longer than a buffer's worth.
TEST(SrdShares, HardlyAnythingIsSentTwiceWhereNothingIsLost) {
  for (const FlowControl control : {FlowControl::pause, FlowControl::credits}) {
    SimConfig config;
    config.exact.on = true;
    config.exact.lossless = 1 << 1;
    config.exact.flow_control = control;
    config.exact.buffer = 32 << 20;
    std::vector<Flow> flows;
    for (std::uint32_t i = 1; i < 64; ++i) flows.push_back({i, 0, 400 * kPayload, 0});
    const Outcome outcome = run(flows, config);
    EXPECT_LE(outcome.result.counters.data_resent, 400u * 63 / 1000);
    EXPECT_LT(of_ideal(outcome, 400 * 63), 1.03);
  }
}

}  // namespace
}  // namespace weft::sim
