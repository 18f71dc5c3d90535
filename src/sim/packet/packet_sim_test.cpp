#include "sim/packet/packet_sim.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

TEST(PacketSim, OnePacketTakesWhatItsLinksTake) {
  // Across pods: 6 cables of 1 us; 100 + 64 bytes at 80 ps each, six times; 64 bytes back.
  const Outcome alone = run({{0, 63, 100, 0}});
  EXPECT_EQ(alone.sent.at(0), 6 * 1'000'000 + 6 * 164 * 80 + 6 * 1'000'000 + 6 * 64 * 80);
}

// Trees of links of one rate, and of faster ones between switches.
const fabric::Fabric& some_tree(int which) {
  static const Built faster = build("tree.topo", fat_tree_text(400));
  return which == 0 ? fat_tree() : which == 1 ? leaves_and_spines() : faster.fabric;
}

Flow some_flow() {
  Flow flow;
  flow.source = *rc::gen::inRange<std::uint32_t>(0, 64);
  flow.destination = (flow.source + *rc::gen::inRange<std::uint32_t>(1, 64)) % 64;
  const auto packets = *rc::gen::element<std::uint64_t>(1, 2, 3, 5, 8, 9, 50, 500);
  flow.bytes = *rc::gen::inRange<std::uint64_t>((packets - 1) * 4086 + 1, packets * 4086 + 1);
  flow.start = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  return flow;
}

RC_GTEST_PROP(PacketSim, AFlowAloneTakesItsClosedFormToThePicosecond, ()) {
  SimConfig config;
  config.balance = Balance::ecmp;
  config.cut_through = *rc::gen::arbitrary<bool>();
  const Flow flow = some_flow();
  PacketSim sim(some_tree(*rc::gen::inRange(0, 3)), config);
  const std::int64_t alone = sim.unloaded(flow);
  RC_ASSERT(run_on(sim, {flow}).sent.at(0) == flow.start + alone);
}

// On another path a short last packet may overtake the few before it; whole ones have nothing to gain.
RC_GTEST_PROP(PacketSim, AFlowAloneOverManyPathsTakesItsClosedFormOrOvertakesItself, ()) {
  SimConfig config;
  config.cut_through = *rc::gen::arbitrary<bool>();
  Flow flow = some_flow();
  if (*rc::gen::arbitrary<bool>()) flow.bytes = (flow.bytes + 4085) / 4086 * 4086;
  PacketSim sim(some_tree(*rc::gen::inRange(0, 3)), config);
  const std::int64_t alone = sim.unloaded(flow);
  const std::int64_t sooner = flow.bytes > 6 * 4086 ? 0 : sim.overtaking(flow, {config.full_packet, config.header});
  const std::int64_t took = run_on(sim, {flow}).sent.at(0) - flow.start;
  RC_ASSERT(took <= alone);
  RC_ASSERT(took >= alone - sooner);
}

// 3.2 Tb/s is 2.5 ps per byte.
TEST(PacketSim, RatesNeedNotBeWholePicosecondsPerByte) {
  std::string text = fat_tree_text();
  for (std::size_t at = text.find("Gbps 100"); at != std::string::npos; at = text.find("Gbps 100"))
    text.replace(at, 8, "Gbps 3200");
  const Built built = build("fast.topo", text);
  PacketSim sim(built.fabric, {});
  const Flow flow{0, 63, 4086, 0};
  const std::int64_t cables = 2 * 6 * 1'000'000;
  EXPECT_EQ(run_on(sim, {flow}).last(), cables + 6 * (4150 * 5 / 2) + 6 * (64 * 5 / 2));
}

