#include "sim/host/host_links.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <numeric>
#include <set>

#include "sim/host/testing_hosts.hpp"

namespace weft::sim {
namespace {

using testing::Hosts;
using Ready = HostLinks::Ready;

constexpr std::uint64_t kMiB = 1 << 20;

Hosts& hgx() {
  static Hosts hosts("{kind: hgx-h100, count: 2}");
  return hosts;
}

// Two NICs; GPU 1 to 3 and 5 to 7 bounce through host memory.
Hosts& acp() {
  static Hosts hosts("{kind: acp-h100-2nic, count: 1}");
  return hosts;
}

HostRoute route(Hosts& hosts, fabric::NodeId from, fabric::NodeId to) {
  const HostRoute* found = hosts.routes.find(from, to);
  return found == nullptr ? HostRoute{} : *found;
}

HostRoute one_leg(std::vector<std::uint32_t> links) {
  HostRoute path;
  path.leg_end[0] = static_cast<std::uint32_t>(links.size());
  path.legs = 1;
  path.links = std::move(links);
  return path;
}

Bandwidth slowest(const Hosts& hosts, std::span<const std::uint32_t> links) {
  Bandwidth rate(INT64_MAX);
  for (const std::uint32_t link : links) rate = std::min(rate, hosts.routes.links(0)[link].rate);
  return rate;
}

std::int64_t time_at(std::uint64_t bytes, Bandwidth rate) {
  return transfer_time(Bytes(static_cast<std::int64_t>(bytes)), rate).count();
}

// Everything that becomes ready, event by event.
std::vector<Ready> drain(HostLinks& links, std::uint32_t domain = 0) {
  std::vector<Ready> all;
  for (std::int64_t next = links.next_event(domain); next != HostLinks::kNever; next = links.next_event(domain))
    links.advance(next, domain, all);
  return all;
}

std::map<std::uint64_t, std::int64_t> ends(const std::vector<Ready>& all) {
  std::map<std::uint64_t, std::int64_t> times;
  for (const Ready& ready : all)
    if (ready.done) times[ready.context] = ready.time;
  return times;
}

// ---- alone

RC_GTEST_PROP(HostLinks, ATransferAloneTakesItsSlowestLinkAndItsLatencies, ()) {
  static Hosts nvl72("{kind: gb200-nvl72, count: 18}");
  static Hosts torus("{kind: trn1.32xlarge, count: 1}");
  static Hosts pcie("{kind: h100-pcie-8, count: 1}");
  Hosts& hosts = **rc::gen::element(&hgx(), &nvl72, &torus, &pcie);
  const std::uint32_t gpus = hosts.fabric.count(fabric::NodeKind::gpu) / hosts.routes.domains();
  const auto a = *rc::gen::inRange(0u, gpus);
  const auto b = *rc::gen::inRange(0u, gpus);
  const HostRoute path =
      *rc::gen::arbitrary<bool>() ? route(hosts, hosts.gpu(a), hosts.gpu(b)) : route(hosts, hosts.nic(0), hosts.gpu(0));
  RC_PRE(path.legs == 1);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 40);
  const auto start = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
  HostLinks links(hosts.routes);
  links.start(start, 0, path, bytes, 7);
  const std::int64_t end = start + time_at(bytes, slowest(hosts, path.links)) + path.latency.count();
  RC_ASSERT(drain(links) == (std::vector<Ready>{{end, 7, bytes, true}}));
}

TEST(HostLinks, ToItselfTakesNoTime) {
  HostLinks links(hgx().routes);
  links.start(5, 0, route(hgx(), hgx().gpu(2), hgx().gpu(2)), 1000, 1);
  EXPECT_EQ(drain(links), (std::vector<Ready>{{5, 1, 1000, true}}));
}

TEST(HostLinks, EachServerHasRatesOfItsOwn) {
  Hosts two("[{kind: hgx-h100, count: 1}, {kind: hgx-a100, count: 1}]");
  const HostRoute path = route(two, two.gpu(8), two.gpu(9));
  Bandwidth rate(INT64_MAX);
  for (const std::uint32_t link : path.links) rate = std::min(rate, two.routes.links(1)[link].rate);
  ASSERT_NE(rate, slowest(two, path.links)) << "which are the first server's";
  HostLinks links(two.routes);
  links.start(0, 1, path, kMiB, 7);
  EXPECT_EQ(drain(links, 1), (std::vector<Ready>{{time_at(kMiB, rate) + path.latency.count(), 7, kMiB, true}}));
}

TEST(HostLinks, WhatIsEmptyWaitsForItsTurnAndEnds) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().gpu(1));
  HostLinks links(hgx().routes);
  const auto first = links.start(0, 0, path, kMiB, 1);
  links.start(0, 0, path, 0, 2, first);
  const auto times = ends(drain(links));
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GE(times.at(2), times.at(1));
}

