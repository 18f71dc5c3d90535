// Virtual channels in a Dragonfly that must lose nothing.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <map>
#include <utility>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;
using transport::PacketType;
using transport::Protocol;

// p = h = 2, a = 4 and nine groups, one link between any two: host i hangs on router i / 2, of group i / 8.
constexpr std::uint32_t kHosts = 72;
const Built& nine_groups(const std::string& routing) {
  static std::map<std::string, Built> built;
  if (const auto found = built.find(routing); found != built.end()) return found->second;
  return built.emplace(routing, dragonfly(routing, {.servers = kHosts, .routers = 4})).first->second;
}

// Queue pairs that nothing but the fabric slows down; their packets in a class that must lose nothing.
SimConfig lossless(FlowControl control, std::uint32_t channels, std::int64_t buffer = 2 << 20) {
  SimConfig config;
  config.exact.on = true;
  config.exact.buffer = buffer;
  config.exact.flow_control = control;
  config.exact.channels = channels;
  config.exact.classes = 1 + channels;
  config.exact.lossless = static_cast<std::uint8_t>(((1u << channels) - 1) << 1);
  config.exact.deadlock_check = microseconds(20);
  config.stack.used = 0;
  config.stack.use(Protocol::rocev2);
  config.stack.roce.control = transport::RoceConfig::Control::none;
  config.stack.roce.recovery = transport::RoceConfig::Recovery::selective;  // detours change the order
  config.header = config.stack.shortest_header();
  config.full_packet = config.stack.longest_packet();
  config.cut_through = true;
  return config;
}

Outcome run_queue_pairs(PacketSim& sim, const std::vector<Flow>& flows) {
  Recorder recorder;
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    sim.post(flow.start, flow.source,
             {.peer = flow.destination, .bytes = flow.bytes, .tag = i, .protocol = Protocol::rocev2});
  }
  Outcome out;
  out.result = sim.run(recorder);
  out.sent = recorder.sent;
  out.received = recorder.received;
  out.times_received = recorder.times_received;
  return out;
}

Outcome run_queue_pairs(const Built& built, const std::vector<Flow>& flows, const SimConfig& config) {
  PacketSim sim(built.fabric, config);
  return run_queue_pairs(sim, flows);
}

// Everybody of a group to another: the way is local, global, local, and every local link carries both kinds.
TEST(Channels, OneLocksUpAndTheNumberThatRoutesNeedDoesNot) {
  for (const FlowControl control : {FlowControl::pause, FlowControl::credits})
    for (const auto& [routing, needed] : {std::pair{"minimal", 2u}, {"valiant", 3u}, {"ugal", 3u}}) {
      const Built& built = nine_groups(routing);
      EXPECT_EQ(built.fabric.dragonfly()->local_channels(), needed);
      const std::vector<Flow> flows = shifted(13, 1'000'000, kHosts);
      if (routing != std::string("ugal")) {  // which goes round what is full, and may be lucky
        const Outcome one = run_queue_pairs(built, flows, lossless(control, 1));
        EXPECT_FALSE(one.result.deadlock.empty()) << routing;
        EXPECT_EQ(one.result.stopped_by, "deadlock");
        EXPECT_LT(one.received.size(), flows.size());
      }
      const Outcome enough = run_queue_pairs(built, flows, lossless(control, needed));
      EXPECT_TRUE(enough.result.deadlock.empty()) << enough.result.deadlock;
      EXPECT_TRUE(delivered_once(enough, flows.size())) << routing;
      EXPECT_EQ(enough.result.counters.dropped, 0u);
      EXPECT_LE(enough.result.counters.events, 2 * enough.result.counters.packet_hops + flows.size() * 4);
    }
}

