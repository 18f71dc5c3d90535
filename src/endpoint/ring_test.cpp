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
    both.reader.consume(bytes);
  }
}

TEST(Ring, IsFullUntilSomethingWasTaken) {
  Both both;
  ASSERT_NE(both.writer.room(kRingBytes), nullptr);
  both.writer.produce(kRingBytes);
  EXPECT_EQ(both.writer.room(8), nullptr);
  EXPECT_EQ(both.reader.available(), kRingBytes);
  both.reader.consume(16);
  EXPECT_NE(both.writer.room(16), nullptr);
  EXPECT_EQ(both.writer.room(24), nullptr);
}

// Whatever the other side says, nobody leaves the ring.
TEST(Ring, PlacesThatCannotBeBreakIt) {
  for (const std::uint64_t said : {kRingBytes + 8, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Both both;
    both.writer.head().produced = said;
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
  both.writer.head().produced = 40;  // backwards
  EXPECT_EQ(both.reader.available(), 0u);
  EXPECT_TRUE(both.reader.broken());
}

TEST(Ring, MemoryThatCouldShrinkIsRefused) {
  const int fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, 4096 + static_cast<off_t>(kRingBytes)), 0);
  EXPECT_FALSE(Ring::map(fd).has_value());
  close(fd);
}

}  // namespace
}  // namespace weft::endpoint