//   GPU 1 --> CPU 0 | CPU 0 --> NIC 0
// Both passes at the rate of PCIe: chunk by chunk, so one chunk more than a transfer that is direct.
TEST(HostLinks, ABounceThroughHostMemoryCostsOneMoreChunk) {
  const HostRoute bounce = route(acp(), acp().gpu(1), acp().nic(0));
  const HostRoute direct = route(acp(), acp().gpu(0), acp().nic(0));
  ASSERT_EQ(bounce.legs, 2u);
  const Bandwidth pcie = slowest(acp(), bounce.links);
  EXPECT_EQ(pcie, slowest(acp(), direct.links));
  constexpr std::uint64_t kChunks = 64;
  HostLinks links(acp().routes);
  links.start(0, 0, bounce, kChunks * HostLinks::kChunk, 1);
  const std::int64_t in_memory = time_at(kChunks * HostLinks::kChunk, pcie);
  EXPECT_EQ(drain(links)[0].time, bounce.latency.count() + in_memory + time_at(HostLinks::kChunk, pcie));
}

// What fits one chunk is copied twice, one after the other: half the rate.
TEST(HostLinks, ABounceHalvesTheRateOfWhatFitsOneChunk) {
  const HostRoute bounce = route(acp(), acp().gpu(1), acp().nic(0));
  HostLinks links(acp().routes);
  links.start(0, 0, bounce, 100'000, 1);
  EXPECT_EQ(drain(links)[0].time, bounce.latency.count() + 2 * time_at(100'000, slowest(acp(), bounce.links)));
}

// Two GPUs' copies into host memory are on links of their own; the way down to the NIC is shared.
TEST(HostLinks, TwoBouncesMeetOnTheWayToTheNic) {
  HostLinks links(acp().routes);
  const HostRoute bounce = route(acp(), acp().gpu(1), acp().nic(0));
  links.start(0, 0, bounce, 64 * kMiB, 1);
  links.start(0, 0, route(acp(), acp().gpu(2), acp().nic(0)), 64 * kMiB, 2);
  const Bandwidth pcie = slowest(acp(), bounce.links);
  const std::int64_t both = bounce.latency.count() + time_at(HostLinks::kChunk, pcie) + time_at(128 * kMiB, pcie);
  for (const auto& [context, end] : ends(drain(links))) EXPECT_LE(std::abs(end - both), 2) << context;
}

//   GPU 1 ==450 GB/s==> GPU 6 --63 GB/s--> NIC 6: from the first chunk on, PCIe is never idle.
TEST(HostLinks, ARelayIsAsFastAsItsSlowestLegAfterTheFirstChunk) {
  const HostRoute relay = route(hgx(), hgx().gpu(1), hgx().nic(6));
  ASSERT_EQ(relay.legs, 2u);
  const Bandwidth nvlink = slowest(hgx(), relay.leg(0));
  const Bandwidth pcie = slowest(hgx(), relay.leg(1));
  EXPECT_EQ(nvlink.count(), 3'600'000'000'000);
  HostLinks links(hgx().routes);
  links.start(0, 0, relay, 1000 * kMiB + 1, 1);
  EXPECT_EQ(drain(links)[0].time,
            relay.latency.count() + time_at(HostLinks::kChunk, nvlink) + time_at(1000 * kMiB + 1, pcie));
}

TEST(HostLinks, ARelayThatBouncesPaysAChunkAtEachRest) {
  Hosts hosts("{kind: hgx-h100, count: 1, gpus: 2, nics: 2, pcie_switches: 4, gpu_switch: [0, 2], nic_switch: [1, 3]}");
  const HostRoute path = route(hosts, hosts.gpu(0), hosts.nic(1));
  ASSERT_EQ(path.legs, 3u);
  const Bandwidth pcie = slowest(hosts, path.leg(2));
  HostLinks links(hosts.routes);
  links.start(0, 0, path, 100 * HostLinks::kChunk, 1);
  const std::int64_t first = time_at(HostLinks::kChunk, slowest(hosts, path.leg(0)));
  const std::int64_t in_memory = first + time_at(100 * HostLinks::kChunk, pcie);
  EXPECT_EQ(drain(links)[0].time, path.latency.count() + in_memory + time_at(HostLinks::kChunk, pcie));
}

// Down to a single byte.
TEST(HostLinks, SmallerChunksRestShorter) {
  const HostRoute relay = route(hgx(), hgx().gpu(1), hgx().nic(6));
  for (const std::uint64_t chunk : {4096u, 1u}) {
    HostLinks links(hgx().routes, chunk);
    links.start(0, 0, relay, 100'000, 1);
    EXPECT_EQ(drain(links)[0].time, relay.latency.count() + time_at(chunk, slowest(hgx(), relay.leg(0))) +
                                        time_at(100'000, slowest(hgx(), relay.leg(1))));
  }
}

// ---- a NIC sends what has arrived

TEST(HostLinks, ANicMaySendWhatHasArrived) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  const Bandwidth pcie = slowest(hgx(), path.links);
  HostLinks links(hgx().routes);
  const auto id = links.start(0, 0, path, kMiB, 1);
  const std::int64_t first = path.latency.count();
  EXPECT_EQ(links.ready(first, id), 0u);
  EXPECT_EQ(links.ready(first + time_at(4096, pcie) - 1, id), 4095u);
  EXPECT_EQ(links.ready(first + time_at(4096, pcie), id), 4096u);
  EXPECT_EQ(links.ready(first + time_at(kMiB, pcie), id), kMiB);
  std::vector<Ready> all;
  links.advance(first + time_at(kMiB, pcie), 0, all);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(links.ready(first + time_at(kMiB, pcie), id), std::nullopt);
}

// It is woken when the bytes it waits for are there, to the picosecond, also when others join.
TEST(HostLinks, ANicIsWokenForTheBytesItWaitsFor) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  const Bandwidth pcie = slowest(hgx(), path.links);
  HostLinks links(hgx().routes);
  const auto id = links.start(0, 0, path, kMiB, 1);
  links.wake_at(0, id, 4096);
  const std::int64_t first = path.latency.count();
  EXPECT_EQ(links.next_event(0), first) << "the first byte moves then";
  std::vector<Ready> all;
  links.advance(first, 0, all);
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(links.next_event(0), first + time_at(4096, pcie));
  links.start(0, 0, path, kMiB, 2);  // late: from `first` on it counts from then
  all = drain(links);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], (Ready{first + time_at(4096, pcie), 1, 4096, false}));
}

TEST(HostLinks, AWakeForWhatIsThereComesAtOnceAndCanBeTakenBack) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  const std::int64_t later = path.latency.count() + time_at(8192, slowest(hgx(), path.links));
  HostLinks links(hgx().routes);
  const auto id = links.start(0, 0, path, kMiB, 1);
  links.wake_at(later, id, 4096);
  EXPECT_EQ(links.next_event(0), later);
  std::vector<Ready> all;
  links.advance(later, 0, all);
  EXPECT_EQ(all, (std::vector<Ready>{{later, 1, 4096, false}}));
  links.wake_at(later, id, 500'000);
  links.wake_at(later, id, 0);
  all = drain(links);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].done);
}

