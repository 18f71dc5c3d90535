// Nothing is allocated per packet: once queues and pools have their size, a run leaves the heap alone.

#include <gtest/gtest.h>

#include "base/testing_allocations.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/packet/testing_sim.hpp"
#include "workload/matrix_schedule.hpp"

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
      if (progress.now.count() <= kWarm || progress.now.count() > kStillBusy) return true;
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

// PCIe brings the bytes sooner than the NIC sends them, and what a flapping link takes is sent again.
TEST(Allocation, MemoryFollowsWhatIsInFlightAndNotWhatIsDone) {
  constexpr std::int64_t kWarm = 3'000'000'000;
  const Built built =
      build("c.weft.yaml", "version: 1\nservers: {kind: hgx-h200, count: 2}\nfabric: {kind: rail-only}\n");
  workload::Matrix matrix;
  matrix.nodes = 16;
  for (const auto& [from, to] : {std::pair(0u, 8u), std::pair(8u, 0u)}) {
    workload::MatrixFlow& flow = matrix.flows.emplace_back();
    flow.source = from;
    flow.destination = to;
    flow.bytes = std::uint64_t{1} << 40;
  }
  for (const bool flaps : {false, true}) {
    for (const auto& [hosts, verb] : {std::pair(true, transport::Op::send), std::pair(false, transport::Op::send),
                                      std::pair(true, transport::Op::read)}) {
      SimConfig config;
      config.verbs = {verb};
      config.failover = microseconds(1'000'000);
      config.give_up = Duration(2 * config.failover.count());
      workload::MatrixSchedule schedule(matrix);
      PacketSim engine(built.fabric, config);
      if (flaps)
        engine.add_to_link(engine.layout().port_of_endpoint(0),
                           {Condition::Kind::down, 50'000'000, 51'000'000, 0, 200'000'000});
      std::uint64_t warm = 0;
      std::uint64_t later = 0;
      engine.on_progress = [&](const schedule::Progress& progress) {
        if (warm == 0 && progress.now.count() >= kWarm) warm = bytes_in_use;
        later = bytes_in_use;
        return progress.now.count() < 4 * kWarm;
      };
      const schedule::RunResult result = PacketRun(schedule, engine, hosts).run();
      EXPECT_GE(result.end.count(), 4 * kWarm);
      EXPECT_GT(result.counters.data_sent, 200'000u) << "or little was done";
      EXPECT_LE(later, warm + 20'000) << (flaps ? "flapping" : "") << (hosts ? ", with hosts" : "")
                                      << (verb == transport::Op::read ? ", reading" : "");
      EXPECT_LE(later, 20'000'000u);
    }
  }
}

}  // namespace
}  // namespace weft::sim
