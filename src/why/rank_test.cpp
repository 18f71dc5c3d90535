#include "why/rank.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using measured::Mention;
using testing::Bench;

const std::vector<std::uint64_t> kSizes = {8, 8 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20, 1 << 30};

// What nccl-tests would have printed on a machine that is different in that way.
std::vector<Observation> measured_with(Machine& machine, const Job& job, const Variant& variant) {
  std::vector<Observation> out;
  const std::vector<Prediction> made = machine.predict(job, variant, kSizes);
  for (std::size_t i = 0; i < made.size(); ++i)
    out.push_back({{kSizes[i]}, bus_bandwidth(job, kSizes[i], made[i].time), true, {}});
  return out;
}

Situation situation_of(const Job& job, std::uint32_t nodes) {
  Situation out;
  out.job = job;
  out.job.per_server = job.gpus / nodes;
  out.nodes = nodes;
  return out;
}

std::size_t place_of(Cause cause, const Diagnosis& diagnosis) {
  for (std::size_t i = 0; i < diagnosis.ranked.size(); ++i)
    if (diagnosis.ranked[i].cause == cause) return i + 1;
  return 0;
}

std::string listed(const Diagnosis& diagnosis) {
  std::string out;
  for (const Hypothesis& each : diagnosis.ranked)
    out += fmt::format("{} {:.3f} {:.2f}\n", info(each.cause).id, each.share, each.median_error);
  return out;
}

TEST(Why, WhatTheModelGivesIsNothingWrong) {
  Bench bench("{kind: hgx-h100, count: 4}");
  for (const std::uint32_t nodes : {1u, 2u, 4u}) {
    Situation situation = situation_of(bench.job(8 * nodes), nodes);
    situation.observations = measured_with(*bench.machine, situation.job, {});
    const Diagnosis diagnosis = diagnose(situation, *bench.machine);
    ASSERT_FALSE(diagnosis.ranked.empty());
    EXPECT_EQ(diagnosis.ranked[0].cause, Cause::nothing_wrong) << nodes << "\n" << listed(diagnosis);
    EXPECT_TRUE(diagnosis.explained);
    EXPECT_LT(diagnosis.ranked[0].median_error, 0.001);
  }
}

TEST(Why, RowsThatDifferFromRunToRunAreShownAndNotCounted) {
  Bench bench("{kind: hgx-h100, count: 2}");
  Situation situation = situation_of(bench.job(16), 2);
  situation.observations = measured_with(*bench.machine, situation.job, {});
  situation.observations[6].bus /= 3;
  situation.observations[6].steady = false;
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  ASSERT_EQ(place_of(Cause::nothing_wrong, diagnosis), 1u) << listed(diagnosis);
  EXPECT_LT(diagnosis.ranked[0].worst_error, 0.001);
  EXPECT_EQ(diagnosis.observations.size(), kSizes.size());
  situation.observations[6].steady = true;
  EXPECT_NEAR(diagnose(situation, *bench.machine).ranked[0].worst_error, 2, 0.01);
}

// Nowhere further from each other than what is taken for the same (rank.cpp).
bool as_good_as_same(const std::vector<Observation>& a, const std::vector<Observation>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Observation& one, const Observation& other) {
    return std::abs(one.bus / other.bus - 1) < 0.02;
  });
}

// Every variant of every cause, measured without any noise and without a word: the cause cannot be told from others
// that predict the same, but nothing that predicts something else may come before it by its fit.
TEST(Why, ACauseFitsItsOwnMeasurementBest) {
  Bench bench("{kind: hgx-h100, count: 3, nics: 4, gpus: 4, pcie_switches: 4, sockets: 2}");
  for (const CauseInfo& each : causes()) {
    const Situation empty = situation_of(bench.job(12), 3);
    std::vector<Variant> variants = variants_of(each.cause, empty, *bench.machine);
    if (variants.size() > 2) variants.erase(variants.begin() + 1, variants.end() - 1);
    for (const Variant& variant : variants) {
      Situation situation = empty;
      situation.observations = measured_with(*bench.machine, situation.job, variant);
      if (situation.observations.empty()) continue;
      // A variant that changes nothing is not looked at, though others of its cause may be.
      if (each.cause != Cause::nothing_wrong &&
          as_good_as_same(situation.observations, measured_with(*bench.machine, situation.job, {})))
        continue;
      const Diagnosis diagnosis = diagnose(situation, *bench.machine);
      const std::size_t place = place_of(each.cause, diagnosis);
      if (place == 0) continue;  // it changes nothing on this machine
      EXPECT_LT(diagnosis.ranked[place - 1].median_error, 0.001) << each.id << " " << variant.text << "\n"
                                                                 << listed(diagnosis);
      EXPECT_TRUE(diagnosis.explained) << each.id << "\n" << listed(diagnosis);
    }
  }
}