TEST(HostLinks, NothingIsReportedAfterTheEnd) {
  HostLinks links(hgx().routes);
  const auto id = links.start(0, 0, route(hgx(), hgx().gpu(0), hgx().nic(0)), kMiB, 1);
  links.wake_at(1'000'000'000, id, 4096);  // long after its end, of which nobody has asked yet
  const auto all = drain(links);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].done);
}

// Also while nothing comes: here a slow NVLink fills the next chunk.
TEST(HostLinks, AWakeForWhatIsThereComesAtOnceBetweenChunks) {
  Hosts hosts("{kind: hgx-h100, count: 1, scale_up: {link: {kind: nvlink4, both_ways: 20GB/s}, switches: 1}}");
  const HostRoute relay = route(hosts, hosts.gpu(1), hosts.nic(6));
  HostLinks links(hosts.routes);
  const auto id = links.start(0, 0, relay, kMiB, 1);
  const std::int64_t gap = relay.latency.count() + 3 * time_at(HostLinks::kChunk, slowest(hosts, relay.leg(0))) / 2;
  EXPECT_EQ(links.rate(gap, id), 0);
  links.wake_at(gap, id, 4096);
  EXPECT_EQ(links.next_event(0), gap);
  std::vector<Ready> all;
  links.advance(gap, 0, all);
  EXPECT_EQ(all, (std::vector<Ready>{{gap, 1, 4096, false}}));
  EXPECT_EQ(drain(links).size(), 1u);
}

// At a relay a whole chunk has to be there first.
TEST(HostLinks, NothingPassesARelayBeforeItsChunkIsWhole) {
  const HostRoute relay = route(hgx(), hgx().gpu(1), hgx().nic(6));
  HostLinks links(hgx().routes);
  const auto id = links.start(0, 0, relay, 10 * kMiB, 1);
  const std::int64_t chunk = relay.latency.count() + time_at(HostLinks::kChunk, slowest(hgx(), relay.leg(0)));
  EXPECT_EQ(links.ready(chunk, id), 0u);
  const std::int64_t packet = time_at(4096, slowest(hgx(), relay.leg(1)));
  EXPECT_EQ(links.ready(chunk + packet, id), 4096u);
}

// ---- sharing

RC_GTEST_PROP(HostLinks, EqualTransfersOnOneLinkTakeAsManyTimesAsLong, ()) {
  // Up to ten divide a rate without a rest.
  const auto n = *rc::gen::inRange(1u, 11u);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 34);
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  HostLinks links(hgx().routes);
  for (std::uint32_t i = 0; i < n; ++i) links.start(0, 0, path, bytes, i);
  const auto all = drain(links);
  RC_ASSERT(all.size() == n);
  for (const Ready& ready : all)
    RC_ASSERT(ready.time == path.latency.count() + time_at(n * bytes, slowest(hgx(), path.links)));
}

