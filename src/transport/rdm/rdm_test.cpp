#include "transport/rdm/rdm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace weft::transport::rdm {
namespace {

// A node whose memory handles are indices of texts.
struct TextNode final : Memory {
  explicit TextNode(const RdmConfig& config = {}) : rdm(config, *this) {}
  void get(Place from, std::span<std::byte> to) override {
    ASSERT_LE(from.offset + to.size(), texts.at(from.memory).size());
    std::memcpy(to.data(), texts[from.memory].data() + from.offset, to.size());
  }
  void put(Place to, std::span<const std::byte> from) override {
    ASSERT_LE(to.offset + from.size(), texts.at(to.memory).size());
    std::memcpy(texts[to.memory].data() + to.offset, from.data(), from.size());
  }
  std::uint64_t keep(std::string text) {
    texts.push_back(std::move(text));
    return texts.size() - 1;
  }
  std::vector<std::string> texts;
  Rdm rdm;
};

// Two nodes, 0 and 1, that call each other by these numbers, and a carrier that takes no time.
//
//   a ── carry() ── b
struct Pair {
  explicit Pair(const RdmConfig& config = {}) : a(config), b(config) {}

  std::uint32_t carry() {
    std::uint32_t carried = 0;
    for (bool more = true; more;) {
      more = move(a, b, 0);
      more = move(b, a, 1) || more;
      carried += more;
    }
    return carried;
  }
  static bool move(TextNode& from, TextNode& to, std::uint32_t number) {
    Outgoing out;
    if (!from.rdm.next_outgoing(out)) return false;
    EXPECT_EQ(out.peer, 1 - number);
    const Sink sink = to.rdm.arrived(0, number, out.envelope.view(), out.bytes);
    EXPECT_EQ(sink.kind, Sink::Kind::place);
    if (sink.kind != Sink::Kind::place) return false;
    std::vector<std::byte> bytes(out.bytes);
    if (out.payload.memory & kOwnMemory)
      std::ranges::copy(from.rdm.own(out.payload.memory).first(out.bytes), bytes.begin());
    else
      from.get(out.payload, bytes);
    bytes.resize(std::min(out.bytes, sink.room));
    if (sink.place.memory & kOwnMemory)
      std::ranges::copy(bytes, to.rdm.own(sink.place.memory).begin());
    else if (!bytes.empty())
      to.put(sink.place, bytes);
    to.rdm.landed(0, number, sink.context);
    from.rdm.sent(0, out.context);
    return true;
  }

  void send(std::string text, std::uint64_t tag, std::uint64_t context = 0) {
    const std::uint64_t bytes = text.size();
    const std::uint64_t memory = a.keep(std::move(text));
    ASSERT_TRUE(
        a.rdm.send({.peer = 1, .tagged = true, .tag = tag, .from = {memory, 0}, .bytes = bytes, .context = context}));
  }
  std::uint64_t receive(std::uint64_t tag, std::uint64_t bytes, std::uint64_t ignore = 0) {
    const std::uint64_t memory = b.keep(std::string(bytes, '.'));
    b.rdm.receive({.tagged = true, .tag = tag, .ignore = ignore, .to = {memory, 0}, .bytes = bytes, .context = memory});
    return memory;
  }

