#include "traffic/all_reduce.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace weft::traffic {
namespace {

// Addresses that nobody else has: below the ports that the kernel gives away, another one for each process and call.
std::vector<net::Address> addresses(std::uint32_t ranks) {
  static std::uint32_t calls = 0;
  const auto port = static_cast<std::uint16_t>(10'000 + (static_cast<std::uint32_t>(getpid()) * 16 + calls++) % 20'000);
  std::vector<net::Address> out;
  for (std::uint32_t i = 0; i < ranks; ++i)
    out.push_back(*net::Address::parse("127.0.1." + std::to_string(i + 1), port));
  return out;
}

bool go_on(std::uint32_t) { return true; }

// All ranks but the last `absent`, each in a thread.
std::vector<AllReduceResult> run_all(AllReduceOptions options, std::uint32_t ranks, std::uint32_t absent = 0) {
  options.ranks = addresses(ranks);
  std::vector<AllReduceResult> results(ranks - absent);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < results.size(); ++rank)
    threads.emplace_back([&results, options, rank]() mutable {
      options.rank = rank;
      results[rank] = run_all_reduce(options, go_on);
    });
  for (std::thread& each : threads) each.join();
  return results;
}

TEST(AllReduce, EverySumIsRightOnEveryRank) {
  struct Case {
    std::uint32_t ranks;
    std::uint64_t size;
  };
  // Two ranks, odd numbers of them, parts that do not divide, and fewer numbers than ranks.
  for (const Case& each : {Case{2, 1 << 20}, Case{3, 3'000'004}, Case{5, 8}, Case{4, 4 << 20}}) {
    AllReduceOptions options;
    options.size = each.size;
    options.times = 2;
    options.warm_up = 1;
    for (const AllReduceResult& result : run_all(options, each.ranks)) {
      EXPECT_EQ(result.failure, "") << each.ranks;
      EXPECT_EQ(result.wrong, 0u) << each.ranks << " ranks, " << each.size;
      EXPECT_EQ(result.times.size(), 2u);
      EXPECT_GT(result.packets, 0u);
    }
  }
}

TEST(AllReduce, WhoHasTheKeyTakesPart) {
  AllReduceOptions options;
  options.size = 100'000;
  options.times = 1;
  options.key.emplace().fill(9);
  for (const AllReduceResult& result : run_all(options, 3)) {
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.wrong, 0u);
  }
}

TEST(AllReduce, WhoDoesNotComeIsNamed) {
  AllReduceOptions options;
  options.size = 4096;
  options.together_within = microseconds(2'000'000);
  const std::vector<AllReduceResult> results = run_all(options, 3, 1);
  EXPECT_NE(results[1].failure.find("not all ranks came in time"), std::string::npos) << results[1].failure;
  EXPECT_NE(results[0].failure, "");
}

TEST(AllReduce, WhoStopsIsAnErrorForTheOthers) {
  AllReduceOptions options;
  options.ranks = addresses(2);
  options.size = 1 << 20;
  options.times = 1000;
  AllReduceResult other;
  std::thread thread([&] {
    AllReduceOptions mine = options;
    mine.rank = 1;
    other = run_all_reduce(mine, go_on);
  });
  const AllReduceResult stopped = run_all_reduce(options, [](std::uint32_t done) { return done < 3; });
  thread.join();
  EXPECT_EQ(stopped.failure, "interrupted");
  EXPECT_EQ(stopped.times.size(), 3u);
  EXPECT_NE(other.failure.find("rank 0 at 127.0.1.1"), std::string::npos) << other.failure;
}

TEST(AllReduce, BusBandwidthIsWhatALinkOfTheRingCarries) {
  AllReduceOptions options;
  options.ranks = addresses(4);
  options.size = 1'000'000;
  AllReduceResult result;
  result.times = {microseconds(1'000), microseconds(3'000)};
  EXPECT_DOUBLE_EQ(result.bus_bandwidth(options), 1e6 / 2e6 * 1.5);
}

}  // namespace
}  // namespace weft::traffic
