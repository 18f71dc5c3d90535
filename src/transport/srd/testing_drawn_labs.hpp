#pragma once
// What is asked of SRD in a lab where nothing is trimmed, and labs drawn by seed: for tests of a few of them, which run
// under sanitizers, and of all of them, which take minutes there (tests/labs).

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "transport/srd/testing_lab.hpp"

namespace weft::transport::testing {

inline constexpr Instant kMillisecond = 1'000'000'000;
inline constexpr std::uint64_t kMessage = 64 << 10;
inline constexpr std::uint32_t kPeers = 48;
inline constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

// Messages of 64 KiB from one host to another, enough of them at any time to fill the network.
struct Streamed {
  double percent;  // of a rate of payload
  double resent;   // percent of what was sent
  std::uint64_t lost;
  std::uint64_t copies;
  Instant gap;       // the longest without anything new
  double share = 0;  // of the first spine, in percent of what an even one is
};

inline Streamed stream(const LabConfig& lab, const SrdConfig& srd, double rate,
                       const std::function<void(Lab&, Instant)>& prepare = {}) {
  Lab net(lab, srd);
  net.checking = false;
  const Instant end = std::max<Instant>(625 * lab.round_trip(), 50 * kMillisecond);
  const Instant begin = end / 5;
  if (prepare) prepare(net, end);
  std::uint64_t bytes = 0;
  Instant last = begin;
  Streamed out{};
  net.placed = [&](std::uint32_t to, const Header&, const Placement& placement) {
    if (to != 1 || placement.kind != Placement::Kind::place || net.now() < begin) return;
    bytes += placement.length;
    out.gap = std::max(out.gap, net.now() - last);
    last = net.now();
  };
  std::size_t open = 0;
  std::size_t told = 0;
  const auto fill = [&] {
    for (; told < net.done().size(); ++told) open -= net.done()[told].kind == Completion::Kind::sent;
    const auto wanted =
        static_cast<std::size_t>(64 + 4 * lab.capacity() * static_cast<double>(lab.round_trip()) / 8e6 / kMessage);
    for (; open < wanted; ++open) net[0].post(net.now(), 0, {Op::send, 1, kMessage, 0, 0});
  };
  net.each = fill;
  fill();
  Random naps(lab.seed, 0x9a95, 0);
  const auto run = [&](Instant until) {
    const auto part_of = [&](Instant most) { return most / 1000 * naps.below(1000); };
    while (lab.nap > 0 && net.now() < until) {
      net.run(std::min(until, net.now() + part_of(5 * lab.nap)));
      net.stopped = 0;
      net.run(std::min(until, net.now() + part_of(lab.nap)));
      net.stopped = kNobody;
    }
    net.run(until);
  };
  run(begin);
  const Counters before = net[0].counters();
  out.lost = net.lost;
  run(end);
  const Counters after = net[0].counters();
  out.percent = 100 * 8e6 * static_cast<double>(bytes) / static_cast<double>(end - begin) / rate;
  double taken = 0;
  for (const LabLink& link : net.up[0]) taken += static_cast<double>(link.taken);
  out.share = 100.0 * lab.spines * static_cast<double>(net.up[0][0].taken) / taken;
  out.copies = after.data_resent - before.data_resent;
  out.resent = 100.0 * static_cast<double>(out.copies) / static_cast<double>(after.data_sent - before.data_sent);
  out.lost = net.lost - out.lost;
  EXPECT_EQ(net[0].check_invariants(), "");
  EXPECT_EQ(net.count(Completion::Kind::failed), 0u);
  return out;
}

inline Streamed clean(const LabConfig& lab) { return stream(lab, Lab::srd_of(lab), lab.capacity()); }

// What befalls the first of the spines.
inline void lose_some(Lab& net, Instant) { net.up[0][0].loss = net.down[0][0].loss = 5; }

inline void slow_down_one(Lab& net, Instant) {
  for (auto* links : {&net.up[0], &net.up[1], &net.down[0], &net.down[1]}) (*links)[0].per_byte *= 10;
}

inline Streamed with_loss(const LabConfig& lab) { return stream(lab, Lab::srd_of(lab), lab.capacity(), lose_some); }

inline double left_of(const LabConfig& lab, double of_one) {
  return std::min((lab.spines - 1 + of_one) * lab.spine_mbps, 1.0 * lab.host_mbps) * lab.payload() / lab.mtu;
}

inline Streamed with_slow_spine(const LabConfig& lab) {
  return stream(lab, Lab::srd_of(lab), left_of(lab, 0.1), slow_down_one);
}

inline Streamed with_dead_spine(const LabConfig& lab) {
  return stream(lab, Lab::srd_of(lab), left_of(lab, 0), [](Lab& net, Instant end) {
    for (auto* links : {&net.up[0], &net.up[1], &net.down[0], &net.down[1]}) (*links)[0].dies = end * 2 / 5;
  });
}

inline Instant longest_gap(const LabConfig& lab) {
  const auto message = static_cast<Instant>(8e6 * kMessage / left_of(lab, 0));
  return 5 * kMillisecond + 3 * (lab.round_trip() + message);
}

// 48 peers that send 512 KiB each into 1 Gb/s.
struct Incast {
  double of_ideal;
  double resent;  // percent
};
inline Incast incast(LabConfig lab) {
  constexpr std::uint64_t kBytes = 512 << 10;
  lab.hosts = kPeers + 1;
  lab.receiver_mbps = 1000;
  lab.spine_mbps = std::max(lab.spine_mbps, 1100 / lab.spines + 1);
  Lab net(lab);
  net.checking = false;
  for (std::uint32_t i = 0; i < kPeers; ++i) EXPECT_TRUE(net.post(i, {Op::send, kPeers, kBytes, 0, 0}));
  net.run(60'000 * kMillisecond);
  EXPECT_EQ(net.count(Completion::Kind::sent), kPeers);
  std::uint64_t sent = 0;
  std::uint64_t resent = 0;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    EXPECT_EQ(net[i].check_invariants(), "");
    sent += net[i].counters().data_sent;
    resent += net[i].counters().data_resent;
  }
  const auto wire = static_cast<double>(kPeers * kBytes + sent * kLabHeader);
  const double ideal = wire * static_cast<double>(LabConfig::per_byte(lab.receiver_mbps));
  return {static_cast<double>(net.done_at()) / ideal, 100.0 * static_cast<double>(resent) / static_cast<double>(sent)};
}

// 50 to 1000 Mb/s for a link, 2 to 16 spines, queues of 30 kB to 1 MB, round trips of 20 us to 5 ms, on a logarithmic
// scale.
inline LabConfig drawn(std::uint32_t seed) {
  Random random(seed, 0x1ab, 0);
  const auto some = [&](std::uint64_t least, std::uint64_t most) {
    const std::uint32_t doublings = static_cast<std::uint32_t>(std::bit_width(most / least)) - 1;
    const std::uint64_t from = least << random.below(doublings + 1);
    return std::min(most, from + random.next() % from);
  };
  LabConfig lab;
  lab.seed = seed;
  lab.spine_mbps = static_cast<std::uint32_t>(some(50, 1000));
  lab.spines = 2 + random.below(15);
  lab.queue = static_cast<std::int64_t>(some(30'000, 1'000'000));
  lab.latency = static_cast<Instant>(some(20, 5000)) * 1'000'000;
  lab.mtu = seed % 2 == 0 ? 1500 : 9000;
  return lab;
}

inline LabConfig lab_of(std::uint32_t mtu) {
  LabConfig lab;
  lab.mtu = mtu;
  return lab;
}

}  // namespace weft::transport::testing
