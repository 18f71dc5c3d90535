// Nothing is allocated per packet: once queues and pools have their size, a run leaves the heap alone.

#include <gtest/gtest.h>

#include "base/testing_allocations.hpp"
#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

TEST(Allocation, TheHotPathNeedsNone) {
  for (const std::uint32_t threads : {1u, 2u}) {
    SimConfig config;
    config.threads = threads;
    PacketSim sim(fat_tree(), config);
    // Twice the same, one after the other: the first gives everything its size.
    constexpr std::int64_t kSecond = 1'000'000'000;
    constexpr std::int64_t kWarm = kSecond + 20'000'000;
    constexpr std::int64_t kStillBusy = kSecond + 300'000'000;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::uint64_t events_before = 0;
    std::uint64_t events_after = 0;
    sim.on_progress = [&](const schedule::Progress& progress) {
      if (progress.now <= kWarm || progress.now > kStillBusy) return true;
      if (before == 0) {
        before = allocations;
        events_before = progress.events;
      }
      after = allocations;
      events_after = progress.events;
      return true;
    };
    std::vector<Flow> flows = shifted(21, 4'000'000);
    for (Flow flow : shifted(21, 4'000'000)) {
      flow.start = kSecond;
      flows.push_back(flow);
    }
    const Outcome out = run_on(sim, flows);
    EXPECT_TRUE(delivered_once(out, flows.size()));
    EXPECT_GT(events_after - events_before, 200'000u) << "or little was looked at";
    EXPECT_EQ(after, before) << threads;
  }
}

}  // namespace
}  // namespace weft::sim