// With the measurement of a cause and one word for it, it comes first.
struct Word {
  Cause cause;
  const char* name;
  const char* value;
};
class OneWord : public ::testing::TestWithParam<Word> {};

TEST_P(OneWord, IsEnough) {
  Bench bench("{kind: hgx-h100, count: 4, nics: 4}");
  Situation situation = situation_of(bench.job(32), 4);
  situation.facts.environment[GetParam().name] = GetParam().value;
  situation.facts.p2p_disabled = GetParam().cause == Cause::p2p_off;
  const auto variants = variants_of(GetParam().cause, situation, *bench.machine);
  ASSERT_FALSE(variants.empty());
  situation.observations = measured_with(*bench.machine, situation.job, variants[0]);
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  EXPECT_EQ(place_of(GetParam().cause, diagnosis), 1u) << listed(diagnosis);
}

INSTANTIATE_TEST_SUITE_P(
    All, OneWord,
    ::testing::Values(Word{Cause::p2p_off, "NCCL_P2P_DISABLE", "1"},
                      Word{Cause::socket_fallback, "NCCL_IB_DISABLE", "1"},
                      Word{Cause::no_gpudirect, "NCCL_NET_GDR_LEVEL", "LOC"}, Word{Cause::protocol, "NCCL_PROTO", "LL"},
                      Word{Cause::few_channels, "NCCL_MAX_NCHANNELS", "1"}, Word{Cause::algorithm, "NCCL_ALGO", "Tree"},
                      Word{Cause::nic_unused, "NCCL_IB_HCA", "mlx5_0"}, Word{Cause::shm_off, "NCCL_SHM_DISABLE", "1"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Why, MentionsOfTheHostCount) {
  Bench bench("{kind: hgx-h100, count: 4}");
  const auto first_with = [&](Mention mention, Cause cause) {
    Situation situation = situation_of(bench.job(32), 4);
    situation.facts.mentions[mention] = {1, {}};
    situation.observations =
        measured_with(*bench.machine, situation.job, variants_of(cause, situation, *bench.machine).front());
    const Diagnosis diagnosis = diagnose(situation, *bench.machine);
    EXPECT_EQ(place_of(cause, diagnosis), 1u) << info(cause).id << "\n" << listed(diagnosis);
  };
  first_with(Mention::acs_on, Cause::dma_redirected);
  first_with(Mention::link_downgraded, Cause::pcie_down);
  first_with(Mention::loss, Cause::lossy);
  first_with(Mention::ecmp, Cause::ecmp);
  first_with(Mention::throttled, Cause::slow_rank);
  first_with(Mention::peermem_missing, Cause::no_gpudirect);
}

// However small what was measured is: the best is what large messages would get.
TEST(Why, TheBestIsWhatLargeMessagesWouldGet) {
  Bench bench("{kind: hgx-h100, count: 4}");
  Situation situation = situation_of(bench.job(32), 4);
  situation.observations = {{{8 << 10}, 0.1, true, {}}, {{64 << 10}, 0.7, true, {}}};
  const Reference reference = diagnose(situation, *bench.machine).reference;
  double best = 0;
  double least = 1e9;
  const std::vector<std::uint64_t> large = {256u << 20, 1u << 30, UINT64_C(8) << 30};
  const auto made = bench.machine->predict(situation.job, {}, large);
  ASSERT_EQ(made.size(), large.size());
  for (std::size_t i = 0; i < large.size(); ++i) {
    const double bus = bus_bandwidth(situation.job, large[i], made[i].time);
    best = std::max(best, bus);
    least = std::min(least, bus);
  }
  EXPECT_LT(least, 0.99 * best);
  EXPECT_DOUBLE_EQ(reference.best, best);
  EXPECT_DOUBLE_EQ(reference.measured, 0.7) << "of the largest that was measured";
  EXPECT_DOUBLE_EQ(reference.expected, bus_bandwidth(situation.job, 64 << 10,
                                                     bench.machine->predict(situation.job, {}, {64 << 10})[0].time));
  EXPECT_FALSE(reference.algorithm.empty());
}

// What lspci or a topology shows of a slot is the variant; what is older than PCIe 3.0 has as many lanes less, and
// NICs the rest of it.
TEST(Why, ASlotThatIsSeenIsTheOnlyVariant) {
  Bench bench("{kind: hgx-h100, count: 2}");
  struct Case {
    std::int64_t gen, lanes, set_gen, set_lanes, nic_per_mille;
  };
  for (const Case& each : {Case{4, 8, 4, 8, 1000}, Case{3, 16, 3, 16, 1000}, Case{2, 16, 3, 8, 1000},
                           Case{1, 16, 3, 4, 1000}, Case{1, 4, 3, 1, 1000}, Case{1, 2, 3, 1, 500}}) {
    const std::string text = fmt::format("PCIe {}.0 x{}", each.gen, each.lanes);
    const auto check = [&](const Situation& situation) {
      const auto variants = variants_of(Cause::pcie_down, situation, *bench.machine);
      ASSERT_EQ(variants.size(), 1u) << text;
      EXPECT_EQ(variants[0].text, text);
      EXPECT_EQ(variants[0].nic_per_mille, each.nic_per_mille) << text;
      const std::string& at = bench.machine->servers();
      EXPECT_EQ(variants[0].set, (std::vector<std::string>{fmt::format("{}.pcie_gen={}", at, each.set_gen),
                                                           fmt::format("{}.pcie_lanes={}", at, each.set_lanes),
                                                           fmt::format("{}.nic.pcie_gen={}", at, each.set_gen),
                                                           fmt::format("{}.nic.pcie_lanes={}", at, each.set_lanes)}));
    };
    Situation seen = situation_of(bench.job(16), 2);
    seen.facts.hardware.slots = {{"1b:00.0", each.gen, each.lanes, 5, 16, {}}, {"1c:00.0", 3, 1, 5, 16, {}}};
    check(seen);
    Situation read = situation_of(bench.job(16), 2);
    read.facts.server.emplace();
    read.facts.server->weak.resize(2);
    read.facts.server->weak[0].nvlinks = 4;  // nothing of PCIe
    read.facts.server->weak[1].pcie_gen = each.gen;
    read.facts.server->weak[1].pcie_lanes = each.lanes;
    check(read);
  }
  const auto guessed = variants_of(Cause::pcie_down, situation_of(bench.job(16), 2), *bench.machine);
  ASSERT_EQ(guessed.size(), 4u) << "4.0 and 3.0, x8 and x4";
  EXPECT_EQ(guessed[0].text, "PCIe 4.0 x16");
  EXPECT_EQ(guessed[3].text, "PCIe 5.0 x4");
}

TEST(Why, WithoutAMeasurementWordsAreAllThereIs) {
  Bench bench("{kind: hgx-a100, count: 1}");
  Situation situation = situation_of(bench.job(8), 1);
  situation.facts.p2p_disabled = true;
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  EXPECT_EQ(place_of(Cause::p2p_off, diagnosis), 1u) << listed(diagnosis);
  EXPECT_EQ(diagnosis.expected.size(), diagnosis.sizes.size());
}

// A machine that only stands in: rates say nothing, and of what was hoped for the part that is left does.
TEST(Why, FiguresOfAnUnknownMachineCountAgainstWhatWasHopedFor) {
  Bench bench("{kind: hgx-a100, count: 1}");
  Situation situation = situation_of(bench.job(8), 1);
  situation.machine_known = false;
  const auto odds = [&](std::optional<double> hoped) {
    situation.hoped = hoped;
    const Diagnosis diagnosis = diagnose(situation, *bench.machine);
    double nothing = 0;
    double p2p = 0;
    for (const Hypothesis& each : diagnosis.ranked) {
      if (each.cause == Cause::nothing_wrong) nothing = each.share;
      if (each.cause == Cause::p2p_off) p2p = each.share;
    }
    return nothing / p2p;
  };
  const double without = odds({});
  situation.observations = {{{1 << 30}, 7, true, {}}};
  EXPECT_NEAR(odds({}), without, 0.01 * without) << "7 GB/s is no NVLink, and nobody says that there is one";
  EXPECT_GT(odds(7.5), 3 * without) << "nearly all of it is there";
  EXPECT_LT(odds(120), without / 3) << "a fifteenth is left, as without peer access";
}

TEST(Why, ACauseWithoutEffectIsSaidAndNotRanked) {
  Bench bench("{kind: hgx-h100, count: 4}");
  Situation situation = situation_of(bench.job(32), 4);
  situation.facts.environment["NCCL_PXN_DISABLE"] = "1";
  situation.observations = measured_with(*bench.machine, situation.job, {});
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  EXPECT_EQ(place_of(Cause::pxn_off, diagnosis), 0u) << "eight NICs for eight GPUs: nobody relays\n"
                                                     << listed(diagnosis);
  ASSERT_EQ(diagnosis.without_effect.size(), 1u);
  EXPECT_EQ(diagnosis.without_effect[0].cause, Cause::pxn_off);
}

TEST(Why, WhatNobodyExplainsIsSaid) {
  Bench bench("{kind: hgx-h100, count: 1}");
  Situation situation = situation_of(bench.job(8), 1);
  situation.observations = {{{1 << 30}, 0.001, true, {}}};
  EXPECT_FALSE(diagnose(situation, *bench.machine).explained);
}

TEST(Why, SharesAddUpAndOrderIsByThem) {
  Bench bench("{kind: hgx-h100, count: 4}");
  Situation situation = situation_of(bench.job(16), 2);
  situation.observations = {{{1 << 30}, 200, true, {}}};
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  double sum = 0;
  for (std::size_t i = 0; i < diagnosis.ranked.size(); ++i) {
    sum += diagnosis.ranked[i].share;
    if (i == 0) continue;
    EXPECT_GE(diagnosis.ranked[i - 1].share, diagnosis.ranked[i].share);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

// One NIC in use, as the log says, and half of what it should give: neither alone explains
// it.
TEST(Why, TwoCausesAtOnceAreSaid) {
  Bench bench("{kind: hgx-h100, count: 4}");
  Situation situation = situation_of(bench.job(32), 4);
  situation.facts.interfaces = {{"IB", "mlx5_0", "IB", {}}};
  situation.facts.mentions[Mention::acs_on] = {1, {}};
  const auto one = variants_of(Cause::nic_unused, situation, *bench.machine);
  ASSERT_EQ(one.size(), 1u) << "the log says how many";
  situation.observations =
      measured_with(*bench.machine, situation.job, both(one[0], Variant{.text = "half", .nic_per_mille = 500}));
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  ASSERT_TRUE(diagnosis.pair) << listed(diagnosis);
  const std::set<Cause> causes = {diagnosis.pair->first, diagnosis.pair->second};
  EXPECT_EQ(causes, (std::set<Cause>{Cause::nic_unused, Cause::dma_redirected})) << listed(diagnosis);
  EXPECT_LT(diagnosis.pair->median_error, 0.01);
  EXPECT_LE(place_of(Cause::nic_unused, diagnosis), 2u) << listed(diagnosis);
  EXPECT_LE(place_of(Cause::dma_redirected, diagnosis), 2u) << listed(diagnosis);
  EXPECT_TRUE(diagnosis.explained);
}

TEST(Why, OneCauseIsNotMadeTwo) {
  Bench bench("{kind: hgx-h100, count: 4}");
  Situation situation = situation_of(bench.job(32), 4);
  situation.facts.interfaces = {{"IB", "mlx5_0", "IB", {}}};
  situation.observations =
      measured_with(*bench.machine, situation.job, variants_of(Cause::nic_unused, situation, *bench.machine)[0]);
  const Diagnosis diagnosis = diagnose(situation, *bench.machine);
  EXPECT_FALSE(diagnosis.pair) << listed(diagnosis);
  EXPECT_EQ(place_of(Cause::nic_unused, diagnosis), 1u) << listed(diagnosis);
}

// The second cause is drawn from how seldom two things are wrong: a NIC at three quarters of its rate is still within
// what one cause may be off by, one at two thirds is not.
TEST(Why, ASecondCauseHasToExplainMuch) {
  Bench bench("{kind: hgx-h100, count: 4}");
  const auto pair_at = [&](std::int64_t per_mille) {
    Situation situation = situation_of(bench.job(32), 4);
    situation.facts.interfaces = {{"IB", "mlx5_0", "IB", {}}};
    const Variant one = variants_of(Cause::nic_unused, situation, *bench.machine)[0];
    situation.observations =
        measured_with(*bench.machine, situation.job, both(one, Variant{.text = "less", .nic_per_mille = per_mille}));
    return diagnose(situation, *bench.machine).pair.has_value();
  };
  EXPECT_FALSE(pair_at(760));
  EXPECT_TRUE(pair_at(660));
}

// A log names NCCL's release, and the stack is of that release: sockets stay sockets.
TEST(Why, SocketsAreSocketsWithAnyRelease) {
  Bench bench("{kind: hgx-h100, count: 4}");
  for (const char* stack : {"tcp", "tcp-nccl2.18", "roce-nccl2.18"}) {
    Situation situation = situation_of(bench.job(32), 4);
    situation.job.stack = collective::stack_named(stack);
    ASSERT_NE(situation.job.stack, nullptr) << stack;
    const bool sockets = stack[0] == 't';
    EXPECT_EQ(variants_of(Cause::socket_fallback, situation, *bench.machine).empty(), sockets) << stack;
    EXPECT_EQ(variants_of(Cause::few_streams, situation, *bench.machine).empty(), !sockets) << stack;
  }
}

TEST(Why, NicsAreCountedAsFarAsTheFilesTell) {
  Situation situation = situation_of({collective::Operation::all_reduce, 16, 0, collective::stack_named("ib")}, 2);
  EXPECT_EQ(situation.nics_used(8), 0) << "nothing is said";
  situation.facts.net_devices_used = 1;
  situation.facts.without_gpudirect = 4;
  EXPECT_EQ(situation.nics_used(8), 0) << "four connections of one rank have its NIC only";
  situation.facts.net_ranks = 5;
  situation.facts.net_channels = 2;
  EXPECT_EQ(situation.nics_used(8), 1) << "of five ranks and two channels they would have others";
  Situation rings = situation_of(situation.job, 2);
  rings.facts.channels.collective = 2;
  EXPECT_EQ(rings.nics_used(8), 2) << "a channel goes through one NIC";
  Situation allowed = situation_of(situation.job, 2);
  allowed.facts.environment["NCCL_IB_HCA"] = "mlx5_0,mlx5_1,mlx5_4";
  EXPECT_EQ(allowed.nics_used(8), 3);
  EXPECT_EQ(allowed.nic_numbers(8), (std::vector<std::int64_t>{0, 1, 4}));
  EXPECT_TRUE(allowed.nic_numbers(4).empty()) << "mlx5_4 is none of four";
  allowed.facts.environment["NCCL_IB_HCA"] = "mlx5_bond_6:1,mlx5_bond_7:1";
  EXPECT_EQ(allowed.nic_numbers(8), (std::vector<std::int64_t>{6, 7}));
  allowed.facts.environment["NCCL_IB_HCA"] = "^mlx5_2";
  EXPECT_TRUE(allowed.nic_numbers(8).empty());
  EXPECT_EQ(allowed.nics_used(8), 0);
  allowed.facts.environment["NCCL_IB_HCA"] = "mlx5";
  EXPECT_EQ(allowed.nics_used(8), 0) << "all whose names begin so";
}

}  // namespace
}  // namespace weft::why
