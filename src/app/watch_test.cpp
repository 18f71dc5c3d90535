#include "app/watch.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::uint64_t kTotal = 1'000'000;

// A machine whose clock, memory and keyboard the test holds.
struct Machine {
  nanoseconds now{0};
  std::int64_t memory = 0;
  bool interrupted = false;
  int asked_for_total = 0;
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err, false, false, 0, 0};
  Surroundings around() {
    return {[this] { return now; }, [this] { return memory; }, [this] { return interrupted; }};
  }
  Watch watch(const std::string& limit = "") {
    spec::Diagnostics diagnostics;
    Watch made(
        parse_limits(limit, diagnostics), [this] { return ++asked_for_total, kTotal; }, console, around());
    EXPECT_FALSE(diagnostics.has_errors());
    return made;
  }
};

TEST(Watch, EachLimitStopsTheRunAndIsNamed) {
  Machine machine;
  const std::string all = "time=1us,events=1000,memory=1MB,wall=2s";
  {
    Watch watch = machine.watch(all);
    EXPECT_TRUE(watch({999'999, 999, 0}));
    EXPECT_FALSE(watch({1'000'000, 999, 0}));
    EXPECT_EQ(watch.stopped_by(), "time=1us");
    EXPECT_FALSE(watch({0, 0, 0})) << "stopped is stopped";
  }
  {
    Watch watch = machine.watch(all);
    EXPECT_FALSE(watch({0, 1000, 0}));
    EXPECT_EQ(watch.stopped_by(), "events=1000");
  }
  {
    Watch watch = machine.watch(all);
    machine.memory = 1'000'000;
    EXPECT_FALSE(watch({0, 0, 0}));
    EXPECT_EQ(watch.stopped_by(), "memory=1MB");
    machine.memory = 0;
  }
  {
    Watch watch = machine.watch(all);
    machine.now += milliseconds(1999);
    EXPECT_TRUE(watch({0, 0, 0}));
    machine.now += milliseconds(1);
    EXPECT_FALSE(watch({0, 0, 0}));
    EXPECT_EQ(watch.stopped_by(), "wall=2s");
  }
}

// Asking is a system call; a run calls thousands of times a second.
TEST(Watch, MemoryIsAskedForEveryTwentyMilliseconds) {
  Machine machine;
  Watch watch = machine.watch("memory=1MB");
  EXPECT_TRUE(watch({0, 0, 0}));
  machine.memory = 1'000'000;
  machine.now += milliseconds(19);
  EXPECT_TRUE(watch({0, 0, 0}));
  machine.now += milliseconds(1);
  EXPECT_FALSE(watch({0, 0, 0}));
}

TEST(Watch, KnowsWhereItWillStopARun) {
  Machine machine;
  EXPECT_EQ(machine.watch("events=1000,time=1us,wall=2s").horizon().time, 1'000'000);
  EXPECT_EQ(machine.watch("events=1000,time=1us,wall=2s").horizon().events, 1000u);
  EXPECT_EQ(machine.watch("wall=2s").horizon().time, INT64_MAX);
  EXPECT_EQ(machine.watch("wall=2s").horizon().events, UINT64_MAX);
}

TEST(Watch, CtrlCStopsTheRun) {
  Machine machine;
  Watch watch = machine.watch();
  EXPECT_TRUE(watch({0, 0, 0}));
  machine.interrupted = true;
  EXPECT_FALSE(watch({0, 0, 0}));
  EXPECT_EQ(watch.stopped_by(), "ctrl-c");
}

TEST(Watch, AShortRunShowsNothing) {
  for (const std::size_t width : {0u, 80u}) {
    Machine machine;
    machine.console.err_width = width;
    Watch watch = machine.watch();
    machine.now += milliseconds(499);
    watch({1'000'000, 100, 10});
    watch.finish();
    EXPECT_EQ(machine.err.str(), "");
  }
}

TEST(Watch, ALogGetsALineEveryTenSeconds) {
  Machine machine;
  Watch watch = machine.watch();
  for (int i = 0; i < 25; ++i) {
    machine.now += seconds(1);
    watch({microseconds(120).count(), 40'000'000, kTotal / 4});
  }
  watch.finish();
  EXPECT_EQ(machine.err.str(),
            " 25% delivered, 120us simulated, 4.0M events/s, 0:30 left\n"
            " 25% delivered, 120us simulated, 2.0M events/s, 1:00 left\n");
}

// To know it, random traffic is drawn a first time.
TEST(Watch, TheTotalIsAskedForOnceAndOnlyToShowIt) {
  Machine machine;
  Watch watch = machine.watch();
  machine.now += seconds(9);
  watch({0, 0, 0});
  EXPECT_EQ(machine.asked_for_total, 0);
  for (int i = 0; i < 3; ++i) {
    machine.now += seconds(10);
    watch({0, 0, 0});
  }
  EXPECT_EQ(machine.asked_for_total, 1);
}

TEST(Watch, ATerminalGetsABarThatIsClearedAtTheEnd) {
  Machine machine;
  machine.console.err_width = 40;
  Watch watch = machine.watch();
  machine.now += milliseconds(500);
  watch({microseconds(120).count(), 40'000'000, kTotal / 2});
  const std::string drawn = machine.err.str();
  EXPECT_TRUE(drawn.starts_with("\r[#######.......]  50% delivered")) << drawn;
  EXPECT_LE(display_width(drawn), 40u + 4u) << "one line: " << drawn;  // \r and \x1b[K do not show
  machine.now += milliseconds(100);
  watch({microseconds(130).count(), 40'000'000, kTotal / 2});
  EXPECT_EQ(machine.err.str(), drawn) << "not redrawn so soon";
  watch.finish();
  EXPECT_TRUE(machine.err.str().ends_with("\r\x1b[K"));
}

// One message per sender is enough to have nothing whole until the end.
TEST(Watch, WhatIsThereOfMessagesCountsAndIsAskedForRarely) {
  Machine machine;
  Watch watch = machine.watch();
  int asked = 0;
  const auto at = [&](std::uint64_t underway) {
    return schedule::Progress{microseconds(120).count(), 40'000'000, kTotal / 10,
                              [&asked, underway] { return ++asked, underway; }};
  };
  for (int i = 0; i < 9; ++i) {
    machine.now += seconds(1);
    watch(at(kTotal / 5));
  }
  EXPECT_EQ(asked, 0);
  machine.now += seconds(1);
  watch(at(kTotal / 5));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(machine.err.str().starts_with(" 30% delivered")) << machine.err.str();
}

TEST(Watch, TheFirstCtrlCIsANoteAndTheSecondKills) {
  {
    const CtrlC guard;
    EXPECT_FALSE(CtrlC::pressed());
    std::raise(SIGINT);
    EXPECT_TRUE(CtrlC::pressed());
  }
  EXPECT_EXIT(
      {
        const CtrlC guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Watch, TheMachineIsAskedForRealMemoryAndTime) {
  const Surroundings around = real_surroundings();
  EXPECT_GT(around.memory(), 1 << 20);
  const nanoseconds before = around.clock();
  EXPECT_GT(before.count(), 0);
  EXPECT_LE(before, around.clock());
}

}  // namespace
}  // namespace weft::app
