// Two endpoints of this host. What one says to the other goes by memory that both map, or by UDP where they may not.

#include "endpoint/wire.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace weft::endpoint {
namespace {

using transport::rdm::Completion;
using transport::rdm::Error;

std::unique_ptr<Wire> open_wire(Sharing sharing = Sharing::direct) {
  transport::rdm::RdmConfig config;
  config.seed = 7;
  auto wire = Wire::open({.local = *net::Address::parse("127.0.0.1", 0)}, config, sharing);
  EXPECT_TRUE(wire.has_value());
  return std::move(*wire);
}

struct Pair {
  explicit Pair(Sharing sharing = Sharing::direct) : a(open_wire(sharing)), b(open_wire(sharing)) {
    to_b = a->peer_at(b->address());
    to_a = b->peer_at(a->address());
  }
  template <class Condition>
  bool until(Condition condition) {
    const transport::Instant end = net::Node::now() + 20 * net::kSecond;
    while (!condition() && net::Node::now() < end) {
      a->progress();
      b->progress();
    }
    return condition();
  }
  std::unique_ptr<Wire> a, b;
  std::uint32_t to_b = 0, to_a = 0;
};

void exchange(Pair& pair, std::size_t size) {
  std::string out(size, 0);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 7 + i / 251 + size);
  std::string in(size, '.');
  pair.b->rdm().receive({.tagged = true, .tag = 5, .to = place_of(in.data()), .bytes = size, .context = 1});
  ASSERT_TRUE(pair.a->rdm().send(
      {.peer = pair.to_b, .tagged = true, .tag = 5, .from = place_of(out.data()), .bytes = size, .context = 2}));
  ASSERT_TRUE(pair.until([&] { return !pair.b->rdm().completions().empty() && !pair.a->rdm().completions().empty(); }));
  EXPECT_EQ(pair.b->rdm().completions().front().error, Error::none);
  EXPECT_EQ(pair.b->rdm().completions().front().bytes, size);
  pair.a->rdm().completions().clear();
  pair.b->rdm().completions().clear();
  EXPECT_EQ(in, out);
}

TEST(Wire, PeersOfOneHostShareMemory) {
  Pair pair;
  for (const std::size_t size : {0u, 8u, 1500u, 8192u, 16000u, 100000u, 3000000u}) exchange(pair, size);
  EXPECT_EQ(pair.a->node().counters().datagrams_out, 0u);
  EXPECT_EQ(pair.b->node().counters().datagrams_out, 0u);
  EXPECT_GT(pair.a->shared_counters().bytes_out, 3000000u);
  EXPECT_EQ(pair.a->shared_counters().bytes_out, pair.b->shared_counters().bytes_in);
}

TEST(Wire, WhereMemoryOfOthersMayNotBeReadLongMessagesComeInParts) {
  Pair pair(Sharing::copied);
  for (const std::size_t size : {8u, 8193u, 100000u, 3000000u}) exchange(pair, size);
  EXPECT_EQ(pair.b->shared_counters().direct, 0u);
  EXPECT_GT(pair.b->shared_counters().bytes_in, 3000000u);
  EXPECT_EQ(pair.a->node().counters().datagrams_out, 0u);
}

TEST(Wire, WithoutSharedMemoryPeersOfOneHostUseUdp) {
  Pair pair(Sharing::none);
  exchange(pair, 100000);
  EXPECT_GT(pair.a->node().counters().bytes_out, 100000u);
  EXPECT_EQ(pair.a->shared_counters().bytes_out, 0u);
}

// Sockets are looked at seldom while memory is all that is used, and yet soon enough for who comes by them.
TEST(Wire, WhoShareMemoryHearOthersByUdp) {
  Pair pair;
  exchange(pair, 8);
  const transport::Instant silent = net::Node::now() + 5 * net::kMillisecond;
  pair.until([&] { return net::Node::now() > silent; });
  EXPECT_EQ(pair.b->node().counters().datagrams_in, 0u);
  const auto stranger = open_wire(Sharing::none);
  const std::uint32_t to_b = stranger->peer_at(pair.b->address());
  for (int i = 0; i < 3; ++i) {
    char byte = 0;
    pair.b->rdm().receive({.tagged = true, .tag = 6, .to = place_of(&byte), .bytes = 1, .context = 1});
    ASSERT_TRUE(stranger->rdm().send(
        {.peer = to_b, .tagged = true, .tag = 6, .from = place_of("x"), .bytes = 1, .inject = true, .quiet = true}));
    ASSERT_TRUE(pair.until([&] {
      stranger->progress();
      return byte == 'x';
    })) << i;
    pair.b->rdm().completions().clear();
    exchange(pair, 100);  // and memory is heard beside it
  }
  EXPECT_GT(pair.b->node().counters().datagrams_in, 0u);
}