  TextNode a;
  TextNode b;
};

TEST(RdmPair, SmallMessagesShareAPacket) {
  Pair pair;
  for (int i = 0; i < 20; ++i) pair.send("0123456", 5);
  for (int i = 0; i < 20; ++i) pair.receive(5, 7);
  pair.carry();
  EXPECT_EQ(pair.b.rdm.completions().size(), 20u);
  EXPECT_EQ(pair.a.rdm.completions().size(), 20u);
  EXPECT_EQ(pair.a.rdm.counters().bundles, 1u);
  EXPECT_EQ(pair.a.rdm.counters().records, 20u);
}

// Only who asks for it hears of what peers do to its memory; of messages that are fetched nobody does.
TEST(RdmPair, AccessesAreToldWhereAskedFor) {
  for (const bool asked : {false, true}) {
    Pair pair({.tells_accesses = asked});
    const std::uint64_t memory = pair.b.keep(std::string(5000, '.'));
    pair.b.rdm.add_region(9, {.bytes = 5000, .place = {memory, 0}, .readable = true, .writable = true});
    const std::uint64_t mine = pair.a.keep(std::string(5000, 'm'));
    for (const std::uint64_t bytes : {8u, 5000u}) {
      ASSERT_TRUE(pair.a.rdm.write({.peer = 1, .from = {mine, 0}, .bytes = bytes, .to = {0, 9}}));
      ASSERT_TRUE(pair.a.rdm.read({.peer = 1, .to = {mine, 0}, .bytes = bytes, .from = {0, 9}}));
    }
    ASSERT_TRUE(pair.a.rdm.write({.peer = 1, .from = {mine, 0}, .bytes = 8, .to = {0, 10}}));  // there is no such key
    for (const bool fetch : {false, true})
      ASSERT_TRUE(
          pair.a.rdm.atomic({.peer = 1, .operand = {mine, 0}, .target = {0, 9}, .fetch = fetch, .result = {mine, 8}}));
    ASSERT_TRUE(
        pair.a.rdm.atomic({.peer = 1, .op = AtomicOp::read, .target = {0, 9}, .fetch = true, .result = {mine, 8}}));
    pair.send(std::string(100000, 'r'), 3);
    pair.receive(3, 100000);
    pair.carry();
    int fetched = 0, changed = 0, both = 0, others = 0;
    for (const Completion& each : pair.b.rdm.completions()) {
      if (each.kind != Completion::Kind::told) continue;
      EXPECT_EQ(each.key, 9u);
      EXPECT_FALSE(each.has_data);
      ++(each.fetched && each.changed ? both : each.fetched ? fetched : each.changed ? changed : others);
    }
    EXPECT_EQ(fetched, asked ? 3 : 0) << "two reads, and an atomic one";
    EXPECT_EQ(changed, asked ? 3 : 0) << "two writes, and an atomic one";
    EXPECT_EQ(both, asked ? 1 : 0);
    EXPECT_EQ(others, 0);
    for (const Completion& each : pair.a.rdm.completions()) EXPECT_NE(each.kind, Completion::Kind::told);
  }
}

TEST(RdmPair, EachSizeGoesItsWay) {
  Pair pair;
  pair.send("tiny", 1);
  pair.send(std::string(5000, 'e'), 2);
  pair.send(std::string(100000, 'r'), 3);
  const std::uint64_t long_one = pair.receive(3, 100000);
  const std::uint64_t eager = pair.receive(2, 5000);
  const std::uint64_t tiny = pair.receive(1, 10);
  pair.carry();
  EXPECT_EQ(pair.b.texts[tiny], "tiny......");
  EXPECT_EQ(pair.b.texts[eager], std::string(5000, 'e'));
  EXPECT_EQ(pair.b.texts[long_one], std::string(100000, 'r'));
  EXPECT_EQ(pair.a.rdm.counters().eager, 1u);
  EXPECT_EQ(pair.a.rdm.counters().offers, 1u);
  EXPECT_EQ(pair.a.rdm.held() + pair.b.rdm.held(), 0u);
}

TEST(RdmPair, WhatNobodyWaitsForIsLimitedAndTheSenderWaits) {
  Pair pair({.window = 8, .unexpected = 1 << 20});
  for (std::uint64_t i = 0; i < 30; ++i) pair.send("x", i);
  pair.carry();
  EXPECT_EQ(pair.b.rdm.counters().unexpected, 8u);
  EXPECT_TRUE(pair.b.rdm.peek({.tagged = true, .tag = 7}));
  EXPECT_FALSE(pair.b.rdm.peek({.tagged = true, .tag = 8}));
  for (std::uint64_t i = 0; i < 30; ++i) {
    pair.receive(i, 1);
    pair.carry();
  }
  EXPECT_EQ(pair.b.rdm.completions().size(), 30u);
  EXPECT_EQ(pair.b.rdm.counters().nonsense, 0u);
}

// Who only receives says now and then how much more may come: each time one record, in a packet of its own.
TEST(RdmPair, AGrantIsARecord) {
  Pair pair({.window = 8, .unexpected = 1 << 20});
  for (std::uint64_t i = 0; i < 40; ++i) {
    pair.receive(i, 1);
    pair.send("x", i);
    pair.carry();
  }
  EXPECT_EQ(pair.b.rdm.completions().size(), 40u);
  EXPECT_EQ(pair.b.rdm.counters().records, 20u) << "for a quarter of the window";
  EXPECT_EQ(pair.b.rdm.counters().bundles, 20u);
  EXPECT_EQ(pair.a.rdm.counters().records, 40u);
}

// Whatever is kept for others is counted, until they have it.
TEST(RdmPair, WhatIsHeldIsCountedUntilItIsTold) {
  Pair pair;
  const std::uint64_t target = pair.b.keep(std::string(8, 'a'));
  pair.b.rdm.add_region(9, {0, 8, {target, 0}, true, true});
  const std::uint64_t operand = pair.a.keep(std::string(8, 'b'));
  const std::uint64_t result = pair.a.keep(std::string(8, '?'));
  pair.a.rdm.atomic({.peer = 1, .operand = {operand, 0}, .target = {0, 9}, .fetch = true, .result = {result, 0}});
  EXPECT_GT(pair.a.rdm.held(), 0u) << "it waits for its answer";
  EXPECT_EQ(pair.b.rdm.held(), 0u);
  ASSERT_TRUE(Pair::move(pair.a, pair.b, 0));
  const std::size_t one = pair.b.rdm.held();
  EXPECT_GT(one, 0u) << "the answer, with what was there";
  pair.a.rdm.atomic({.peer = 1, .operand = {operand, 0}, .target = {0, 9}, .fetch = true, .result = {result, 0}});
  ASSERT_TRUE(Pair::move(pair.a, pair.b, 0));
  EXPECT_EQ(pair.b.rdm.held(), 2 * one);
  pair.carry();
  EXPECT_EQ(pair.a.rdm.held(), 0u);
  EXPECT_EQ(pair.b.rdm.held(), 0u);
  pair.send("nobody waits for it", 1);
  pair.carry();
  EXPECT_GT(pair.b.rdm.held(), 0u);
  pair.receive(1, 100);
  pair.carry();
  EXPECT_EQ(pair.b.rdm.held(), 0u);
}

TEST(RdmPair, BytesThatNobodyWaitsForAreLimitedToo) {
  Pair pair({.eager = 1000, .unexpected = 5000});
  for (std::uint64_t i = 0; i < 12; ++i) pair.send(std::string(1000, 'x'), i);
  pair.carry();
  EXPECT_TRUE(pair.b.rdm.peek({.tagged = true, .tag = 4}));
  EXPECT_FALSE(pair.b.rdm.peek({.tagged = true, .tag = 5}));
  for (std::uint64_t i = 0; i < 12; ++i) {
    pair.receive(i, 1000);
    pair.carry();
  }
  EXPECT_EQ(pair.b.rdm.completions().size(), 12u);
}

TEST(RdmPair, ControlFlowsWhileMessagesWaitForReceives) {
  Pair pair({.window = 4});
  for (std::uint64_t i = 0; i < 10; ++i) pair.send("x", i);
  const std::uint64_t memory = pair.b.keep("....");
  pair.b.rdm.add_region(9, {0, 4, {memory, 0}, true, true});
  const std::uint64_t source = pair.a.keep("data");
  pair.a.rdm.write({.peer = 1, .from = {source, 0}, .bytes = 4, .to = {0, 9}, .context = 77});
  pair.carry();
  EXPECT_EQ(pair.b.texts[memory], "data");
  EXPECT_TRUE(std::ranges::any_of(pair.a.rdm.completions(), [](const Completion& it) { return it.context == 77; }));
}

TEST(RdmPair, AReceiveOfManyIsFilledAndReleased) {
  Pair pair;
  const std::uint64_t memory = pair.b.keep(std::string(10, '.'));
  pair.b.rdm.receive({.to = {memory, 0}, .bytes = 10, .context = 5, .least_left = 4});
  for (const char* text : {"abc", "de", "fgh", "i"}) {
    const std::uint64_t from = pair.a.keep(text);
    pair.a.rdm.send({.peer = 1, .from = {from, 0}, .bytes = pair.a.texts[from].size()});
  }
  pair.carry();
  EXPECT_EQ(pair.b.texts[memory], "abcdefgh..");
  ASSERT_EQ(pair.b.rdm.completions().size(), 4u);
  EXPECT_EQ(pair.b.rdm.completions()[1].place.offset, 3u);
  EXPECT_EQ(pair.b.rdm.completions()[3].kind, Completion::Kind::released);
  EXPECT_TRUE(pair.b.rdm.peek({}));  // the last one waits for another
}

TEST(RdmPair, ClaimedAndDiscardedMessagesAreSeenByNobodyElse) {
  Pair pair;
  pair.send("one", 1);
  pair.send("two", 1);
  pair.send(std::string(50000, '3'), 1, 42);
  pair.carry();
  const auto one = pair.b.rdm.claim({.tagged = true, .tag = 1});
  const auto two = pair.b.rdm.claim({.tagged = true, .tag = 1});
  const auto three = pair.b.rdm.claim({.tagged = true, .tag = 1});
  ASSERT_TRUE(one && two && three);
  EXPECT_EQ(three->bytes, 50000u);
  EXPECT_FALSE(pair.b.rdm.peek({.tagged = true, .tag = 1}));
  EXPECT_TRUE(pair.b.rdm.discard(one->number));
  EXPECT_FALSE(pair.b.rdm.discard(one->number));
  const std::uint64_t memory = pair.b.keep("...");
  EXPECT_TRUE(pair.b.rdm.receive_claimed(two->number, {.tagged = true, .to = {memory, 0}, .bytes = 3}));
  EXPECT_EQ(pair.b.texts[memory], "two");
  EXPECT_TRUE(pair.b.rdm.discard(three->number));
  pair.carry();
  EXPECT_TRUE(std::ranges::any_of(pair.a.rdm.completions(), [](const Completion& it) { return it.context == 42; }));
  EXPECT_EQ(pair.a.rdm.held() + pair.b.rdm.held(), 0u);
}

TEST(RdmPair, AWrongKeyIsAnErrorAndTouchesNothing) {
  for (const std::uint64_t bytes : {4u, 20000u}) {
    Pair pair;
    const std::uint64_t memory = pair.b.keep(std::string(bytes, '.'));
    const std::uint64_t source = pair.a.keep(std::string(bytes, 'x'));
    pair.b.rdm.add_region(9, {100, bytes, {memory, 0}, true, false});
    pair.a.rdm.write({.peer = 1, .from = {source, 0}, .bytes = bytes, .to = {100, 9}});
    pair.a.rdm.write({.peer = 1, .from = {source, 0}, .bytes = bytes, .to = {100, 8}});
    pair.a.rdm.read({.peer = 1, .to = {source, 0}, .bytes = bytes, .from = {101, 9}});
    pair.a.rdm.read({.peer = 1, .to = {source, 0}, .bytes = bytes, .from = {99, 9}});
    pair.carry();
    EXPECT_EQ(pair.b.texts[memory], std::string(bytes, '.'));
    EXPECT_EQ(pair.a.texts[source], std::string(bytes, 'x'));
    ASSERT_EQ(pair.a.rdm.completions().size(), 4u);
    for (const Completion& each : pair.a.rdm.completions()) EXPECT_EQ(each.error, Error::bad_access);
  }
}

TEST(RdmPair, ARegionIsNotRemovedWhileItIsReadFrom) {
  Pair pair;
  const std::uint64_t memory = pair.b.keep(std::string(20000, 'm'));
  const std::uint64_t to = pair.a.keep(std::string(20000, '.'));
  pair.b.rdm.add_region(9, {0, 20000, {memory, 0}, true, false});
  pair.a.rdm.read({.peer = 1, .to = {to, 0}, .bytes = 20000, .from = {0, 9}});
  EXPECT_TRUE(Pair::move(pair.a, pair.b, 0));
  EXPECT_FALSE(pair.b.rdm.remove_region(9));
  pair.carry();
  EXPECT_EQ(pair.a.texts[to], pair.b.texts[memory]);
  EXPECT_TRUE(pair.b.rdm.remove_region(9));
}

TEST(RdmPair, MoreReadsThanAreAnsweredAtATimeAreTriedAgain) {
  // The reader opens more than the other answers.
  TextNode a({.reads = 32});
  TextNode b({.reads = 1});
  const std::uint64_t memory = b.keep(std::string(20000, 'm'));
  b.rdm.add_region(9, {0, 20000, {memory, 0}, true, false});
  const std::uint64_t to = a.keep(std::string(20000 * 8, '.'));
  for (std::uint64_t i = 0; i < 8; ++i) a.rdm.read({.peer = 1, .to = {to, i * 20000}, .bytes = 20000, .from = {0, 9}});
  while (Pair::move(a, b, 0)) {
  }
  Instant now = 0;
  Instant waited = 0;
  for (int round = 0; round < 20; ++round) {
    while (Pair::move(b, a, 1)) {
    }
    if (a.rdm.next_wake() == kNever) break;
    waited = std::max(waited, a.rdm.next_wake() - now);
    now = a.rdm.next_wake();
    a.rdm.tick(now);
    while (Pair::move(a, b, 0)) {
    }
  }
  EXPECT_EQ(a.texts[to], std::string(20000 * 8, 'm'));
  EXPECT_GT(a.rdm.counters().not_ready, 0u);
  EXPECT_GT(waited, 0);
}

TEST(RdmPair, AReadThatIsTriedAgainComesBeforeThoseThatWaitForItsEnd) {
  TextNode a({.reads = 1});
  TextNode b({.reads = 1});
  const std::uint64_t memory = b.keep(std::string(20000, 'm'));
  b.rdm.add_region(9, {0, 20000, {memory, 0}, true, false});
  const std::uint64_t to = a.keep(std::string(20000, '.'));
  for (int i = 0; i < 4; ++i) a.rdm.read({.peer = 1, .to = {to, 0}, .bytes = 20000, .from = {0, 9}});
  // Answers arrive and b is not told so: two of them are all that it keeps open.
  std::vector<std::uint32_t> untold;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Pair::move(a, b, 0));
    Outgoing out;
    ASSERT_TRUE(b.rdm.next_outgoing(out));
    const Sink sink = a.rdm.arrived(0, 1, out.envelope.view(), out.bytes);
    ASSERT_EQ(sink.kind, Sink::Kind::place);
    a.rdm.landed(0, 1, sink.context);
    untold.push_back(out.context);
  }
  EXPECT_TRUE(Pair::move(a, b, 0));
  EXPECT_TRUE(Pair::move(b, a, 1));
  EXPECT_EQ(a.rdm.counters().not_ready, 1u);
  for (const std::uint32_t context : untold) b.rdm.sent(0, context);
  a.rdm.tick(a.rdm.next_wake());
  while (Pair::move(a, b, 0) || Pair::move(b, a, 1)) {
  }
  EXPECT_EQ(a.rdm.completions().size(), 4u);
}

