#include "experiment/collectives.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "experiment/experiment.hpp"
#include "experiment/testing_design.hpp"

namespace weft::experiment {
namespace {

TEST(Collectives, SkewIsBetweenTheFirstAndTheLast) {
  spec::Diagnostics diagnostics;
  CollectiveJob job;
  job.skew = nanoseconds(700);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const collective::Conditions made = conditions_of(job, 16, seed, diagnostics);
    ASSERT_EQ(made.starts.size(), 16u);
    const auto [first, last] = std::minmax_element(made.starts.begin(), made.starts.end());
    EXPECT_EQ(*first, Duration(0));
    EXPECT_EQ(*last, nanoseconds(700));
    EXPECT_GT(std::count_if(made.starts.begin(), made.starts.end(),
                            [](Duration each) { return each.count() > 0 && each < nanoseconds(700); }),
              10);
  }
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(Collectives, ASkewIsFromNothingToASecond) {
  const auto refused = [](Duration skew) {
    spec::Diagnostics diagnostics;
    CollectiveJob job;
    job.skew = skew;
    const collective::Conditions made = conditions_of(job, 4, 1, diagnostics);
    EXPECT_EQ(made.starts.empty(), diagnostics.has_errors() || skew == Duration(0));
    return diagnostics.has_errors();
  };
  const Duration second = microseconds(1'000'000);
  EXPECT_FALSE(refused(Duration(0)));
  EXPECT_FALSE(refused(Duration(1)));
  EXPECT_FALSE(refused(second));
  EXPECT_TRUE(refused(second + Duration(1)));
  EXPECT_TRUE(refused(Duration(-1)));
}

TEST(Collectives, OneRankAloneComesAtOnce) {
  spec::Diagnostics diagnostics;
  CollectiveJob job;
  job.skew = nanoseconds(700);
  EXPECT_TRUE(conditions_of(job, 1, 1, diagnostics).starts.empty());
  EXPECT_EQ(conditions_of(job, 2, 1, diagnostics).starts.size(), 2u);
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(Collectives, SlowRanksAreOfTheGroup) {
  spec::Diagnostics diagnostics;
  CollectiveJob job;
  job.slow_ranks = {"3=50%", "0=25%"};
  const collective::Conditions made = conditions_of(job, 4, 1, diagnostics);
  ASSERT_EQ(made.ranks.size(), 2u);
  EXPECT_EQ(made.ranks[0].which, 3u);
  EXPECT_EQ(made.ranks[0].speed_per_mille, 500);
  EXPECT_EQ(made.ranks[1].which, 0u);
  EXPECT_EQ(made.ranks[1].speed_per_mille, 250);
  EXPECT_FALSE(diagnostics.has_errors());
  job.slow_ranks = {"4=50%"};
  EXPECT_TRUE(conditions_of(job, 4, 1, diagnostics).ranks.empty());
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(Collectives, AFileMayNameEveryOperation) {
  model::Cluster cluster;
  cluster.gpus = 64;
  cluster.file.run.resize(2);
  model::RunSpec& all = cluster.file.run[0];
  for (auto* each : {&all.all_reduce, &all.all_gather, &all.reduce_scatter, &all.broadcast, &all.reduce,
                     &all.all_to_all, &all.send_recv})
    each->emplace();
  cluster.file.run[1].reduce.emplace().gpus = 16;
  using collective::Operation;
  std::vector<std::pair<Operation, std::uint32_t>> found;
  for (const CollectiveJob& job : collectives_of(cluster)) found.emplace_back(job.operation, job.gpus);
  EXPECT_EQ(found, (std::vector<std::pair<Operation, std::uint32_t>>{{Operation::all_reduce, 64},
                                                                     {Operation::all_gather, 64},
                                                                     {Operation::reduce_scatter, 64},
                                                                     {Operation::broadcast, 64},
                                                                     {Operation::reduce, 64},
                                                                     {Operation::all_to_all, 64},
                                                                     {Operation::send_recv, 64},
                                                                     {Operation::reduce, 16}}));
}

TEST(Collectives, SkewIsOfTheSeed) {
  spec::Diagnostics diagnostics;
  CollectiveJob job;
  job.skew = nanoseconds(700);
  const auto starts = [&](std::uint64_t seed) { return conditions_of(job, 16, seed, diagnostics).starts; };
  EXPECT_EQ(starts(5), starts(5));
  EXPECT_NE(starts(5), starts(6));
}

double all_to_all(Design& design, Fidelity fidelity, std::uint64_t seed) {
  Collectives work;
  CollectiveJob& job = work.jobs.emplace_back();
  job.operation = collective::Operation::all_to_all;
  job.gpus = design.cluster().gpus;
  job.sizes = {Bytes(16 << 20)};
  const Experiment experiment{
      .workload = std::make_shared<const Workload>(std::move(work)), .fidelity = fidelity, .seed = seed};
  check(design, experiment);
  const Outcome outcome = run(design, experiment, {});
  return static_cast<double>(outcome.rows.at(0).at(0).time.count());
}

// Some pairs of servers have half of what others have, at any time other ones: those in flight make up for each other.
TEST(Collectives, MessagesKnowWhatAllToAllGetsOfHashedPaths) {
  const auto design = testing::design_from(
      "version: 1\nservers: {kind: hgx-h200, count: 8}\nfabric: {kind: tor-clos, servers_per_leaf: 2}\n"
      "transport: {kind: srd, balance: ecmp}\n");
  ASSERT_NE(design, nullptr);
  for (const std::uint64_t seed : {1u, 2u, 3u})
    EXPECT_NEAR(all_to_all(*design, Fidelity::message, seed) / all_to_all(*design, Fidelity::flow, seed), 1, 0.12)
        << seed;
}

struct Asked {
  const char* cluster;
  collective::Operation operation;
  std::int64_t bytes;
  const char* transport = "{kind: rocev2, balance: ecmp}\nswitching: {flow_control: pfc}";
};

std::unique_ptr<Design> design_of(const Asked& asked) {
  return testing::design_from(
      fmt::format("version: 1\nservers: {{kind: hgx-h200, count: {}\ntransport: {}\n", asked.cluster, asked.transport));
}

schedule::CollectiveRow row_at(const Asked& asked, Fidelity fidelity) {
  const auto design = design_of(asked);
  Collectives work;
  CollectiveJob& job = work.jobs.emplace_back();
  job.operation = asked.operation;
  job.gpus = design->cluster().gpus;
  job.sizes = {Bytes(asked.bytes)};
  const Experiment experiment{.workload = std::make_shared<const Workload>(std::move(work)), .fidelity = fidelity};
  check(*design, experiment);
  return run(*design, experiment, {}).rows.at(0).at(0);
}

constexpr std::int64_t kMiB = 1 << 20;

// DCQCN slows senders down where hashed flows collide. What is over before senders hear of it is known; what
// connections lose that come and go, or where draws of what they lose differ, is not.
TEST(Collectives, WhatDcqcnLosesIsNotKnownWhereSendersHearOfMarks) {
  using enum collective::Operation;
  const char* const clos = "8}\nfabric: {kind: tor-clos, servers_per_leaf: 2}";
  const char* const slow = "8}\nfabric: {kind: fat-tree, k: 16}\nfaults: [{part: s3/nic5, kind: slow, share: 50%}]";
  const char* const half = "8}\nfabric: {kind: tor-clos, servers_per_leaf: 4, oversubscription: 2}";
  for (const Fidelity level : {Fidelity::message, Fidelity::flow}) {
    EXPECT_EQ(row_at({clos, all_to_all, kMiB}, level).not_known, "") << "sent within a round trip";
    EXPECT_NE(row_at({clos, all_to_all, 32 * kMiB}, level).not_known, "");
    EXPECT_EQ(row_at({slow, reduce_scatter, 16 * kMiB}, level).not_known, "") << "small steps, and room for all";
    EXPECT_NE(row_at({half, all_reduce, 128 * kMiB}, level).not_known, "") << "large steps that meet";
  }
}

// What rings, chains and trees lose is told by the fluid of those that meet.
TEST(Collectives, FlowsAndMessagesKnowWhatDcqcnLosesToConnectionsThatLast) {
  using enum collective::Operation;
  const Asked rings[] = {{"4}\nfabric: {kind: fat-tree, k: 16}", reduce_scatter, 32 * kMiB},
                         {"4}\nfabric: {kind: rail-optimized, scalable_unit: 1, pod: 1}", reduce_scatter, 16 * kMiB}};
  for (const Asked& ring : rings) {
    const auto packets = static_cast<double>(row_at(ring, Fidelity::packet).time.count());
    for (const Fidelity level : {Fidelity::message, Fidelity::flow}) {
      const schedule::CollectiveRow row = row_at(ring, level);
      EXPECT_EQ(row.not_known, "");
      EXPECT_NEAR(static_cast<double>(row.time.count()), packets, 0.1 * packets);
    }
  }
}

// The first rounds of a chain are over before DCQCN has cut a rate: they stood for all of them once.
TEST(Collectives, PacketsOfAChainAreCarriedUntilDcqcnHasActed) {
  const Asked chain{"2}\nfabric: {kind: fat-tree, k: 16}", collective::Operation::reduce, 16 * kMiB};
  constexpr double kByShares = 148.6e6;  // ps, of links that lose nothing
  EXPECT_GT(static_cast<double>(row_at(chain, Fidelity::packet).time.count()), 1.5 * kByShares);
}

// Two channels of this chain have one uplink between them, and in nine operations their chunks hardly meet there. Of
// many each takes as long as both are on it, whatever the level.
TEST(Collectives, ChainsThatShareALinkTakeAsLongAsItDoes) {
  const Asked chain{"2}\nfabric: {kind: tor-clos, servers_per_leaf: 1, oversubscription: 8}",
                    collective::Operation::reduce, 128 << 10, "{kind: srd, balance: ecmp}"};
  const Duration by_messages = row_at(chain, Fidelity::message).time;
  EXPECT_GT(by_messages, microseconds(10));
  EXPECT_EQ(row_at(chain, Fidelity::flow).time, by_messages);
  EXPECT_EQ(row_at(chain, Fidelity::packet).time, by_messages);
}

// Small messages of an all-to-all over hashed paths that are full one behind another (a Dragonfly's): packets that are
// trimmed at the second have filled the first. On one tier of full links none has.
TEST(Collectives, WhatTrimmedPacketsFillForNothingIsNotKnown) {
  using enum collective::Operation;
  const char* const hashed = "{kind: srd, balance: ecmp}";
  const Asked dragonfly{"8}\nfabric: {kind: dragonfly, servers_per_router: 2, routers_per_group: 2, global_links: 2}",
                        all_to_all, 512 << 10, hashed};
  const Asked chassis{"8}\nfabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 512}}", all_to_all,
                      512 << 10, hashed};
  for (const Fidelity level : {Fidelity::message, Fidelity::flow}) {
    EXPECT_NE(row_at(dragonfly, level).not_known, "");
    EXPECT_EQ(row_at(chassis, level).not_known, "");
  }
}

// RoCE takes a packet that another one has overtaken for lost, and sends all behind it again: a sprayed all-to-all
// takes eight times as long by packets as its shares say, one over InfiniBand several hundred times. Below one leaf
// there is no other way.
TEST(Collectives, WhatOvertakingCostsConnectionsInOrderIsNotKnown) {
  using enum collective::Operation;
  const char* const clos = "8}\nfabric: {kind: tor-clos, servers_per_leaf: 4}";
  const char* const leaf = "4}\nfabric: {kind: tor-clos, servers_per_leaf: 4}";
  const char* const sprayed = "{kind: rocev2, balance: spray}\nswitching: {flow_control: pfc}";
  const char* const selective =
      "{kind: rocev2, balance: spray, rocev2: {recovery: selective}}\nswitching: {flow_control: pfc}";
  const Asked asked{clos, all_to_all, 4 * kMiB, sprayed};
  EXPECT_GT(row_at(asked, Fidelity::packet).time, row_at(asked, Fidelity::message).time * 2);
  EXPECT_EQ(row_at(asked, Fidelity::packet).not_known, "");
  for (const Fidelity level : {Fidelity::message, Fidelity::flow}) {
    const auto unknown = [&](const char* cluster, const char* transport) {
      return row_at({cluster, all_to_all, 4 * kMiB, transport}, level).not_known;
    };
    EXPECT_NE(unknown(clos, sprayed), "");
    EXPECT_NE(unknown(clos, "{kind: infiniband, balance: adaptive}\nswitching: {flow_control: credits}"), "");
    EXPECT_NE(unknown(clos, "{kind: rocev2, balance: flowlet}\nswitching: {flow_control: pfc}"), "");
    EXPECT_EQ(unknown(leaf, sprayed), "") << "one way";
    EXPECT_NE(unknown(clos, selective), "") << "what is overtaken is sent again";
    EXPECT_EQ(unknown(clos, "{kind: srd, balance: spray}"), "") << "no order to keep";
    EXPECT_EQ(unknown(clos, "{kind: rocev2, balance: spray}\nswitching: {flow_control: scheduled}"), "")
        << "in order again at the leaf";
  }
}

// A timeout of TCP is 200 ms, which no share of a link tells of. RoCE that loses packets may never end.
TEST(Collectives, WhatIsLostToFullQueuesIsNotKnown) {
  using enum collective::Operation;
  const char* const clos = "8}\nfabric: {kind: tor-clos, servers_per_leaf: 4}";
  const char* const leaf = "4}\nfabric: {kind: tor-clos, servers_per_leaf: 4}";
  const Asked asked{clos, all_to_all, 16 * kMiB, "{kind: tcp}"};
  EXPECT_GT(row_at(asked, Fidelity::packet).time, row_at(asked, Fidelity::message).time * 100);
  for (const Fidelity level : {Fidelity::message, Fidelity::flow}) {
    EXPECT_NE(row_at(asked, level).not_known, "");
    EXPECT_NE(row_at({clos, all_to_all, 16 * kMiB, "{kind: rocev2, rocev2: {control: none}}"}, level).not_known, "");
    EXPECT_EQ(row_at({leaf, all_reduce, 16 * kMiB, "{kind: tcp}"}, level).not_known, "") << "no link has two";
  }
}

}  // namespace
}  // namespace weft::experiment
