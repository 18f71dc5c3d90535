// Messages with tags over the simulated network.
#include "sim/packet/tagged.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/packet/packet_run.hpp"
#include "sim/packet/testing_sim.hpp"
#include "workload/matrix_schedule.hpp"

namespace weft::sim {
namespace {

using namespace testing;

struct Ran {
  schedule::RunResult result;
  std::uint64_t packets = 0;
};

Ran transfer(const Built& built, const std::vector<Flow>& flows, bool tagged, bool hosts = false,
             std::uint32_t threads = 1) {
  workload::Matrix matrix;
  matrix.nodes = 64;
  for (const Flow& flow : flows) {
    workload::MatrixFlow each;
    each.source = flow.source;
    each.destination = flow.destination;
    each.bytes = flow.bytes;
    each.start = Duration(flow.start);
    matrix.flows.push_back(each);
  }
  workload::MatrixSchedule schedule(matrix);
  SimConfig config;
  config.threads = threads;
  if (tagged) config.tagged = {true};
  PacketSim engine(built.fabric, config);
  PacketRun run(schedule, engine, hosts);
  Ran ran;
  ran.result = run.run();
  ran.packets = engine.counters(transport::Protocol::srd).data_sent;
  return ran;
}

const Built& tree() {
  static const Built built = build("tree.topo", fat_tree_text());
  return built;
}

TEST(Tagged, WhatIsSentAtOnceTakesWhatASendTakes) {
  const std::vector<Flow> flows = {{0, 63, 10'000, 5'000'000}};
  const auto sent = transfer(tree(), flows, false).result.flows.at(0);
  const auto tagged = transfer(tree(), flows, true).result.flows.at(0);
  EXPECT_EQ(tagged.received.count(), sent.received.count());
  EXPECT_EQ(tagged.sent.count(), sent.sent.count());
}

// There and back once more, by six links of a microsecond each, and each way a packet of its own.
TEST(Tagged, ALongMessageIsAskedForFirst) {
  const std::vector<Flow> flows = {{0, 63, 1'000'000, 0}};
  const auto sent = transfer(tree(), flows, false).result.flows.at(0);
  const auto tagged = transfer(tree(), flows, true).result.flows.at(0);
  const std::int64_t longer = (tagged.received - sent.received).count();
  EXPECT_GT(longer, 12 * 1'000'000);
  EXPECT_LT(longer, 14 * 1'000'000);
  EXPECT_GT(tagged.sent.count(), tagged.received.count()) << "its receiver says that it has it";
}

// No more than 64 packets are on their way to a peer: what waits meanwhile travels together.
TEST(Tagged, SmallMessagesSharePackets) {
  const std::vector<Flow> flows(2000, {0, 63, 64, 0});
  const Ran sent = transfer(tree(), flows, false);
  const Ran tagged = transfer(tree(), flows, true);
  EXPECT_EQ(sent.packets, 2000u);
  EXPECT_LT(tagged.packets, 64u + 2000u / 8);
  EXPECT_LT(tagged.result.end.count(), sent.result.end.count());
}

// Of any lengths, through servers and without, on any number of threads: each comes once, and none before a send would
// have come alone.
RC_GTEST_PROP(Tagged, EachMessageComesOnceWhateverTheThreads, ()) {
  static const Built hgx = build("c.weft.yaml",
                                 "version: 1\nservers: {kind: hgx-h100, count: 8}\nfabric: {kind: rail-optimized, "
                                 "scalable_unit: 4, spines: 4, link: {rate: 400Gbps, cable: 5m}}\n");
  std::vector<Flow> flows;
  const auto count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    const auto from = *rc::gen::inRange<std::uint32_t>(0, 64);
    flows.push_back({from, (from + *rc::gen::inRange<std::uint32_t>(1, 64)) % 64,
                     *rc::gen::inRange<std::uint64_t>(0, *rc::gen::element(200, 3'000, 20'000, 300'000)),
                     *rc::gen::inRange<std::int64_t>(0, 20'000'000)});
  }
  const bool hosts = *rc::gen::arbitrary<bool>();
  const Ran one = transfer(hgx, flows, true, hosts);
  const Ran three = transfer(hgx, flows, true, hosts, 3);
  RC_ASSERT(one.result.unfinished == 0u);
  RC_ASSERT(one.result.digest == three.result.digest);
  RC_ASSERT(one.result.flows.size() == flows.size());
  for (const schedule::FlowRecord& flow : one.result.flows) {
    RC_ASSERT(flow.received != schedule::kNotYet && flow.sent != schedule::kNotYet);
    RC_ASSERT(flow.received > flow.start);
  }
}

}  // namespace
}  // namespace weft::sim
