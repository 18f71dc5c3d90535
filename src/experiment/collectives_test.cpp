#include "experiment/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "experiment/experiment.hpp"

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
  spec::Diagnostics diagnostics;
  const auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(diagnostics));
  const std::uint32_t source = diagnostics.sources().add(
      "test.weft.yaml",
      "version: 1\nservers: {kind: hgx-h200, count: 8}\nfabric: {kind: tor-clos, servers_per_leaf: 2}\n"
      "transport: {kind: srd, balance: ecmp}\n");
  const auto design = Design::read(source, "test", {}, catalog, diagnostics);
  ASSERT_NE(design, nullptr);
  for (const std::uint64_t seed : {1u, 2u, 3u})
    EXPECT_NEAR(all_to_all(*design, Fidelity::message, seed) / all_to_all(*design, Fidelity::flow, seed), 1, 0.12)
        << seed;
}

}  // namespace
}  // namespace weft::experiment
