// A Dragonfly with p = h = 2, a = 4 and nine groups, one link between any two: balanced, as its authors advise.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

constexpr std::uint32_t kHosts = 72;
constexpr std::uint32_t kOfAGroup = 8;

Built four_routers(const std::string& routing) {
  return testing::dragonfly(routing, {.servers = kHosts, .routers = 4});
}

struct Result {
  double median = 0;  // flow, of what it would get alone
  double all = 0;     // bytes of all flows over the time of the slowest, of line rate
  double hops = 0;    // links per packet
};

Result ran_over(const Built& built, const std::vector<Flow>& flows, SimConfig config = {}) {
  config.cut_through = true;
  PacketSim sim(built.fabric, config);
  const Outcome outcome = run_on(sim, flows);
  EXPECT_TRUE(delivered_once(outcome, flows.size()));
  std::uint64_t bytes = 0;
  for (const Flow& flow : flows) bytes += flow.bytes;
  const auto counters = outcome.result.counters;
  std::vector<std::int64_t> times;
  for (const auto& [tag, time] : outcome.sent) times.push_back(time);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return {static_cast<double>(sim.unloaded(flows[0])) / static_cast<double>(times[times.size() / 2]),
          static_cast<double>(bytes) / 4086 * 4150 * 20 / kHosts / static_cast<double>(outcome.last()),
          static_cast<double>(counters.packet_hops) /
              static_cast<double>(counters.data_sent + counters.data_resent + counters.acks_sent)};
}

// All of a group to the next one.
std::vector<Flow> adversarial(std::uint64_t bytes) { return shifted(kOfAGroup, bytes, kHosts); }

// Everybody to one of every other group.
std::vector<Flow> uniform(std::uint64_t bytes) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < kHosts; ++i)
    for (std::uint32_t by = 1; by < 9; ++by)
      flows.push_back({i, (i / kOfAGroup + by) % 9 * kOfAGroup + (i + by) % kOfAGroup, bytes, 0});
  return flows;
}

// Eight hosts share the one link to the next group; over all others together there is room for half of what they send,
// because every packet takes two global links. Shares differ, so the median says what a flow gets.
TEST(DragonflySim, AnAdversaryGetsAnEighthMinimallyAndAboutHalfByDetours) {
  const Result minimal = ran_over(four_routers("minimal"), adversarial(4'000'000));
  const Result valiant = ran_over(four_routers("valiant"), adversarial(4'000'000));
  const Result ugal = ran_over(four_routers("ugal"), adversarial(4'000'000));
  for (const auto& [name, result] : {std::pair{"minimal", minimal}, {"valiant", valiant}, {"ugal", ugal}})
    std::printf("adversarial, %s: %.3f of line rate, the median flow %.3f\n", name, result.all, result.median);
  EXPECT_LE(minimal.all, 1.0 / 8);
  EXPECT_GE(minimal.all, 0.9 / 8);
  EXPECT_LE(valiant.all, 0.5);
  EXPECT_GE(valiant.all, 2.5 * minimal.all);
  EXPECT_NEAR(valiant.median, 0.45, 0.05);
  EXPECT_GE(ugal.all, valiant.all);
  EXPECT_GE(ugal.median, valiant.median);
}

TEST(DragonflySim, UniformTrafficStaysMinimal) {
  const Result minimal = ran_over(four_routers("minimal"), uniform(400'000));
  const Result valiant = ran_over(four_routers("valiant"), uniform(400'000));
  const Result ugal = ran_over(four_routers("ugal"), uniform(400'000));
  std::printf("uniform: minimal %.3f (%.2f hops), valiant %.3f (%.2f), ugal %.3f (%.2f)\n", minimal.all, minimal.hops,
              valiant.all, valiant.hops, ugal.all, ugal.hops);
  EXPECT_LE(ugal.hops, 1.05 * minimal.hops);
  EXPECT_GE(ugal.all, 0.95 * minimal.all);
  EXPECT_GE(valiant.hops, 1.25 * minimal.hops);
  EXPECT_LT(valiant.all, 0.8 * minimal.all);
}

TEST(DragonflySim, AnyNumberOfThreadsGivesTheSame) {
  for (const std::string routing : {"valiant", "ugal"}) {
    const Built built = four_routers(routing);
    for (const Balance balance : {Balance::entropy, Balance::spray}) {
      for (const bool exact : {false, true}) {
        SimConfig config;
        config.balance = balance;
        config.exact.on = exact;
        config.exact.buffer = 32 << 20;
        const auto digest = [&](std::uint32_t threads) {
          config.threads = threads;
          PacketSim sim(built.fabric, config);
          sim.add_to_link(sim.layout().port_of(0, 6), {Condition::Kind::down, 5'000'000, 30'000'000, 0});
          const Outcome outcome = run_on(sim, adversarial(200'000));
          EXPECT_TRUE(delivered_once(outcome, kHosts));
          return outcome.result.digest;
        };
        const std::uint64_t one = digest(1);
        EXPECT_EQ(one, digest(2));
        EXPECT_EQ(one, digest(8));
      }
    }
  }
}

}  // namespace
}  // namespace weft::sim