//   GPU 0, GPU 1 --> SW 0 --> RC 0 --> CPU 0 |--> NIC 1, NIC 2     no NVLink, Gen5 x16 everywhere
TEST(HostLinks, TwoGpusShareTheUplinkOfTheirPcieSwitch) {
  Hosts hosts("{kind: h100-pcie-8, count: 1}");
  const HostRoute a = route(hosts, hosts.gpu(0), hosts.nic(1));
  const HostRoute b = route(hosts, hosts.gpu(1), hosts.nic(2));
  HostLinks links(hosts.routes);
  // NIC 2 is on the other socket, a longer way; the first bytes meet at the same time.
  links.start(0, 0, b, 64 * HostLinks::kChunk, 2);
  links.start((b.latency - a.latency).count(), 0, a, 64 * HostLinks::kChunk, 1);
  // Up at half the rate each; down, each on links of its own, the last chunk at the whole.
  const Bandwidth pcie = slowest(hosts, a.links);
  const std::int64_t both =
      b.latency.count() + time_at(128 * HostLinks::kChunk, pcie) + time_at(HostLinks::kChunk, pcie);
  for (const auto& [context, end] : ends(drain(links))) EXPECT_EQ(end, both) << context;
}

// Two GPUs and one NIC on a switch: the NIC's slot is what they share.
TEST(HostLinks, TwoGpusShareTheSlotOfTheirNic) {
  Hosts hosts("{kind: acp-h100-4nic-4sw, count: 1}");
  const HostRoute a = route(hosts, hosts.gpu(0), hosts.nic(0));
  const HostRoute b = route(hosts, hosts.gpu(1), hosts.nic(0));
  HostLinks links(hosts.routes);
  const auto first = links.start(0, 0, a, 100 * kMiB, 1);
  const auto second = links.start(0, 0, b, 100 * kMiB, 2);
  const std::int64_t soon = a.latency.count() + 1;
  EXPECT_EQ(links.rate(soon, first), 252'060'000'000);  // half of 504.12 Gb/s
  EXPECT_EQ(links.rate(soon, second), 252'060'000'000);
  // The other direction is another link.
  const auto back = links.start(soon, 0, route(hosts, hosts.nic(0), hosts.gpu(0)), kMiB, 3);
  EXPECT_EQ(links.rate(soon + a.latency.count() + 1, back), 504'120'000'000);
}

TEST(HostLinks, EightGpusSendToTheirNicsWithoutDisturbingOneAnother) {
  HostLinks links(hgx().routes);
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  for (std::uint32_t i = 0; i < 8; ++i) links.start(0, 0, route(hgx(), hgx().gpu(i), hgx().nic(i)), 10 * kMiB, i);
  for (const Ready& ready : drain(links))
    EXPECT_EQ(ready.time, path.latency.count() + time_at(10 * kMiB, slowest(hgx(), path.links)));
}

// 71 GPUs send to one: its links into the domain are the bottleneck, 900 GB/s for all together.
TEST(HostLinks, AnIncastInAnNvl72SharesTheReceiversLinks) {
  Hosts hosts("{kind: gb200-nvl72, count: 18}");
  HostLinks links(hosts.routes);
  for (std::uint32_t i = 1; i < 72; ++i) links.start(0, 0, route(hosts, hosts.gpu(i), hosts.gpu(0)), kMiB, i);
  const std::int64_t together = time_at(71 * kMiB, Bandwidth(7'200'000'000'000));
  const std::int64_t latency = route(hosts, hosts.gpu(1), hosts.gpu(0)).latency.count();
  const auto all = drain(links);
  ASSERT_EQ(all.size(), 71u);
  for (const Ready& ready : all) {
    EXPECT_GE(ready.time, latency + together);
    EXPECT_LE(ready.time, latency + together + 1);
  }
}

// One that leaves makes room: 100 MiB and 200 MiB together take as long as 300 MiB.
TEST(HostLinks, WhatIsLeftSpeedsUpWhenOthersAreDone) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  const Bandwidth pcie = slowest(hgx(), path.links);
  HostLinks links(hgx().routes);
  links.start(0, 0, path, 100 * kMiB, 1);
  links.start(0, 0, path, 200 * kMiB, 2);
  const auto end = ends(drain(links));
  EXPECT_EQ(end.at(1), path.latency.count() + time_at(200 * kMiB, pcie));
  const std::int64_t both = path.latency.count() + time_at(300 * kMiB, pcie);
  EXPECT_LE(std::abs(end.at(2) - both), 1);
}

// Each start and end changes the rate of all that are there. That must not cost as many steps as there are: eight times
// as many would then take 64 times as long.
TEST(HostLinks, WhatATransferCostsDoesNotGrowWithHowManyThereAre) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  const auto seconds = [&](std::uint32_t transfers) {
    const std::clock_t begin = std::clock();
    HostLinks links(hgx().routes);
    for (std::uint32_t i = 0; i < transfers; ++i) links.start(1000 * i, 0, path, kMiB + i, i);
    EXPECT_EQ(drain(links).size(), transfers);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double few = seconds(2000);
  EXPECT_LT(seconds(16'000), 24 * few);
}

// The second has paid its latency while it waited; a third does not wait for them.
TEST(HostLinks, AFollowerBeginsWhenTheOneBeforeIsDone) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  const Bandwidth pcie = slowest(hgx(), path.links);
  const std::int64_t latency = path.latency.count();
  HostLinks links(hgx().routes);
  const auto first = links.start(0, 0, path, kMiB, 1);
  const auto second = links.start(0, 0, path, kMiB, 2, first);
  links.start(0, 0, route(hgx(), hgx().gpu(1), hgx().nic(1)), kMiB, 3);
  links.wake_at(0, second, 1000);
  const std::vector<Ready> all = drain(links);
  EXPECT_EQ(ends(all).at(1), latency + time_at(kMiB, pcie));
  EXPECT_EQ(ends(all).at(3), latency + time_at(kMiB, pcie));
  EXPECT_EQ(ends(all).at(2), latency + 2 * time_at(kMiB, pcie));
  EXPECT_EQ(all[2], (Ready{latency + time_at(kMiB, pcie) + time_at(1000, pcie), 2, 1000, false}));
  // Behind one that is gone, or one that asked long after it was done, nobody waits.
  const std::int64_t now = ends(all).at(2);
  links.start(now, 0, path, kMiB, 4, second);
  EXPECT_EQ(ends(drain(links)).at(4), now + latency + time_at(kMiB, pcie));
}

// GPU to host memory, host memory to NIC: while the first is on its second leg, the next is on its first.
TEST(HostLinks, FollowersPassThroughHostMemoryWithoutAGap) {
  const HostRoute bounce = route(acp(), acp().gpu(1), acp().nic(0));
  constexpr std::uint64_t kChunks = 8;
  const auto last_of = [&](std::uint32_t transfers, std::uint64_t chunks) {
    HostLinks links(acp().routes);
    std::optional<HostLinks::TransferId> before;
    for (std::uint32_t i = 0; i < transfers; ++i)
      before = links.start(0, 0, bounce, chunks * HostLinks::kChunk, i, before);
    return ends(drain(links)).at(transfers - 1);
  };
  EXPECT_NEAR(static_cast<double>(last_of(4, kChunks)) / static_cast<double>(last_of(1, 4 * kChunks)), 1, 1e-6);
}

TEST(HostLinks, DomainsDoNotDisturbOneAnother) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  HostLinks links(hgx().routes);
  links.start(0, 0, path, kMiB, 1);
  links.start(0, 1, path, kMiB, 2);
  const auto first = drain(links, 0);
  const auto second = drain(links, 1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].context, 1u);
  EXPECT_EQ(second[0].time, first[0].time);
}

// ---- max-min fairness, against its definition and against another computation

// Servers whose links differ, so that every kind can be the bottleneck.
std::unique_ptr<Hosts> random_hosts() {
  const auto some = [](int low, int high) { return *rc::gen::inRange(low, high); };
  const int switches = some(1, 5);
  return std::make_unique<Hosts>("{kind: hgx-h100, count: 1, gpus: " + std::to_string(some(1, 9)) +
                                 ", nics: " + std::to_string(some(1, 9)) + ", pcie_gen: " + std::to_string(some(4, 7)) +
                                 ", pcie_switches: " + std::to_string(switches) +
                                 ", sockets: " + std::to_string(switches > 1 ? some(1, 3) : 1) +
                                 ", socket_link: {kind: upi, both_ways: " + std::to_string(some(20, 400)) +
                                 "GB/s}, scale_up: {link: {kind: nvlink4, both_ways: " + std::to_string(some(20, 900)) +
                                 "GB/s}, switches: " + std::to_string(some(1, 5)) + "}}");
}

std::vector<HostRoute> random_routes(Hosts& hosts, bool of_the_diagram) {
  const auto count = *rc::gen::inRange(1u, 25u);
  std::vector<HostRoute> paths;
  const std::uint32_t gpus = hosts.fabric.count(fabric::NodeKind::gpu);
  const std::uint32_t nics = hosts.fabric.count(fabric::NodeKind::nic);
  const auto all_links = static_cast<std::uint32_t>(hosts.routes.links(0).size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!of_the_diagram) {
      // Any links at all make a problem of fairness.
      auto links =
          *rc::gen::container<std::vector<std::uint32_t>>(*rc::gen::inRange(1u, 5u), rc::gen::inRange(0u, all_links));
      std::sort(links.begin(), links.end());
      links.erase(std::unique(links.begin(), links.end()), links.end());
      paths.push_back(one_leg(links));
      continue;
    }
    const auto gpu = hosts.gpu(*rc::gen::inRange(0u, gpus));
    const auto nic = hosts.nic(*rc::gen::inRange(0u, nics));
    const auto kind = *rc::gen::inRange(0, 3);
    paths.push_back(kind == 0   ? route(hosts, gpu, nic)
                    : kind == 1 ? route(hosts, nic, gpu)
                                : route(hosts, gpu, hosts.gpu(*rc::gen::inRange(0u, gpus))));
  }
  return paths;
}

