// DCQCN through switches with real queues: what the transport's own test shows on one port holds across a fabric.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/random.hpp"
#include "sim/packet/testing_sim.hpp"
#include "transport/roce/crowd.hpp"
#include "transport/roce/testing_dcqcn_model.hpp"

namespace weft::sim {
namespace {

using namespace testing;

constexpr std::int64_t kMillisecond = 1'000'000'000;

//   8 spines            32 hosts to a leaf, 40 Gb/s as in the paper
//   2 leaves
const fabric::Fabric& two_leaves() {
  static const Built built =
      build("leaves.topo",
            "Nodes 64\nTiers 2\nPodsize 64\nTier 0\nDownlink_speed_Gbps 40\nRadix_Down 32\nRadix_Up 8\n"
            "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 40\nRadix_Down 2\nDownlink_Latency_ns 500\n");
  return built.fabric;
}

SimConfig dcqcn() {
  SimConfig config;
  config.protocol = transport::Protocol::rocev2;
  config.stack.used = 0;
  config.stack.use(config.protocol);
  config.stack.roce.mtu = 1024;
  config.header = config.stack.header_of(config.protocol);
  config.full_packet = config.stack.packet_of(config.protocol);
  config.balance = Balance::ecmp;
  // Kmin and Kmax of the paper. Its Pmax of 1 % leaves the queue of many flows no room below Kmax
  // (transport/roce/dcqcn_test.cpp); with 20 % all have a point to compare with.
  config.queue_bytes = 1'000'000;
  config.mark_from = 5'000;
  config.mark_to = 200'000;
  config.mark_most = 200'000;
  config.exact.on = true;
  config.exact.flow_control = FlowControl::pause;
  config.exact.lossless = 0b10;
  config.exact.buffer = 32 << 20;
  return config;
}

struct Shared {
  double jain = 0;
  double use = 0;    // of the port
  double queue = 0;  // bytes, mean
};

// So many hosts of one leaf send to one of the other. Measured for 20 ms after the first 50.
Shared share(std::uint32_t flows) {
  constexpr std::int64_t kFrom = 50 * kMillisecond;
  constexpr std::int64_t kTo = 70 * kMillisecond;
  const SimConfig config = dcqcn();
  PacketSim sim(two_leaves(), config);
  for (std::uint32_t i = 0; i < flows; ++i)
    sim.post(0, 32 + i,
             {.op = transport::Op::write, .peer = 0, .bytes = 1ull << 34, .tag = i, .protocol = config.protocol});
  const std::uint32_t out = sim.layout().reverse_port(sim.layout().port_of_endpoint(0));
  std::vector<std::uint64_t> before;
  Port then{};
  std::int64_t since = 0;
  std::int64_t until = 0;
  sim.on_progress = [&](const schedule::Progress& progress) {
    until = progress.now.count();
    if (progress.now.count() < kFrom || !before.empty()) return progress.now.count() < kTo;
    since = progress.now.count();
    then = sim.port(out);
    for (std::uint32_t i = 0; i < flows; ++i) before.push_back(sim.port(sim.layout().port_of_endpoint(32 + i)).bytes);
    return true;
  };
  Recorder recorder;
  const schedule::RunResult result = sim.run(recorder);
  EXPECT_EQ(result.counters.dropped, 0u);
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < flows; ++i) {
    const auto sent = static_cast<double>(sim.port(sim.layout().port_of_endpoint(32 + i)).bytes - before[i]);
    sum += sent;
    squares += sent * sent;
  }
  const auto took = static_cast<double>(until - since);
  Shared shared;
  shared.jain = sum * sum / (flows * squares);
  shared.use = static_cast<double>(sim.port(out).bytes - then.bytes) * 200 / took;
  shared.queue = static_cast<double>(sim.port(out).waited - then.waited) / took * config.full_packet;  // Little's law
  return shared;
}

TEST(DcqcnOnFabric, LongFlowsShareAPortAndItsQueueIsWhereTheFluidModelPutsIt) {
  const SimConfig config = dcqcn();
  const double packet = config.full_packet;
  const double line = 40e9 / 8 / packet;
  for (const std::uint32_t flows : {2u, 8u, 32u}) {
    const transport::FluidModel fluid{line, static_cast<double>(flows), line / 1000, 1e7 / packet};
    const auto queue_at = [](double p) { return 5'000 + std::min(1.0, p / 0.2) * 195'000; };
    const double p = transport::balance(fluid);
    const double p_cycle = transport::balance(transport::CycleModel{fluid});
    const Shared got = share(flows);
    std::printf("%2u flows: Jain %.4f, use %.3f, queue %.0f B (fluid %.0f, cycle %.0f)\n", flows, got.jain, got.use,
                got.queue, queue_at(p), queue_at(p_cycle));
    EXPECT_GE(got.jain, 0.95) << flows;
    EXPECT_GE(got.use, 0.93) << flows;
    EXPECT_GT(got.queue, 0.8 * queue_at(p)) << flows;
    EXPECT_LT(got.queue, 1.7 * queue_at(p)) << flows;
    EXPECT_NEAR(got.queue, queue_at(p_cycle), 0.25 * queue_at(p_cycle)) << flows;
  }
}

// So many senders of other leaves begin at once with so many bytes each for one host: when the last is done, as packets
// and by every draw of the fluid, us.
struct Met {
  double packets = 0;
  std::vector<double> fluid;
};

Met meet(std::uint32_t flows, std::uint64_t bytes) {
  SimConfig config = dcqcn();
  config.stack.roce.mtu = 4096;
  config.full_packet = config.stack.packet_of(config.protocol);
  config.queue_bytes = 0;  // a round trip's worth, as it is by default, of which these parts
  config.mark_from = 200'000;
  config.mark_to = 800'000;
  config.mark_most = 1'000'000;
  PacketSim sim(leaves_and_spines(), config);
  for (std::uint32_t i = 0; i < flows; ++i)
    sim.post(0, 8 + 8 * (i % 7) + i / 7,
             {.op = transport::Op::write, .peer = 0, .bytes = bytes, .tag = i, .protocol = config.protocol});
  Recorder recorder;
  sim.run(recorder);
  Met met;
  for (const auto& [tag, time] : recorder.sent) met.packets = std::max(met.packets, static_cast<double>(time) / 1e6);
  const transport::Roce like(sim.config().stack.roce);
  const std::int64_t trip = sim.layout().base_rtt();
  const std::uint64_t wire = bytes + (bytes + 4095) / 4096 * like.config().header;
  transport::Crowd crowd;
  crowd.flows.assign(flows, {wire, like.law().line_rate, 0, 0});
  crowd.rate = like.law().line_rate;
  crowd.mark_from = Duration(trip / 5);
  crowd.mark_to = Duration(trip / 5 * 4);
  for (const std::vector<Duration>& draw : transport::ends_of(like, crowd))
    met.fluid.push_back(static_cast<double>(std::max_element(draw.begin(), draw.end())->count() + trip) / 1e6);
  return met;
}

// From a microsecond of the link to 10 ms, by drawn numbers of flows and bytes. Where draws of the fluid agree, packets
// do; where they do not, packets are among them.
TEST(DcqcnOnFabric, WhatFlowsThatMeetTakeIsKnownWithoutPackets) {
  constexpr int kCases = 40;
  int clear = 0;
  for (int i = 0; i < kCases; ++i) {
    Random random(1, static_cast<std::uint64_t>(i), 0);
    const std::uint32_t flows = 2 + random.below(7);
    const double us = std::pow(10.0, 4.0 * random.below(1001) / 1000);
    const auto bytes = static_cast<std::uint64_t>(us * 12'500 / flows) + 1;
    const Met met = meet(flows, bytes);
    double mean = 0;
    for (const double each : met.fluid) mean += each / static_cast<double>(met.fluid.size());
    const auto [least, most] = std::minmax_element(met.fluid.begin(), met.fluid.end());
    std::printf("%u flows of %8llu bytes, %7.1f us of the link: packets %8.1f, fluid %8.1f (%.1f to %.1f) %+.1f%%\n",
                flows, static_cast<unsigned long long>(bytes), us, met.packets, mean, *least, *most,
                100 * (mean / met.packets - 1));
    if (*most - mean > mean / 4 || mean - *least > mean / 4) {
      EXPECT_GT(met.packets, 0.75 * *least);
      EXPECT_LT(met.packets, 1.25 * *most);
      continue;
    }
    ++clear;
    EXPECT_NEAR(met.packets, mean, mean / 10 + 1);
  }
  EXPECT_GE(clear, kCases * 3 / 4);
}

}  // namespace
}  // namespace weft::sim
