// The port with computed departures beside a real one: queues, strict priority, the packet on the wire is not
// interrupted, event by event. With one class both are the same to the picosecond. With two classes the computed
// port is an approximation, and this says how far off it is.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <vector>

#include "base/exponential.hpp"
#include "base/random.hpp"
#include "sim/packet/port.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kData = 4160;
constexpr std::int64_t kHeader = 64;
constexpr std::int64_t kPerByte = 20;  // 400 Gb/s

struct Packet {
  std::int64_t ready;
  std::int64_t bytes;
  bool high;
};

Link link_of() {
  Link link;
  link.per_byte = kPerByte << 10;
  link.full_packet = kPerByte * kData;
  return link;
}

enum class Sizes : std::uint8_t { full, mixed };  // mixed: every other data packet is shorter, by any length

// Poisson arrivals; so many of a thousand packets are headers.
std::vector<Packet> traffic(std::size_t packets, std::int64_t load_percent, std::uint32_t headers, Sizes sizes,
                            std::uint64_t seed) {
  Random random(seed, 0, 0);
  const std::int64_t data = sizes == Sizes::full ? kData : (3 * kData + kHeader) / 4;
  const std::int64_t mean_bytes = (kHeader * headers + data * (1000 - headers)) / 1000;
  const std::int64_t gap = mean_bytes * kPerByte * 100 / load_percent;
  std::vector<Packet> all;
  std::int64_t now = 0;
  for (std::size_t i = 0; i < packets; ++i) {
    now += draw_exponential(random, gap);
    const bool high = random.below(1000) < headers;
    const bool shorter = sizes == Sizes::mixed && random.below(2) == 0;
    const std::int64_t bytes = shorter ? kHeader + random.below(static_cast<std::uint32_t>(kData - kHeader)) : kData;
    all.push_back({now, high ? kHeader : bytes, high});
  }
  return all;
}

// When each packet starts on a port with real queues.
std::vector<std::int64_t> exact(const std::vector<Packet>& packets, bool classes) {
  std::vector<std::int64_t> begins(packets.size());
  std::deque<std::size_t> high;
  std::deque<std::size_t> low;
  std::int64_t now = 0;
  std::size_t next = 0;
  for (std::size_t served = 0; served < packets.size(); ++served) {
    if (high.empty() && low.empty()) now = std::max(now, packets[next].ready);
    for (; next < packets.size() && packets[next].ready <= now; ++next)
      (classes && packets[next].high ? high : low).push_back(next);
    std::deque<std::size_t>& queue = high.empty() ? low : high;
    begins[queue.front()] = now;
    now += packets[queue.front()].bytes * kPerByte;
    queue.pop_front();
  }
  return begins;
}

std::vector<std::int64_t> computed(const std::vector<Packet>& packets, bool classes) {
  const Link link = link_of();
  Port port{};
  std::vector<std::int64_t> begins;
  for (const Packet& packet : packets) {
    const std::int64_t takes = link.occupancy(packet.bytes);
    begins.push_back(classes && packet.high ? book_high(port, link, packet.ready, takes)
                                            : book(port, packet.ready, takes));
  }
  return begins;
}

struct Waits {
  std::int64_t mean = 0;
  std::int64_t p99 = 0;
};

Waits waits_of(const std::vector<Packet>& packets, const std::vector<std::int64_t>& begins, bool high) {
  std::vector<std::int64_t> all;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (packets[i].high != high) continue;
    all.push_back(begins[i] - packets[i].ready);
    sum += all.back();
  }
  std::sort(all.begin(), all.end());
  const auto count = static_cast<std::int64_t>(all.size());
  return {sum / count, all[all.size() * 99 / 100]};
}

RC_GTEST_PROP(PortExact, WithOneClassItIsTheSameToThePicosecond, ()) {
  const auto load = *rc::gen::inRange<std::int64_t>(30, 96);  // percent
  const auto headers = *rc::gen::inRange<std::uint32_t>(0, 1000);
  const auto packets = traffic(2000, load, headers, Sizes::mixed, *rc::gen::arbitrary<std::uint64_t>());
  const auto begins = computed(packets, false);
  RC_ASSERT(begins == exact(packets, false));
  // First come, first served, and never idle while something waits.
  std::int64_t free = 0;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    RC_ASSERT(begins[i] == std::max(packets[i].ready, free));
    free = begins[i] + packets[i].bytes * kPerByte;
  }
}

// Per mille by which the computed value is above the real one.
std::int64_t above(std::int64_t computed_value, std::int64_t real) { return (computed_value - real) * 1000 / real; }

template <class Visit>
void for_all_loads(Sizes sizes, std::uint32_t headers, Visit visit) {
  for (const std::int64_t load : {30, 50, 70, 90, 95}) {
    const auto packets = traffic(100'000, load, headers, sizes, 1);
    visit(packets, computed(packets, true), exact(packets, true),
          ::testing::Message() << headers << " headers of 1000, load " << load << "%");
  }
}

TEST(PortExact, HeadersAmongFullPacketsWaitToThePicosecond) {
  for (const std::uint32_t headers : {100u, 500u, 900u})
    for_all_loads(Sizes::full, headers, [](const auto& packets, const auto& ours, const auto& real, const auto& where) {
      std::size_t different = 0;
      for (std::size_t i = 0; i < packets.size(); ++i) different += packets[i].high && ours[i] != real[i];
      EXPECT_EQ(different, 0u) << where;
    });
}

// Where data packets are of all lengths, the rest of the one on the wire is a guess. Measured over three seeds: the
// mean is 1 to 11 % too long, the 99th percentile less than 1 %.
TEST(PortExact, HeadersAmongPacketsOfAllLengthsWaitATenthTooLong) {
  for (const std::uint32_t headers : {100u, 500u, 900u})
    for_all_loads(Sizes::mixed, headers,
                  [](const auto& packets, const auto& ours, const auto& real, const auto& where) {
                    const Waits a = waits_of(packets, ours, true);
                    const Waits b = waits_of(packets, real, true);
                    EXPECT_GE(above(a.mean, b.mean), 0) << where;
                    EXPECT_LE(above(a.mean, b.mean), 125) << where;
                    EXPECT_LE(std::abs(above(a.p99, b.p99)), 12) << where;
                  });
}

// Data that were booked when a header comes have been told their time, so they leave up to all the headers behind them
// too early. Measured: 0.1 to 2.0 % where at most half of the packets are headers, which is more than acknowledgements
// ever are; 4 to 15 % where nine of ten are, as in the worst of an incast with trimming.
TEST(PortExact, DataWaitSlightlyTooShort) {
  for (const Sizes sizes : {Sizes::full, Sizes::mixed})
    for (const std::uint32_t headers : {100u, 500u, 900u})
      for_all_loads(sizes, headers, [&](const auto& packets, const auto& ours, const auto& real, const auto& where) {
        const Waits a = waits_of(packets, ours, false);
        const Waits b = waits_of(packets, real, false);
        const std::int64_t most = headers > 500 ? 160 : 23;
        for (const std::int64_t off : {above(a.mean, b.mean), above(a.p99, b.p99)}) {
          EXPECT_LE(off, 0) << where;
          EXPECT_GE(off, -most) << where;
        }
      });
}

}  // namespace
}  // namespace weft::sim
