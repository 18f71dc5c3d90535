#include "measured/host_runs.hpp"

#include <gtest/gtest.h>

namespace weft::measured {
namespace {

std::vector<HostRun> read(std::string_view text) {
  std::vector<HostRun> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto run = host_run(text.substr(0, end))) out.push_back(std::move(*run));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

TEST(HostRuns, TellWhichHostIsInTheSlowOnes) {
  const auto found =
      slow_host(read("a644,a699     49.36\na632,a641     88.36\na284,a678     49.28  # another rack\n"
                     "a641,a644     49.30\na404,a699  86.81 GB/s\n"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->host, "a644");
  EXPECT_EQ(found->runs, 2u);
  EXPECT_EQ(found->slow, 3u);
}

TEST(HostRuns, TellNothingWhereHostsAreAlike) {
  EXPECT_FALSE(slow_host({}));
  EXPECT_FALSE(slow_host(read("a1,a2 49.3\na3,a4 88.1\n"))) << "either of two";
  EXPECT_FALSE(slow_host(read("a1,a2 49.3\na1,a2 48.1\na3,a4 88.1\n"))) << "still either";
  EXPECT_FALSE(slow_host(read("a1,a2 85.3\na1,a3 84.1\na3,a4 88.1\n"))) << "none is slow";
  EXPECT_FALSE(slow_host(read("a1,a2 49.3\na1,a3 48.1\na1,a4 88.1\n"))) << "a1 is fast once";
}

TEST(HostRuns, AreNotOtherLines) {
  EXPECT_TRUE(
      read("1048576,2097152 49.36\nmlx5_0,mlx5_1 2\nNCCL_IB_HCA=mlx5_0,mlx5_1 1.5\nnode1 49.36\na1,b2 x\n").empty());
}

}  // namespace
}  // namespace weft::measured
