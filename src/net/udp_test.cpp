// Datagrams over loopback, and where their bytes end up.
#include "net/udp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace weft::net {
namespace {

// Packets of one message: which one it is, then its part of the message, of which the last is shorter.
constexpr std::size_t kHead = 8;
constexpr std::size_t kFragment = 1000;
constexpr std::size_t kPackets = 40;
constexpr std::size_t kBytes = kFragment * (kPackets - 1) + 123;
constexpr std::uint64_t kForeign = 1'000'000;

class Pair {
 public:
  Pair() : out(*UdpSocket::open(here(), false)), in(*UdpSocket::open(here(), true)), message(kBytes), memory(kBytes) {
    Random random(7, 0, 0);
    for (std::byte& byte : message) byte = static_cast<std::byte>(random.below(255) + 1);
  }
  static Address here() { return *Address::parse("127.0.0.1", 0); }

  std::size_t length_of(std::size_t packet) const { return std::min(kFragment, kBytes - packet * kFragment); }

  // One behind another, as one train.
  void send(const std::vector<std::uint64_t>& packets) {
    std::vector<std::uint8_t> bytes;
    for (const std::uint64_t packet : packets) {
      const std::size_t at = bytes.size();
      const bool ours = packet < kPackets;
      bytes.resize(at + kHead + (ours ? length_of(packet) : kFragment), 0xEE);
      std::memcpy(&bytes[at], &packet, kHead);
      if (ours) std::memcpy(&bytes[at + kHead], &message[packet * kFragment], length_of(packet));
    }
    iovec part{bytes.data(), bytes.size()};
    ASSERT_EQ(out.send(in.local(), {&part, 1}, kHead + kFragment), 0);
  }
  // As a receiver of messages does: packets behind the newest are expected.
  Inbox::Expected expected() const {
    if (next >= kPackets) return {};
    return {kHead, kFragment, const_cast<std::byte*>(memory.data()) + next * kFragment, kBytes - next * kFragment,
            [this](std::span<const std::uint8_t> head, std::size_t i) {
              std::uint64_t packet = 0;
              std::memcpy(&packet, head.data(), kHead);
              return packet == next + i;
            }};
  }
  void take() {
    // What this call finds expected stays so until its end.
    std::size_t behind = next;
    const Inbox::Expected before = expected();
    inbox.take(in, before, [&](const Inbox::Datagram& datagram) {
      std::uint64_t packet = 0;
      std::memcpy(&packet, datagram.bytes.data(), kHead);
      if (packet >= kPackets) {
        ++foreign;
        EXPECT_TRUE(datagram.in_place.empty());
        EXPECT_EQ(datagram.bytes.size(), kHead + kFragment);
        EXPECT_TRUE(std::ranges::all_of(datagram.bytes.subspan(kHead), [](std::uint8_t each) { return each == 0xEE; }));
        return;
      }
      EXPECT_EQ(datagram.bytes.size() + datagram.in_place.size(), kHead + length_of(packet));
      auto* const to = memory.data() + packet * kFragment;
      if (!datagram.in_place.empty()) {
        EXPECT_EQ(static_cast<const void*>(datagram.in_place.data()), to);
        ++in_place;
      } else {
        std::memcpy(to, datagram.bytes.data() + kHead, length_of(packet));
      }
      came.insert(packet);
      behind = std::max<std::size_t>(behind, packet + 1);
    });
    next = behind;
  }

  UdpSocket out;
  UdpSocket in;
  Inbox inbox;
  std::vector<std::byte> message;
  std::vector<std::byte> memory;
  std::size_t next = 0;
  std::size_t in_place = 0;
  std::size_t foreign = 0;
  std::set<std::uint64_t> came;
};

TEST(Inbox, WhatComesAsForeseenIsInItsPlace) {
  Pair pair;
  for (std::uint64_t packet = 0; packet < kPackets; ++packet) {
    pair.send({packet});
    pair.take();
  }
  EXPECT_EQ(pair.came.size(), kPackets);
  EXPECT_EQ(pair.in_place, kPackets);
  EXPECT_TRUE(pair.memory == pair.message);
}

TEST(Inbox, SoDoTrains) {
  Pair pair;
  if (!pair.in.coalesces()) GTEST_SKIP() << "trains do not come up as one here";
  pair.send({0, 1, 2, 3});
  pair.take();  // the first says how long they are
  pair.send({4, 5, 6, 7});
  pair.take();
  EXPECT_EQ(pair.in_place, 1u + 4u);
  pair.send({8, 9});
  pair.take();
  pair.send({10, 11, 12, 13, 14});  // longer than the last
  pair.take();
  EXPECT_EQ(pair.in_place, 5u + 2u + 2u);
  EXPECT_EQ(pair.came.size(), 15u);
  EXPECT_TRUE(std::equal(pair.memory.begin(), pair.memory.begin() + 15 * kFragment, pair.message.begin()));
}

TEST(Inbox, WhatWasNotForeseenLeavesNothingBehind) {
  Pair pair;
  pair.send({kForeign});
  pair.take();
  EXPECT_EQ(pair.foreign, 1u);
  EXPECT_TRUE(std::ranges::all_of(pair.memory, [](std::byte each) { return each == std::byte{0}; }));
}

// In any order, in trains of any length, with others between: all is right in the end, and never beyond its end.
TEST(Inbox, OrderDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, 0, 0);
    Pair pair;
    std::vector<std::uint64_t> order(kPackets);
    std::iota(order.begin(), order.end(), 0);
    for (std::uint32_t i = 0; i < seed % 20; ++i)
      std::swap(order[random.below(kPackets)], order[random.below(kPackets)]);
    std::size_t foreign = 0;
    for (std::size_t sent = 0; sent < kPackets;) {
      std::vector<std::uint64_t> train;
      for (std::size_t n = 1 + random.below(6); n > 0 && sent < kPackets; --n) {
        train.push_back(order[sent++]);
        if (train.back() == kPackets - 1) break;  // is shorter, and so the last
        if (random.below(20) == 0) train.push_back(kForeign), ++foreign;
      }
      pair.send(train);
      if (random.below(3) == 0) pair.take();
    }
    for (int i = 0; i < 100 && pair.came.size() < kPackets; ++i) pair.take();
    pair.take();
    EXPECT_EQ(pair.came.size(), kPackets) << seed;
    EXPECT_TRUE(pair.memory == pair.message) << seed;
    EXPECT_EQ(pair.foreign, foreign) << seed;
  }
}

}  // namespace
}  // namespace weft::net