RC_GTEST_PROP(HostLinks, RatesAreFeasibleAndEveryTransferHasABottleneck, ()) {
  const auto hosts = random_hosts();
  const auto paths = random_routes(*hosts, false);
  HostLinks links(hosts->routes);
  std::vector<HostLinks::TransferId> ids;
  for (const HostRoute& path : paths) ids.push_back(links.start(0, 0, path, std::uint64_t{1} << 40, ids.size()));
  std::vector<std::int64_t> rates;
  for (const auto id : ids) rates.push_back(links.rate(1, id));
  const auto on = [&](std::size_t transfer, std::uint32_t link) {
    return std::find(paths[transfer].links.begin(), paths[transfer].links.end(), link) != paths[transfer].links.end();
  };
  std::vector<std::int64_t> used(hosts->routes.links(0).size());
  std::vector<std::int64_t> fastest(used.size());
  for (std::uint32_t link = 0; link < used.size(); ++link)
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!on(i, link)) continue;
      used[link] += rates[i];
      fastest[link] = std::max(fastest[link], rates[i]);
    }
  const auto slack = static_cast<std::int64_t>(2 * paths.size());  // shares are whole bits here
  for (std::uint32_t link = 0; link < used.size(); ++link)
    RC_ASSERT(used[link] <= hosts->routes.links(0)[link].rate.count());
  for (std::size_t i = 0; i < paths.size(); ++i)
    RC_ASSERT(std::any_of(paths[i].links.begin(), paths[i].links.end(), [&](std::uint32_t link) {
      return used[link] + slack >= hosts->routes.links(0)[link].rate.count() && rates[i] + slack >= fastest[link];
    }));
}

