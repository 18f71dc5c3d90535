#include "sim/run/runner.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <tuple>
#include <utility>

#include "schedule/testing_script.hpp"

namespace weft::sim {
namespace {

using schedule::FlowRecord;
using schedule::Instruction;
using schedule::Schedule;
using schedule::Script;

// A network that only takes note; the test decides when something has happened.
class Notebook final : public Network {
 public:
  struct Sent {
    std::int64_t time;
    std::uint32_t from, to;
    std::uint64_t bytes;
    std::uint32_t message;
  };
  struct Asked {
    std::int64_t time;
    std::uint32_t rank, context;
  };
  std::vector<Sent> sends;
  Transfer last;
  std::vector<Asked> wakes;
  std::vector<Asked> locals;

  std::uint32_t send(std::int64_t now, const Transfer& it) override {
    sends.push_back({now, it.from, it.to, it.bytes, it.message});
    last = it;
    return 1;
  }
  void wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) override {
    wakes.push_back({at, rank, context});
  }
  void local(std::int64_t now, std::uint32_t rank, Instruction::Kind, std::uint64_t, std::uint32_t context) override {
    locals.push_back({now, rank, context});
  }
};

struct Rig {
  explicit Rig(Schedule& schedule) : runner(schedule, network) {
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) runner.start(0, rank);
  }
  Notebook network;
  Runner runner;
};

TEST(Runner, OperationsDoNotBlockAndWaitDoes) {
  Script script(2);
  script.add(0, {Instruction::put(1, 10), Instruction::put(1, 20), Instruction::wait(2), Instruction::put(1, 30),
                 Instruction::wait_all(), Instruction::put(1, 40)});
  Rig rig(script);
  ASSERT_EQ(rig.network.sends.size(), 2u);
  rig.runner.sent(5, 0, 1);  // not the one that is waited for
  ASSERT_EQ(rig.network.sends.size(), 2u);
  rig.runner.sent(6, 0, 0);
  ASSERT_EQ(rig.network.sends.size(), 3u);
  EXPECT_EQ(rig.network.sends[2].time, 6);
  EXPECT_EQ(rig.network.sends[2].bytes, 30u);
  rig.runner.sent(9, 0, 2);
  ASSERT_EQ(rig.network.sends.size(), 4u);
  EXPECT_EQ(rig.runner.unfinished(), 1u);
  rig.runner.sent(11, 0, 3);
  EXPECT_EQ(rig.runner.unfinished(), 0u);
}

TEST(Runner, WaitAllIsForEverythingBegun) {
  Script script(2);
  script.add(0, {Instruction::put(1, 1), Instruction::compute(Duration(50)), Instruction::copy(5),
                 Instruction::reduce(6), Instruction::recv(1, 3), Instruction::wait_all(), Instruction::put(1, 2)});
  script.add(1, {Instruction::send(0, 9, 3)});
  Rig rig(script);
  ASSERT_EQ(rig.network.sends.size(), 2u);
  ASSERT_EQ(rig.network.wakes.size(), 1u);
  EXPECT_EQ(rig.network.wakes[0].time, 50);
  ASSERT_EQ(rig.network.locals.size(), 2u);
  rig.runner.done(20, 0, rig.network.locals[1].context);
  rig.runner.done(21, 0, rig.network.locals[0].context);
  rig.runner.received(25, 0, 1, 0);
  rig.runner.done(50, 0, rig.network.wakes[0].context);
  EXPECT_EQ(rig.network.sends.size(), 2u) << "the first send is still on its way";
  rig.runner.sent(60, 0, 0);
  EXPECT_EQ(rig.network.sends.size(), 3u);
}

TEST(Runner, WaitOlderLeavesTheLastOnesRunning) {
  Script script(2);
  script.add(0, {Instruction::put(1, 1), Instruction::put(1, 2), Instruction::put(1, 3), Instruction::wait_older(1),
                 Instruction::put(1, 4)});
  Rig rig(script);
  ASSERT_EQ(rig.network.sends.size(), 3u);
  rig.runner.sent(5, 0, 2);
  rig.runner.sent(6, 0, 1);
  ASSERT_EQ(rig.network.sends.size(), 3u) << "the first is older, too";
  rig.runner.sent(7, 0, 0);
  EXPECT_EQ(rig.network.sends.size(), 4u);
}

