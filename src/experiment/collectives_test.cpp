#include "experiment/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace weft::experiment