// The same in floating point and in the textbook's way: the one tightest link at a time, and all data
// moved at every change.
struct Reference {
  struct Leg {
    std::size_t job;
    std::vector<std::uint32_t> links;
    bool first;
    bool last;
    double moved = 0;  // bits
    double rate = 0;
  };
  struct Job {
    double begins;
    double bits;
    double end = -1;
  };
  std::vector<double> capacity;  // bits per picosecond
  std::vector<Job> jobs;
  std::vector<Leg> legs;  // those of a job follow one another
  static constexpr double kChunkBits = 8.0 * HostLinks::kChunk;
  static constexpr double kTiny = 1e-3;  // bits: where floating point may err

  void add(const HostRoute& path, double start, double bits) {
    for (std::uint32_t i = 0; i < path.legs; ++i) {
      const auto links = path.leg(i);
      legs.push_back({jobs.size(), {links.begin(), links.end()}, i == 0, i + 1 == path.legs});
    }
    jobs.push_back({start + static_cast<double>(path.latency.count()), bits});
  }
  // What a leg may move by now: whole chunks of the leg before it.
  double available(std::size_t leg) const {
    const double all = jobs[legs[leg].job].bits;
    if (legs[leg].first) return all;
    const double before = legs[leg - 1].moved + kTiny;
    return before >= all ? all : std::floor(before / kChunkBits) * kChunkBits;
  }
  bool moves(std::size_t leg, double now) const {
    return jobs[legs[leg].job].begins <= now && legs[leg].moved + kTiny < available(leg);
  }
  bool on(std::size_t leg, std::uint32_t link) const {
    return std::find(legs[leg].links.begin(), legs[leg].links.end(), link) != legs[leg].links.end();
  }
  void share(double now) {
    std::vector<double> left = capacity;
    std::set<std::size_t> open;
    for (std::size_t i = 0; i < legs.size(); ++i) {
      legs[i].rate = 0;
      if (moves(i, now)) open.insert(i);
    }
    while (!open.empty()) {
      double tightest = 1e300;
      std::uint32_t where = 0;
      for (std::uint32_t link = 0; link < left.size(); ++link) {
        const auto users = std::count_if(open.begin(), open.end(), [&](std::size_t i) { return on(i, link); });
        if (users == 0 || left[link] / static_cast<double>(users) >= tightest) continue;
        tightest = left[link] / static_cast<double>(users);
        where = link;
      }
      for (auto it = open.begin(); it != open.end();) {
        if (!on(*it, where)) {
          ++it;
          continue;
        }
        legs[*it].rate = tightest;
        for (const std::uint32_t link : legs[*it].links) left[link] -= tightest;
        it = open.erase(it);
      }
    }
  }
  void run() {
    double now = 0;
    while (true) {
      share(now);
      double next = 1e300;
      for (const Job& job : jobs)
        if (job.begins > now) next = std::min(next, job.begins);
      for (std::size_t i = 0; i < legs.size(); ++i) {
        if (legs[i].rate == 0) continue;
        const double chunk = (std::floor((legs[i].moved + kTiny) / kChunkBits) + 1) * kChunkBits;
        next = std::min(next, now + (std::min(available(i), chunk) - legs[i].moved) / legs[i].rate);
      }
      if (next == 1e300) return;
      for (Leg& leg : legs) {
        leg.moved += leg.rate * (next - now);
        if (leg.last && leg.rate > 0 && leg.moved + kTiny >= jobs[leg.job].bits) jobs[leg.job].end = next;
      }
      now = next;
    }
  }
};

