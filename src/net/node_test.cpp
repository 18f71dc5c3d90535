// Nodes on loopback, moved by hand.
#include "net/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>

namespace weft::net {
namespace {

using transport::rdm::Outgoing;
using transport::rdm::Place;
using transport::rdm::Sink;

// Sends texts, and keeps those that come.
class Texts final : public transport::rdm::Layer, public Pointers {
 public:
  void send(std::uint32_t peer, std::string text) {
    Outgoing each;
    each.peer = peer;
    each.context = static_cast<std::uint32_t>(memory_.size());
    each.envelope.size = 4;
    each.payload.memory = memory_.size();
    each.bytes = text.size();
    memory_.push_back(std::move(text));
    outgoing_.push_back(each);
  }

  bool next_outgoing(Outgoing& out) override {
    if (outgoing_.empty()) return false;
    out = outgoing_.front();
    outgoing_.pop_front();
    return true;
  }
  void sent(Instant, std::uint32_t context) override { acknowledged.push_back(memory_[context]); }
  Sink arrived(Instant, std::uint32_t, std::span<const std::byte> envelope, std::uint64_t bytes) override {
    EXPECT_EQ(envelope.size(), 4u);
    memory_.emplace_back(bytes, '?');
    return {Sink::Kind::place, static_cast<std::uint32_t>(memory_.size() - 1), {memory_.size() - 1, 0}, bytes};
  }
  void landed(Instant, std::uint32_t peer, std::uint32_t context) override {
    from.push_back(peer);
    received.push_back(memory_[context]);
  }
  void peer_failed(Instant, std::uint32_t peer) override { failed.push_back(peer); }
  Instant next_wake() const override { return transport::kNever; }
  void tick(Instant) override {}
  std::span<std::byte> own(std::uint64_t) override { return {}; }
  std::byte* at(Place place) override {
    return reinterpret_cast<std::byte*>(memory_[place.memory].data()) + place.offset;
  }

  std::vector<std::string> acknowledged;
  std::vector<std::string> received;
  std::vector<std::uint32_t> from;
  std::vector<std::uint32_t> failed;