// Two sends that occupy their lane for 10 each leave at 10 and 20, whatever else the lane does meanwhile.
TEST(Runner, SendsThatOccupyTheirLaneLeaveOneAfterAnother) {
  Script script(2);
  Instruction send = Instruction::put(1, 5);
  send.time = Duration(10);
  script.add(0, {send, send, Instruction::compute(Duration(3))});
  Rig rig(script);
  EXPECT_TRUE(rig.network.sends.empty());
  ASSERT_EQ(rig.network.wakes.size(), 3u);
  EXPECT_EQ(rig.network.wakes[0].time, 10);
  EXPECT_EQ(rig.network.wakes[1].time, 20);
  rig.runner.done(3, 0, rig.network.wakes[2].context);
  rig.runner.done(10, 0, rig.network.wakes[0].context);
  rig.runner.done(20, 0, rig.network.wakes[1].context);
  ASSERT_EQ(rig.network.sends.size(), 2u);
  EXPECT_EQ(rig.network.sends[1].message, 1u);
  for (const std::uint32_t message : {0u, 1u}) rig.runner.sent(30, 0, message);
  EXPECT_EQ(rig.runner.unfinished(), 0u);
}

TEST(Runner, AMessageThatLagsIsThereLater) {
  Script script(2);
  Instruction send = Instruction::send(1, 5, 7);
  send.lag = Duration(40);
  script.add(0, {send});
  script.add(1, {Instruction::recv(0, 7), Instruction::wait(1), Instruction::compute(Duration(1))});
  Rig rig(script);
  rig.runner.sent(100, 0, 0);
  rig.runner.received(100, 1, 0, 0);
  ASSERT_EQ(rig.network.wakes.size(), 1u) << "nobody computes yet";
  EXPECT_EQ(rig.network.wakes[0].time, 140);
  rig.runner.done(140, 1, rig.network.wakes[0].context);
  ASSERT_EQ(rig.network.wakes.size(), 2u);
  EXPECT_EQ(rig.network.wakes[1].time, 141);
  EXPECT_EQ(rig.runner.take_flows()[0].received.count(), 140);
}

TEST(Runner, AMessageNamesItsNics) {
  Script script(4);
  Instruction send = Instruction::put(1, 5);
  send.leaves = 2;
  send.enters = 3;
  send.handed = true;
  script.add(0, {send});
  Rig rig(script);
  EXPECT_EQ(rig.network.last.leaves, 2u);
  EXPECT_EQ(rig.network.last.enters, 3u);
  EXPECT_TRUE(rig.network.last.handed);
}

TEST(Runner, ARecvMatchesBySourceAndTagEarlyOrLate) {
  Script script(3);
  script.add(0, {Instruction::send(2, 1, 100), Instruction::send(2, 2, 101)});
  script.add(1, {Instruction::send(2, 3, 100)});
  script.add(2, {Instruction::recv(1, 100), Instruction::wait(1), Instruction::compute(Duration(7)),
                 Instruction::recv(0, 101), Instruction::wait(1), Instruction::compute(Duration(8)),
                 Instruction::recv(0, 100), Instruction::wait(1), Instruction::compute(Duration(9))});
  Rig rig(script);
  rig.runner.received(10, 2, 0, 1);  // tag 101, before anybody asks for it
  EXPECT_TRUE(rig.network.wakes.empty());
  rig.runner.received(20, 2, 1, 0);  // what rank 2 waits for; the early one is there at once
  ASSERT_EQ(rig.network.wakes.size(), 2u);
  EXPECT_EQ(rig.network.wakes[0].time, 27);
  EXPECT_EQ(rig.network.wakes[1].time, 28);
  rig.runner.received(30, 2, 0, 0);
  ASSERT_EQ(rig.network.wakes.size(), 3u);
  EXPECT_EQ(rig.network.wakes[2].time, 39);
}