void expect_as_the_reference(Hosts& hosts, const std::vector<HostRoute>& paths) {
  HostLinks links(hosts.routes);
  Reference reference;
  for (const HostLink& link : hosts.routes.links(0))
    reference.capacity.push_back(static_cast<double>(link.rate.count()) / 1e12);
  std::int64_t now = 0;
  for (const HostRoute& path : paths) {
    now += *rc::gen::inRange<std::int64_t>(0, 20'000'000);
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 3'000'000);
    links.start(now, 0, path, bytes, reference.jobs.size());
    reference.add(path, static_cast<double>(now), static_cast<double>(bytes) * 8);
  }
  reference.run();
  const auto end = ends(drain(links));
  RC_ASSERT(end.size() == paths.size());
  // Each chunk may be rounded up to a picosecond.
  const double slack = static_cast<double>(10 * paths.size());
  for (const auto& [context, time] : end)
    RC_ASSERT(std::abs(static_cast<double>(time) - reference.jobs[context].end) < slack);
}

RC_GTEST_PROP(HostLinks, TransfersEndWhenTheReferenceSaysSo, ()) {
  const auto hosts = random_hosts();
  expect_as_the_reference(*hosts, random_routes(*hosts, false));
}

RC_GTEST_PROP(HostLinks, ChunksOverRelaysAndHostMemoryTakeWhatTheReferenceSays, ()) {
  const auto hosts = random_hosts();
  auto paths = random_routes(*hosts, true);
  std::erase_if(paths, [](const HostRoute& path) { return path.legs == 0; });
  expect_as_the_reference(*hosts, paths);
}

// ---- nothing is lost, nothing depends on order

struct Work {
  std::int64_t start;
  HostRoute path;
  std::uint64_t bytes;
};

std::vector<Work> random_work(Hosts& hosts) {
  std::vector<Work> work;
  std::int64_t now = 0;
  for (HostRoute& path : random_routes(hosts, true)) {
    now += *rc::gen::element<std::int64_t>(0, 0, 1'000, 10'000'000);
    work.push_back({now, std::move(path), *rc::gen::inRange<std::uint64_t>(0, 4'000'000)});
  }
  return work;
}

RC_GTEST_PROP(HostLinks, WhatGoesInComesOutOnceAndNoLinkCarriesMoreThanItCan, ()) {
  const auto hosts = random_hosts();
  const auto work = random_work(*hosts);
  HostLinks links(hosts->routes);
  std::vector<std::uint64_t> expected(hosts->routes.links(0).size());
  std::vector<HostLinks::TransferId> ids;
  for (const Work& one : work) {
    ids.push_back(links.start(one.start, 0, one.path, one.bytes, ids.size()));
    for (const std::uint32_t link : one.path.links) expected[link] += one.bytes;
  }
  const auto all = drain(links);
  RC_ASSERT(all.size() == work.size());
  RC_ASSERT(ends(all).size() == work.size());
  std::int64_t last = 0;
  for (const Ready& ready : all) {
    const Work& one = work[ready.context];
    RC_ASSERT(ready.bytes == one.bytes);
    RC_ASSERT(ready.time >= last);
    const std::int64_t alone =
        one.path.latency.count() + (one.path.links.empty() ? 0 : time_at(one.bytes, slowest(*hosts, one.path.links)));
    RC_ASSERT(ready.time >= one.start + alone);
    last = ready.time;
  }
  const auto carried = links.carried(0);
  RC_ASSERT(std::equal(carried.begin(), carried.end(), expected.begin(), expected.end()));
  for (std::uint32_t link = 0; link < expected.size(); ++link)
    RC_ASSERT(last >= time_at(expected[link], hosts->routes.links(0)[link].rate));
}

RC_GTEST_PROP(HostLinks, TheOrderOfStartsAtOneInstantDecidesNothing, ()) {
  const auto hosts = random_hosts();
  const auto work = random_work(*hosts);
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto run = [&] {
    HostLinks links(hosts->routes);
    for (const std::size_t i : order) links.start(work[i].start, 0, work[i].path, work[i].bytes, i);
    return ends(drain(links));
  };
  const auto straight = run();
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return work[a].start != work[b].start ? work[a].start < work[b].start : a > b;
  });
  RC_ASSERT(run() == straight);
}