 private:
  std::deque<std::string> memory_;
  std::deque<Outgoing> outgoing_;
};

struct End {
  Texts texts;
  std::unique_ptr<Node> node;
  End() {
    NodeConfig config;
    config.local = *Address::parse("127.0.0.1", 0);
    config.connect_within = config.dead_after = 300 * kSecond;  // however busy the machine is
    auto made = Node::open(config, texts, texts);
    if (made) node = std::move(*made);
    EXPECT_NE(node, nullptr);
  }
};

// Moves both until it is so; false: it was not within a minute.
bool until(End& a, End& b, const std::function<bool()>& so) {
  for (const Instant end = Node::now() + 60 * kSecond; Node::now() < end;) {
    a.node->progress();
    b.node->progress();
    if (so()) return true;
    b.node->wait(Node::now() + kMillisecond);
  }
  return false;
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(Node, WhatIsSentArrivesOnceAndIsAcknowledged) {
  End a;
  End b;
  const std::uint32_t peer = a.node->peer_at(b.node->address());
  std::vector<std::string> all;
  for (const std::size_t size : {0u, 1u, 1'000u, 8'000u, 8'972u, 300'001u}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251 + size);
    all.push_back(text);
    a.texts.send(peer, std::move(text));
  }
  ASSERT_TRUE(until(a, b, [&] { return a.texts.acknowledged.size() == all.size(); }));
  EXPECT_TRUE(sorted(b.texts.received) == sorted(all));
  EXPECT_TRUE(sorted(a.texts.acknowledged) == sorted(all));
  EXPECT_TRUE(a.texts.failed.empty() && b.texts.failed.empty());
  for (const End* each : {&a, &b}) {
    const NodeCounters& counters = each->node->counters();
    EXPECT_EQ(counters.refused_by_kernel, 0u);
    EXPECT_EQ(counters.damaged, 0u);
    EXPECT_EQ(counters.not_ours, 0u);
    EXPECT_GT(counters.datagrams_out, 0u);
  }
}

TEST(Node, APeerHasOneConnectionHoweverOftenItIsAskedFor) {
  End a;
  End b;
  const std::uint32_t peer = a.node->peer_at(b.node->address());
  EXPECT_EQ(a.node->peer_at(b.node->address()), peer);
  EXPECT_FALSE(a.node->connected(peer));
  a.node->connect(peer);
  a.node->connect(peer);
  ASSERT_TRUE(until(a, b, [&] { return a.node->connected(peer); }));
  a.node->connect(peer);
  EXPECT_TRUE(a.node->connected(peer)) << "the one that there is";
  a.texts.send(peer, "one");
  ASSERT_TRUE(until(a, b, [&] { return !a.texts.acknowledged.empty(); }));
  EXPECT_EQ(b.texts.received, std::vector<std::string>{"one"});
  EXPECT_EQ(b.texts.from, std::vector<std::uint32_t>{b.node->peer_at(a.node->address())});
}

TEST(Node, WhoIsDroppedHearsOfItAndMayComeAgain) {
  End a;
  End b;
  const std::uint32_t peer = a.node->peer_at(b.node->address());
  a.texts.send(peer, "one");
  ASSERT_TRUE(until(a, b, [&] { return !a.texts.acknowledged.empty(); }));
  a.node->drop(peer, "no more");
  EXPECT_FALSE(a.node->connected(peer));
  EXPECT_EQ(a.node->why_failed(peer), "no more");
  EXPECT_EQ(a.texts.failed, std::vector<std::uint32_t>{peer});
  a.node->drop(peer, "again");
  EXPECT_EQ(a.node->why_failed(peer), "no more") << "there was none left";
  ASSERT_TRUE(until(a, b, [&] { return !b.texts.failed.empty(); }));
  EXPECT_EQ(b.node->why_failed(b.node->peer_at(a.node->address())), "it has ended");
  a.texts.send(peer, "two");
  ASSERT_TRUE(until(a, b, [&] { return a.texts.acknowledged.size() == 2; }));
  EXPECT_EQ(b.texts.received, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(a.node->why_failed(peer), "");
}

TEST(Node, WhatIsSentToOneselfComesBack) {
  End a;
  End b;
  const std::uint32_t self = a.node->peer_at(a.node->address());
  a.texts.send(self, std::string(50'000, 'x'));
  ASSERT_TRUE(until(a, b, [&] { return !a.texts.acknowledged.empty() && !a.texts.received.empty(); }));
  EXPECT_EQ(a.texts.received, std::vector<std::string>{std::string(50'000, 'x')});
  EXPECT_EQ(a.texts.from, std::vector<std::uint32_t>{self});
}

// Texts to and fro, each the answer to the last, by two who never sleep.
void bounce(End& a, End& b, std::uint32_t to_b, std::uint32_t to_a, int times) {
  const Instant end = Node::now() + 60 * kSecond;
  for (int i = 0; i < times; ++i) {
    const std::size_t had = a.texts.received.size();
    const std::size_t has = b.texts.received.size();
    a.texts.send(to_b, "ping");
    while (b.texts.received.size() == has && Node::now() < end) {
      a.node->progress();
      b.node->progress();
    }
    b.texts.send(to_a, "pong");
    while (a.texts.received.size() == had && Node::now() < end) {
      b.node->progress();
      a.node->progress();
    }
  }
  ASSERT_LT(Node::now(), end);
}

// An answer that comes at once takes the acknowledgement along. On a machine that is busy some do not come at once:
// what counts is the best of many times.
TEST(Node, APingPongTakesOneSystemCallToSendForEachMessage) {
  End a;
  End b;
  if (!a.node->socket().segments()) GTEST_SKIP() << "the kernel cuts no trains";
  const std::uint32_t to_b = a.node->peer_at(b.node->address());
  const std::uint32_t to_a = b.node->peer_at(a.node->address());
  const auto sent = [&] { return a.node->counters().trains_out + b.node->counters().trains_out; };
  const auto acks = [&] { return a.node->srd_counters().acks_sent + b.node->srd_counters().acks_sent; };
  constexpr std::uint64_t kMessages = 40;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t acknowledged = 0;
  for (int i = 0; i < 50 && least > kMessages; ++i) {
    bounce(a, b, to_b, to_a, 10);
    const std::uint64_t before = sent();
    const std::uint64_t acks_before = acks();
    bounce(a, b, to_b, to_a, kMessages / 2);
    if (sent() - before >= least) continue;
    least = sent() - before;
    acknowledged = acks() - acks_before;
  }
  EXPECT_LE(least, kMessages + kMessages / 4) << "twice as many without";
  EXPECT_GE(acknowledged, kMessages - 1) << "each but the last";
}

TEST(Node, AnAcknowledgementThatWaitsForAnAnswerIsSentWithoutOneByTheNextCall) {
  End a;
  End b;
  const std::uint32_t to_b = a.node->peer_at(b.node->address());
  const std::uint32_t to_a = b.node->peer_at(a.node->address());
  const auto tell = [&] {
    const std::size_t has = b.texts.received.size();
    a.texts.send(to_b, "and now?");
    a.node->push();
    while (b.texts.received.size() == has) b.node->progress();
  };
  bool kept = false;
  for (int i = 0; i < 50 && !kept; ++i) {
    bounce(a, b, to_b, to_a, 10);
    tell();
    kept = b.node->owes();
  }
  ASSERT_TRUE(kept);
  EXPECT_EQ(b.node->next_wake(), 0) << "whoever would sleep comes back at once";
  const std::uint64_t acks = b.node->srd_counters().acks_sent;
  b.node->push();
  EXPECT_FALSE(b.node->owes());
  EXPECT_EQ(b.node->srd_counters().acks_sent, acks + 1);
  tell();
  EXPECT_FALSE(b.node->owes()) << "there was no answer to the last";
  const std::size_t all = b.texts.received.size();
  EXPECT_TRUE(until(a, b, [&] { return a.texts.acknowledged.size() == all; }));
}

}  // namespace
}  // namespace weft::net