TEST(RdmPair, AtomicsFetchWhatWasThere) {
  Pair pair;
  const std::uint64_t target = pair.b.keep(std::string("\x05\0\0\0\x07\0\0\0", 8));
  pair.b.rdm.add_region(9, {0, 8, {target, 0}, true, true});
  const std::uint64_t operand = pair.a.keep(std::string("\x01\0\0\0\x02\0\0\0", 8));
  const std::uint64_t comparand = pair.a.keep(std::string("\x05\0\0\0\x05\0\0\0", 8));
  const std::uint64_t result = pair.a.keep(std::string(8, '?'));
  pair.a.rdm.atomic({.peer = 1,
                     .op = AtomicOp::swap_equal,
                     .type = AtomicType::u32,
                     .count = 2,
                     .operand = {operand, 0},
                     .comparand = {comparand, 0},
                     .target = {0, 9},
                     .fetch = true,
                     .result = {result, 0}});
  pair.carry();
  EXPECT_EQ(pair.b.texts[target], std::string("\x01\0\0\0\x07\0\0\0", 8));
  EXPECT_EQ(pair.a.texts[result], std::string("\x05\0\0\0\x07\0\0\0", 8));
}

TEST(RdmPair, KeysOfRendezvousCannotBeGuessedOrRegistered) {
  Pair pair;
  EXPECT_FALSE(pair.b.rdm.add_region(std::uint64_t{1} << 63, {}));
  EXPECT_FALSE(pair.b.rdm.add_region(1, {.address = ~std::uint64_t{0}, .bytes = 2}));
  EXPECT_TRUE(pair.b.rdm.add_region(1, {}));
  EXPECT_FALSE(pair.b.rdm.add_region(1, {}));
  pair.send(std::string(50000, 's'), 1);  // the first operation: its number is known, its key is not
  EXPECT_TRUE(Pair::move(pair.a, pair.b, 0));
  const std::uint64_t to = pair.b.keep(std::string(8, '.'));
  for (std::uint64_t high : {0u, 1u, 77u})
    pair.b.rdm.read({.peer = 0, .to = {to, 0}, .bytes = 8, .from = {0, std::uint64_t{1} << 63 | high << 32}});
  pair.carry();
  EXPECT_EQ(pair.b.texts[to], "........");
  for (const Completion& each : pair.b.rdm.completions()) EXPECT_EQ(each.error, Error::bad_access);
}

