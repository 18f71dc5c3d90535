#include "experiment/watch.hpp"

#include <gtest/gtest.h>

namespace weft::experiment {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A machine whose clock, memory and stop button the test holds.
struct Machine {
  nanoseconds now{0};
  std::int64_t memory = 0;
  std::atomic<bool> stop = false;
  Observer observer;

  Machine() {
    observer.clock = [this] { return now; };
    observer.memory = [this] { return memory; };
    observer.stop = &stop;
  }
  Watch watch(const std::string& limit = "") {
    spec::Diagnostics diagnostics;
    const Limits limits = parse_limits(limit, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors());
    return {limits, observer};
  }
};

TEST(Watch, EachLimitStopsTheRunAndIsNamed) {
  Machine machine;
  const std::string all = "time=1us,events=1000,memory=1MB,wall=2s";
  {
    Watch watch = machine.watch(all);
    EXPECT_TRUE(watch({Duration(999'999), 999, 0}));
    EXPECT_FALSE(watch({Duration(1'000'000), 999, 0}));
    EXPECT_EQ(watch.stopped_by(), "time=1us");
    EXPECT_FALSE(watch({Duration(0), 0, 0})) << "stopped is stopped";
  }
  {
    Watch watch = machine.watch(all);
    EXPECT_FALSE(watch({Duration(0), 1000, 0}));
    EXPECT_EQ(watch.stopped_by(), "events=1000");
  }
  {
    Watch watch = machine.watch(all);
    machine.memory = 1'000'000;
    EXPECT_FALSE(watch({Duration(0), 0, 0}));
    EXPECT_EQ(watch.stopped_by(), "memory=1MB");
    machine.memory = 0;
  }
  {
    Watch watch = machine.watch(all);
    machine.memory = 600'000;
    schedule::Progress progress;
    EXPECT_TRUE(watch(progress));
    machine.now += milliseconds(20);
    progress.growth_bytes = [] { return 400'000; };
    EXPECT_FALSE(watch(progress)) << "when the list has grown it is too late";
    EXPECT_EQ(watch.stopped_by(), "memory=1MB");
    machine.memory = 0;
    machine.now = nanoseconds(0);
  }
  {
    Watch watch = machine.watch(all);
    machine.now += milliseconds(1999);
    EXPECT_TRUE(watch({Duration(0), 0, 0}));
    machine.now += milliseconds(1);
    EXPECT_FALSE(watch({Duration(0), 0, 0}));
    EXPECT_EQ(watch.stopped_by(), "wall=2s");
  }
}

TEST(Watch, KnowsWhereItWillStopARun) {
  Machine machine;
  EXPECT_EQ(machine.watch("events=1000,time=1us,wall=2s").horizon().time.count(), 1'000'000);
  EXPECT_EQ(machine.watch("events=1000,time=1us,wall=2s").horizon().events, 1000u);
  EXPECT_EQ(machine.watch("wall=2s").horizon().time.count(), INT64_MAX);
  EXPECT_EQ(machine.watch("wall=2s").horizon().events, UINT64_MAX);
}

TEST(Watch, TheObserverStopsTheRun) {
  Machine machine;
  Watch watch = machine.watch();
  EXPECT_TRUE(watch({Duration(0), 0, 0}));
  machine.stop = true;
  EXPECT_FALSE(watch({Duration(0), 0, 0}));
  EXPECT_EQ(watch.stopped_by(), kStoppedByObserver);
}

TEST(Watch, TheObserverHearsHowFarItIsAndForHowLongItRan) {
  Machine machine;
  std::int64_t heard = 0;
  nanoseconds ran{0};
  machine.observer.progress = [&](const schedule::Progress& progress, nanoseconds elapsed) {
    heard = progress.now.count();
    ran = elapsed;
  };
  machine.now = milliseconds(5);
  Watch watch = machine.watch("time=1us");
  machine.now += milliseconds(7);
  EXPECT_TRUE(watch({Duration(123), 0, 0}));
  EXPECT_EQ(heard, 123);
  EXPECT_EQ(ran, milliseconds(7));
  EXPECT_FALSE(watch({Duration(1'000'000), 0, 0}));
  EXPECT_EQ(heard, 123) << "a run that is stopped has nothing more to tell";
}

// Asking is a system call; a run calls thousands of times a second.
TEST(Watch, MemoryIsAskedForEveryTwentyMilliseconds) {
  Machine machine;
  Watch watch = machine.watch("memory=1MB");
  EXPECT_TRUE(watch({Duration(0), 0, 0}));
  machine.memory = 1'000'000;
  machine.now += milliseconds(19);
  EXPECT_TRUE(watch({Duration(0), 0, 0}));
  machine.now += milliseconds(1);
  EXPECT_FALSE(watch({Duration(0), 0, 0}));
}

}  // namespace
}  // namespace weft::experiment
