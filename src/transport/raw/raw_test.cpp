#include "transport/raw/raw.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace weft::transport {
namespace {

std::vector<Instant> times(const RawStream& stream, std::uint64_t seed) {
  Raw raw(64, seed);
  raw.start(1000, 3, stream);
  std::vector<Instant> out;
  Transmit packet;
  while (raw.next_wake(3) != kNever) {
    const Instant now = raw.next_wake(3);
    EXPECT_FALSE(raw.poll(now - 1, 3, packet));
    EXPECT_TRUE(raw.poll(now, 3, packet));
    EXPECT_EQ(packet.header.source, 3u);
    EXPECT_EQ(packet.header.destination, stream.peer);
    EXPECT_EQ(packet.wire_bytes, stream.bytes + 64);
    out.push_back(now);
  }
  EXPECT_FALSE(raw.poll(kNever - 1, 3, packet));
  EXPECT_EQ(raw.counters().sent, stream.packets);
  return out;
}

TEST(Raw, PacedPacketsKeepTheirInterval) {
  const std::vector<Instant> at = times({.peer = 5, .packets = 100, .bytes = 1000, .interval = Duration(333)}, 1);
  ASSERT_EQ(at.size(), 100u);
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_EQ(at[i], 1000 + 333 * static_cast<Instant>(i));
}

TEST(Raw, PoissonGapsHaveTheMeanAndTheSpreadOfAnExponential) {
  const RawStream stream{.peer = 5, .packets = 40'000, .bytes = 1000, .interval = microseconds(1), .poisson = true};
  const std::vector<Instant> at = times(stream, 1);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const double gap = static_cast<double>(at[i] - at[i - 1]) / 1e6;
    sum += gap;
    squares += gap * gap;
  }
  const auto n = static_cast<double>(at.size() - 1);
  // Five standard errors: of a mean 1/sqrt(n), of a mean square sqrt(20/n).
  EXPECT_NEAR(sum / n, 1, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 2, 5 * std::sqrt(20 / n));
  EXPECT_EQ(at, times(stream, 1));
  EXPECT_NE(at, times(stream, 2));
}

TEST(Raw, StreamsOfAnEndpointInterleaveAndAreCounted) {
  Raw raw(64, 1);
  raw.start(0, 0, {.peer = 1, .packets = 3, .bytes = 10, .interval = Duration(100), .paths = 2});
  raw.start(50, 0, {.peer = 2, .packets = 2, .bytes = 20, .interval = Duration(100)});
  std::vector<std::uint32_t> to;
  Transmit packet;
  while (raw.next_wake(0) != kNever) {
    ASSERT_TRUE(raw.poll(raw.next_wake(0), 0, packet));
    to.push_back(packet.header.destination);
    EXPECT_LT(packet.header.path, 2);
    raw.handle(packet.header);
  }
  EXPECT_EQ(to, (std::vector<std::uint32_t>{1, 2, 1, 2, 1}));
  EXPECT_EQ(raw.counters().received, 5u);
  EXPECT_EQ(raw.counters().bytes_received, 70u);
  EXPECT_EQ(raw.next_wake(7), kNever);
}

}  // namespace
}  // namespace weft::transport