// A wake comes at the first picosecond at which its bytes are there, and disturbs nobody.
RC_GTEST_PROP(HostLinks, WakesComeWhenTheirBytesAreThere, ()) {
  const auto hosts = random_hosts();
  const auto work = random_work(*hosts);
  HostLinks woken(hosts->routes);
  HostLinks asked(hosts->routes);
  std::vector<HostLinks::TransferId> ids;
  std::size_t expected = work.size();
  for (std::uint64_t i = 0; i < work.size(); ++i) {
    const auto id = woken.start(0, 0, work[i].path, work[i].bytes, i);
    const auto wake = *rc::gen::inRange<std::uint64_t>(1, 2'000'000);
    woken.wake_at(0, id, wake);
    expected += wake < work[i].bytes && work[i].path.legs > 0 ? 1 : 0;
    ids.push_back(asked.start(0, 0, work[i].path, work[i].bytes, i));
  }
  const auto all = drain(woken);
  RC_ASSERT(all.size() == expected);
  for (const Ready& ready : all) {
    if (ready.time > 0) {
      const auto before = asked.ready(ready.time - 1, ids[ready.context]);
      RC_ASSERT(before < ready.bytes || ready.bytes == 0);
    }
    RC_ASSERT(asked.ready(ready.time, ids[ready.context]) >= ready.bytes);
  }
}

// Called at every event, late, or again and again, the same happens at the same times.
RC_GTEST_PROP(HostLinks, LateEarlyAndRepeatedCallsAreHarmless, ()) {
  const auto hosts = random_hosts();
  const auto work = random_work(*hosts);
  HostLinks often(hosts->routes);
  HostLinks late(hosts->routes);
  std::vector<HostLinks::TransferId> ids;
  std::vector<Ready> a, b;
  for (const Work& one : work) {
    for (std::int64_t next = often.next_event(0); next <= one.start; next = often.next_event(0)) {
      often.advance(next, 0, a);
      for (const auto id : ids) often.ready(next, id);
    }
    ids.push_back(often.start(one.start, 0, one.path, one.bytes, ids.size()));
    late.start(one.start, 0, one.path, one.bytes, ids.size() - 1);
  }
  for (const Ready& ready : drain(often)) a.push_back(ready);
  late.advance(std::int64_t{1} << 60, 0, b);
  RC_ASSERT(a == b);
}

TEST(HostLinks, WhatEndsTogetherIsReportedInOrderOfStart) {
  HostLinks links(hgx().routes);
  // Slots come back in the order of these ends, so that order of slots and of starts differ.
  for (const std::uint64_t bytes : {3000u, 1000u, 2000u, 500u})
    links.start(0, 0, route(hgx(), hgx().gpu(0), hgx().nic(0)), bytes, bytes);
  const std::int64_t now = drain(links).back().time;
  for (std::uint32_t i = 0; i < 4; ++i) links.start(now, 0, route(hgx(), hgx().gpu(i), hgx().nic(i)), kMiB, i);
  const auto all = drain(links);
  ASSERT_EQ(all.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].context, i);
    EXPECT_EQ(all[i].time, all[0].time);
  }
}

TEST(HostLinks, SlotsAreUsedAgainAndOldNamesAreDead) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  HostLinks links(hgx().routes);
  const auto old = links.start(0, 0, path, 1000, 1);
  const std::int64_t end = drain(links)[0].time;
  const auto fresh = links.start(end, 0, path, 1000, 2);
  EXPECT_EQ(fresh.slot, old.slot);
  links.wake_at(end, old, 10);
  EXPECT_EQ(links.ready(end, old), std::nullopt);
  EXPECT_EQ(links.ready(end, fresh), 0u);
  EXPECT_EQ(drain(links).size(), 1u);
}

TEST(HostLinks, SaysBeforeItsListMoves) {
  const HostRoute path = route(hgx(), hgx().gpu(0), hgx().nic(0));
  HostLinks links(hgx().routes);
  EXPECT_EQ(links.growth(), 0u);
  for (std::uint32_t i = 0; i < 64; ++i) links.start(0, 0, path, 1000, i);
  EXPECT_GE(links.growth(), 64 * 100u) << "a power of two is full";
  links.start(0, 0, path, 1000, 64);
  EXPECT_EQ(links.growth(), 0u);
}

TEST(HostLinks, AnUnusedDomainHasNothingToSay) {
  HostLinks links(hgx().routes);
  EXPECT_EQ(links.next_event(1), HostLinks::kNever);
  std::vector<Ready> all;
  links.advance(1000, 1, all);
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(links.carried(1).empty());
}

}  // namespace
}  // namespace weft::sim
