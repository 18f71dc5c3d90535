// Nodes on loopback, moved by hand.
#include "net/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <set>
#include <thread>

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
  explicit End(const std::vector<const char*>& nics = {"127.0.0.1"}) {
    NodeConfig config;
    config.local = *Address::parse(nics[0], 0);
    for (std::size_t i = 1; i < nics.size(); ++i) config.more.push_back(*Address::parse(nics[i], 0));
    config.connect_within = config.dead_after = microseconds(300'000'000);  // however busy the machine is
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

// Two with two, one with two, two with three: all NICs of both carry something, and everything arrives once.
TEST(Node, SeveralNicsCarryTogether) {
  const std::vector<const char*> all = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
  for (const auto& [ours, theirs] : {std::pair(2u, 2u), std::pair(1u, 2u), std::pair(2u, 1u), std::pair(2u, 3u)}) {
    End a(std::vector(all.begin(), all.begin() + ours));
    End b(std::vector(all.begin(), all.begin() + theirs));
    const std::uint32_t to_b = a.node->peer_at(b.node->address());
    const std::uint32_t to_a = b.node->peer_at(a.node->address());
    const auto carried = [](const End& end, std::uint32_t nics) {
      std::vector<std::uint64_t> packets(nics);
      for (std::size_t i = 0; i < end.node->paths().size(); ++i) packets[i % nics] += end.node->paths()[i].packets;
      return *std::ranges::min_element(packets);
    };
    std::size_t sent = 0;
    const Instant end = Node::now() + 60 * kSecond;
    while ((carried(a, ours) < 20 || carried(b, theirs) < 20) && Node::now() < end) {
      for (int i = 0; i < 20; ++i) {
        a.texts.send(to_b, std::string(20'000, 'a'));
        b.texts.send(to_a, std::string(20'000, 'b'));
      }
      sent += 20;
      ASSERT_TRUE(
          until(a, b, [&] { return a.texts.acknowledged.size() == sent && b.texts.acknowledged.size() == sent; }));
    }
    EXPECT_GE(carried(a, ours), 20u) << ours << " with " << theirs;
    EXPECT_GE(carried(b, theirs), 20u) << ours << " with " << theirs;
    EXPECT_EQ(a.texts.received.size(), sent);
    EXPECT_EQ(b.texts.received.size(), sent);
    for (const std::string& text : b.texts.received) ASSERT_EQ(text, std::string(20'000, 'a'));
  }
}

// A number beyond the ports would be one of them once more: a path given up for another would be one that is in use,
// and the port given up would not be tried again.
TEST(Node, ThereAreAsManyPathsAsPorts) {
  for (const auto& nics : {std::vector<const char*>{"127.0.0.1"}, {"127.0.0.1", "127.0.0.2", "127.0.0.3"}}) {
    const End end(nics);
    EXPECT_EQ(end.node->transport_config().entropies, end.node->paths().size());
    EXPECT_EQ(end.node->transport_config().paths, end.node->paths().size());
  }
}

TEST(Node, NicsThatCannotBeUsedTogetherAreRefusedInWords) {
  const auto why = [](const std::vector<const char*>& nics) {
    Texts texts;
    NodeConfig config;
    config.local = *Address::parse(nics[0], 0);
    for (std::size_t i = 1; i < nics.size(); ++i) config.more.push_back(*Address::parse(nics[i], 0));
    const auto node = Node::open(config, texts, texts);
    return node ? "" : node.error();
  };
  EXPECT_EQ(why({"127.0.0.1", "127.0.0.2"}), "");
  EXPECT_NE(why({"127.0.0.1", "::1"}).find("one family"), std::string::npos);
  EXPECT_NE(why({"0.0.0.0", "127.0.0.1"}).find("an address each"), std::string::npos);
  EXPECT_NE(why(std::vector<const char*>(9, "127.0.0.1")).find("at most 8"), std::string::npos);
}

TEST(Node, SeveralPeersAreToldApart) {
  End hub;
  std::array<End, 3> others;
  const auto until_all = [&](const std::function<bool()>& so) {
    for (const Instant end = Node::now() + 60 * kSecond; Node::now() < end && !so();) {
      hub.node->progress();
      for (End& each : others) each.node->progress();
    }
    return so();
  };
  std::vector<std::uint32_t> peers;
  for (End& each : others) peers.push_back(hub.node->peer_at(each.node->address()));
  EXPECT_EQ((std::set<std::uint32_t>(peers.begin(), peers.end()).size()), 3u);
  // From the last to the first, so that numbers of peers and of connections differ.
  for (std::size_t i = others.size(); i-- > 0;) {
    hub.texts.send(peers[i], "to " + std::to_string(i));
    ASSERT_TRUE(until_all([&] { return others[i].texts.received.size() == 1; }));
    EXPECT_EQ(others[i].texts.received[0], "to " + std::to_string(i));
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i].texts.send(others[i].node->peer_at(hub.node->address()), "from " + std::to_string(i));
    ASSERT_TRUE(until_all([&] { return hub.texts.received.size() == i + 1; }));
    EXPECT_EQ(hub.texts.received[i], "from " + std::to_string(i));
    EXPECT_EQ(hub.texts.from[i], peers[i]);
  }
  hub.node->drop(peers[1], "no more");
  EXPECT_EQ(hub.texts.failed, std::vector<std::uint32_t>{peers[1]});
  EXPECT_TRUE(hub.node->connected(peers[0]));
  EXPECT_FALSE(hub.node->connected(peers[1]));
  EXPECT_TRUE(hub.node->connected(peers[2]));
  ASSERT_TRUE(until_all([&] { return !others[1].texts.failed.empty(); }));
  EXPECT_TRUE(others[0].texts.failed.empty() && others[2].texts.failed.empty());
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

TEST(Node, WhoWasAwayLooksForAnswersBeforeItAsksAgain) {
  End a;
  End b;
  const std::uint32_t peer = a.node->peer_at(b.node->address());
  a.texts.send(peer, "one");
  ASSERT_TRUE(until(a, b, [&] { return !a.texts.acknowledged.empty(); }));
  const std::uint64_t before = a.node->srd_counters().data_resent;
  for (std::size_t i = 2; i < 12; ++i) {
    a.texts.send(peer, "more");
    a.node->push();
    while (b.texts.received.size() < i) b.node->progress();
    b.node->push();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // for longer than SRD waits for an answer
    a.node->progress();
    EXPECT_EQ(a.texts.acknowledged.size(), i);
  }
  EXPECT_EQ(a.node->srd_counters().data_resent, before);
}

// Of many endpoints that all know each other each pair asks: the clock of one is ahead, and says when.
TEST(Node, AQuietPeerIsAskedAfterThreeSecondsAndThenTwiceEach) {
  End a;
  End b;
  const std::uint32_t peer = a.node->peer_at(b.node->address());
  a.texts.send(peer, "one");
  ASSERT_TRUE(until(a, b, [&] { return !a.texts.acknowledged.empty(); }));
  // Until both have heard the last word of the other.
  const auto taken = [&] { return a.node->counters().datagrams_in + b.node->counters().datagrams_in; };
  for (std::uint64_t before = taken() + 1; before != taken();) {
    before = taken();
    for (int i = 0; i < 10; ++i) {
      a.node->progress();
      b.node->progress();
    }
  }
  const Instant began = Node::now();
  const auto asked_at = [&](Instant when) {
    const std::uint64_t before = a.node->counters().datagrams_out;
    a.node->progress(began + when);
    return a.node->counters().datagrams_out - before;
  };
  EXPECT_EQ(asked_at(2500 * kMillisecond), 0u);
  EXPECT_EQ(asked_at(3100 * kMillisecond), 1u);
  EXPECT_EQ(asked_at(3500 * kMillisecond), 0u);
  EXPECT_EQ(asked_at(3700 * kMillisecond), 1u);
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
  const auto datagrams = [&] { return a.node->counters().datagrams_out + b.node->counters().datagrams_out; };
  const auto acks = [&] { return a.node->srd_counters().acks_sent + b.node->srd_counters().acks_sent; };
  constexpr std::uint64_t kMessages = 40;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t least_datagrams = 0;
  std::uint64_t acknowledged = 0;
  for (int i = 0; i < 50 && least > kMessages; ++i) {
    bounce(a, b, to_b, to_a, 10);
    const std::uint64_t before = sent();
    const std::uint64_t datagrams_before = datagrams();
    const std::uint64_t acks_before = acks();
    bounce(a, b, to_b, to_a, kMessages / 2);
    if (sent() - before >= least) continue;
    least = sent() - before;
    least_datagrams = datagrams() - datagrams_before;
    acknowledged = acks() - acks_before;
  }
  EXPECT_LE(least, kMessages + kMessages / 4) << "twice as many without";
  EXPECT_EQ(least_datagrams, least) << "an acknowledgement and data are one datagram";
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
