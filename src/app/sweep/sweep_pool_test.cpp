#include "app/sweep/sweep_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <vector>

namespace weft::app {
namespace {

TEST(SweepPool, EveryJobIsDoneOnceHoweverManyWorkThere) {
  for (const unsigned workers : {0u, 1u, 2u, 8u, 100u}) {
    std::vector<std::atomic<int>> times(37);
    run_jobs({workers, [&](std::size_t job) { return ++times[job] > 0; }, [](std::size_t) {}}, times.size());
    for (const auto& n : times) EXPECT_EQ(n, 1) << workers;
  }
}

TEST(SweepPool, TwoWorkersWorkAtTheSameTime) {
  std::latch both(2);
  const auto meet = [&](std::size_t) {
    both.arrive_and_wait();  // one worker alone would wait for ever
    return true;
  };
  run_jobs({2, meet, [](std::size_t) {}}, 2);
  EXPECT_TRUE(both.try_wait());
}

TEST(SweepPool, NothingIsStartedAfterAStop) {
  std::size_t started = 0;
  run_jobs({1, [&](std::size_t job) { return ++started, job < 3; }, [](std::size_t) {}}, 100);
  EXPECT_EQ(started, 4u);
}

TEST(SweepPool, NoJobsAreDoneAtOnce) {
  run_jobs({4, [](std::size_t) { return true; }, [](std::size_t) {}}, 0);
}

TEST(SweepPool, WhatAJobThrowsArrives) {
  const auto fail = [](std::size_t job) {
    if (job == 2) throw std::runtime_error("no memory");
    return true;
  };
  EXPECT_THROW(run_jobs({2, fail, [](std::size_t) {}}, 10), std::runtime_error);
}

}  // namespace
}  // namespace weft::app
