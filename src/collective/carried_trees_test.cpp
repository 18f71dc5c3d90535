// Trees over links: what closed forms say that they carry, and how long that takes at least.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "collective/double_tree.hpp"
#include "collective/testing_carried.hpp"

namespace weft::collective {
namespace {

using testing::by_flows;
using testing::by_packets;
using testing::Machines;
using testing::Network;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr double kHeaders = 4160.0 / 4096;

double us(Duration time) { return static_cast<double>(time.count()) / 1e6; }

double wire(Protocol protocol) { return protocol == Protocol::ll ? 2 : protocol == Protocol::ll128 ? 16.0 / 15 : 1; }

// A vertex sends to all of its children. So over N servers every byte goes up N - 1 times and comes down as often, by
// trees whose inner vertices have two children as by chains.
TEST(CarriedTrees, EveryChildIsSentItsBytes) {
  struct Case {
    Algorithm algorithm;
    Protocol protocol;
  };
  for (const std::uint32_t servers : {2u, 4u, 5u}) {
    const Machines machines(fmt::format("{{kind: hgx-h100, count: {}}}", servers), testing::kRails);
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 8 * servers, 0));
    for (const auto& [algorithm, protocol] :
         {Case{Algorithm::tree, Protocol::simple}, Case{Algorithm::tree, Protocol::ll128},
          Case{Algorithm::nvls_tree, Protocol::simple}}) {
      const PlanOptions options{.operation = Operation::all_reduce,
                                .bytes = 4 * kMiB,
                                .choice = {algorithm, protocol, 0},
                                .stack = stack_named("ib")};
      const CarriedResult made =
          carry(machines.fabric, {{&team, options}}, {}, by_flows(machines.fabric, Network::spread));
      const CarriedTime& job = made.jobs.at(0);
      ASSERT_EQ(job.skipped, 0u);
      double sent = 0;
      for (const schedule::LinkRecord& link : made.run.links)
        if (link.from.find("/nic") != std::string::npos && link.to.starts_with("leaf"))
          sent += static_cast<double>(link.bytes);
      EXPECT_NEAR(sent / (2.0 * (servers - 1) * 4 * kMiB * wire(protocol) * kHeaders), 1, 0.02)
          << servers << " " << name(algorithm) << " " << name(protocol);
    }
  }
}

// How many times its bytes a tree sends out of a leaf, and into it, by the mean of the two trees; the leaf of most.
double most_out_of_a_leaf(std::uint32_t servers, std::uint32_t under) {
  std::vector<double> out(servers), in(servers);
  for (std::uint32_t which = 0; which < 2; ++which)
    for (std::uint32_t server = 0; server < servers; ++server) {
      const std::uint32_t parent = double_tree(servers, server, which).parent;
      if (parent == kNobody || parent / under == server / under) continue;
      for (const std::uint32_t end : {server, parent}) {
        out[end / under] += 0.5;  // up from the one, down from the other
        in[end / under] += 0.5;
      }
    }
  return std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
}

