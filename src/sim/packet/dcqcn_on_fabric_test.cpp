// DCQCN through switches with real queues: what the transport's own test shows on one port holds across a fabric.

#include <gtest/gtest.h>

#include <cstdio>

#include "sim/packet/testing_sim.hpp"
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

}  // namespace
}  // namespace weft::sim