TEST(Runner, AtHoldsTheLaneAndAPastTimeDoesNot) {
  Script script(2);
  script.add(0, {Instruction::at(Duration(0)), Instruction::put(1, 1), Instruction::at(Duration(70)),
                 Instruction::put(1, 2), Instruction::at(Duration(60)), Instruction::put(1, 3)});
  Rig rig(script);
  ASSERT_EQ(rig.network.sends.size(), 1u);
  ASSERT_EQ(rig.network.wakes.size(), 1u);
  rig.runner.sent(30, 0, 0);
  EXPECT_EQ(rig.network.sends.size(), 1u) << "an operation that ends does not wake a lane that waits for a time";
  rig.runner.done(70, 0, rig.network.wakes[0].context);
  EXPECT_EQ(rig.network.sends.size(), 3u);
}

TEST(Runner, LanesOfARankDoNotHoldEachOther) {
  Script script(2);
  script.add(0, {Instruction::recv(1, 1), Instruction::wait(1), Instruction::put(1, 1)});
  script.add(0, {Instruction::recv(1, 2), Instruction::wait(1), Instruction::put(1, 2)});
  script.add(1, {Instruction::send(0, 8, 1), Instruction::send(0, 8, 2)});
  Rig rig(script);
  rig.runner.received(5, 0, 1, 1);
  ASSERT_EQ(rig.network.sends.size(), 3u);
  EXPECT_EQ(rig.network.sends[2].bytes, 2u);
  rig.runner.received(6, 0, 1, 0);
  ASSERT_EQ(rig.network.sends.size(), 4u);
  EXPECT_EQ(rig.network.sends[3].bytes, 1u);
}

// A lane is pulled only as far as its slots reach, and in the order of its slots.
TEST(Runner, OutstandingOperationsAreBounded) {
  Script script(2);
  script.add(0, std::vector<Instruction>(200, Instruction::put(1, 1)));
  Rig rig(script);
  EXPECT_EQ(rig.network.sends.size(), schedule::kMostOutstanding);
  EXPECT_EQ(script.pulled(0, 0), schedule::kMostOutstanding);
  rig.runner.sent(1, 0, 5);
  EXPECT_EQ(script.pulled(0, 0), schedule::kMostOutstanding) << "the oldest still holds its slot";
  rig.runner.sent(2, 0, 0);
  EXPECT_EQ(script.pulled(0, 0), schedule::kMostOutstanding + 1);
  for (std::uint32_t i = 1; i < 200; ++i)
    if (i != 5) rig.runner.sent(3, 0, i);
  EXPECT_EQ(script.pulled(0, 0), 200u);
  EXPECT_EQ(rig.runner.unfinished(), 0u);
}

TEST(Runner, DetachedSendsAreNotBounded) {
  Script script(2);
  Instruction put = Instruction::put(1, 1);
  put.detached = true;
  script.add(0, std::vector<Instruction>(200, put));
  Rig rig(script);
  EXPECT_EQ(rig.network.sends.size(), 200u);
  EXPECT_EQ(rig.runner.unfinished(), 0u) << "nobody waits for them";
  rig.runner.sent(1, 0, 150);
}

TEST(Runner, WaitingFurtherBackThanTheSlotsReachIsNoWait) {
  Script script(2);
  std::vector<Instruction> lane(64, Instruction::put(1, 1));
  lane.insert(lane.end(),
              {Instruction::wait(64), Instruction::put(1, 2), Instruction::wait(65), Instruction::put(1, 3)});
  script.add(0, lane);
  Rig rig(script);
  rig.runner.sent(1, 0, 0);
  EXPECT_EQ(rig.network.sends.size(), 65u);
  rig.runner.sent(2, 0, 1);
  EXPECT_EQ(rig.network.sends.size(), 66u);
}