TEST(Wire, ManyMessagesThatFillTheRingArriveInOrder) {
  Pair pair;
  constexpr std::uint64_t kMessages = 3000;
  std::vector<std::uint64_t> in(kMessages);
  std::uint64_t posted = 0;
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  ASSERT_TRUE(pair.until([&] {
    // The sender runs ahead of the receiver, who takes a few at a time.
    while (sent < kMessages && pair.a->rdm().send({.peer = pair.to_b,
                                                   .tagged = true,
                                                   .tag = 1,
                                                   .from = place_of(&sent),
                                                   .bytes = 8,
                                                   .inject = true,
                                                   .quiet = true}))
      ++sent;
    for (int i = 0; i < 3 && posted < kMessages; ++i, ++posted)
      pair.b->rdm().receive({.tagged = true, .tag = 1, .to = place_of(&in[posted]), .bytes = 8, .context = posted});
    got += pair.b->rdm().completions().size();
    pair.b->rdm().completions().clear();
    return got == kMessages;
  }));
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(in[i], i);
}

TEST(Wire, SleepsUntilSomethingComes) {
  Pair pair;
  exchange(pair, 8);
  pair.b->progress();
  ASSERT_TRUE(pair.b->rest());
  const transport::Instant before = net::Node::now();
  char byte = 0;
  pair.b->rdm().receive({.tagged = true, .tag = 5, .to = place_of(&byte), .bytes = 1, .context = 1});
  pair.a->rdm().send(
      {.peer = pair.to_b, .tagged = true, .tag = 5, .from = place_of("x"), .bytes = 1, .inject = true, .quiet = true});
  pair.a->progress();
  pair.b->wait(net::Node::now() + 20 * net::kSecond);
  EXPECT_LT(net::Node::now() - before, 10 * net::kSecond);
  ASSERT_TRUE(pair.until([&] { return byte == 'x'; }));
}

TEST(Wire, WhatWasSentBeforeTheEndStillArrives) {
  Pair pair;
  exchange(pair, 8);
  pair.a->rdm().send({.peer = pair.to_b,
                      .tagged = true,
                      .tag = 9,
                      .from = place_of("last"),
                      .bytes = 4,
                      .inject = true,
                      .quiet = true});
  pair.a->progress();
  const auto begun = pair.b->lost(pair.to_a);
  pair.a.reset();
  std::string in(4, '.');
  pair.b->rdm().receive({.tagged = true, .tag = 9, .to = place_of(in.data()), .bytes = 4, .context = 1});
  const transport::Instant end = net::Node::now() + 20 * net::kSecond;
  while (pair.b->lost(pair.to_a) == begun && net::Node::now() < end) pair.b->progress();
  EXPECT_EQ(pair.b->lost(pair.to_a), begun + 1);
  EXPECT_EQ(in, "last");
}

TEST(Wire, AProcessThatIsKilledIsMissedAtOnce) {
  const auto wire = open_wire();
  const net::Address address = wire->address();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto other = open_wire();
    other->rdm().send({.peer = other->peer_at(address),
                       .tagged = true,
                       .tag = 1,
                       .from = place_of("x"),
                       .bytes = 1,
                       .inject = true,
                       .quiet = true});
    while (true) other->progress();
  }
  char byte = 0;
  wire->rdm().receive({.tagged = true, .tag = 1, .to = place_of(&byte), .bytes = 1, .context = 1});
  transport::Instant end = net::Node::now() + 20 * net::kSecond;
  while (wire->rdm().completions().empty() && net::Node::now() < end) wire->progress();
  ASSERT_EQ(byte, 'x');
  const std::uint32_t peer = wire->rdm().completions().front().peer;
  wire->rdm().completions().clear();
  // Longer than what is copied: it has to be fetched from our memory, and nobody does.
  const std::string out(16000, 'o');
  kill(child, SIGSTOP);
  wire->rdm().send(
      {.peer = peer, .tagged = true, .tag = 2, .from = place_of(out.data()), .bytes = out.size(), .context = 3});
  for (int i = 0; i < 100; ++i) wire->progress();
  ASSERT_TRUE(wire->rdm().completions().empty());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const transport::Instant killed = net::Node::now();
  end = killed + 20 * net::kSecond;
  while (wire->rdm().completions().empty() && net::Node::now() < end) wire->progress();
  ASSERT_FALSE(wire->rdm().completions().empty());
  EXPECT_EQ(wire->rdm().completions().front().error, Error::peer_lost);
  EXPECT_LT(net::Node::now() - killed, 4 * net::kSecond);  // half of what silence would take
  EXPECT_EQ(wire->why_lost(peer), "its process has ended");
}

// Somebody who knows the socket's name, but not what to say.
TEST(Wire, WhatNobodyWouldWriteEndsTheLinkAndNothingElse) {
  Pair pair;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = "weft/" + pair.b->address().text();
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  for (const std::string& said : {std::string(), std::string("hello"), std::string(56, '\x31')}) {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&name), length), 0);
    if (!said.empty()) {
      ASSERT_GT(send(fd, said.data(), said.size(), MSG_NOSIGNAL), 0);
    }
    if (said.empty()) close(fd);
    for (int i = 0; i < 2000; ++i) pair.b->progress();
    if (!said.empty()) close(fd);
  }
  exchange(pair, 1000);
}

}  // namespace
}  // namespace weft::endpoint
