#include "collective/alike.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "collective/testing_team.hpp"

namespace weft::collective {
namespace {

using testing::Machines;

PlanOptions options(Operation operation, std::uint64_t bytes, Choice choice) {
  return {.operation = operation, .bytes = bytes, .choice = choice, .stack = stack_named("ib")};
}

// A tree of leaves of two servers and pods of four, whose links have room for a part of what the NICs send.
class Tiers final : public NetworkLinks {
 public:
  Tiers(Bandwidth nic, std::int64_t leaf_over, std::int64_t pod_over)
      : leaf_(nic * 16 / leaf_over), pod_(nic * 32 / pod_over) {}

  std::span<const Part> between(std::uint32_t from, std::uint32_t to) override {
    auto& parts = known_[{from, to}];
    const Place a = *place(from), b = *place(to);
    if (parts.empty()) {
      parts.push_back({4 * 1024 + from, kWhole});
      if (a.leaf != b.leaf) parts.insert(parts.end(), {{a.leaf, kWhole}, {1024 + b.leaf, kWhole}});
      if (a.pod != b.pod) parts.insert(parts.end(), {{2 * 1024 + a.pod, kWhole}, {3 * 1024 + b.pod, kWhole}});
    }
    return parts;
  }
  Bandwidth rate(std::uint32_t link) const override {
    return link >= 4 * 1024 ? Bandwidth(400'000'000'000) : link >= 2 * 1024 ? pod_ : leaf_;
  }
  std::optional<Place> place(std::uint32_t gpu) const override { return Place{gpu / 16, gpu / 32}; }

 private:
  Bandwidth leaf_, pod_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Part>> known_;
};

TEST(Alike, AFewRanksTellWhatAllWouldTake) {
  const Machines machines("{kind: hgx-h100, count: 72}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 576, 0));
  ASSERT_TRUE(team.alike());
  struct Case {
    Operation operation;
    Algorithm algorithm;
    Protocol protocol;
    std::uint64_t bytes;
  };
  const auto alone = [](const Team& some, const PlanOptions& part) { return time_of(some, part, testing::by_lanes); };
  for (const std::int64_t over : {1, 8})
    for (const Case& each : {Case{Operation::all_reduce, Algorithm::ring, Protocol::simple, 64 << 20},
                             Case{Operation::all_gather, Algorithm::ring, Protocol::ll128, 1 << 20},
                             Case{Operation::all_reduce, Algorithm::tree, Protocol::simple, 64 << 20},
                             Case{Operation::all_reduce, Algorithm::tree, Protocol::ll, 8 << 10},
                             Case{Operation::all_reduce, Algorithm::nvls_tree, Protocol::simple, 64 << 20},
                             Case{Operation::reduce_scatter, Algorithm::hierarchical, Protocol::simple, 16 << 20},
                             Case{Operation::all_to_all, Algorithm::direct, Protocol::simple, 64 << 20},
                             Case{Operation::send_recv, Algorithm::direct, Protocol::simple, 16 << 20}}) {
      Tiers network(Bandwidth(400'000'000'000), over, over);
      PlanOptions given = options(each.operation, each.bytes, {each.algorithm, each.protocol, 4});
      given.network = &network;
      ASSERT_EQ(why_not_alike(team, given), "");
      const auto told = time_alike(team, given, alone);
      ASSERT_TRUE(told) << name(each.algorithm) << " " << over;
      EXPECT_GT(told->plan.stood_for, 0u);
      EXPECT_LT(told->plan.stood_for, team.ranks());
      const double whole = static_cast<double>(alone(team, given).time.count());
      EXPECT_NEAR(static_cast<double>(told->time.count()) / whole, 1, 0.02)
          << name(each.operation) << " " << name(each.algorithm) << " " << over;
    }
}

TEST(Alike, ItSaysWhyNoFewStandForAll) {
  const Machines machines("{kind: hgx-h100, count: 8}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 64, 0));
  PlanOptions given = options(Operation::all_reduce, 1 << 20, {Algorithm::ring, Protocol::simple, 4});
  EXPECT_EQ(why_not_alike(team, given), "");
  const Team uneven(machines.fabric, pick_gpus(*machines.cluster, 60, 0));
  EXPECT_NE(why_not_alike(uneven, given), "");
  Conditions slow;
  slow.ranks.push_back({3, 500});
  given.conditions = &slow;
  EXPECT_EQ(why_not_alike(team, given), "some are late or slow");
  given.conditions = nullptr;
  given.every_rank = true;
  EXPECT_NE(why_not_alike(team, given), "");
}

TEST(Alike, PairsTakeWhatTheirLanesDo) {
  const Machines machines("{kind: hgx-h100, count: 3}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 20, 0));  // the last has fewer
  Conditions late;
  late.ranks.push_back({3, 700});
  for (std::uint32_t rank = 0; rank < team.ranks(); ++rank) late.starts.push_back(nanoseconds(100 * (rank % 7)));
  for (const Conditions* conditions : {static_cast<const Conditions*>(nullptr), static_cast<const Conditions*>(&late)})
    for (const Operation operation : {Operation::all_to_all, Operation::send_recv})
      for (const std::uint64_t bytes : {std::uint64_t{1} << 10, std::uint64_t{5} << 20, std::uint64_t{1} << 28}) {
        PlanOptions given = options(operation, bytes, {Algorithm::direct, Protocol::simple, 0});
        given.conditions = conditions;
        const auto told = [](schedule::Schedule&, const Plan& plan) { return *ends_of_pairs(plan); };
        const Timing by_hand = time_of(team, given, told);
        const Timing run = time_of(team, given, testing::by_lanes);
        EXPECT_EQ(by_hand.time, run.time) << name(operation) << " " << bytes;
        EXPECT_EQ(by_hand.messages, run.messages);
      }
}

TEST(Team, DomainsThatFollowByCountingOnAreAsIfTheyWereLookedAt) {
  const Machines machines("{kind: hgx-h100, count: 6, nics: 2}");
  const Team all(machines.fabric, pick_gpus(*machines.cluster, 48, 0));
  const Team last(machines.fabric, {40, 41, 42, 43, 44, 45, 46, 47});
  const Domain& copied = all.domain(5);
  const Domain& seen = last.domain(0);
  ASSERT_EQ(copied.ports.size(), seen.ports.size());
  for (std::size_t port = 0; port < seen.ports.size(); ++port) {
    EXPECT_EQ(copied.ports[port].nics, seen.ports[port].nics);
    EXPECT_EQ(all.gpu(copied.ports[port].rank), last.gpu(seen.ports[port].rank));
    EXPECT_EQ(copied.ports[port].root, seen.ports[port].root);
  }
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(all.port_of(40 + rank), last.port_of(rank));
    EXPECT_EQ(all.direct(40 + rank), last.direct(rank));
  }
  EXPECT_TRUE(all.alike());
  EXPECT_EQ(all.only({1, 4}).gpu(8), 32u);
  EXPECT_EQ(all.only({1, 4}).network_latency(), all.network_latency());
}

}  // namespace
}  // namespace weft::collective
