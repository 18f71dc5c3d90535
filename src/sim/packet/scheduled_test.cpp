// A scheduled fabric: what it promises (nothing is lost, nothing overtakes, ports are full) and what it costs.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

SimConfig scheduled() {
  SimConfig config;
  config.trimming = false;
  config.exact.on = true;
  config.exact.flow_control = FlowControl::scheduled;
  config.exact.lossless = 0b10;
  config.exact.buffer = 32 << 20;
  return config;
}

SimConfig scheduled(transport::Protocol protocol) { return over(protocol, scheduled()); }

double share_of(std::uint64_t packets, std::int64_t took) {
  return static_cast<double>(packets * 4150 * 80) / static_cast<double>(took);
}

TEST(Scheduled, AFlowAloneTakesItsClosedFormToThePicosecond) {
  for (const std::uint64_t bytes : {1u, 4086u, 5000u, 8 * 4086u, 100 * 4086u, 100 * 4086u + 77}) {
    for (const std::uint32_t to : {1u, 63u}) {
      PacketSim sim(leaves_and_spines(), scheduled());
      const std::int64_t expected = sim.unloaded({0, to, bytes, 0});
      EXPECT_EQ(run_on(sim, {{0, to, bytes, 0}}).last(), expected) << bytes << " bytes to " << to;
    }
  }
  // By hand, one packet of 150 bytes in all: to the leaf, there and back for the credit, cells (one, shorter than a
  // full one) over a spine, to the host; then an acknowledgement of 64 that asks nobody.
  const std::int64_t cable = 500'000;
  const std::int64_t asic = 300'000;
  const std::int64_t word = 2 * (64 * 80 + cable) + 2 * asic;
  const auto cells = [&](std::int64_t bytes) { return 2 * (bytes * 80 + cable) + 2 * asic; };
  const auto hop = [&](std::int64_t bytes) { return bytes * 80 + cable; };
  const std::int64_t there = hop(150) + asic + 2 * word + cells(150) + hop(150);
  const std::int64_t back = hop(64) + asic + cells(64) + hop(64);
  EXPECT_EQ(PacketSim(leaves_and_spines(), scheduled()).unloaded({0, 63, 86, 0}), there + back);
}

