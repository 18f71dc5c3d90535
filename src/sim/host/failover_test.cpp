// Parts of messages that leave a NIC which does not get through. Two planes, both ports of a NIC in either:
//
//   s0/nic0 port 0 --- plane 0: leaf0, leaf1, spines --- s4/nic0 port 0
//   s0/nic0 port 1 --- plane 1: leaf0, leaf1, spines --- s4/nic0 port 1

#include "sim/host/failover.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/testing_script.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/packet/testing_sim.hpp"
#include "workload/matrix_schedule.hpp"

namespace weft::sim {
namespace {

using namespace testing;
using Kind = Condition::Kind;
using transport::Protocol;

constexpr std::int64_t kMicrosecond = 1'000'000;
constexpr std::int64_t kSilence = 200 * kMicrosecond;
constexpr std::uint64_t kBytes = 4'000'000;  // 80 us over both planes, 160 us over one

const Built& two_planes() {
  static const Built built =
      build("c.weft.yaml",
            "version: 1\nservers: {kind: hgx-h100, count: 8, nic: {kind: connectx-7, ports: 2}}\n"
            "fabric: {kind: tor-clos, planes: 2, switch: tomahawk-4, servers_per_leaf: 4, spines: 4}\n");
  return built;
}

SimConfig config_of(Protocol protocol = Protocol::srd) {
  SimConfig config;
  config.protocol = protocol;
  config.stack.used = 0;
  config.stack.use(protocol);
  config.header = config.stack.shortest_header();
  config.full_packet = config.stack.longest_packet();
  config.failover = Duration(kSilence);
  config.give_up = Duration(20 * kSilence);
  config.stack.srd.give_up = config.stack.roce.give_up = Duration(kSilence);
  config.stack.tcp.give_up = config.stack.uet.give_up = Duration(kSilence);
  config.stack.roce.ack_timeout = Duration(kSilence / 8);
  return config;
}

struct Send {
  std::uint32_t from, to;
  std::int64_t start = 0;
  std::uint64_t bytes = kBytes;
};

template <class SetUp>
schedule::RunResult run_failing(const Built& built, const std::vector<Send>& sends, const SimConfig& config,
                                SetUp set_up, bool hosts = true) {
  workload::Matrix matrix;
  matrix.nodes = 64;
  for (const Send& each : sends) {
    workload::MatrixFlow flow;
    flow.source = each.from;
    flow.destination = each.to;
    flow.bytes = each.bytes;
    flow.start = Duration(each.start);
    matrix.flows.push_back(flow);
  }
  workload::MatrixSchedule schedule(matrix);
  PacketSim engine(built.fabric, config);
  set_up(engine);
  return PacketRun(schedule, engine, hosts).run();
}

void lose_plane(PacketSim& engine, std::uint32_t plane, std::int64_t from, std::int64_t to = kForever) {
  const std::uint32_t switches = engine.layout().switches() / 2;
  for (std::uint32_t i = 0; i < switches; ++i) engine.add_to_switch(plane * switches + i, {Kind::down, from, to, 0});
}

std::uint64_t delivered(const schedule::RunResult& result) {
  return result.failures->delivered.between(Duration(0), Duration(INT64_MAX / 2));
}

TEST(Failover, APlaneThatDiesCostsTheTimeToNoticeAndTheRestAtHalfTheRate) {
  for (const Protocol protocol : {Protocol::srd, Protocol::rocev2, Protocol::uet}) {
    const auto result = run_failing(two_planes(), {{0, 32}}, config_of(protocol),
                                    [](PacketSim& engine) { lose_plane(engine, 0, 20 * kMicrosecond); });
    ASSERT_NE(result.flows[0].sent, schedule::kNotYet) << static_cast<int>(protocol);
    EXPECT_GT(result.failures->moved, 0u);
    EXPECT_EQ(delivered(result), kBytes);
    EXPECT_GT(result.end.count(), 20 * kMicrosecond + kSilence);
    EXPECT_LT(result.end.count(), 20 * kMicrosecond + 2 * kSilence + 100 * kMicrosecond) << static_cast<int>(protocol);
    EXPECT_GE(result.failures->first_moved.count(), kSilence);
  }
}

// Raw messages beside others: those go by the other plane; what nobody answers is lost where it was sent, before
// anybody knows of the fault and after.
TEST(Failover, RawMessagesStayWhereTheyAreAndOthersMove) {
  constexpr std::uint8_t kRaw = 1;  // streams
  constexpr std::uint64_t kRawBytes = 100'000;
  const std::int64_t later = 1000 * kMicrosecond;
  for (const bool hosts : {true, false}) {
    std::uint64_t digest = 0;
    for (const std::uint32_t threads : {1u, 3u}) {
      SimConfig config = config_of();
      config.streams = {Protocol::srd, Protocol::raw};
      config.stack.use(Protocol::raw);
      config.threads = threads;
      schedule::Script script(64);
      const auto put = [](std::uint64_t bytes, std::uint8_t stream) {
        schedule::Instruction send = schedule::Instruction::put(32, bytes);
        send.stream = stream;
        return send;
      };
      script.add(0, {put(kBytes, 0)});
      script.add(0, {put(kRawBytes, kRaw), schedule::Instruction::at(microseconds(30)), put(kRawBytes, kRaw),
                     schedule::Instruction::at(Duration(later)), put(kRawBytes, kRaw)});
      PacketSim engine(two_planes().fabric, config);
      lose_plane(engine, 0, 20 * kMicrosecond);
      const auto result = PacketRun(script, engine, hosts).run();
      std::vector<bool> raw_arrived;
      for (const schedule::FlowRecord& flow : result.flows) {
        if (flow.stream == kRaw) raw_arrived.push_back(flow.received != schedule::kNotYet);
        EXPECT_NE(flow.sent, schedule::kNotYet);
        if (flow.stream != kRaw) {
          EXPECT_NE(flow.received, schedule::kNotYet) << hosts;
        }
      }
      EXPECT_EQ(raw_arrived, (std::vector<bool>{true, false, false})) << hosts;
      EXPECT_GT(result.failures->moved, 0u);
      EXPECT_EQ(result.unfinished, 0u);
      // Of the raw ones that were lost, half came by the other plane.
      EXPECT_EQ(delivered(result), kBytes + 2 * kRawBytes) << hosts;
      if (digest == 0) digest = result.digest;
      EXPECT_EQ(result.digest, digest) << threads;
    }
  }
}

// What came when is seen of one long message, too, also where servers have no inside.
TEST(Failover, WhatCameBeforeAFaultIsSeen) {
  for (const bool hosts : {true, false}) {
    const auto result = run_failing(
        two_planes(), {{0, 32}}, config_of(), [](PacketSim& engine) { lose_plane(engine, 0, 40 * kMicrosecond); },
        hosts);
    const auto before = static_cast<double>(result.failures->delivered.between(Duration(0), microseconds(40)));
    EXPECT_GT(before, 0.25 * kBytes) << hosts;
    EXPECT_LT(before, 0.55 * kBytes) << hosts;
    EXPECT_EQ(delivered(result), kBytes);
  }
}

// A question that nobody takes, or an answer that does not come within the peer's patience and one's own, is asked for
// by the other plane; so are the questions that wait behind those, for the transport takes only so many at a time.
TEST(Failover, ReadsGoByTheOtherPlaneToo) {
  for (const std::uint32_t reads : {64u, 4u}) {
    SimConfig config = config_of();
    config.verbs = {transport::Op::read};
    config.stack.srd.reads = reads;
    const auto result = run_failing(two_planes(), {{0, 32}, {40, 3}}, config,
                                    [](PacketSim& engine) { lose_plane(engine, 0, 20 * kMicrosecond); });
    for (const schedule::FlowRecord& flow : result.flows) ASSERT_NE(flow.received, schedule::kNotYet) << reads;
    EXPECT_GT(result.failures->moved, 0u);
    EXPECT_EQ(delivered(result), 2 * kBytes);
    EXPECT_GE(result.failures->first_moved.count(), kSilence);
    EXPECT_LT(result.end.count(), 20 * kMicrosecond + 2 * kSilence + 200 * kMicrosecond) << reads;
  }
}

// Data go through, what is said back does not: the sender cannot know, and sends all of it again.
TEST(Failover, WhatArrivedButWasNeverAcknowledgedCountsOnce) {
  constexpr std::uint64_t kFew = 200'000;  // within a window
  const auto result = run_failing(two_planes(), {{0, 32, 0, kFew}}, config_of(), [](PacketSim& engine) {
    const fabric::Fabric& fabric = engine.layout().fabric();
    engine.add_condition(engine.layout().port_of_endpoint(fabric.endpoint(32, 0)), {Kind::down, 0, kForever, 0});
  });
  ASSERT_NE(result.flows[0].sent, schedule::kNotYet);
  EXPECT_GT(result.failures->moved, 0u);
  EXPECT_EQ(delivered(result), kFew);
  EXPECT_LT(result.flows[0].received.count(), kSilence);  // by its first coming
  EXPECT_GT(result.flows[0].sent.count(), kSilence);
}

TEST(Failover, WhoKnowsOfTheDeadPlaneDoesNotTryIt) {
  const std::int64_t later = 1000 * kMicrosecond;
  const auto result = run_failing(two_planes(), {{0, 32}, {0, 32, later}}, config_of(),
                                  [](PacketSim& engine) { lose_plane(engine, 0, 20 * kMicrosecond); });
  const std::int64_t took = result.flows[1].received.count() - later;
  EXPECT_LT(took, kSilence);
  EXPECT_GT(took, 160 * kMicrosecond);  // one plane
}

TEST(Failover, APlaneThatIsBackIsUsedAgain) {
  // It is avoided for ten times as long as it took to notice.
  const std::int64_t later = 15 * kSilence;
  const auto result = run_failing(two_planes(), {{0, 32}, {0, 32, later}}, config_of(),
                                  [](PacketSim& engine) { lose_plane(engine, 0, 20 * kMicrosecond, 5 * kSilence); });
  EXPECT_LT(result.flows[1].received.count() - later, 100 * kMicrosecond);  // both planes
}

TEST(Failover, ANicWithOnePortLeavesItsWorkToTheOthers) {
  const Built rails = build("r.weft.yaml",
                            "version: 1\nservers: {kind: hgx-h100, count: 8}\n"
                            "fabric: {kind: rail-only, link: {rate: 400Gbps, cable: 5m}}\n");
  const auto result = run_failing(rails, {{0, 8}}, config_of(), [](PacketSim& engine) {
    engine.add_to_link(engine.layout().port_of_endpoint(0), {Kind::blackhole, 20 * kMicrosecond, kForever, 0});
  });
  ASSERT_NE(result.flows[0].sent, schedule::kNotYet);
  EXPECT_GT(result.failures->moved, 1u);
  EXPECT_EQ(delivered(result), kBytes);
}

TEST(Failover, WithoutAnyWayItFailsAndTheRunEnds) {
  const auto result = run_failing(two_planes(), {{0, 32}}, config_of(), [](PacketSim& engine) {
    lose_plane(engine, 0, 20 * kMicrosecond);
    lose_plane(engine, 1, 20 * kMicrosecond);
  });
  EXPECT_EQ(result.flows[0].sent, schedule::kNotYet);
  EXPECT_LT(delivered(result), kBytes);
}

TEST(Failover, AnyNumberOfThreadsGivesTheSame) {
  std::vector<std::uint64_t> digests;
  std::vector<std::int64_t> moved;  // when first and last
  for (const std::uint32_t threads : {1u, 2u, 4u}) {
    SimConfig config = config_of();
    config.streams = {Protocol::srd, Protocol::srd};
    config.verbs = {transport::Op::send, transport::Op::read};
    config.threads = threads;
    std::vector<Send> sends;
    for (std::uint32_t gpu = 0; gpu < 64; ++gpu) sends.push_back({gpu, (gpu + 24) % 64});
    const auto result =
        run_failing(two_planes(), sends, config, [](PacketSim& engine) { lose_plane(engine, 0, 20 * kMicrosecond); });
    EXPECT_EQ(delivered(result), 64 * kBytes);
    digests.push_back(result.digest);
    moved.insert(moved.end(), {result.failures->first_moved.count(), result.failures->last_moved.count()});
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(digests[0], digests[2]);
  for (std::size_t i = 2; i < moved.size(); ++i) EXPECT_EQ(moved[i], moved[i % 2]);
}

RC_GTEST_PROP(Failover, WhateverGoesDownForAWhileEverythingComesOnce, ()) {
  const auto protocol = *rc::gen::element(Protocol::srd, Protocol::rocev2, Protocol::uet, Protocol::tcp);
  const auto outages = *rc::gen::inRange<std::uint32_t>(1, 4);
  SimConfig config = config_of(protocol);
  if (protocol == Protocol::srd) config.verbs = {*rc::gen::element(transport::Op::send, transport::Op::read)};
  config.stack.tcp.rto_min = Duration(kSilence / 8);
  config.give_up = Duration(1000 * kSilence);
  const auto result = run_failing(two_planes(), {{0, 32}, {32, 0}, {9, 1}, {63, 2}}, config, [&](PacketSim& engine) {
    for (std::uint32_t i = 0; i < outages; ++i) {
      const std::int64_t from = *rc::gen::inRange<std::int64_t>(0, kSilence);
      const std::int64_t to = from + *rc::gen::inRange<std::int64_t>(1, 20 * kSilence);
      const auto gpu = *rc::gen::element(0u, 1u, 2u, 9u, 32u, 63u);
      const std::uint32_t port =
          engine.layout().port_of_endpoint(engine.layout().fabric().endpoint(gpu, *rc::gen::inRange(0u, 2u)));
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          lose_plane(engine, *rc::gen::inRange(0u, 2u), from, to);
          break;
        case 1:
          engine.add_condition(port, {Kind::blackhole, from, to, 0});
          break;
        default:
          engine.add_to_link(port, {Kind::down, from, to, 0});
          break;
      }
    }
  });
  for (const schedule::FlowRecord& flow : result.flows) {
    RC_ASSERT(flow.sent != schedule::kNotYet);
    RC_ASSERT(flow.received != schedule::kNotYet);
  }
  RC_ASSERT(delivered(result) == result.flows.size() * kBytes);
}

}  // namespace
}  // namespace weft::sim
