#include "sim/packet/packet_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/testing_script.hpp"
#include "sim/packet/testing_sim.hpp"
#include "workload/matrix_schedule.hpp"
#include "workload/patterns.hpp"

namespace weft::sim {
namespace {

using namespace testing;
using schedule::FlowRecord;

workload::Matrix matrix_of(std::uint32_t nodes, const std::vector<Flow>& flows) {
  workload::Matrix matrix;
  matrix.nodes = nodes;
  for (const Flow& flow : flows) {
    workload::MatrixFlow each;
    each.source = flow.source;
    each.destination = flow.destination;
    each.bytes = flow.bytes;
    each.start = Duration(flow.start);
    matrix.flows.push_back(each);
  }
  return matrix;
}

schedule::RunResult run_matrix(const Built& built, const workload::Matrix& matrix, bool hosts, SimConfig config = {}) {
  workload::MatrixSchedule schedule(matrix);
  PacketSim engine(built.fabric, config);
  PacketRun run(schedule, engine, hosts);
  return run.run();
}

Built cluster(const std::string& servers, const std::string& fabric) {
  return build("c.weft.yaml", "version: 1\nservers: " + servers + "\nfabric: " + fabric + "\n");
}

const char* kRails = "{kind: rail-optimized, scalable_unit: 4, spines: 4, link: {rate: 400Gbps, cable: 5m}}";

TEST(PacketRun, WithoutHostsAFlowTakesWhatTheNetworkTakes) {
  const Built tree = build("tree.topo", fat_tree_text());
  const schedule::RunResult result = run_matrix(tree, matrix_of(64, {{0, 63, 100 * 4086, 5'000'000}}), false);
  ASSERT_EQ(result.flows.size(), 1u);
  const FlowRecord& flow = result.flows[0];
  EXPECT_EQ(flow.start.count(), 5'000'000);
  EXPECT_EQ((flow.sent - flow.start).count(), flow.unloaded.count());
  EXPECT_LT(flow.received.count(), flow.sent.count());
}

// By any transport that has the whole window from the start. Which path the last packets take is a matter of hashes.
RC_GTEST_PROP(PacketRun, AFlowAloneIsNotSlowedDown, ()) {
  using transport::Protocol;
  static const Built trees[] = {build("tree.topo", fat_tree_text()), build("faster.topo", fat_tree_text(400)),
                                build("leaf.topo", leaves_and_spines_text(8))};
  SimConfig config = over(*rc::gen::element(Protocol::srd, Protocol::uet, Protocol::raw));
  config.cut_through = *rc::gen::arbitrary<bool>();
  config.balance = *rc::gen::element(Balance::entropy, Balance::ecmp, Balance::spray, Balance::adaptive);
  if (config.protocol == Protocol::srd && *rc::gen::arbitrary<bool>()) config.verbs = {transport::Op::read};
  const auto from = *rc::gen::inRange<std::uint32_t>(0, 64);
  const auto to = (from + *rc::gen::inRange<std::uint32_t>(1, 64)) % 64;
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, *rc::gen::element(5'000, 30'000, 500'000));
  const Built& tree = trees[*rc::gen::inRange(0, 3)];
  const schedule::RunResult result = run_matrix(tree, matrix_of(64, {{from, to, bytes, 5'000'000}}), false, config);
  const FlowRecord& flow = result.flows.at(0);
  RC_ASSERT((flow.unanswered ? flow.received : flow.sent).count() - flow.start.count() ==
            flow.unloaded.count());
}

// From GPU to GPU: through one NIC, through both ports of one, and through four at once that PCIe cannot keep busy;
// where stripes do not meet in the fabric.
RC_GTEST_PROP(PacketRun, AFlowAloneIsNotSlowedDownByItsServers, ()) {
  static const Built clusters[] = {
      cluster("{kind: hgx-h100, count: 8}", kRails),
      cluster("{kind: hgx-h100, count: 8, nic: {kind: connectx-7, ports: 2}}",
              "{kind: tor-clos, planes: 2, switch: tomahawk-4, servers_per_leaf: 4, spines: 4}"),
      cluster("{kind: hgx-h100, count: 8, nics: 32}",
              "{kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}")};
  SimConfig config;
  config.cut_through = *rc::gen::arbitrary<bool>();
  const auto from = *rc::gen::inRange<std::uint32_t>(0, 64);
  const auto to = (from + 8 * *rc::gen::inRange<std::uint32_t>(1, 8)) % 64;
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, *rc::gen::element(5'000, 100'000, 5'000'000));
  const Built& built = clusters[*rc::gen::inRange(0, 3)];
  const schedule::RunResult result = run_matrix(built, matrix_of(64, {{from, to, bytes, 5'000'000}}), true, config);
  const FlowRecord& flow = result.flows.at(0);
  RC_LOG() << bytes << " bytes took " << (flow.sent - flow.start).count() << ", alone " << flow.unloaded.count()
           << "\n";
  RC_ASSERT((flow.sent - flow.start).count() * 1000 / flow.unloaded.count() == 1000);
}

// The request goes as a bare header; the target acknowledges it and sends the bytes. When those are acknowledged is
// nobody's business.
TEST(PacketRun, AReadAloneTakesARequestAndItsAnswerToThePicosecond) {
  const Built tree = build("tree.topo", fat_tree_text());
  SimConfig config;
  config.verbs = {transport::Op::read};
  const schedule::RunResult result = run_matrix(tree, matrix_of(64, {{0, 63, 10 * 4086, 5'000'000}}), false, config);
  // Six links of 100 Gb/s with 1 us each, store and forward: a byte takes 80 ps.
  const std::int64_t request = 6 * (64 * 80 + 1'000'000);
  const std::int64_t acknowledgement = 64 * 80;
  const std::int64_t answer = 9 * 4150 * 80 + 6 * (4150 * 80 + 1'000'000);
  const FlowRecord& flow = result.flows[0];
  EXPECT_EQ((flow.sent - flow.start).count(), request + acknowledgement + answer);
  EXPECT_EQ(flow.received.count(), flow.sent.count());
  EXPECT_EQ(flow.unloaded.count(), (flow.sent - flow.start).count());
}

TEST(PacketRun, AWriteTakesWhatASendTakes) {
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  const workload::Matrix matrix = matrix_of(64, {{0, 8, 1'000'000, 0}, {9, 16, 1'000'000, 0}});
  const schedule::RunResult sent = run_matrix(hgx, matrix, true);
  SimConfig config;
  config.verbs = {transport::Op::write};
  config.stack.srd.tell_writes = true;
  const schedule::RunResult written = run_matrix(hgx, matrix, true, config);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(written.flows[i].sent.count(), sent.flows[i].sent.count());
    EXPECT_EQ(written.flows[i].received.count(), sent.flows[i].received.count());
  }
  EXPECT_NE(written.digest, sent.digest) << "packets say what they are";
}

// A queue pair, a stream of bytes: what was posted first has left first. Another pair of GPUs does not wait, nor does
// another queue pair.
TEST(PacketRun, MessagesOfAConnectionKeepTheirOrder) {
  using transport::Protocol;
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  const workload::Matrix matrix =
      matrix_of(64, {{0, 8, 10'000'000, 0}, {0, 8, 1'000, 0}, {0, 8, 10'000'000, 0}, {0, 16, 1'000, 0}});
  for (const Protocol protocol : {Protocol::srd, Protocol::rocev2, Protocol::tcp, Protocol::uet}) {
    SimConfig config = over(protocol);
    const auto flows = run_matrix(hgx, matrix, true, config).flows;
    EXPECT_GT(flows[1].received.count(), (flows[0].received - flows[0].unloaded / 100).count())
        << static_cast<int>(protocol);
    EXPECT_LT(flows[0].received.count(), (flows[0].unloaded * 105 / 100).count()) << static_cast<int>(protocol);
    EXPECT_LT(flows[2].received.count(), (flows[0].unloaded * 210 / 100).count()) << static_cast<int>(protocol);
    EXPECT_LT(flows[3].received.count(), (flows[0].received / 4).count()) << static_cast<int>(protocol);
    if (protocol != Protocol::rocev2) continue;
    config.stack.roce.qps = 4;
    const auto apart = run_matrix(hgx, matrix, true, config).flows;
    EXPECT_LT(apart[1].received.count(), (apart[0].received / 4).count());
    EXPECT_GT(apart[0].received.count(), (flows[0].received * 3 / 2).count()) << "two at once";
  }
}

// One message takes one of them, however many parts it goes in; four messages take all four.
TEST(PacketRun, AMessageStaysOnItsQueuePairOrConnection) {
  using transport::Protocol;
  const Built hgx = cluster("{kind: hgx-h100, count: 8}",
                            "{kind: rail-optimized, scalable_unit: 4, spines: 8, parallel_links: 1, link: {rate: "
                            "400Gbps, cable: 5m}}");
  const auto uplinks = [&](const std::vector<Flow>& flows, const SimConfig& config) {
    const workload::Matrix matrix = matrix_of(64, flows);
    workload::MatrixSchedule schedule(matrix);
    PacketSim engine(hgx.fabric, config);
    PacketRun run(schedule, engine, true);
    schedule::RunResult result = run.run();
    engine.collect_links(result, 10'000);
    return std::count_if(result.links.begin(), result.links.end(), [](const schedule::LinkRecord& link) {
      return link.from.starts_with("leaf") && link.to.starts_with("spine") && link.bytes > 500'000;
    });
  };
  for (const Protocol protocol : {Protocol::rocev2, Protocol::tcp}) {
    SimConfig config = over(protocol);
    config.balance = Balance::pinned;
    config.pins = 4;
    config.stack.roce.qps = 4;
    config.stack.tcp.connections = 4;
    EXPECT_EQ(uplinks({{0, 32, 4'000'000, 0}}, config), 1) << static_cast<int>(protocol);
    const auto of_four = uplinks(std::vector<Flow>(4, {0, 32, 4'000'000, 0}), config);
    if (protocol == Protocol::tcp) {
      EXPECT_GT(of_four, 1) << "their ports are hashed, so that some may meet";
      continue;
    }
    EXPECT_EQ(of_four, 4);
    config.stack.roce.split = true;
    EXPECT_EQ(uplinks({{0, 32, 4'000'000, 0}}, config), 4);
  }
}

// More reads from one peer than the transport takes at a time, between servers and within one.
TEST(PacketRun, ReadsWaitForTheirTurnAndComeBackThroughTheServer) {
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 40; ++i) flows.push_back({0, 8, 300'000, 0});
  flows.push_back({1, 2, 1'000'000, 0});
  std::uint64_t digest = 0;
  for (const std::uint32_t threads : {1u, 3u}) {
    SimConfig config;
    config.verbs = {transport::Op::read};
    config.threads = threads;
    const schedule::RunResult result = run_matrix(hgx, matrix_of(64, flows), true, config);
    for (const FlowRecord& flow : result.flows) {
      ASSERT_GE(flow.sent.count(), flow.unloaded.count()) << flow.source;
      EXPECT_EQ(flow.received.count(), flow.sent.count());
    }
    // All bytes come in by one NIC of 400 Gb/s, and it is hardly ever idle.
    const std::int64_t wire = std::int64_t{40} * 300'000 * 20 * 4160 / 4096;
    EXPECT_GT(result.end.count(), wire);
    EXPECT_LT(result.end.count(), wire * 11 / 10);
    if (digest == 0) digest = result.digest;
    EXPECT_EQ(result.digest, digest) << threads;
  }
}

SimConfig raw_config() {
  SimConfig config;
  config.protocol = transport::Protocol::raw;
  config.stack.used = 0;
  config.stack.use(config.protocol);
  return config;
}

TEST(PacketRun, ARawMessageAloneArrivesToThePicosecondAndIsNotAnswered) {
  const Built tree = build("tree.topo", fat_tree_text());
  const schedule::RunResult result =
      run_matrix(tree, matrix_of(64, {{0, 63, 10 * 4086, 5'000'000}}), false, raw_config());
  const FlowRecord& flow = result.flows[0];
  EXPECT_TRUE(flow.unanswered);
  EXPECT_EQ((flow.received - flow.start).count(), 9 * 4150 * 80 + 6 * (4150 * 80 + 1'000'000));
  EXPECT_EQ(flow.unloaded.count(), (flow.received - flow.start).count());
  EXPECT_LT(flow.sent.count(), flow.received.count());
  EXPECT_EQ(result.counters.data_sent, 10u);
  EXPECT_EQ(result.counters.acks_sent, 0u);
  EXPECT_EQ(result.unfinished, 0u);
}

// Eight senders at full rate into one NIC: seven of eight packets find the queue full, and nobody sends them again.
TEST(PacketRun, RawMessagesThatLoseAPacketNeverArrive) {
  const Built hgx = cluster("{kind: hgx-h100, count: 16}", kRails);
  std::vector<Flow> flows;
  for (std::uint32_t server = 1; server <= 8; ++server)
    for (int i = 0; i < 50; ++i) flows.push_back({server * 8, 0, 100'000, 0});
  flows.push_back({8, 0, 100'000, 1'000'000'000});  // alone
  std::uint64_t digest = 0;
  for (const std::uint32_t threads : {1u, 3u}) {
    SimConfig config = raw_config();
    config.threads = threads;
    const schedule::RunResult result = run_matrix(hgx, matrix_of(128, flows), true, config);
    std::size_t arrived = 0;
    for (const FlowRecord& flow : result.flows) {
      EXPECT_NE(flow.sent, schedule::kNotYet);
      arrived += flow.received != schedule::kNotYet;
    }
    EXPECT_GT(arrived, 0u);
    EXPECT_LT(arrived, flows.size() / 2);
    EXPECT_GT(result.counters.dropped, flows.size());
    EXPECT_EQ(result.unfinished, 0u);
    if (digest == 0) digest = result.digest;
    EXPECT_EQ(result.digest, digest) << threads;
  }
}

// They need no network, but somebody watches who was told how many bytes there are.
TEST(PacketRun, WhatStaysInsideAServerIsProgressToo) {
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  const workload::Matrix matrix = matrix_of(64, {{0, 5, 8'000'000, 0}, {1, 9, 4'000'000, 0}});
  for (const transport::Op verb : {transport::Op::send, transport::Op::read}) {
    SimConfig config;
    config.verbs = {verb};
    workload::MatrixSchedule schedule(matrix);
    PacketSim engine(hgx.fabric, config);
    std::uint64_t delivered = 0;
    engine.on_progress = [&](const schedule::Progress& progress) {
      EXPECT_GE(progress.delivered_bytes, delivered);
      delivered = progress.delivered_bytes;
      return true;
    };
    PacketRun(schedule, engine, true).run();
    EXPECT_GT(delivered, 11'000'000u);
    EXPECT_LE(delivered, 12'000'000u);
  }
}

TEST(PacketRun, GpusOfOneServerUseNvlinkAlone) {
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  const schedule::RunResult result = run_matrix(hgx, matrix_of(64, {{0, 5, 450'000'000, 0}}), true);
  // 450 GB/s one way: a millisecond, and the latency of two hops.
  EXPECT_EQ(result.flows[0].received.count(), result.flows[0].unloaded.count());
  EXPECT_GE(result.flows[0].received.count(), 1'000'000'000);
  EXPECT_LT(result.flows[0].received.count(), 1'010'000'000);
  EXPECT_EQ(result.counters.data_sent, 0u);
}

TEST(PacketRun, TheSlowestOfNicAndPcieDecides) {
  // A 400G NIC behind its own Gen5 x16 reaches the line rate. Without GPUDirect, when the GPU hangs on
  // another socket's root complex, data go through host memory and PCIe twice, which the NIC still keeps up with.
  const auto rate = [](const Built& built) {
    const schedule::RunResult result = run_matrix(built, matrix_of(16, {{0, 8, 40'000'000, 0}}), true);
    return static_cast<double>(result.flows[0].bytes) * 8000 /
           static_cast<double>(result.flows[0].received.count());  // Gb/s
  };
  const Built eight = cluster("{kind: hgx-h100, count: 8, nics: 8}", kRails);
  const double near = rate(eight);
  EXPECT_GT(near, 400 * 0.95 * 4096 / 4160);
  EXPECT_LT(near, 400.0 * 4096 / 4160);
}

TEST(PacketRun, GpusThatShareANicShareItsRate) {
  // Two NICs for eight GPUs: four flows leave by one NIC.
  const Built two = cluster("{kind: hgx-h100, count: 8, nics: 2}", kRails);
  const workload::Matrix one = matrix_of(64, {{0, 8, 4'000'000, 0}});
  const workload::Matrix four =
      matrix_of(64, {{0, 8, 4'000'000, 0}, {1, 9, 4'000'000, 0}, {2, 10, 4'000'000, 0}, {3, 11, 4'000'000, 0}});
  const double alone = static_cast<double>(run_matrix(two, one, true).end.count());
  EXPECT_NEAR(static_cast<double>(run_matrix(two, four, true).end.count()) / alone, 4, 0.4);
}

TEST(PacketRun, MessagesAreStripedOverTheCardsNearAGpu) {
  // P5: 32 NICs of 100G, four beside each GPU.
  const Built p5 =
      cluster("{kind: p5.48xlarge, count: 8}", "{kind: tor-clos, servers_per_leaf: 4, switch: tomahawk-4}");
  const schedule::RunResult result = run_matrix(p5, matrix_of(64, {{0, 63, 20'000'000, 0}}), true);
  const double gbps =
      static_cast<double>(result.flows[0].bytes) * 8000 / static_cast<double>(result.flows[0].received.count());
  EXPECT_GT(gbps, 330);
  EXPECT_LT(gbps, 400);
}

TEST(PacketRun, RailsThatAreNotJoinedAreChangedByNvlink) {
  const Built rails = cluster("{kind: hgx-h100, count: 8}", "{kind: rail-only, link: {rate: 400Gbps, cable: 5m}}");
  const schedule::RunResult same = run_matrix(rails, matrix_of(64, {{0, 8, 8'000'000, 0}}), true);
  const schedule::RunResult other = run_matrix(rails, matrix_of(64, {{0, 9, 8'000'000, 0}}), true);
  EXPECT_GT(other.flows[0].received.count(), same.flows[0].received.count());
  EXPECT_LT(other.flows[0].received.count(), (same.flows[0].received * 12 / 10).count());  // pipelined chunk by chunk
}

TEST(PacketRun, AnyNumberOfThreadsGivesTheSameWithHosts) {
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  model::TrafficRun pattern;
  pattern.pattern = model::TrafficPattern::all_to_all;
  pattern.size = Bytes(20'000);
  std::uint64_t digest = 0;
  for (const std::uint32_t threads : {1u, 2u, 8u}) {
    spec::Diagnostics diagnostics;
    const auto schedule = workload::make_traffic(pattern, {.nodes = 64}, diagnostics);
    SimConfig config;
    config.threads = threads;
    PacketSim engine(hgx.fabric, config);
    PacketRun run(*schedule, engine, true);
    const schedule::RunResult result = run.run();
    EXPECT_EQ(result.flows.size(), 64u * 63);
    for (const FlowRecord& flow : result.flows) ASSERT_GT(flow.received.count(), 0);
    if (digest == 0) digest = result.digest;
    EXPECT_EQ(result.digest, digest) << threads;
  }
}

// A pipeline: rank 0 sends chunks, rank 1 receives, adds and sends on.
TEST(PacketRun, LanesWaitForWhatTheyReceive) {
  using schedule::Instruction;
  const Built hgx = cluster("{kind: hgx-h100, count: 8}", kRails);
  schedule::Script script(24);
  std::vector<Instruction> first, middle, last;
  for (int chunk = 0; chunk < 4; ++chunk) {
    first.push_back(Instruction::send(8, 1'000'000, 7));
    for (const Instruction& each : {Instruction::recv(0, 7), Instruction::wait(1), Instruction::reduce(1'000'000),
                                    Instruction::wait(1), Instruction::send(16, 1'000'000, 7)})
      middle.push_back(each);
    last.push_back(Instruction::recv(8, 7));
  }
  script.add(0, first);
  script.add(8, middle);
  script.add(16, last);
  PacketSim engine(hgx.fabric, {});
  PacketRun run(script, engine, true);
  const schedule::RunResult result = run.run();
  EXPECT_EQ(result.stopped_by, "");
  ASSERT_EQ(result.flows.size(), 8u);
  for (std::size_t chunk = 0; chunk < 4; ++chunk)
    EXPECT_GT(result.flows[4 + chunk].start.count(), result.flows[chunk].received.count());
}

// GPU 1 has a NIC of its own, but the message names those next to GPUs 3 and 12.
TEST(PacketRun, AMessageTakesTheCardsItNames) {
  using schedule::Instruction;
  const Built hgx = cluster("{kind: hgx-h100, count: 2}", kRails);
  Instruction send = Instruction::put(12, 1'000'000);
  send.leaves = 3;
  send.enters = 12;
  send.handed = true;
  schedule::Script script(16);
  script.add(1, {send});
  PacketSim engine(hgx.fabric, {});
  schedule::RunResult result = PacketRun(script, engine, true).run();
  ASSERT_GT(result.flows[0].received.count(), 0);
  engine.collect_links(result, 100);
  std::vector<std::string> out;
  for (const schedule::LinkRecord& link : result.links)
    if (link.bytes > 1'000'000 && link.from.starts_with("s0/")) out.push_back(link.from);
  EXPECT_EQ(out, std::vector<std::string>{"s0/nic3"});
}

}  // namespace
}  // namespace weft::sim
