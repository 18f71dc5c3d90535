// What --sample writes down, against the table of links and the summary, for every kind of port.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;
using schedule::LinkSample;

TEST(Samples, BytesAreSpreadOverTheirTimeOnTheWire) {
  Samples samples(1000, 100);
  samples.carry(1900, 400, 40);  // a quarter of it before 2000
  samples.carry(2300, 2700, 270);
  const auto& rows = samples.finish(5000);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].bytes, 10u);
  EXPECT_EQ(rows[1].bytes, 30u + 70u);
  EXPECT_EQ(rows[2].bytes, 100u);
  EXPECT_EQ(rows[3].bytes, 100u);
}

TEST(Samples, AQueueIsSeenWhileItDrains) {
  Samples samples(1000, 100);
  samples.queue(500, 400, 4500);
  const auto& rows = samples.finish(9000);
  std::vector<std::int64_t> peaks;
  for (const LinkSample& row : rows) peaks.push_back(row.peak_bytes);
  EXPECT_EQ(peaks, (std::vector<std::int64_t>{400, 350, 250, 150, 50}));
}

TEST(Samples, AQueueThatStandsIsSeenUntilItChanges) {
  Samples samples(1000, 100);
  samples.queue(500, 400);
  samples.queue(2200, 100);
  samples.queue(3300, 0);
  const auto& rows = samples.finish(9000);
  std::vector<std::int64_t> peaks;
  for (const LinkSample& row : rows) peaks.push_back(row.peak_bytes);
  EXPECT_EQ(peaks, (std::vector<std::int64_t>{400, 400, 400, 100}));
}