// 56 hosts of seven leaves send to one: its port is full, nothing is lost, and all that waits does so where it came in.
// Queue pairs without a control of their own, as such a fabric is used: it needs none.
TEST(Scheduled, AnIncastFillsThePortAndWaitsAtTheIngress) {
  SimConfig config = scheduled(transport::Protocol::rocev2);
  config.stack.roce.control = transport::RoceConfig::Control::none;
  PacketSim sim(leaves_and_spines(), config);
  for (std::uint32_t i = 8; i < 64; ++i)
    sim.post(0, i, {.peer = 0, .bytes = 400'000, .tag = i, .protocol = config.protocol});
  Recorder recorder;
  Outcome outcome;
  outcome.result = sim.run(recorder);
  sim.collect_links(outcome.result, 1000);
  EXPECT_EQ(recorder.received.size(), 56u);
  EXPECT_EQ(outcome.result.counters.dropped, 0u);
  EXPECT_EQ(outcome.result.counters.data_resent, 0u);
  std::int64_t last = 0;
  for (const auto& [tag, time] : recorder.received) last = std::max(last, time);
  EXPECT_GE(56 * 400'000.0 * 80, 0.95 * static_cast<double>(last));  // of payload: headers are the port's, too
  std::int64_t at_egress = 0;
  std::int64_t at_ingress = 0;
  for (const schedule::LinkRecord& link : outcome.result.links) {
    if (link.from == "leaf0") at_egress = std::max(at_egress, link.peak_bytes);
    if (link.from != "leaf0" && link.from.starts_with("leaf")) at_ingress = std::max(at_ingress, link.peak_bytes);
  }
  EXPECT_LT(at_egress, 100'000);
  EXPECT_GT(at_ingress, 0);
}

// SRD and UET were made for fabrics that trim, where silence soon means loss. Here nothing is lost, however long an
// incast waits: they send nothing again and fill the port.
TEST(Scheduled, AnIncastIsNotTakenForLoss) {
  const auto incast = [](SimConfig config) {
    PacketSim sim(leaves_and_spines(), config);
    for (std::uint32_t i = 8; i < 64; ++i)
      sim.post(0, i, {.peer = 0, .bytes = 2'000'000, .tag = i, .protocol = config.protocol});
    Recorder recorder;
    const schedule::RunResult result = sim.run(recorder);
    EXPECT_EQ(recorder.received.size(), 56u);
    EXPECT_EQ(result.counters.data_resent, 0u);
    EXPECT_EQ(result.counters.timeouts, 0u);
    std::int64_t last = 0;
    for (const auto& [tag, time] : recorder.received) last = std::max(last, time);
    EXPECT_GE(56 * 2'000'000.0 * 80, 0.95 * static_cast<double>(last));
  };
  incast(scheduled(transport::Protocol::srd));
  SimConfig uet = scheduled(transport::Protocol::uet);
  for (const bool trimming : {true, false}) {
    uet.stack.uet.trimming = trimming;
    incast(uet);
  }
}

// Every host to the one eight, nine and so on further: each leaf's uplinks and downlinks are exactly full.
TEST(Scheduled, APermutationRunsAtLineRate) {
  for (const std::uint32_t by : {8u, 9u, 29u, 60u}) {
    PacketSim sim(leaves_and_spines(), scheduled());
    const Outcome outcome = run_on(sim, shifted(by, 1000 * 4086));
    EXPECT_GE(share_of(1000, outcome.last()), 0.95) << by;
    EXPECT_EQ(outcome.result.counters.dropped, 0u);
  }
}

// RoCE that goes back N on the first packet out of turn sends none again, where a spray makes it send many.
TEST(Scheduled, NothingOvertakes) {
  const auto sent_again = [](SimConfig config) {
    PacketSim sim(leaves_and_spines(), config);
    for (std::uint32_t i = 0; i < 64; ++i) {
      sim.post(0, i, {.peer = (i + 13) % 64, .bytes = 1'000'000, .tag = i, .protocol = config.protocol});
      sim.post(0, i,
               {.peer = i / 8 * 8, .bytes = i % 8 == 0 ? 0u : 500'000u, .tag = 64 + i, .protocol = config.protocol});
    }
    Recorder recorder;
    const schedule::RunResult result = sim.run(recorder);
    EXPECT_EQ(recorder.received.size(), 128u);
    return result.counters.data_resent;
  };
  SimConfig config = scheduled(transport::Protocol::rocev2);
  config.stack.roce.control = transport::RoceConfig::Control::none;
  EXPECT_EQ(sent_again(config), 0u);
  config.exact.flow_control = FlowControl::pause;
  config.balance = Balance::spray;
  EXPECT_GT(sent_again(config), 0u);
}

// Short packets behind long ones, which as cells alone would be there first; traffic within a leaf to the same ports;
// and so few uplinks that packets wait for the links down.
TEST(Scheduled, WhatIsShortDoesNotOvertakeEither) {
  SimConfig config = scheduled(transport::Protocol::rocev2);
  config.stack.roce.control = transport::RoceConfig::Control::none;
  for (const int uplinks : {8, 4}) {
    const Built built = build("leaf.topo", leaves_and_spines_text(uplinks));
    for (const std::uint64_t seed : {1, 3}) {
      PacketSim sim(built.fabric, config);
      Random random(seed, 0, 0);
      std::uint32_t posted = 0;
      for (std::uint32_t i = 0; i < 64; ++i) {
        for (int message = 0; message < 40; ++message) {
          const std::uint32_t peer = (i + 1 + random.below(message % 2 == 0 ? 7 : 63)) % 64;
          const std::uint64_t bytes = 4096 * random.below(12) + 1 + random.below(150);
          sim.post(0, i, {.peer = peer, .bytes = bytes, .tag = posted++, .protocol = config.protocol});
        }
      }
      Recorder recorder;
      const schedule::RunResult result = sim.run(recorder);
      EXPECT_EQ(recorder.received.size(), posted);
      EXPECT_EQ(result.counters.data_resent, 0u) << uplinks << " uplinks, seed " << seed;
    }
  }
}

// A buffer that the incast would fill many times over: hosts are paused, nothing is lost.
TEST(Scheduled, ASmallBufferPausesHostsAndLosesNothing) {
  SimConfig config = scheduled();
  config.exact.buffer = 3 << 20;
  PacketSim sim(leaves_and_spines(), config);
  for (std::uint32_t i = 8; i < 64; ++i)
    sim.start_raw(i, {.peer = 0, .packets = 500, .bytes = 4086, .interval = Duration(4150 * 80), .paths = 1});
  const Outcome outcome = run_on(sim, {});
  EXPECT_EQ(sim.raw_counters().received, 500u * 56);
  EXPECT_GT(outcome.result.counters.pauses, 0u);
  EXPECT_EQ(outcome.result.counters.dropped, 0u);
  EXPECT_GE(share_of(500 * 56, outcome.result.end.count()), 0.95);
}

// A receiver that takes a tenth slows those who send to it, and nobody who shares leaves and links with them: the
// difference to pauses from port to port.
TEST(Scheduled, ASlowReceiverHasNoVictims) {
  const auto victim = [](FlowControl control) {
    SimConfig config = scheduled();
    config.exact.flow_control = control;
    config.exact.buffer = 4 << 20;
    config.balance = Balance::spray;
    PacketSim sim(leaves_and_spines(), config);
    sim.slow_receiver(0, 100'000);
    for (std::uint32_t i = 8; i < 16; ++i)
      sim.start_raw(i, {.peer = 0, .packets = 1000, .bytes = 4086, .interval = Duration(4150 * 80 * 4), .paths = 16});
    const Flow flow{17, 1, 1000 * 4086, 100'000'000};
    const Outcome outcome = run_on(sim, {flow});
    EXPECT_EQ(outcome.result.counters.dropped, 0u);
    return static_cast<double>(outcome.last() - flow.start) / static_cast<double>(sim.unloaded(flow));
  };
  EXPECT_LT(victim(FlowControl::scheduled), 1.05);
  EXPECT_GT(victim(FlowControl::pause), 1.5);
}

TEST(Scheduled, AnyNumberOfThreadsGivesTheSame) {
  SimConfig config = scheduled();
  config.exact.buffer = 3 << 20;
  std::vector<Flow> flows = shifted(21, 200'000);
  for (std::uint32_t i = 1; i < 40; ++i) flows.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
  const auto digest = [&](std::uint32_t threads) {
    config.threads = threads;
    PacketSim sim(leaves_and_spines(), config);
    sim.slow_receiver(5, 300'000);
    const Outcome outcome = run_on(sim, flows);
    EXPECT_TRUE(delivered_once(outcome, flows.size()));
    return outcome.result.digest;
  };
  const std::uint64_t one = digest(1);
  EXPECT_EQ(one, digest(2));
  EXPECT_EQ(one, digest(8));
}

TEST(Scheduled, AtMostTwoEventsPerHop) {
  PacketSim sim(leaves_and_spines(), scheduled());
  const Outcome outcome = run_on(sim, shifted(21, 1'000'000));
  EXPECT_LE(outcome.result.counters.events, 2 * outcome.result.counters.packet_hops);
}

// Links carry what hosts sent: cells are shared out, none is counted twice.
TEST(Scheduled, LinksOfABundleCarryTheSame) {
  PacketSim sim(leaves_and_spines(), scheduled());
  const Outcome outcome = run_on(sim, shifted(8, 400 * 4086));
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  std::uint64_t hosts = 0;
  for (const schedule::LinkRecord& link : outcome.result.links) {
    if (link.from.starts_with("spine")) {
      down += link.bytes;
    } else if (link.from.starts_with("leaf")) {
      (link.to.starts_with("spine") ? up : hosts) += link.bytes;
    }
  }
  EXPECT_EQ(up, hosts);
  EXPECT_EQ(down, hosts);
}

TEST(Scheduled, NeedsLeavesAndSpines) {
  using Kind = ExactProblem::Kind;
  EXPECT_EQ(PacketSim(leaves_and_spines(), scheduled()).exact_problem().kind, Kind::none);
  EXPECT_EQ(PacketSim(fat_tree(), scheduled()).exact_problem().kind, Kind::not_two_tiers);
}

}  // namespace
}  // namespace weft::sim
