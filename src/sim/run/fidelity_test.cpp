// One schedule, four executors: what a schedule means does not depend on who carries it out. Schedules are drawn in
// which no two messages meet on a link, so that a message takes what it takes alone, and executors must agree: to the
// picosecond (and the rounding of rates) where nothing leaves a server, and but for headers and packets on the network.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "schedule/testing_script.hpp"
#include "sim/flow/flow_sim.hpp"
#include "sim/host/local_work.hpp"
#include "sim/host/testing_hosts.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/run/lane_sim.hpp"
#include "sim/run/message_cost.hpp"
#include "sim/run/message_sim.hpp"

namespace weft::sim {
namespace {

using schedule::FlowRecord;
using schedule::Instruction;
using schedule::RunResult;
using schedule::Script;

// A schedule can be carried out once.
using Written = std::vector<std::vector<std::vector<Instruction>>>;  // by rank and lane

Script script_of(const Written& written) {
  Script script(static_cast<std::uint32_t>(written.size()));
  for (std::uint32_t rank = 0; rank < written.size(); ++rank)
    for (const std::vector<Instruction>& lane : written[rank]) script.add(rank, lane);
  return script;
}

// ---- the executors

RunResult by_packets(const fabric::Fabric& fabric, const Written& written) {
  Script script = script_of(written);
  SimConfig config;
  config.cut_through = true;
  PacketSim engine(fabric, config);
  return PacketRun(script, engine, true).run();
}

RunResult by_flows(const fabric::Fabric& fabric, const Written& written) {
  Script script = script_of(written);
  const SimConfig packets;
  FlowConfig config;
  config.payload = packets.stack.srd.payload;
  config.header = packets.header;
  config.cut_through = true;
  config.hosts = true;
  FlowRoutes routes(fabric, config);
  return run_flows(script, routes, {});
}

MessageConfig message_config(const fabric::Fabric& fabric) {
  MessageConfig config;
  config.transfer = [&](std::uint32_t from, std::uint32_t to) { return *unloaded_cost(fabric, from, to); };
  config.local = [&](std::uint32_t rank, Instruction::Kind kind, std::uint64_t bytes) {
    return local_time(fabric, rank, kind, bytes);
  };
  return config;
}

RunResult by_messages(const fabric::Fabric& fabric, const Written& written) {
  Script script = script_of(written);
  return run_messages(script, message_config(fabric));
}

RunResult by_lanes(const fabric::Fabric& fabric, const Written& written) {
  Script script = script_of(written);
  const MessageConfig costs = message_config(fabric);
  LaneConfig config{.transfer = costs.transfer, .local = costs.local};
  std::vector<FlowRecord> flows;
  config.sent = [&](const FlowRecord& flow) { flows.push_back(flow); };
  RunResult result = run_lanes(script, config).run;
  result.flows = std::move(flows);
  return result;
}

// ---- what is drawn

constexpr std::int64_t kLongest = 3'000'000;  // ps, of a computation

std::int64_t some_time() { return *rc::gen::inRange<std::int64_t>(0, kLongest); }
std::uint64_t some_bytes() { return *rc::gen::element<std::uint64_t>(0, 1, 4096, 100'000, 1 << 20); }
bool perhaps() { return *rc::gen::arbitrary<bool>(); }

Instruction some_wait() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return Instruction::wait(*rc::gen::inRange(1u, 70u));
    case 1:
      return Instruction::wait_older(*rc::gen::inRange(0u, 70u));
    default:
      return Instruction::wait_all();
  }
}

// Work of a rank with itself.
void add_own_work(std::vector<Instruction>& lane) {
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      return lane.push_back(Instruction::compute(Duration(some_time())));
    case 1:
      return lane.push_back(Instruction::copy(some_bytes()));
    case 2:
      return lane.push_back(Instruction::reduce(some_bytes()));
    case 3:
      return lane.push_back(Instruction::pause(Duration(some_time())));
    case 4:
      return lane.push_back(Instruction::at(Duration(some_time())));
    case 5:  // more than a lane keeps
      lane.insert(lane.end(), *rc::gen::inRange<std::size_t>(1, 70), Instruction::compute(Duration(some_time())));
      return;
    default:
      return lane.push_back(some_wait());
  }
}

Instruction some_send(std::uint32_t to, std::uint64_t bytes, std::uint64_t tag) {
  Instruction send = Instruction::send(to, bytes, tag);
  send.detached = perhaps();
  send.time = Duration(perhaps() ? some_time() : 0);
  // A lag, or a lead of some of the time in which it occupies its lane.
  send.lag = Duration(perhaps() ? some_time() : perhaps() ? -(send.time.count() * *rc::gen::inRange(0, 101) / 100) : 0);
  return send;
}

// From a lane of a rank to another, or to itself; either may be the first to come to it.
void add_message_to_itself(std::vector<std::vector<Instruction>>& lanes, std::uint32_t rank, std::uint64_t tag) {
  const auto from = *rc::gen::inRange<std::size_t>(0, lanes.size());
  const auto to = *rc::gen::inRange<std::size_t>(0, lanes.size());
  lanes[from].push_back(some_send(rank, some_bytes(), tag));
  lanes[to].push_back(Instruction::recv(rank, tag));
  if (perhaps()) lanes[to].push_back(Instruction::wait(1));
}

// A token that goes from rank to rank: each does what it has to, and passes it on. So there is one message at a time.
void add_token(Written& written, const std::vector<std::uint32_t>& ranks, std::uint64_t& tag) {
  const auto hops = *rc::gen::inRange(0u, 6u);
  std::uint32_t holder = ranks[0];
  for (std::uint32_t hop = 0; hop < hops; ++hop) {
    const auto step = *rc::gen::inRange<std::size_t>(1, ranks.size());
    const auto place = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), holder) - ranks.begin());
    const std::uint32_t next = ranks[(place + step) % ranks.size()];
    std::vector<Instruction>& from = written[holder][0];
    std::vector<Instruction>& to = written[next][0];
    add_own_work(from);
    Instruction send = some_send(next, some_bytes(), tag);
    from.push_back(send);
    if (perhaps()) from.push_back(some_wait());
    if (perhaps()) add_own_work(to);
    to.insert(to.end(), {Instruction::recv(holder, tag++), Instruction::wait(1)});
    holder = next;
  }
}

