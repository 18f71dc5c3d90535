#include "api/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"

namespace weft::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::uint8_t> random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed, 0, 0);
  std::vector<std::uint8_t> out(size);
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random.next());
  return out;
}

Done next(Endpoint& endpoint) {
  Done done;
  EXPECT_TRUE(endpoint.wait(done, seconds(20)));
  return done;
}

TEST(Wire, MessagesFindTheirReceivesByTag) {
  Endpoint a("127.0.0.1");
  Endpoint b("127.0.0.1");
  const auto to = a.peer(b.address());
  EXPECT_EQ(a.peer(b.address()), to);
  EXPECT_EQ(a.address_of(to), b.address());
  for (const std::size_t size : {0u, 1u, 1000u, 3'000'000u}) {
    const auto sent = random_bytes(size, size);
    std::vector<std::uint8_t> first(size);
    std::vector<std::uint8_t> second(size + 5);
    b.receive(kAnyPeer, 2, 0, second.data(), second.size(), 22);
    b.receive(kAnyPeer, 1, 0, first.data(), first.size(), 21);
    EXPECT_TRUE(a.send(to, 1, sent.data(), size, 11));
    Done done = next(b);
    EXPECT_TRUE(done.received);
    EXPECT_EQ(done.context, 21u);
    EXPECT_EQ(done.tag, 1u);
    EXPECT_EQ(done.bytes, size);
    EXPECT_EQ(done.status, Status::fine);
    EXPECT_EQ(first, sent);
    EXPECT_EQ(b.address_of(done.peer), a.address());
    done = next(a);
    EXPECT_FALSE(done.received);
    EXPECT_EQ(done.context, 11u);
    EXPECT_TRUE(a.send(to, 2, sent.data(), size, 12));
    EXPECT_EQ(next(b).context, 22u);
    EXPECT_EQ(next(a).context, 12u);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), second.begin()));
  }
}

TEST(Wire, WhatIsTooLongIsCutAndSaidSo) {
  Endpoint a("127.0.0.1");
  Endpoint b("127.0.0.1");
  std::vector<std::uint8_t> room(10);
  b.receive(kAnyPeer, 0, ~0ull, room.data(), room.size(), 1);
  const auto sent = random_bytes(100, 1);
  a.send(a.peer(b.address()), 77, sent.data(), sent.size(), 2);
  const Done done = next(b);
  EXPECT_EQ(done.status, Status::truncated);
  EXPECT_EQ(done.tag, 77u);
}

// The owner of `b` computes and calls nothing: its peer hears from it all the same, and what was asked for arrives.
TEST(Wire, AProgramThatComputesIsAlive) {
  Endpoint a("127.0.0.1");
  Endpoint b("127.0.0.1");
  const auto to = a.peer(b.address());
  const auto sent = random_bytes(2'000'000, 5);
  std::vector<std::uint8_t> room(sent.size());
  b.receive(kAnyPeer, 1, 0, room.data(), room.size(), 1);
  std::this_thread::sleep_for(milliseconds(50));
  a.send(to, 1, sent.data(), sent.size(), 2);
  EXPECT_EQ(next(a).status, Status::fine);  // b's thread did all of it
  // Longer than silence may last.
  std::this_thread::sleep_for(seconds(9));
  Done done;
  EXPECT_FALSE(a.wait(done, milliseconds(1)));
  EXPECT_EQ(a.why_lost(to), "");
  EXPECT_TRUE(b.wait(done, milliseconds(0)));
  EXPECT_EQ(room, sent);
}

TEST(Wire, WaitingTakesNoLongerThanAsked) {
  Endpoint a("127.0.0.1");
  Done done;
  EXPECT_FALSE(a.wait(done, milliseconds(0)));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(a.wait(done, milliseconds(100)));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(95));
}

TEST(Wire, WhoEndsIsLostWithAReason) {
  Endpoint a("127.0.0.1");
  auto b = std::make_unique<Endpoint>("127.0.0.1");
  const auto to = a.peer(b->address());
  std::uint8_t byte = 1;
  std::vector<std::uint8_t> room(10);
  b->receive(kAnyPeer, 1, 0, room.data(), room.size(), 1);
  a.send(to, 1, &byte, 1, 1);
  EXPECT_EQ(next(a).status, Status::fine);
  // Long, and nobody waits for it: it cannot be done when the other side ends.
  const auto sent = random_bytes(1'000'000, 1);
  a.send(to, 9, sent.data(), sent.size(), 7);
  b.reset();
  const Done done = next(a);
  EXPECT_EQ(done.status, Status::lost);
  EXPECT_EQ(done.context, 7u);
  EXPECT_EQ(a.why_lost(to), "it has ended");
}

// Who has the job's key is let in, by all NICs; who has none is told so.
TEST(Wire, AJobHasAKeyAndHostsHaveSeveralNics) {
  const std::string key = testing::TempDir() + "wire_test.key";
  std::ofstream(key) << std::string(64, 'a') << "\n";
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  Endpoint a("127.0.0.1,127.0.0.2", key);
  Endpoint b("127.0.0.1,127.0.0.3", key);
  Endpoint stranger("127.0.0.1");
  const auto sent = random_bytes(1'000'000, 1);
  std::vector<std::uint8_t> room(sent.size());
  b.receive(kAnyPeer, 1, 0, room.data(), room.size(), 1);
  EXPECT_TRUE(a.send(a.peer(b.address()), 1, sent.data(), sent.size(), 2));
  EXPECT_EQ(next(b).status, Status::fine);
  EXPECT_EQ(room, sent);
  const auto to = stranger.peer(b.address());
  stranger.send(to, 1, sent.data(), 10, 3);
  EXPECT_EQ(next(stranger).status, Status::lost);
  EXPECT_EQ(stranger.why_lost(to), "its job has a key, and it was greeted without");
  EXPECT_THROW(Endpoint("127.0.0.1", key + ".none"), std::runtime_error);
  std::filesystem::remove(key);
}

TEST(Wire, NonsenseIsRefusedInWords) {
  EXPECT_THROW(Endpoint("127.0.0.1:99999"), std::runtime_error);
  Endpoint a("127.0.0.1");
  EXPECT_THROW(a.peer("127.0.0.1"), std::runtime_error);
  EXPECT_THROW(Endpoint(a.address()), std::runtime_error);
}

}  // namespace
}  // namespace weft::wire
