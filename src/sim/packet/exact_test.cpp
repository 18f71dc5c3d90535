// Exact ports: what they change and what they must not.

#include <gtest/gtest.h>

#include <bit>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

SimConfig exact_config() {
  SimConfig config;
  config.exact.on = true;
  config.exact.buffer = 32 << 20;
  return config;
}

// Data in a class that must lose nothing; acknowledgements in one that may.
SimConfig lossless(FlowControl control) {
  SimConfig config = exact_config();
  config.exact.flow_control = control;
  config.exact.lossless = 0b10;
  config.exact.nic_buffer = 1 << 20;
  config.exact.deadlock_check = microseconds(100);
  config.trimming = false;
  return config;
}

std::vector<Flow> incast(std::uint32_t senders, std::uint64_t bytes) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i <= senders; ++i) flows.push_back({i, 0, bytes, 0});
  return flows;
}

TEST(ExactPorts, AnEmptyFabricTakesTheSameTime) {
  for (const bool cut_through : {false, true}) {
    for (const std::uint64_t bytes : {100u, 4086u, 40'860u, 2'043'000u}) {
      SimConfig fast;
      fast.cut_through = cut_through;
      SimConfig exact = exact_config();
      exact.cut_through = cut_through;
      EXPECT_EQ(run({{0, 63, bytes, 0}}, exact).last(), run({{0, 63, bytes, 0}}, fast).last()) << bytes;
    }
  }
}

// The approximation of two classes with computed departures, against real queues, as a whole: permutations at full
// load and an incast. Which path is a little fuller differs, and so what hosts choose; hence the mean over seeds.
TEST(ExactPorts, TheTwoClassApproximationIsWithinTwoPercent) {
  const auto mean_end = [](const std::vector<Flow>& flows, SimConfig config) {
    double sum = 0;
    for (config.seed = 1; config.seed <= 6; ++config.seed) sum += static_cast<double>(run(flows, config).last());
    return sum / 6;
  };
  for (const std::uint32_t by : {21u, 16u, 5u}) {
    const std::vector<Flow> flows = shifted(by, 1'000'000);
    EXPECT_NEAR(mean_end(flows, {}) / mean_end(flows, exact_config()), 1.0, 0.02) << by;
  }
  EXPECT_NEAR(mean_end(incast(32, 300'000), {}) / mean_end(incast(32, 300'000), exact_config()), 1.0, 0.02);
}

// A packet that waited while it came in over a slow link must not leave by a fast one before its last byte is there.
TEST(ExactPorts, BehindASlowLinkNobodyIsSoonerThanAlone) {
  const Built built = build("slow.topo", fat_tree_text(25));
  SimConfig config = exact_config();
  config.cut_through = true;
  PacketSim sim(built.fabric, config);
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 48; ++i) flows.push_back({16 + i, i % 4, 4086, 0});
  const Outcome outcome = run_on(sim, flows);
  for (std::uint32_t i = 0; i < flows.size(); ++i) EXPECT_GE(outcome.sent.at(i), sim.unloaded(flows[i])) << i;
}

TEST(ExactPorts, AtMostTwoEventsPerHop) {
  const Outcome outcome = run(shifted(21, 1'000'000), exact_config());
  EXPECT_LE(outcome.result.counters.events, 2 * outcome.result.counters.packet_hops);
}