// Nothing is quicker than the busiest leaf's uplinks together, and flows say about what packets do, but where eight
// NICs share an uplink: there SRD sends much again. Of drawn networks.
TEST(CarriedTrees, NoLevelIsQuickerThanUplinksAndBothSayTheSame) {
  std::mt19937_64 draw(20261);
  const auto pick = [&]<class T>(std::initializer_list<T> of) { return of.begin()[draw() % of.size()]; };
  std::uint32_t bound_by_uplinks = 0;
  std::vector<double> errors;
  for (int i = 0; i < 16; ++i) {
    const auto servers = pick({2u, 3u, 4u, 5u, 6u});
    const auto under = pick({1u, 2u});
    const auto over = pick({1u, 2u, 4u, 8u});
    const auto network = pick({Network::spread, Network::hashed});
    const auto algorithm = pick({Algorithm::tree, Algorithm::nvls_tree});
    const Protocol protocol =
        algorithm == Algorithm::tree ? pick({Protocol::simple, Protocol::ll, Protocol::ll128}) : Protocol::simple;
    const std::uint64_t bytes = pick({1u, 4u, 16u}) * kMiB;
    const std::uint32_t uplinks = 8 * under / over;
    const Machines machines(fmt::format("{{kind: hgx-h100, count: {}}}", servers),
                            fmt::format("{{kind: tor-clos, servers_per_leaf: {}, oversubscription: {}, spines: {}, "
                                        "link: {{rate: 400Gbps, cable: 5m}}}}",
                                        under, over, std::min(2u, uplinks)));
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 8 * servers, 0));
    const PlanOptions options{.operation = Operation::all_reduce,
                              .bytes = bytes,
                              .choice = {algorithm, protocol, 0},
                              .stack = stack_named("ib")};
    const double sent = most_out_of_a_leaf(servers, under) * static_cast<double>(bytes) * wire(protocol) * kHeaders;
    const double bound = sent / (uplinks * 50e3);
    const auto time = [&](const Carry& execute) {
      return us(carry(machines.fabric, {{&team, options}}, {}, execute).jobs.at(0).time);
    };
    const double flow = time(by_flows(machines.fabric, network));
    const double packet = time(by_packets(machines.fabric, network));
    const std::string which = fmt::format("{} servers, {} to a leaf, {}:1, {} {} {} MiB, {}: bound {:.1f} us", servers,
                                          under, over, name(algorithm), name(protocol), bytes / kMiB,
                                          network == Network::spread ? "spread" : "hashed", bound);
    EXPECT_GE(flow, bound) << which;
    EXPECT_GE(packet, bound) << which;
    EXPECT_LT(flow, 1.05 * packet) << which;
    if (over < 8) errors.push_back(std::abs(flow / packet - 1));
    bound_by_uplinks += packet < 2 * bound;
  }
  EXPECT_GE(bound_by_uplinks, 1u) << "draws that say something";
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors.at(errors.size() / 2), 0.02);
  EXPECT_LT(errors.back(), 0.2);
}

// 32 MiB between two servers with a quarter of the uplinks: each byte goes up and comes down once.
TEST(CarriedTrees, OverNarrowUplinksTakeAsLongAsTheseNeed) {
  const Machines machines("{kind: hgx-h100, count: 2}",
                          "{kind: tor-clos, servers_per_leaf: 1, oversubscription: 4, spines: 2, "
                          "link: {rate: 400Gbps, cable: 5m}}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  const double bound = 32.0 * kMiB * kHeaders / (2 * 50e3);
  for (const Protocol protocol : {Protocol::ll128, Protocol::simple}) {
    const PlanOptions options{.operation = Operation::all_reduce,
                              .bytes = 32 * kMiB,
                              .choice = {Algorithm::tree, protocol, 0},
                              .stack = stack_named("ib")};
    for (const Carry& execute :
         {by_flows(machines.fabric, Network::spread), by_packets(machines.fabric, Network::spread)})
      EXPECT_GT(us(carry(machines.fabric, {{&team, options}}, {}, execute).jobs.at(0).time), bound * wire(protocol));
  }
}

// With few rounds those that go up are over before any comes down, and two channels that meet on an uplink do not meet
// yet: a round took three quarters of what it takes when all are under way.
TEST(CarriedTrees, RoundsAreNotSkippedBeforeATreeIsFull) {
  const Machines machines("{kind: hgx-h100, count: 2}",
                          "{kind: tor-clos, servers_per_leaf: 1, spines: 2, link: {rate: 400Gbps, cable: 5m}}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  PlanOptions options{.operation = Operation::all_reduce,
                      .bytes = 64 * kMiB,
                      .choice = {Algorithm::tree, Protocol::simple, 4},
                      .stack = stack_named("ib")};
  options.chunk = 64 << 10;
  const Carry execute = by_flows(machines.fabric, Network::hashed);
  const CarriedResult some = carry(machines.fabric, {{&team, options}}, {}, execute);
  EXPECT_GT(some.jobs[0].skipped, 0u);
  const Conditions whole{.ranks = {{0, 1000}}, .starts = {}};  // a rank that is as fast as it should be
  options.conditions = &whole;
  const CarriedResult all = carry(machines.fabric, {{&team, options}}, {}, execute);
  EXPECT_EQ(all.jobs[0].skipped, 0u);
  EXPECT_NEAR(us(some.jobs[0].time) / us(all.jobs[0].time), 1, 0.02);
}

}  // namespace
}  // namespace weft::collective