// A bug in a client on any thread comes out of run(), which says where it was; nobody waits for ever.
TEST(PacketSim, WhatAClientThrowsComesOut) {
  struct Failing : Client {
    void completed(std::int64_t, const transport::Completion&) override { throw std::logic_error("planted"); }
    void called(std::int64_t, std::uint32_t, std::uint64_t) override {}
  };
  for (const std::uint32_t threads : {1u, 3u}) {
    SimConfig config;
    config.threads = threads;
    PacketSim sim(fat_tree(), config);
    for (const Flow& flow : shifted(21, 50'000))
      sim.post(0, flow.source, {.peer = flow.destination, .bytes = flow.bytes});
    Failing client;
    EXPECT_THROW(sim.run(client), std::logic_error) << threads;
  }
}

TEST(PacketSim, EverythingArrivesOnce) {
  for (const std::uint32_t by : {1u, 5u, 17u, 63u}) {
    const Outcome all = run(shifted(by, 500'000));
    EXPECT_TRUE(delivered_once(all, 64));
    EXPECT_EQ(all.result.counters.data_sent, 64u * ((500'000 + 4085) / 4086));
    EXPECT_EQ(all.result.counters.dropped, 0u);
  }
}

TEST(PacketSim, LossWithoutTrimmingIsRepaired) {
  SimConfig config;
  config.trimming = false;
  config.queue_bytes = 40'000;
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i < 33; ++i) flows.push_back({i, 0, 300'000, 0});
  const Outcome incast = run(flows, config);
  EXPECT_GT(incast.result.counters.dropped, 100u);
  EXPECT_TRUE(delivered_once(incast, flows.size()));
}

TEST(PacketSim, EqualSeedsGiveEqualDigestsAndOthersDoNot) {
  SimConfig other;
  other.seed = 2;
  const Outcome a = run(shifted(21, 300'000));
  EXPECT_EQ(a.result.digest, run(shifted(21, 300'000)).result.digest);
  EXPECT_NE(a.result.digest, run(shifted(21, 300'000), other).result.digest);
  EXPECT_NE(a.result.digest, run(shifted(21, 300'001)).result.digest);
}

// The promise behind partitions, with everything on that draws random numbers or adapts.
TEST(PacketSim, AnyNumberOfThreadsGivesTheSame) {
  for (const Balance balance : {Balance::entropy, Balance::ecmp, Balance::spray}) {
    SimConfig config;
    config.balance = balance;
    const auto faults = [](PacketSim& sim) {
      const Layout& layout = sim.layout();
      sim.add_to_link(layout.port_of(0, 5), {Condition::Kind::loss, 0, kForever, 20'000});
      sim.add_to_link(layout.port_of(1, 4), {Condition::Kind::degraded, 10'000'000, 60'000'000, 250'000});
      sim.add_to_switch(17, {Condition::Kind::blackhole, 20'000'000, 40'000'000, 0});
    };
    std::vector<Flow> flows = shifted(21, 300'000);
    for (std::uint32_t i = 1; i < 40; ++i) flows.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
    const Outcome one = run(flows, config, faults);
    EXPECT_TRUE(delivered_once(one, flows.size()));
    EXPECT_GT(one.result.counters.lost, 0u);
    for (const std::uint32_t threads : {2u, 3u, 8u}) {
      config.threads = threads;
      const Outcome more = run(flows, config, faults);
      EXPECT_EQ(one.result.digest, more.result.digest) << threads;
      EXPECT_EQ(one.sent, more.sent);
      EXPECT_EQ(one.received, more.received);
    }
  }
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

// One message per sender: nothing is whole until nearly the end, but somebody watches.
TEST(PacketSim, WhatIsThereOfMessagesCanBeSeen) {
  using transport::Protocol;
  for (const Protocol protocol :
       {Protocol::srd, Protocol::rocev2, Protocol::tcp, Protocol::uet, Protocol::tcp_over_srd}) {
    SimConfig config = over(protocol);
    config.threads = 2;
    PacketSim sim(fat_tree(), config);
    constexpr std::uint64_t kEach = 2'000'000;
    for (const Flow& flow : shifted(21, kEach))
      sim.post(0, flow.source, {.peer = flow.destination, .bytes = flow.bytes, .protocol = protocol});
    std::uint64_t before = 0;
    std::set<std::uint64_t> tenths;
    sim.on_progress = [&](const schedule::Progress& progress) {
      const std::uint64_t arrived = progress.delivered_bytes + progress.underway_bytes();
      EXPECT_GE(arrived, before);
      EXPECT_LE(arrived, 64 * (kEach + 9000)) << "but for what the last packet is not full of";
      before = arrived;
      tenths.insert(arrived * 10 / (64 * kEach));
      return true;
    };
    Recorder recorder;
    sim.run(recorder);
    EXPECT_GE(tenths.size(), 9u) << static_cast<int>(protocol);
  }
}

// Limits are checked between windows, so what they compare must not depend on who handled what last.
TEST(PacketSim, StoppedAtATimeAnyNumberOfThreadsGivesTheSame) {
  const auto stopped = [](std::int64_t time, std::uint32_t threads) {
    SimConfig config;
    config.threads = threads;
    return run(shifted(21, 300'000), config,
               [&](PacketSim& sim) {
                 sim.on_progress = [=](const schedule::Progress& progress) { return progress.now.count() < time; };
               })
        .result;
  };
  for (std::int64_t time = 1'000'000; time < 20'000'000; time += 1'370'000) {
    const schedule::RunResult one = stopped(time, 1);
    EXPECT_EQ(one.stopped_by, "stopped");
    for (const std::uint32_t threads : {2u, 3u, 8u}) {
      const schedule::RunResult more = stopped(time, threads);
      EXPECT_EQ(one.digest, more.digest) << time << " ps, " << threads << " threads";
      EXPECT_EQ(one.end.count(), more.end.count()) << time << " ps, " << threads << " threads";
    }
  }
}

TEST(PacketSim, WatchingALinkChangesNothing) {
  for (const bool fifo : {false, true}) {
    SimConfig config;
    config.fifo = fifo;
    config.queue_bytes = 40'000;  // so short that there are marks, and trimmed or dropped packets
    std::vector<Flow> flows = shifted(21, 300'000);
    for (std::uint32_t i = 1; i < 40; ++i) flows.push_back({i, 0, 150'000, 777 * std::int64_t{i}});
    const Outcome plain = run(flows, config);
    config.sample = microseconds(1);
    const Outcome sampled = run(flows, config, [](PacketSim& sim) { sim.capture(0); });
    EXPECT_EQ(plain.result.digest, sampled.result.digest) << "fifo: " << fifo;
    EXPECT_GT(sampled.result.samples.size(), 100u);
  }
}

TEST(PacketSim, ACaptureThatHasNoRoomForMoreSaysUntilWhenItIsWhole) {
  for (const std::size_t room : {20u, 10'000u}) {
    SimConfig config;
    config.most_captured = room;
    PacketSim sim(fat_tree(), config);
    sim.capture(sim.layout().port_of_endpoint(0));
    const Outcome out = run_on(sim, {{0, 1, 400'000, 0}});
    EXPECT_EQ(sim.captured().size(), room == 20 ? 20u : 98u);
    if (room == 20) {
      EXPECT_EQ(out.result.capture_end.count(), 20 * 4150 * 80) << "when the packet behind the last one left";
    } else {
      EXPECT_EQ(out.result.capture_end, schedule::kNotYet);
    }
  }
}

TEST(PacketSim, SamplesThatAreTooManyBecomeCoarserAndKeepTheirSums) {
  const std::vector<Flow> flows = shifted(21, 300'000);
  SimConfig config;
  config.sample = nanoseconds(100);
  config.queue_bytes = 40'000;
  const Outcome fine = run(flows, config);
  EXPECT_EQ(fine.result.sample_interval.count(), 100'000);
  config.most_samples = 1;  // so the least that every link has
  const Outcome coarse = run(flows, config);
  EXPECT_EQ(fine.result.digest, coarse.result.digest);
  EXPECT_EQ(coarse.result.sample_asked.count(), 100'000);
  EXPECT_GT(coarse.result.sample_interval.count(), 800'000);
  struct Sum {
    std::uint64_t bytes = 0;
    std::uint64_t marked = 0;
    std::int64_t peak = 0;
    std::size_t samples = 0;
    bool operator==(const Sum& other) const {
      return bytes == other.bytes && marked == other.marked && peak == other.peak;
    }
  };
  const auto sums = [](const schedule::RunResult& result) {
    std::map<std::uint32_t, Sum> all;
    for (const schedule::LinkSample& sample : result.samples) {
      EXPECT_EQ(sample.time.count() % result.sample_interval.count(), 0);
      Sum& sum = all[sample.link];
      sum.bytes += sample.bytes;
      sum.marked += sample.marked;
      sum.peak = std::max(sum.peak, sample.peak_bytes);
      ++sum.samples;
    }
    return all;
  };
  EXPECT_EQ(sums(fine.result), sums(coarse.result));
  for (const auto& [link, sum] : sums(coarse.result)) EXPECT_LE(sum.samples, 17u) << link;
}

TEST(PacketSim, WatchingALinkChangesNothingWhereSwitchesSendCnps) {
  SimConfig config = over(transport::Protocol::rocev2);
  config.fast_cnp = microseconds(1);
  config.queue_bytes = 60'000;
  const auto incast = [&](std::int64_t sample) {
    config.sample = Duration(sample);
    PacketSim sim(fat_tree(), config);
    for (std::uint32_t i = 1; i < 16; ++i)
      sim.post(0, i, {.peer = 0, .bytes = 500'000, .tag = i, .protocol = config.protocol});
    Recorder recorder;
    return sim.run(recorder);
  };
  EXPECT_GT(incast(0).counters.marked, 0u);
  EXPECT_EQ(incast(0).digest, incast(1'000'000).digest);
}

TEST(PacketSim, TheQueueOfANicIsSeen) {
  const Outcome out = run({{0, 1, 100'000, 0}});
  const auto nic = std::find_if(out.result.links.begin(), out.result.links.end(),
                                [](const auto& link) { return link.from.ends_with("nic0") && link.bytes > 100'000; });
  ASSERT_NE(nic, out.result.links.end());
  EXPECT_GT(nic->peak_bytes, 0);
  EXPECT_LE(nic->peak_bytes, 4150) << "a NIC takes one packet ahead of the wire";
}

TEST(PacketSim, SprayKeepsAPermutationNearLineRate) {
  const std::vector<Flow> flows = shifted(21, 2'000'000);
  const PacketSim sim(fat_tree(), {});
  const std::int64_t ideal = sim.unloaded(flows[0]);
  EXPECT_LT(run(flows).last(), ideal * 120 / 100);
  EXPECT_GE(run(flows).last(), ideal);
}

//   one switch, 32 hosts at 400G, cables of 50 ns: each sends to 16 others and hears from as many
TEST(PacketSim, WhereNothingIsLostNothingIsSentAgain) {
  const Built chassis =
      build("chassis.topo",
            "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 32\nRadix_Up 1\n"
            "Downlink_Latency_ns 50\nSwitch_Latency_ns 700\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 1\n"
            "Downlink_Latency_ns 50\nSwitch_Latency_ns 700\n");
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 32; ++i)
    for (std::uint32_t by = 1; by <= 16; ++by) flows.push_back({i, (i + by) % 32, 100'000, 0});
  PacketSim sim(chassis.fabric, {});
  const schedule::Counters counters = run_on(sim, flows).result.counters;
  EXPECT_EQ(counters.trimmed + counters.dropped + counters.lost, 0u);
  EXPECT_EQ(counters.data_resent, 0u);
}

TEST(PacketSim, IncastSharesTheReceiversLink) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i < 64; ++i) flows.push_back({i, 0, 2'000'000, 0});
  const Outcome incast = run(flows);
  const std::int64_t packets = 63 * ((2'000'000 + 4085) / 4086);
  const std::int64_t bytes = 63 * 2'000'000 + packets * 64;
  EXPECT_GE(incast.last(), bytes * 80);
  EXPECT_LT(incast.last(), bytes * 80 * 105 / 100);
  EXPECT_LT(incast.result.counters.trimmed * 100, static_cast<std::uint64_t>(packets) * 15);
}

// Until the first answer nobody knows of the others: what 63 senders put on their wires in one round trip comes to one
// wire, and all but a window of it is trimmed. From then on the receiver's share holds, however much there is to send.
TEST(PacketSim, AnIncastTrimsNoMoreThanIsSentBeforeTheFirstAnswer) {
  const PacketSim sim(fat_tree(), {});
  const auto blind = static_cast<std::uint64_t>(sim.layout().base_rtt() / sim.layout().slowest_packet());
  for (const std::uint64_t bytes : {500'000u, 1'000'000u, 4'000'000u}) {
    std::vector<Flow> flows;
    for (std::uint32_t i = 1; i < 64; ++i) flows.push_back({i, 0, bytes, 0});
    const std::uint64_t trimmed = run(flows).result.counters.trimmed;
    EXPECT_LE(trimmed, 63 * (blind + 8)) << bytes;
    EXPECT_GE(trimmed, 63 * blind / 2) << bytes;
  }
}

}  // namespace
}  // namespace weft::sim