// Traffic of an honest node with some bytes changed, and bytes that never were traffic.
TEST(RdmPair, HostileEnvelopesAndRecordsWasteOnlyWhatTheirSenderHas) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, 1, 1);
    RdmConfig config{.eager = 600, .window = 16, .unexpected = 4000};
    TextNode victim(config);
    TextNode attacker(config);
    const std::uint64_t open = victim.keep(std::string(4000, '.'));
    const std::uint64_t closed = victim.keep(std::string(4000, '#'));
    victim.rdm.add_region(1, {0, 1000, {open, 0}, true, true});
    const std::uint64_t source = attacker.keep(std::string(3000, 'h'));
    const std::uint64_t sent = victim.keep(std::string(3000, 's'));
    for (int i = 0; i < 400; ++i) {
      attacker.rdm.completions().clear();
      victim.rdm.completions().clear();
      const std::uint64_t bytes = random.below(3000);
      if (random.below(2) == 0)
        victim.rdm.receive({.tagged = true, .ignore = ~0ull, .to = {open, 1000}, .bytes = 3000});
      if (random.below(4) == 0) victim.rdm.send({.peer = 0, .from = {sent, 0}, .bytes = bytes});
      if (random.below(4) == 0)
        attacker.rdm.write({.peer = 1, .from = {source, 0}, .bytes = bytes % 1000, .to = {0, 1}});
      if (random.below(4) == 0)
        attacker.rdm.read({.peer = 1, .to = {source, 0}, .bytes = bytes % 1000, .from = {0, 1}});
      attacker.rdm.send({.peer = 1, .tagged = true, .from = {source, 0}, .bytes = bytes});
      Outgoing out;
      while (victim.rdm.next_outgoing(out))
        if (random.below(2) == 0) victim.rdm.sent(0, out.context);
      for (int k = 0; k < 4 && attacker.rdm.next_outgoing(out); ++k) {
        const std::span<std::byte> own = attacker.rdm.own(out.payload.memory);
        if (random.below(2) == 0)
          out.envelope.bytes[random.below(out.envelope.size)] ^= static_cast<std::byte>(random.next());
        for (std::uint32_t n = random.below(4); n > 0 && !own.empty() && out.bytes > 0; --n)
          own[random.below(static_cast<std::uint32_t>(out.bytes))] = static_cast<std::byte>(random.next());
        if (random.below(8) == 0) out.envelope.size = static_cast<std::uint8_t>(random.below(kMostEnvelope + 1));
        const std::uint64_t claims = random.below(8) == 0 ? random.next() : out.bytes;
        const Sink sink = victim.rdm.arrived(0, 0, out.envelope.view(), claims);
        const bool placed = sink.kind == Sink::Kind::place;
        if (placed && sink.place.memory & kOwnMemory && !own.empty())
          std::ranges::copy(own.first(std::min<std::size_t>({own.size(), claims, sink.room})),
                            victim.rdm.own(sink.place.memory).begin());
        if (placed && !(sink.place.memory & kOwnMemory) && sink.room > 0) {
          ASSERT_EQ(sink.place.memory == open || sink.place.memory == sent, true);
          ASSERT_LE(sink.place.offset + sink.room, 4000u);
        }
        if (placed && random.below(8) > 0) victim.rdm.landed(0, 0, sink.context);
        if (random.below(2) == 0) attacker.rdm.sent(0, out.context);
      }
      ASSERT_EQ(victim.rdm.check_invariants(), "") << "seed " << seed;
      if (random.below(100) == 0) {
        victim.rdm.peer_failed(0, 0);
        attacker.rdm.peer_failed(0, 1);
      }
    }
    EXPECT_EQ(victim.texts[closed], std::string(4000, '#'));
    EXPECT_LT(victim.rdm.held(), 5000u);  // its own queue of 4096 among them
  }
}

}  // namespace
}  // namespace weft::transport::rdm