// Signal 0 starts a send on rank 2, when the message of rank 0 is received at rank 1.
class Chain final : public Schedule {
 public:
  std::uint32_t ranks() const override { return 3; }
  std::uint32_t lanes(std::uint32_t rank) const override { return rank == 0 ? 1 : 0; }
  bool next(std::uint32_t, std::uint32_t, Instruction& out) override {
    if (pulled_) return false;
    pulled_ = true;
    out = Instruction::put(1, 10);
    out.when_received = 0;
    return true;
  }
  bool has_signals() const override { return true; }
  void fire(std::uint32_t signal, std::vector<schedule::Start>& begin) override {
    EXPECT_EQ(signal, 0u);
    begin.push_back({2, Instruction::put(0, 20)});
  }

 private:
  bool pulled_ = false;
};

TEST(Runner, ASignalBeginsSendsOnOtherRanksAtOnce) {
  Chain chain;
  Rig rig(chain);
  ASSERT_EQ(rig.network.sends.size(), 1u);
  rig.runner.received(33, 1, 0, 0);
  ASSERT_EQ(rig.network.sends.size(), 2u);
  EXPECT_EQ(rig.network.sends[1].time, 33);
  EXPECT_EQ(rig.network.sends[1].from, 2u);
  rig.runner.sent(40, 0, 0);
  EXPECT_EQ(rig.network.sends.size(), 2u);
}

TEST(Runner, EveryMessageBecomesARecordInTheOrderOfRanks) {
  Script script(3);
  script.add(2, {Instruction::put(0, 7)});
  script.add(0, std::vector<Instruction>(40, Instruction::put(1, 5)));
  Rig rig(script);
  for (std::uint32_t i = 0; i < 40; ++i) {
    rig.runner.received(100 + i, 1, 0, i);
    rig.runner.sent(200 + i, 0, i);
  }
  const std::vector<FlowRecord> flows = rig.runner.take_flows();
  ASSERT_EQ(flows.size(), 41u);
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(flows[i].source, 0u);
    EXPECT_EQ(flows[i].destination, 1u);
    EXPECT_EQ(flows[i].received.count(), 100 + i);
    EXPECT_EQ(flows[i].sent.count(), 200 + i);
  }
  EXPECT_EQ(flows[40].source, 2u);
  EXPECT_EQ(flows[40].sent, schedule::kNotYet);
  EXPECT_EQ(flows[40].received, schedule::kNotYet);
}

// Ranks spread over partitions, each with a thread of its own, in steps as long as a message takes: what
// is sent in one step comes in the next. The thread sanitizer watches what partitions share.
class Partitions final : public Network {
 public:
  Partitions(Schedule& schedule, std::uint32_t partitions)
      : runner_(schedule, *this), ranks_(schedule.ranks()), parts_(partitions, Part(partitions)) {}

