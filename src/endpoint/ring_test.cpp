#include "endpoint/ring.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace weft::endpoint {
namespace {

struct Both {
  Both() : fd(make_ring_memory()), writer(std::move(*Ring::map(fd))), reader(std::move(*Ring::map(fd))) {}
  ~Both() { close(fd); }
  int fd;
  Ring writer;
  Ring reader;
};

TEST(Ring, BytesComeOutInOrderAroundTheEnd) {
  Both both;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    const std::size_t bytes = 8 * (1 + static_cast<std::size_t>(turn * 7919 % 1500));
    std::byte* const to = both.writer.room(bytes);
    ASSERT_NE(to, nullptr);
    for (std::size_t i = 0; i < bytes; i += 8, ++written) std::memcpy(to + i, &written, 8);
    both.writer.produce(bytes);
    ASSERT_EQ(both.reader.available(), bytes);
    for (std::size_t i = 0; i < bytes; i += 8, ++read) ASSERT_EQ(std::memcmp(both.reader.front() + i, &read, 8), 0);
    both.reader.consume();
  }
}

TEST(Ring, IsFullUntilSomethingWasTaken) {
  Both both;
  EXPECT_EQ(both.writer.room(kMostRecord + 1), nullptr);
  ASSERT_NE(both.writer.room(kMostRecord - 640), nullptr);
  both.writer.produce(16);
  ASSERT_NE(both.writer.room(kMostRecord - 640), nullptr);
  both.writer.produce(kMostRecord - 640);
  ASSERT_NE(both.writer.room(568), nullptr);
  EXPECT_EQ(both.writer.room(569), nullptr);
  EXPECT_EQ(both.reader.available(), 16u);
  both.reader.consume();
  EXPECT_NE(both.writer.room(632), nullptr);
  EXPECT_EQ(both.writer.room(633), nullptr);
  EXPECT_EQ(both.reader.available(), kMostRecord - 640);
}

// What was there a lap ago is not taken for a record, whatever it looks like.
TEST(Ring, BehindTheLastRecordThereIsNone) {
  Both both;
  constexpr std::uint64_t kLooksLikeOne = 24;
  for (int turn = 0; turn < 5000; ++turn) {
    const std::size_t bytes = 8 * (1 + static_cast<std::size_t>(turn * 7919 % 300));
    std::byte* const to = both.writer.room(bytes);
    ASSERT_NE(to, nullptr);
    for (std::size_t i = 0; i < bytes; i += 8) std::memcpy(to + i, &kLooksLikeOne, 8);
    both.writer.produce(bytes);
    ASSERT_EQ(both.reader.available(), bytes);
    both.reader.consume();
    ASSERT_EQ(both.reader.available(), 0u);
    ASSERT_FALSE(both.reader.broken());
  }
}

// Whatever the other side says, nobody leaves the ring.
TEST(Ring, WhatCannotBeBreaksIt) {
  for (const std::uint64_t said : {kRingBytes + 8, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Both both;
    ASSERT_NE(both.writer.room(8), nullptr);
    both.writer.produce(8);
    std::memcpy(const_cast<std::byte*>(both.reader.front()) - 8, &said, 8);
    EXPECT_EQ(both.reader.available(), 0u);
    EXPECT_TRUE(both.reader.broken());
    both.reader.head().consumed = said;
    EXPECT_EQ(both.writer.consumed(), 0u);
    EXPECT_TRUE(both.writer.broken());
    EXPECT_EQ(both.writer.room(8), nullptr);
  }
  Both both;
  both.writer.produce(80);
  EXPECT_EQ(both.reader.available(), 80u);
  both.reader.consume();
  EXPECT_EQ(both.writer.consumed(), 128u);
  both.reader.head().consumed = 64;  // backwards
  EXPECT_EQ(both.writer.consumed(), 128u);
  EXPECT_TRUE(both.writer.broken());
}

TEST(Ring, MemoryThatCouldShrinkIsRefused) {
  const int fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, 4096 + static_cast<off_t>(kRingBytes)), 0);
  EXPECT_FALSE(Ring::map(fd).has_value());
  close(fd);
}

}  // namespace
}  // namespace weft::endpoint
