#include "sim/packet_sim.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "model/load.hpp"

namespace weft::sim {
namespace {

//   2 super-spine groups of 2   64 hosts at 100G, four to a leaf, four leaves and four spines to a pod
//   4 pods x 4 spines           cables of 1 us
//   4 pods x 4 leaves
const char* kFatTree =
    "Nodes 64\nTiers 3\nPodsize 16\n"
    "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
    "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
    "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";

const fabric::Fabric& fat_tree() {
  static const model::Cluster cluster = [] {
    spec::Diagnostics diagnostics;
    const auto catalog = model::Catalog::embedded(diagnostics);
    const std::uint32_t source = diagnostics.sources().add("tree.topo", kFatTree);
    return *model::load_cluster(source, "tree", {}, catalog, diagnostics);
  }();
  static const fabric::Fabric fabric(cluster);
  return fabric;
}

struct Outcome {
  std::map<std::uint32_t, std::int64_t> sent;
  std::map<std::uint32_t, int> received;
  SimResult result;
};

Outcome run(const std::vector<Flow>& flows, SimConfig config = {}) {
  Outcome out;
  PacketSim sim(fat_tree(), config);
  sim.on_sent = [&](std::uint32_t tag, std::int64_t now) { out.sent[tag] = now; };
  sim.on_received = [&](std::uint32_t tag, std::int64_t) { ++out.received[tag]; };
  for (std::uint32_t i = 0; i < flows.size(); ++i) sim.start(i, flows[i]);
  out.result = sim.run();
  return out;
}

std::vector<Flow> shifted(std::uint32_t by, std::uint64_t bytes) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 64; ++i) flows.push_back({i, (i + by) % 64, bytes, 0});
  return flows;
}

std::int64_t last(const Outcome& outcome) {
  std::int64_t end = 0;
  for (const auto& [tag, time] : outcome.sent) end = std::max(end, time);
  return end;
}

TEST(PacketSim, OnePacketTakesWhatItsLinksTake) {
  // Across pods: 6 cables of 1 us; 100 + 64 bytes at 80 ps each, six times; 64 bytes back.
  const Outcome alone = run({{0, 63, 100, 0}});
  EXPECT_EQ(alone.sent.at(0), 6 * 1'000'000 + 6 * 164 * 80 + 6 * 1'000'000 + 6 * 64 * 80);
}

RC_GTEST_PROP(PacketSim, AFlowAloneTakesItsClosedFormToThePicosecond, ()) {
  Flow flow;
  flow.source = *rc::gen::inRange<std::uint32_t>(0, 64);
  flow.destination = (flow.source + *rc::gen::inRange<std::uint32_t>(1, 64)) % 64;
  // Whole packets, or one: a short last packet may overtake the one before it on another path.
  const auto packets = *rc::gen::inRange<std::uint64_t>(1, 700);
  flow.bytes = packets == 1 ? *rc::gen::inRange<std::uint64_t>(1, 4087) : packets * 4086;
  flow.start = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const PacketSim sim(fat_tree(), {});
  RC_ASSERT(run({flow}).sent.at(0) == flow.start + sim.unloaded(flow));
}

TEST(PacketSim, EverythingArrivesOnce) {
  for (const std::uint32_t by : {1u, 5u, 17u, 63u}) {
    const Outcome all = run(shifted(by, 500'000));
    EXPECT_EQ(all.sent.size(), 64u);
    EXPECT_EQ(all.received.size(), 64u);
    for (const auto& [tag, times] : all.received) EXPECT_EQ(times, 1) << tag;
    EXPECT_EQ(all.result.data_sent, 64u * ((500'000 + 4085) / 4086));
    EXPECT_EQ(all.result.dropped, 0u);
  }
}

TEST(PacketSim, LossWithoutTrimmingIsRepaired) {
  SimConfig config;
  config.trimming = false;
  config.queue_bytes = 40'000;
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i < 33; ++i) flows.push_back({i, 0, 300'000, 0});
  const Outcome incast = run(flows, config);
  EXPECT_GT(incast.result.dropped, 100u);
  EXPECT_EQ(incast.sent.size(), flows.size());
  for (const auto& [tag, times] : incast.received) EXPECT_EQ(times, 1) << tag;
}

TEST(PacketSim, EqualSeedsGiveEqualDigestsAndOthersDoNot) {
  SimConfig other;
  other.seed = 2;
  const Outcome a = run(shifted(21, 300'000));
  EXPECT_EQ(a.result.digest, run(shifted(21, 300'000)).result.digest);
  EXPECT_NE(a.result.digest, run(shifted(21, 300'000), other).result.digest);
  EXPECT_NE(a.result.digest, run(shifted(21, 300'001)).result.digest);
}

// The promise behind windows: entity by entity or strictly in time, nobody can tell the difference.
TEST(PacketSim, EntityByEntityAndInTimeOrderAreTheSame) {
  SimConfig ordered;
  ordered.in_time_order = true;
  std::vector<Flow> incast = shifted(9, 200'000);
  for (std::uint32_t i = 1; i < 40; ++i) incast.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
  for (const auto& flows : {shifted(21, 400'000), incast}) {
    const Outcome batched = run(flows);
    const Outcome in_order = run(flows, ordered);
    EXPECT_EQ(batched.result.digest, in_order.result.digest);
    EXPECT_EQ(batched.sent, in_order.sent);
  }
}

TEST(PacketSim, SprayKeepsAPermutationNearLineRate) {
  const std::vector<Flow> flows = shifted(21, 2'000'000);
  const PacketSim sim(fat_tree(), {});
  const std::int64_t ideal = sim.unloaded(flows[0]);
  EXPECT_LT(last(run(flows)), ideal * 120 / 100);
  EXPECT_GE(last(run(flows)), ideal);
}

TEST(PacketSim, IncastSharesTheReceiversLink) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i < 64; ++i) flows.push_back({i, 0, 2'000'000, 0});
  const Outcome incast = run(flows);
  const std::int64_t packets = 63 * ((2'000'000 + 4085) / 4086);
  const std::int64_t bytes = 63 * 2'000'000 + packets * 64;
  EXPECT_GE(last(incast), bytes * 80);
  EXPECT_LT(last(incast), bytes * 80 * 105 / 100);
  EXPECT_LT(incast.result.trimmed * 100, static_cast<std::uint64_t>(packets) * 15);
}

}  // namespace
}  // namespace weft::sim