  std::vector<FlowRecord> run(std::uint32_t steps) {
    std::barrier step(static_cast<std::ptrdiff_t>(parts_.size()));
    std::vector<std::thread> threads;
    for (std::uint32_t p = 0; p < parts_.size(); ++p)
      threads.emplace_back([this, p, steps, &step] {
        for (std::uint32_t i = 0; i < steps; ++i) {
          take_step(p, i);
          step.arrive_and_wait();
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(runner_.unfinished(), 0u);
    return runner_.take_flows();
  }

  std::uint32_t send(std::int64_t now, const Transfer& it) override {
    part_of(it.from).outbox(part_number(it.to)).push_back({now + kStep, it.to, it.from, it.message, true});
    part_of(it.from).outbox(part_number(it.from)).push_back({now + kStep, it.from, it.from, it.message, false});
    return 1;
  }
  void wake(std::int64_t, std::uint32_t, std::uint32_t) override { FAIL(); }
  void local(std::int64_t, std::uint32_t, Instruction::Kind, std::uint64_t, std::uint32_t) override { FAIL(); }

 private:
  static constexpr std::int64_t kStep = 1000;
  struct Event {
    std::int64_t time;
    std::uint32_t rank, from, message;
    bool is_received;
    auto operator<=>(const Event&) const = default;
  };
  struct Part {
    explicit Part(std::size_t parts)
        : out{std::vector<std::vector<Event>>(parts), std::vector<std::vector<Event>>(parts)} {}
    std::vector<Event>& outbox(std::uint32_t to) { return out[writing][to]; }
    std::uint32_t writing = 0;  // by step: one half is written while the other is read
    std::vector<std::vector<Event>> out[2];
  };
  std::uint32_t part_number(std::uint32_t rank) const { return rank % static_cast<std::uint32_t>(parts_.size()); }
  Part& part_of(std::uint32_t rank) { return parts_[part_number(rank)]; }

  void take_step(std::uint32_t p, std::uint32_t step) {
    Part& mine = parts_[p];
    mine.writing = step % 2;
    for (auto& list : mine.out[mine.writing]) list.clear();
    if (step == 0)
      for (std::uint32_t rank = 0; rank < ranks_; ++rank)
        if (part_number(rank) == p) runner_.start(0, rank);
    std::vector<Event> come;
    for (const Part& part : parts_)
      come.insert(come.end(), part.out[1 - step % 2][p].begin(), part.out[1 - step % 2][p].end());
    std::sort(come.begin(), come.end());
    for (const Event& event : come) {
      if (event.is_received) {
        runner_.received(event.time, event.rank, event.from, event.message);
      } else {
        runner_.sent(event.time, event.rank, event.message);
      }
    }
  }

  Runner runner_;
  std::uint32_t ranks_;
  std::vector<Part> parts_;
};

// Everybody to everybody, in rounds that begin when the message of the round before has come.
TEST(Runner, PartitionsOnThreadsGiveWhatOneThreadGives) {
  constexpr std::uint32_t kRanks = 7;
  constexpr std::uint32_t kRounds = 50;
  const auto run = [](std::uint32_t partitions) {
    Script script(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      std::vector<Instruction> lane;
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        const std::uint32_t shift = 1 + round % (kRanks - 1);
        lane.push_back(Instruction::send((rank + shift) % kRanks, round + 1, round));
        lane.push_back(Instruction::recv((rank + kRanks - shift) % kRanks, round));
        lane.push_back(Instruction::wait(1));
      }
      script.add(rank, lane);
    }
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>>
        flows;
    for (const FlowRecord& flow : Partitions(script, partitions).run(kRounds + 2))
      flows.emplace_back(flow.source, flow.destination, flow.bytes, flow.start.count(), flow.sent.count(),
                         flow.received.count());
    return flows;
  };
  const auto one = run(1);
  EXPECT_EQ(one.size(), std::size_t{kRanks} * kRounds);
  EXPECT_EQ(run(2), one);
  EXPECT_EQ(run(4), one);
}

// One flow per rank, and as many flows as memory is counted for.
class OneEach final : public Schedule {
 public:
  OneEach(std::uint32_t ranks, std::uint32_t each) : left_(ranks, each) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(left_.size()); }
  std::uint32_t lanes(std::uint32_t) const override { return 1; }
  bool next(std::uint32_t rank, std::uint32_t, Instruction& out) override {
    if (left_[rank] == 0) return false;
    --left_[rank];
    out = Instruction::put((rank + 1) % ranks(), 1);
    out.detached = true;
    return true;
  }

 private:
  std::vector<std::uint32_t> left_;
};

class Silence final : public Network {
 public:
  std::uint32_t send(std::int64_t, const Transfer&) override { return 1; }
  void wake(std::int64_t, std::uint32_t, std::uint32_t) override {}
  void local(std::int64_t, std::uint32_t, Instruction::Kind, std::uint64_t, std::uint32_t) override {}
};

TEST(Runner, AFlowCostsAtMost200Bytes) {
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  if (in_use() == 0) GTEST_SKIP() << "the allocator does not count";
  for (const auto& [ranks, each] : {std::pair{100'000u, 1u}, {1000u, 100u}, {2u, 40'000u}}) {
    OneEach flows(ranks, each);
    Silence network;
    const std::size_t before = in_use();
    Runner runner(flows, network);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) runner.start(0, rank);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t i = 0; i < each; ++i) runner.received(1, (rank + 1) % ranks, rank, i);
    EXPECT_LE((in_use() - before) / (std::size_t{ranks} * each), 200u) << ranks;
  }
}

}  // namespace
}  // namespace weft::sim