// Tokens among disjoint sets of GPUs, and on every GPU some lanes beside them that wait for each other. What a lane
// waits for was drawn before it, so nobody waits for ever.
Written draw(const std::vector<std::vector<std::uint32_t>>& teams, std::uint32_t ranks) {
  Written written(ranks);
  std::uint64_t tag = 0;
  for (const std::vector<std::uint32_t>& team : teams) {
    for (const std::uint32_t rank : team) {
      written[rank].resize(*rc::gen::inRange<std::size_t>(1, 4));
      for (std::uint32_t i = *rc::gen::inRange(0u, 5u); i-- > 0;) {
        add_own_work(written[rank][*rc::gen::inRange<std::size_t>(0, written[rank].size())]);
        if (perhaps()) add_message_to_itself(written[rank], rank, tag++);
      }
    }
    add_token(written, team, tag);
    for (const std::uint32_t rank : team)
      if (perhaps()) add_message_to_itself(written[rank], rank, tag++);
  }
  return written;
}

// ---- what must agree

// Moments of a run: its end, and of every message when it was sent and received.
std::vector<std::int64_t> moments(const RunResult& result) {
  std::map<std::uint64_t, const FlowRecord*> by_tag;
  for (const FlowRecord& flow : result.flows) by_tag[flow.tag] = &flow;
  std::vector<std::int64_t> all{result.end.count()};
  for (const auto& [tag, flow] : by_tag) all.insert(all.end(), {flow->sent.count(), flow->received.count()});
  return all;
}

struct Bound {
  std::int64_t per_mille = 0;    // of what has passed
  std::int64_t per_message = 0;  // ps
};

// What follows from a message that takes longer is late by no more than that: so every moment is.
void expect_close(const RunResult& a, const RunResult& b, const Bound& bound) {
  RC_ASSERT(a.unfinished == 0u);
  RC_ASSERT(b.unfinished == 0u);
  RC_ASSERT(a.flows.size() == b.flows.size());
  const auto messages = static_cast<std::int64_t>(a.flows.size());
  const std::vector<std::int64_t> first = moments(a);
  const std::vector<std::int64_t> second = moments(b);
  for (std::size_t i = 0; i < first.size(); ++i)
    RC_ASSERT(std::abs(second[i] - first[i]) <= first[i] * bound.per_mille / 1000 + bound.per_message * messages);
}

void expect_same(const RunResult& a, const RunResult& b) {
  RC_ASSERT(a.unfinished == 0u);
  RC_ASSERT(b.unfinished == 0u);
  RC_ASSERT(moments(a) == moments(b));
}

