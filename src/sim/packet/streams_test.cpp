// Several transports on one fabric, each in a class of its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/testing_script.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/packet/testing_sim.hpp"
#include "workload/beside.hpp"

namespace weft::sim {
namespace {

using namespace testing;
using schedule::FlowRecord;
using schedule::Instruction;
using transport::PacketType;
using transport::Protocol;

constexpr std::uint32_t kRdma = 0;  // streams
constexpr std::uint32_t kTcp = 1;

// RoCE in class 1, of three parts and without loss; TCP in class 2, of one part.
SimConfig two_services(std::uint32_t rdma_weight, std::uint32_t tcp_weight) {
  SimConfig config;
  config.streams = {Protocol::rocev2, Protocol::tcp};
  config.stack.used = 0;
  for (const Protocol protocol : config.streams) config.stack.use(protocol);
  config.stack.roce.control = transport::RoceConfig::Control::none;
  config.stack.tcp.rto_min = microseconds(1'000);
  config.header = config.stack.shortest_header();
  config.full_packet = config.stack.longest_packet();
  config.trimming = false;
  config.exact.on = true;
  config.exact.classes = 3;
  config.exact.class_of[static_cast<std::size_t>(PacketType::tcp_data)] = 2;
  config.exact.class_of[static_cast<std::size_t>(PacketType::tcp_ack)] = 2;
  config.exact.weight = {0, rdma_weight, tcp_weight};
  config.exact.flow_control = FlowControl::pause;
  config.exact.lossless = 0b010;
  config.exact.buffer = 64 << 20;
  config.queue_bytes = 16 << 20;  // more than TCP's receive window: it always has something waiting
  return config;
}

schedule::Script two_senders(std::uint64_t rdma_bytes, std::uint64_t tcp_bytes) {
  schedule::Script script(64);
  const auto put = [&](std::uint32_t from, std::uint8_t stream, std::uint64_t bytes) {
    Instruction send = Instruction::put(3, bytes);
    send.stream = stream;
    script.add(from, {send});
  };
  put(0, kRdma, rdma_bytes);
  put(1, kTcp, tcp_bytes);
  return script;
}

schedule::RunResult run_streams(schedule::Script script, const SimConfig& config) {
  PacketSim engine(fat_tree(), config);
  return PacketRun(script, engine, false).run();
}

const FlowRecord& of_stream(const schedule::RunResult& result, std::uint32_t stream) {
  return *std::find_if(result.flows.begin(), result.flows.end(),
                       [&](const FlowRecord& flow) { return flow.stream == stream; });
}

// Both send to host 3 over one leaf. TCP has far more to send, so RDMA has company until its end.
double rdma_share(std::uint32_t rdma_weight, std::uint32_t tcp_weight) {
  const schedule::RunResult result =
      run_streams(two_senders(20'000'000, 60'000'000), two_services(rdma_weight, tcp_weight));
  const FlowRecord& flow = of_stream(result, kRdma);
  EXPECT_EQ(result.counters.headroom_drops, 0u);
  return static_cast<double>(flow.unloaded.count()) / static_cast<double>((flow.sent - flow.start).count());
}

TEST(Services, EachGetsItsWeight) {
  EXPECT_NEAR(rdma_share(3, 1), 0.75, 0.03);
  EXPECT_NEAR(rdma_share(1, 1), 0.50, 0.03);
  EXPECT_NEAR(rdma_share(1, 3), 0.25, 0.03);
}

TEST(Services, WhatOneDoesNotUseTheOtherGets) {
  const schedule::RunResult result = run_streams(two_senders(20'000'000, 60'000'000), two_services(3, 1));
  const FlowRecord& tcp = of_stream(result, kTcp);
  // One part of four beside RDMA, then everything.
  const double both = static_cast<double>(of_stream(result, kRdma).sent.count());
  const double alone = static_cast<double>(tcp.unloaded.count());
  EXPECT_NEAR(static_cast<double>(tcp.sent.count()) / (both + (alone - both / 4)), 1.0, 0.05);
}

TEST(Services, EveryMessageTravelsByTheTransportOfItsStream) {
  const schedule::RunResult result = run_streams(two_senders(40'960, 44'740), two_services(1, 1));
  ASSERT_EQ(result.streams.size(), 2u);
  EXPECT_EQ(result.streams[kRdma].data_sent, 10u);  // packets of 4096
  EXPECT_EQ(result.streams[kTcp].data_sent, 5u);    // segments of 8948
  EXPECT_EQ(result.counters.data_sent, 15u);
}

TEST(Services, AnyNumberOfThreadsGivesTheSame) {
  schedule::RunResult first;
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    schedule::Script script(64);
    for (std::uint32_t i = 0; i < 64; ++i) {
      Instruction rdma = Instruction::put((i * 7 + 3) % 64, 300'000);
      Instruction tcp = Instruction::put((i * 5 + 1) % 64, 200'000);
      tcp.stream = kTcp;
      script.add(i, {rdma});
      script.add(i, {tcp});
    }
    SimConfig config = two_services(3, 1);
    config.exact.buffer = 1 << 20;  // so that there are pauses and losses
    config.threads = threads;
    const schedule::RunResult result = run_streams(std::move(script), config);
    EXPECT_GT(result.counters.pauses, 0u);
    if (threads == 1) first = result;
    EXPECT_EQ(result.digest, first.digest) << threads;
    EXPECT_EQ(result.end.count(), first.end.count()) << threads;
    EXPECT_EQ(result.streams[kTcp].data_resent, first.streams[kTcp].data_resent) << threads;
  }
}

// Both of RoCE, and each in its service, on queue pairs of its own.
SimConfig two_lanes(std::uint32_t first_weight, std::uint32_t second_weight) {
  SimConfig config = two_services(first_weight, second_weight);
  config.streams = {Protocol::rocev2, Protocol::rocev2};
  config.stack.used = 0;
  config.stack.use(Protocol::rocev2);
  config.lanes = {0, 1};
  config.more_stacks = {1 << static_cast<int>(Protocol::rocev2)};
  for (const PacketType type : {PacketType::roce_data, PacketType::roce_ack})
    config.exact.class_of[16 + static_cast<std::size_t>(type)] = 2;
  config.exact.lossless = 0b110;
  config.header = config.stack.shortest_header();
  config.full_packet = config.stack.longest_packet();
  return config;
}

TEST(Services, OfOneTransportEachGetsItsWeight) {
  const auto share = [](std::uint32_t first, std::uint32_t second) {
    const schedule::RunResult result = run_streams(two_senders(20'000'000, 60'000'000), two_lanes(first, second));
    const FlowRecord& flow = of_stream(result, 0);
    return static_cast<double>(flow.unloaded.count()) / static_cast<double>((flow.sent - flow.start).count());
  };
  EXPECT_NEAR(share(3, 1), 0.75, 0.03);
  EXPECT_NEAR(share(1, 3), 0.25, 0.03);
}

// Two messages between the same two hosts: one connection would keep them in order and in one class.
TEST(Services, OfOneTransportShareNoConnection) {
  schedule::Script script(64);
  for (std::uint8_t stream = 0; stream < 2; ++stream) {
    Instruction send = Instruction::put(3, stream == 0 ? 8'192'000 : 409'600);
    send.stream = stream;
    script.add(0, {send});
  }
  const schedule::RunResult result = run_streams(std::move(script), two_lanes(1, 1));
  ASSERT_EQ(result.streams.size(), 2u);
  EXPECT_EQ(result.streams[0].data_sent, 2000u);
  EXPECT_EQ(result.streams[1].data_sent, 100u);
  const FlowRecord& small = of_stream(result, 1);
  EXPECT_LT(small.sent.count(), 3 * small.unloaded.count());  // half of the wire, not behind the other
}

TEST(Services, AnyNumberOfThreadsGivesTheSameWithLanes) {
  std::vector<std::uint64_t> digests;
  for (const std::uint32_t threads : {1u, 3u}) {
    schedule::Script script(64);
    for (std::uint32_t i = 0; i < 64; ++i)
      for (std::uint8_t stream = 0; stream < 2; ++stream) {
        Instruction send = Instruction::put((i * 7 + 3 + stream) % 64, 200'000);
        send.stream = stream;
        script.add(i, {send});
      }
    SimConfig config = two_lanes(3, 1);
    config.threads = threads;
    const schedule::RunResult result = run_streams(std::move(script), config);
    EXPECT_EQ(result.unfinished, 0u);
    digests.push_back(result.digest);
  }
  EXPECT_EQ(digests[0], digests[1]);
}

// Work beside traffic that would go on for long: the run ends with the work.
TEST(Beside, ARunEndsWithTheWorkThatItIsFor) {
  schedule::Script work(64);
  work.add(0, {Instruction::send(3, 1'000'000, 7), Instruction::wait_all()});
  work.add(3, {Instruction::recv(0, 7), Instruction::wait_all()});
  auto traffic = std::make_unique<schedule::Script>(64);
  traffic->add(1, {Instruction::put(3, 1'000'000'000)});
  workload::Beside both(work, std::move(traffic));
  SimConfig config;
  config.streams = {Protocol::srd, Protocol::srd};
  PacketSim engine(fat_tree(), config);
  const schedule::RunResult result =
      PacketRun(both, engine, false).run([&](std::uint32_t rank) { return both.lanes_of_work(rank); });
  EXPECT_EQ(result.stopped_by, "");
  EXPECT_EQ(result.unfinished, 0u);
  const FlowRecord& flow = of_stream(result, 0);
  EXPECT_GT((flow.sent - flow.start).count(), (flow.unloaded * 3 / 2).count());  // it had to share
  EXPECT_LT((flow.sent - flow.start).count(), (flow.unloaded * 3).count());
  EXPECT_EQ(of_stream(result, 1).sent, schedule::kNotYet);
}

}  // namespace
}  // namespace weft::sim