// The last packet that could have moved has, and no timer runs: nothing is left that would look for the circle.
TEST(Channels, ACircleIsFoundWhenNothingHappensAnyMore) {
  SimConfig config = lossless(FlowControl::credits, 1);
  config.exact.deadlock_check = microseconds(1'000);
  const Outcome outcome = run_queue_pairs(nine_groups("minimal"), shifted(8, 4'000'000, kHosts), config);
  EXPECT_LT(outcome.result.end.count(), config.exact.deadlock_check.count());
  EXPECT_EQ(outcome.result.stopped_by, "deadlock");
  EXPECT_NE(outcome.result.deadlock.find("router"), std::string::npos);
}

RC_GTEST_PROP(Channels, NoTrafficLocksUpWhereThereAreEnough, ()) {
  static const std::vector<Built> fabrics = [] {
    std::vector<Built> all;
    for (const char* routing : {"minimal", "valiant", "ugal"}) {
      all.push_back(
          dragonfly(routing, {.servers = 30, .routers = 3}));  // five groups, six links of each: some pairs have two
      all.push_back(dragonfly(routing, {.servers = 24, .routers = 4}));  // three groups, four links between any two
    }
    return all;
  }();
  const Built& built = fabrics[*rc::gen::inRange<std::size_t>(0, fabrics.size())];
  const auto control = *rc::gen::element(FlowControl::pause, FlowControl::credits);
  const auto buffer = *rc::gen::inRange<std::int64_t>(control == FlowControl::pause ? 1'000'000 : 150'000, 1'500'000);
  const auto hosts = built.fabric.endpoints();
  SimConfig config = lossless(control, built.fabric.dragonfly()->local_channels(), buffer);
  config.seed = *rc::gen::arbitrary<std::uint64_t>();
  config.balance = *rc::gen::element(Balance::entropy, Balance::spray);
  // Everybody to another group, and what is drawn beside it.
  std::vector<Flow> flows = shifted(*rc::gen::inRange(6u, hosts - 1), 600'000, hosts);
  Random random(config.seed, 1, 0);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    const std::uint32_t from = random.below(hosts);
    flows.push_back({from, (from + 1 + random.below(hosts - 1)) % hosts, 1 + random.below(300'000), 0});
  }
  const Outcome outcome = run_queue_pairs(built, flows, config);
  RC_ASSERT(outcome.result.deadlock.empty());
  RC_ASSERT(delivered_once(outcome, flows.size()));
  RC_ASSERT(outcome.result.counters.dropped == 0u);
}

TEST(Channels, AnyNumberOfThreadsGivesTheSame) {
  for (const FlowControl control : {FlowControl::pause, FlowControl::credits}) {
    SimConfig config = lossless(control, 3);
    config.balance = Balance::spray;
    config.fast_cnp = microseconds(50);  // switches send packets of their own, in a class without channels
    const auto digest = [&](std::uint32_t threads) {
      config.threads = threads;
      const Outcome outcome = run_queue_pairs(nine_groups("ugal"), shifted(8, 200'000, kHosts), config);
      EXPECT_TRUE(delivered_once(outcome, kHosts));
      return outcome.result.digest;
    };
    const std::uint64_t one = digest(1);
    EXPECT_EQ(one, digest(3));
  }
}

//   hosts 0, 1   router 0 --local-- router 1   hosts 2, 3
//   hosts 14, 15  router 7 --global-- router 0
// The local link is too narrow for all. On it queue pairs from host 0 are in the first channel, those from host 14 in
// the second; what host 1 sends is in a class without channels. Two channels get no more for being two.
TEST(Channels, ShareTheWeightOfTheirClassAndTakeTurns) {
  constexpr std::uint64_t kBytes = 4'000'000;
  SimConfig config = lossless(FlowControl::credits, 2, 8 << 20);
  config.exact.classes = 4;
  config.exact.class_of[static_cast<std::size_t>(PacketType::roce_ack)] = 0;
  config.exact.class_of[static_cast<std::size_t>(PacketType::raw)] = 3;
  config.exact.weight = {0, 3, 3, 1};
  PacketSim sim(nine_groups("minimal").fabric, config);
  sim.start_raw(1, {.peer = 3, .packets = 4'000, .bytes = 4086, .interval = nanoseconds(83)});  // its whole line
  const Outcome outcome = run_queue_pairs(sim, {{0, 2, kBytes, 0}, {14, 3, kBytes, 0}});
  // Three eighths of 400 Gb/s each: 20 ps a byte at full rate.
  const double alone = static_cast<double>(kBytes) * 20 * config.full_packet / config.payload();
  const double first = alone / static_cast<double>(outcome.received.at(0));
  const double second = alone / static_cast<double>(outcome.received.at(1));
  std::printf("two channels of three quarters: %.3f and %.3f of the link\n", first, second);
  EXPECT_NEAR(first, 0.375, 0.02);
  EXPECT_NEAR(second, 0.375, 0.02);
}

// A pause for each of them, and room for what comes in until it works; a host sends in the first only.
TEST(Channels, CostHeadroomEach) {
  const auto fits = [](std::uint32_t channels) {
    const PacketSim sim(nine_groups("minimal").fabric, lossless(FlowControl::pause, channels, 1 << 20));
    return sim.exact_problem().kind == ExactProblem::Kind::none;
  };
  EXPECT_TRUE(fits(1));
  EXPECT_TRUE(fits(2));
  EXPECT_FALSE(fits(4));
}

}  // namespace
}  // namespace weft::sim