const testing::Hosts& servers() {
  static const testing::Hosts made("{kind: hgx-h100, count: 4}");
  return made;
}

// Four GPUs of a server and the other four.
RC_GTEST_PROP(Fidelity, InsideServersAllExecutorsAgree, ()) {
  const fabric::Fabric& fabric = servers().fabric;
  const Written written = draw({{0, 1, 2, 3}, {4, 5, 6, 7}}, 8);
  const RunResult message = by_messages(fabric, written);
  expect_same(message, by_lanes(fabric, written));
  expect_close(message, by_flows(fabric, written), {.per_message = 2});
  expect_close(message, by_packets(fabric, written), {.per_message = 2});
}

// GPUs of four servers, each with a NIC of its own, and others on another rail. Headers are 64 of 4160 bytes. Packets
// are stored in NICs on both sides, up to 64 KiB at a time, which take 1 us each over PCIe; and a NIC acknowledges them
// before the GPU has them, which costs the others the latencies inside the servers.
RC_GTEST_PROP(Fidelity, BetweenServersTheyAgreeButForHeadersAndParts, ()) {
  const fabric::Fabric& fabric = servers().fabric;
  const Written written = draw({{0, 8, 16, 24}, {1, 9, 17, 25}}, 32);
  const RunResult message = by_messages(fabric, written);
  expect_same(message, by_lanes(fabric, written));
  const RunResult flow = by_flows(fabric, written);
  expect_close(message, flow, {16, 400'000});
  expect_close(flow, by_packets(fabric, written), {0, 2'400'000});
}

// ---- by hand

std::vector<std::int64_t> ends(const Written& written) {
  const fabric::Fabric& fabric = servers().fabric;
  std::vector<std::int64_t> all;
  for (const auto& run : {by_packets, by_flows, by_messages, by_lanes}) {
    const RunResult result = run(fabric, written);
    EXPECT_EQ(result.unfinished, 0u);
    EXPECT_TRUE(result.flows.empty());
    all.push_back(result.end.count());
  }
  return all;
}

constexpr std::int64_t kMicrosecond = 1'000'000;
std::vector<std::int64_t> everywhere(std::int64_t time) { return std::vector<std::int64_t>(4, time); }

TEST(Fidelity, WhatALaneComputesAfterItsLastMessageCounts) {
  EXPECT_EQ(ends({{{Instruction::compute(Duration(kMicrosecond)), Instruction::wait(1), Instruction::send(0, 0, 7),
                    Instruction::recv(0, 7), Instruction::wait_all(), Instruction::compute(Duration(kMicrosecond))}}}),
            everywhere(2 * kMicrosecond));
}

TEST(Fidelity, AMessageToItselfTakesAsLongAsACopy) {
  const std::uint64_t bytes = 1 << 20;
  const std::int64_t copy = local_time(servers().fabric, 0, Instruction::Kind::copy, bytes).count();
  EXPECT_GT(copy, 0);
  EXPECT_EQ(ends({{{Instruction::copy(bytes)}}}), everywhere(copy));
  EXPECT_EQ(ends({{{Instruction::send(0, bytes, 7)}, {Instruction::recv(0, 7), Instruction::wait(1)}}}),
            everywhere(copy));
}

TEST(Fidelity, LanesOfARankComputeBesideEachOther) {
  EXPECT_EQ(ends({{{Instruction::compute(Duration(kMicrosecond)), Instruction::compute(Duration(kMicrosecond))},
                   {Instruction::pause(Duration(kMicrosecond)), Instruction::pause(Duration(kMicrosecond))}}}),
            everywhere(2 * kMicrosecond));
}

// A send that nobody waits for leaves after 1 us; who waits for everything waits for that.
TEST(Fidelity, WaitAllIsForSendsThatHaveNotLeft) {
  Instruction send = Instruction::send(0, 0, 7);
  send.time = Duration(kMicrosecond);
  send.detached = true;
  EXPECT_EQ(ends({{{send, Instruction::wait_all(), Instruction::compute(Duration(kMicrosecond))},
                   {Instruction::recv(0, 7), Instruction::wait_all()}}}),
            everywhere(2 * kMicrosecond));
  EXPECT_EQ(ends({{{send, Instruction::compute(Duration(kMicrosecond))},
                   {Instruction::recv(0, 7), Instruction::wait_all()}}}),
            everywhere(kMicrosecond));
}

}  // namespace
}  // namespace weft::sim