TEST(ExactPorts, PauseNeverDropsWithEnoughHeadroom) {
  for (const std::int64_t reaction : {0, 500'000}) {
    SimConfig config = lossless(FlowControl::pause);
    config.exact.buffer = 2 << 20;  // so small that thresholds are passed
    config.exact.reaction = Duration(reaction);
    const std::vector<Flow> flows = incast(63, 500'000);
    const Outcome outcome = run(flows, config);
    EXPECT_TRUE(delivered_once(outcome, flows.size()));
    EXPECT_GT(outcome.result.counters.pauses, 0u);
    EXPECT_EQ(outcome.result.counters.dropped, 0u);
  }
}

TEST(ExactPorts, PauseDropsWhereHeadroomIsMeantForAShorterCable) {
  SimConfig config = lossless(FlowControl::pause);
  config.exact.buffer = 1 << 20;
  config.exact.headroom_latency = nanoseconds(25);  // 5 m, the cables take 1 us
  const std::vector<Flow> flows = incast(63, 500'000);
  const Outcome outcome = run(flows, config);
  EXPECT_TRUE(delivered_once(outcome, flows.size()));
  EXPECT_GT(outcome.result.counters.headroom_drops, 0u);
  EXPECT_EQ(outcome.result.counters.headroom_drops, outcome.result.counters.dropped);
}

TEST(ExactPorts, CreditsNeverDrop) {
  SimConfig config = lossless(FlowControl::credits);
  config.exact.buffer = 1 << 20;
  const std::vector<Flow> flows = incast(63, 500'000);
  const Outcome outcome = run(flows, config);
  EXPECT_TRUE(delivered_once(outcome, flows.size()));
  EXPECT_EQ(outcome.result.counters.dropped, 0u);
  EXPECT_EQ(outcome.result.counters.pauses, 0u);
}

// Packets of an open-loop source, from each of these hosts to host 0 at line rate.
void flood(PacketSim& sim, std::initializer_list<std::uint32_t> from, std::uint64_t packets) {
  for (const std::uint32_t host : from)
    sim.start_raw(host, {.peer = 0, .packets = packets, .bytes = 4086, .interval = Duration(4150 * 80), .paths = 16});
}

// One host takes a tenth of its line rate. The pause reaches the leaf, then those who send to it; nothing is lost, and
// the host is never idle.
TEST(ExactPorts, ASlowReceiverPausesItsSenders) {
  SimConfig config = lossless(FlowControl::pause);
  config.exact.buffer = 2 << 20;
  PacketSim sim(fat_tree(), config);
  sim.slow_receiver(0, 100'000);
  flood(sim, {1, 2, 17, 33}, 1000);
  const Outcome outcome = run_on(sim, {});
  EXPECT_EQ(sim.raw_counters().received, 4000u);
  EXPECT_EQ(outcome.result.counters.dropped, 0u);
  const std::int64_t ideal = 4000LL * 4150 * 800;
  EXPECT_GE(outcome.result.end.count(), ideal);
  EXPECT_LE(outcome.result.end.count(), ideal * 101 / 100);
  bool paused = false;
  for (const schedule::LinkRecord& link : outcome.result.links)
    paused = paused || (link.from.find("nic") != std::string::npos && link.paused.count() > ideal / 2);
  EXPECT_TRUE(paused) << outcome.result.links[0].from << outcome.result.links[0].paused.count();
}

// SRD's data and raw packets in two weighted classes.
SimConfig weighted(std::uint32_t data, std::uint32_t raw) {
  SimConfig config = exact_config();
  config.exact.classes = 3;
  config.exact.class_of[static_cast<std::size_t>(transport::PacketType::data)] = 1;
  config.exact.class_of[static_cast<std::size_t>(transport::PacketType::raw)] = 2;
  config.exact.weight = {0, data, raw};
  return config;
}

// Both always waiting: raw streams of two sizes do not matter, bytes do.
TEST(ExactPorts, WeightsShareTheWire) {
  PacketSim sim(fat_tree(), weighted(3, 1));
  sim.start_raw(1,
                {.peer = 0, .packets = 100'000, .bytes = 1000, .interval = nanoseconds(20)});  // four fifths of a line
  const Outcome outcome = run_on(sim, {{2, 0, 4'086'000, 0}});
  // The wire into host 0 gives the message three quarters, less what its window cannot fill.
  const double alone = 4'150'000.0 * 80;
  EXPECT_NEAR(static_cast<double>(outcome.last()) / (alone * 4 / 3), 1.0, 0.1);
}

// Raw packets fill the wire for a millisecond while nobody else wants it. That costs nobody anything, so from then on
// they have their half beside a message.
TEST(ExactPorts, WhoHadTheWireAloneOwesNothing) {
  PacketSim sim(fat_tree(), weighted(1, 1));
  for (const std::uint32_t host : {1u, 3u})
    sim.start_raw(host, {.peer = 0, .packets = 10'000, .bytes = 4086, .interval = nanoseconds(400)});
  const std::int64_t start = 1'000'000'000;
  const Outcome outcome = run_on(sim, {{2, 0, 4'086'000, start}});
  const double alone = 4'150'000.0 * 80;
  EXPECT_NEAR(static_cast<double>(outcome.last() - start) / (alone * 2), 1.0, 0.1);
}

// The promise of the engine holds with every mechanism of the port.
TEST(ExactPorts, AnyNumberOfThreadsGivesTheSame) {
  for (const FlowControl control : {FlowControl::none, FlowControl::pause, FlowControl::credits}) {
    SimConfig config = control == FlowControl::none ? exact_config() : lossless(control);
    config.exact.buffer = 2 << 20;
    config.exact.watchdog = microseconds(30);
    std::vector<Flow> flows = shifted(21, 300'000);
    for (std::uint32_t i = 1; i < 40; ++i) flows.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
    const auto prepare = [](PacketSim& sim) {
      sim.add_to_link(sim.layout().port_of(0, 5), {Condition::Kind::loss, 0, kForever, 20'000});
      sim.slow_receiver(5, 300'000);
    };
    const Outcome one = run(flows, config, prepare);
    EXPECT_TRUE(delivered_once(one, flows.size()));
    for (const std::uint32_t threads : {2u, 8u}) {
      config.threads = threads;
      const Outcome more = run(flows, config, prepare);
      EXPECT_EQ(one.result.digest, more.result.digest) << threads;
      EXPECT_EQ(one.sent, more.sent);
    }
  }
}

// Ports that are free again within a window are no events of their own; in time order they are. Nobody can tell.
TEST(ExactPorts, EntityByEntityAndInTimeOrderAreTheSame) {
  for (const FlowControl control : {FlowControl::none, FlowControl::pause, FlowControl::credits}) {
    SimConfig config = control == FlowControl::none ? exact_config() : lossless(control);
    config.exact.buffer = 2 << 20;
    std::vector<Flow> flows = shifted(21, 300'000);
    for (std::uint32_t i = 1; i < 40; ++i) flows.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
    const Outcome batched = run(flows, config);
    config.in_time_order = true;
    const Outcome in_order = run(flows, config);
    EXPECT_EQ(batched.result.digest, in_order.result.digest);
    EXPECT_EQ(batched.result.counters.events, in_order.result.counters.events);
  }
}

// A Dragonfly with one class: local links wait for global ones and these for local ones, round and round. A tree
// has no such circle, however full it is.
TEST(ExactPorts, ADeadlockIsFoundAndNamed) {
  const Built dragonfly = build(
      "dragonfly.weft.yaml",
      "version: 1\nservers: {kind: hgx-h100, count: 60}\n"
      "fabric: {kind: dragonfly, switch: tomahawk-4, servers_per_router: 3, routers_per_group: 4, global_links: 1}\n");
  for (const FlowControl control : {FlowControl::pause, FlowControl::credits}) {
    SimConfig config = lossless(control);
    config.exact.buffer = 8 << 20;
    config.exact.deadlock_check = microseconds(10);
    const auto flooded = [&](const fabric::Fabric& fabric) {
      PacketSim sim(fabric, config);
      const std::uint32_t ends = sim.layout().endpoints();
      for (std::uint32_t i = 0; i < ends; ++i)
        for (const std::uint32_t by : {ends / 5, 2 * ends / 5, 3 * ends / 5 + 7})
          sim.start_raw(
              i, {.peer = (i + by) % ends, .packets = 2000, .bytes = 4086, .interval = nanoseconds(250), .paths = 16});
      return run_on(sim, {}).result;
    };
    const schedule::RunResult stuck = flooded(dragonfly.fabric);
    EXPECT_EQ(stuck.stopped_by, "deadlock");
    EXPECT_NE(stuck.deadlock.find(" -> "), std::string::npos) << stuck.deadlock;
    EXPECT_EQ(flooded(fat_tree()).stopped_by, "");
  }
}

// What would never move, or could not be told apart, is said before the run.
TEST(ExactPorts, WhatCannotWorkIsSaid) {
  const auto problem = [](FlowControl control, std::int64_t buffer) {
    SimConfig config = lossless(control);
    config.exact.buffer = buffer;
    return PacketSim(fat_tree(), config).exact_problem();
  };
  using Kind = ExactProblem::Kind;
  EXPECT_EQ(problem(FlowControl::pause, 8 << 20).kind, Kind::none);
  const ExactProblem full = problem(FlowControl::pause, 100'000);
  EXPECT_EQ(full.kind, Kind::headroom);
  EXPECT_EQ(full.what, "leaf0 needs 293KiB of headroom for 8 ports with 1 lossless class, and its buffer is 97.7KiB");
  EXPECT_EQ(problem(FlowControl::pause, 292 << 10).kind, Kind::headroom);
  EXPECT_EQ(problem(FlowControl::pause, 294 << 10).kind, Kind::none) << "as much as it said";
  EXPECT_EQ(problem(FlowControl::credits, 8 * 2 * 4150).kind, Kind::none);
  const ExactProblem small = problem(FlowControl::credits, 8 * 2 * 4150 - 8);
  EXPECT_EQ(small.kind, Kind::credit);
  EXPECT_EQ(small.what, "a port's part of the buffer, 8.1KiB, does not hold two packets, 8.11KiB");
}

// Credits for two packets per port are slow, but they move.
TEST(ExactPorts, TheSmallestCreditIsEnough) {
  SimConfig config = lossless(FlowControl::credits);
  config.exact.buffer = 8 * 2 * 4150;
  const std::vector<Flow> flows = shifted(21, 50'000);
  EXPECT_TRUE(delivered_once(run(flows, config), flows.size()));
}

// A NIC's buffer is one for all classes: the one that is paused when its last packet is taken goes on all the same.
TEST(ExactPorts, ASlowReceiverResumesEveryClass) {
  SimConfig config = lossless(FlowControl::pause);
  config.exact.classes = 3;
  config.exact.lossless = 0b110;
  config.exact.class_of[static_cast<std::size_t>(transport::PacketType::raw)] = 2;
  PacketSim sim(fat_tree(), config);
  sim.slow_receiver(0, 500'000);
  flood(sim, {1, 2, 17, 33}, 1000);
  const std::vector<Flow> flows = {{5, 0, 2'000'000, 0}, {21, 0, 2'000'000, 0}, {37, 0, 2'000'000, 0}};
  const Outcome outcome = run_on(sim, flows);
  EXPECT_TRUE(delivered_once(outcome, flows.size()));
  EXPECT_EQ(sim.raw_counters().received, 4000u);
  EXPECT_EQ(outcome.result.counters.dropped, 0u);
  EXPECT_GT(outcome.result.counters.pauses, 10u);
  for (const schedule::LinkRecord& link : outcome.result.links)
    EXPECT_LE(link.paused.count(), outcome.result.end.count()) << link.to;
}

// Packets that get lost on a cable hold no room behind it: of two packets' credit none would soon be left.
TEST(ExactPorts, WhatGotLostKeepsNoCredit) {
  SimConfig config = lossless(FlowControl::credits);
  config.exact.buffer = 8 * 2 * 4150;
  const std::vector<Flow> flows = shifted(21, 200'000);
  const Outcome lossy = run(flows, config, [](PacketSim& sim) {
    for (std::uint32_t s = 0; s < sim.layout().switches(); ++s)
      sim.add_to_switch(s, {Condition::Kind::loss, 0, kForever, 10'000});
  });
  EXPECT_GT(lossy.result.counters.lost, 100u);
  EXPECT_TRUE(delivered_once(lossy, flows.size()));
  const Outcome cut_off = run(flows, config, [](PacketSim& sim) {
    for (std::uint32_t up = 4; up < 8; ++up)
      sim.add_to_link(sim.layout().port_of(0, up), {Condition::Kind::down, 20'000'000, 40'000'000, 0});
  });
  EXPECT_GT(cut_off.result.counters.lost, 0u);
  EXPECT_TRUE(delivered_once(cut_off, flows.size()));
}

// A pause is smaller than TCP's headers and must not come before the end of a window.
TEST(ExactPorts, APauseThatActsAtOnceKeepsTheOrderOfThreads) {
  SimConfig config = over(transport::Protocol::tcp, lossless(FlowControl::pause));
  config.exact.buffer = 1 << 20;
  const auto digest = [&](std::uint32_t threads) {
    config.threads = threads;
    PacketSim sim(fat_tree(), config);
    for (std::uint32_t i = 1; i < 40; ++i)
      sim.post(0, i, {.peer = 0, .bytes = 200'000, .tag = i, .protocol = config.protocol});
    Recorder recorder;
    const schedule::RunResult result = sim.run(recorder);
    EXPECT_EQ(recorder.received.size(), 39u);
    EXPECT_GT(result.counters.pauses, 0u);
    return result.digest;
  };
  EXPECT_EQ(digest(1), digest(4));
}

// A host that takes nothing stops others, too, whose packets share ports with those for it; the watchdog throws away
// what is stuck, and they go on.
TEST(ExactPorts, TheWatchdogEndsAStorm) {
  SimConfig config = lossless(FlowControl::pause);
  config.exact.buffer = 2 << 20;
  const auto victim = [&](std::int64_t watchdog) {
    config.exact.watchdog = Duration(watchdog);
    PacketSim sim(fat_tree(), config);
    sim.slow_receiver(0, 10);
    flood(sim, {1, 2, 16, 17, 33}, 4000);
    sim.on_progress = [](const schedule::Progress& progress) { return progress.now < microseconds(20'000); };
    const Outcome outcome = run_on(sim, {{18, 1, 400'000, 1'000'000'000}});
    return std::pair(outcome.sent.size() == 1, outcome.result.counters.watchdog_drops > 0);
  };
  EXPECT_EQ(victim(0), std::pair(false, false));
  EXPECT_EQ(victim(100'000'000), std::pair(true, true));
}

}  // namespace
}  // namespace weft::sim