TEST(Samples, PartsOfABundleAddUp) {
  Samples all(1000, 100);
  for (std::int64_t i = 0; i < 20; ++i) {
    all.carry(i * 300, 299, 100 + i);
    ++all.at(i * 300).packets;
  }
  const auto rows = all.finish(10'000);
  std::map<std::int64_t, std::uint64_t> bytes;
  std::uint64_t packets = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Samples part = part_of(rows, 1000, 3, i);
    for (const LinkSample& row : part.finish(10'000)) {
      bytes[row.time.count()] += row.bytes;
      packets += row.packets;
    }
  }
  EXPECT_EQ(packets, 20u);
  for (const LinkSample& row : rows) EXPECT_EQ(bytes[row.time.count()], row.bytes);
}

struct Ports {
  std::string name;
  SimConfig config;
  std::function<void(PacketSim&)> prepare;
};

void PrintTo(const Ports& kind, std::ostream* out) { *out << kind.name; }

SimConfig short_queues() {
  SimConfig config;
  config.queue_bytes = 60'000;
  config.sample = microseconds(1);
  return config;
}

SimConfig exact(FlowControl control, bool trimming) {
  SimConfig config = short_queues();
  config.trimming = trimming;
  config.exact.on = true;
  config.exact.flow_control = control;
  config.exact.buffer = control == FlowControl::none ? 400'000 : 8 << 20;
  if (control != FlowControl::none) config.exact.lossless = 0b10;
  return config;
}

std::vector<Ports> kinds() {
  std::vector<Ports> all;
  const auto add = [&](const std::string& name, const SimConfig& config, std::function<void(PacketSim&)> prepare = {}) {
    all.push_back({name, config, std::move(prepare)});
  };
  const auto all_ports = [](PacketSim& sim, const Condition& condition) {
    for (std::uint32_t port = 0; port < sim.layout().ports(); ++port)
      if (sim.layout().connected(port)) sim.add_condition(port, condition);
  };
  const auto lossy = [=](PacketSim& sim) { all_ports(sim, {Condition::Kind::loss, 0, kForever, 10'000}); };
  const auto slow = [=](PacketSim& sim) {
    all_ports(sim, {Condition::Kind::degraded, 7'000'000, 60'000'000, 300'000});
  };
  SimConfig fifo = short_queues();
  fifo.fifo = true;
  add("fifo", fifo);
  add("two_class", short_queues());
  SimConfig odd = short_queues();
  odd.sample = nanoseconds(333);
  add("two_class_in_odd_intervals", odd);
  add("two_class_lossy", short_queues(), lossy);
  add("two_class_slow", short_queues(), slow);
  add("two_class_shaped", short_queues(), [](PacketSim& sim) {
    sim.shape(sim.layout().reverse(sim.layout().port_of_endpoint(0)), {100, 20'000, 50'000, 0});
  });
  add("exact_that_drops", exact(FlowControl::none, false));
  add("exact_that_trims", exact(FlowControl::none, true));
  add("exact_lossy", exact(FlowControl::none, true), lossy);
  add("exact_slow", exact(FlowControl::none, true), slow);
  SimConfig pause = over(transport::Protocol::rocev2, exact(FlowControl::pause, false));
  add("pause", pause);
  pause.exact.watchdog = microseconds(3);
  add("pause_with_watchdog", pause, [](PacketSim& sim) { sim.slow_receiver(0, 50'000); });
  SimConfig small_nic = over(transport::Protocol::tcp, exact(FlowControl::none, false));
  small_nic.exact.nic_buffer = 100'000;
  add("exact_small_card", small_nic, [](PacketSim& sim) { sim.slow_receiver(0, 200'000); });
  add("credits", over(transport::Protocol::rocev2, exact(FlowControl::credits, false)));
  add("scheduled", exact(FlowControl::scheduled, false));
  add("scheduled_roce", over(transport::Protocol::rocev2, exact(FlowControl::scheduled, false)));
  return all;
}

class EveryPort : public ::testing::TestWithParam<Ports> {};
INSTANTIATE_TEST_SUITE_P(Samples, EveryPort, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

// All links cross each other, and many senders meet at host 0.
std::vector<Flow> crossing_and_meeting() {
  std::vector<Flow> flows = shifted(21, 200'000);
  for (std::uint32_t i = 1; i < 20; ++i) flows.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
  return flows;
}

schedule::RunResult watch(const Ports& kind, const std::vector<Flow>& flows, std::uint32_t threads = 1) {
  SimConfig config = kind.config;
  config.threads = threads;
  PacketSim sim(leaves_and_spines(), config);
  if (kind.prepare) kind.prepare(sim);
  for (std::uint32_t i = 0; i < flows.size(); ++i)
    sim.post(flows[i].start, flows[i].source,
             {.peer = flows[i].destination, .bytes = flows[i].bytes, .tag = i, .protocol = config.protocol});
  Recorder recorder;
  schedule::RunResult result = sim.run(recorder);
  EXPECT_EQ(recorder.received.size(), flows.size());
  sim.collect_links(result, 1000);
  return result;
}

TEST_P(EveryPort, SamplesAddUpToTheTableOfLinks) {
  const Ports& kind = GetParam();
  const schedule::RunResult result = watch(kind, crossing_and_meeting());
  std::vector<LinkSample> sums(result.links.size());
  for (const LinkSample& each : result.samples) {
    const schedule::LinkRecord& link = result.links[each.link];
    LinkSample& sum = sums[each.link];
    sum.bytes += each.bytes;
    sum.packets += each.packets;
    sum.marked += each.marked;
    sum.trimmed += each.trimmed;
    sum.dropped += each.dropped;
    sum.lost += each.lost;
    sum.peak_bytes = std::max(sum.peak_bytes, each.peak_bytes);
    // At 100 Gb/s: in 333 ns there is room for 4162 bytes and a half.
    ASSERT_LE(each.bytes, static_cast<std::uint64_t>((kind.config.sample.count() + 79) / 80))
        << link.from << " to " << link.to << " at " << each.time.count();
  }
  ASSERT_GT(result.links.size(), 128u);
  std::uint64_t dropped = 0;
  std::uint64_t lost = 0;
  std::uint64_t packets = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const schedule::LinkRecord& link = result.links[i];
    SCOPED_TRACE(link.from + " to " + link.to);
    EXPECT_EQ(sums[i].bytes, link.bytes);
    EXPECT_EQ(sums[i].packets, link.packets);
    EXPECT_EQ(sums[i].marked, link.marked);
    EXPECT_EQ(sums[i].trimmed, link.trimmed);
    EXPECT_EQ(sums[i].dropped, link.dropped);
    EXPECT_EQ(sums[i].lost, link.lost);
    EXPECT_EQ(sums[i].peak_bytes, link.peak_bytes);
    EXPECT_LE(link.marked, link.packets);
    EXPECT_LE(link.trimmed, link.packets);
    dropped += link.dropped;
    lost += link.lost;
    packets += link.packets;
  }
  EXPECT_EQ(dropped, result.counters.dropped);
  EXPECT_EQ(lost, result.counters.lost);
  EXPECT_EQ(packets, result.counters.packet_hops);
}

// Ports with short runs: threads wait for each other in every window.
TEST(Samples, ThreadsSeeTheSame) {
  const std::vector<Ports> all = kinds();
  const auto seen = [&](const Ports& kind, std::uint32_t threads) {
    std::vector<Flow> flows = shifted(21, 40'000);
    for (std::uint32_t i = 1; i < 20; ++i) flows.push_back({i, 0, 40'000, 0});
    const schedule::RunResult result = watch(kind, flows, threads);
    Digest digest;
    for (const LinkSample& each : result.samples)
      for (const std::uint64_t number :
           {static_cast<std::uint64_t>(each.time.count()), std::uint64_t{each.link},
            static_cast<std::uint64_t>(each.peak_bytes), each.bytes, std::uint64_t{each.packets},
            std::uint64_t{each.marked}, std::uint64_t{each.trimmed}, std::uint64_t{each.dropped},
            std::uint64_t{each.lost}})
        digest.add(number);
    return digest.value();
  };
  for (const std::string name : {"two_class", "exact_that_trims", "credits", "scheduled", "scheduled_roce"}) {
    const auto kind = std::find_if(all.begin(), all.end(), [&](const Ports& each) { return each.name == name; });
    ASSERT_NE(kind, all.end());
    EXPECT_EQ(seen(*kind, 1), seen(*kind, 2)) << name;
  }
}

// Where all packets are marked, trimmed and dropped at one port, that port has the summary's numbers.
TEST_P(EveryPort, OnePortHasTheNumbersOfTheSummary) {
  const Ports& kind = GetParam();
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i < 8; ++i) flows.push_back({i, 0, 400'000, 0});
  const schedule::RunResult result = watch(kind, flows);
  std::uint64_t marked = 0, trimmed = 0;
  for (const schedule::LinkRecord& link : result.links) {
    marked += link.marked;
    trimmed += link.trimmed;
  }
  // Marked and then lost behind the port, or known to the receiver already: the summary does not have those.
  const schedule::Counters& all = result.counters;
  const std::uint64_t not_told = all.watchdog_drops + all.headroom_drops + all.lost + all.data_resent;
  EXPECT_LE(all.marked, marked);
  EXPECT_LE(marked, all.marked + not_told);
  EXPECT_LE(all.trimmed, trimmed);
  EXPECT_LE(trimmed, all.trimmed + all.lost);
  EXPECT_GT(marked, 0u);
}

}  // namespace
}  // namespace weft::sim
