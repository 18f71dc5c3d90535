#include "app/sim/progress.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <sstream>

#include "app/ctrl_c.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::uint64_t kTotal = 1'000'000;

// A terminal or a log, and a clock that the test holds.
struct Machine {
  nanoseconds now{0};
  int asked_for_total = 0;
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err, false, false, 0, 0};
  RunProgress::TotalBytes total() {
    return [this] { return ++asked_for_total, kTotal; };
  }
};

TEST(RunProgress, AShortRunShowsNothing) {
  for (const std::size_t width : {0u, 80u}) {
    Machine machine;
    machine.console.err_width = width;
    {
      RunProgress progress(machine.total(), machine.console);
      progress.show({Duration(1'000'000), 100, 10}, milliseconds(499));
    }
    EXPECT_EQ(machine.err.str(), "");
  }
}

TEST(RunProgress, ALogGetsALineEveryTenSeconds) {
  Machine machine;
  auto progress = std::make_unique<RunProgress>(machine.total(), machine.console);
  const auto watch = [&](const schedule::Progress& each) { progress->show(each, machine.now); };
  for (int i = 0; i < 25; ++i) {
    machine.now += seconds(1);
    watch({microseconds(120), 40'000'000, kTotal / 4});
  }
  progress.reset();
  EXPECT_EQ(machine.err.str(),
            " 25% delivered, 120us simulated, 4.0M events/s, 0:30 left\n"
            " 25% delivered, 120us simulated, 2.0M events/s, 1:00 left\n");
}

// To know it, random traffic is drawn a first time.
TEST(RunProgress, TheTotalIsAskedForOnceAndOnlyToShowIt) {
  Machine machine;
  auto progress = std::make_unique<RunProgress>(machine.total(), machine.console);
  const auto watch = [&](const schedule::Progress& each) { progress->show(each, machine.now); };
  machine.now += seconds(9);
  watch({Duration(0), 0, 0});
  EXPECT_EQ(machine.asked_for_total, 0);
  for (int i = 0; i < 3; ++i) {
    machine.now += seconds(10);
    watch({Duration(0), 0, 0});
  }
  EXPECT_EQ(machine.asked_for_total, 1);
}

TEST(RunProgress, WhereNothingIsDeliveredNoShareIsShown) {
  Machine machine;
  RunProgress progress([] { return std::uint64_t{0}; }, machine.console);
  machine.now += seconds(65);
  progress.show({}, machine.now);
  EXPECT_EQ(machine.err.str(), "at work for 1:05\n");
  machine.now += seconds(15);
  progress.show({microseconds(120), 8'000'000, 0}, machine.now);
  EXPECT_EQ(machine.err.str(), "at work for 1:05\nat work for 1:20, 120us simulated, 100.0k events/s\n");
}

// Each size took twice as long as the one before: 1, 2 and 4 s, so 8 + 16 are to come.
TEST(RunProgress, OfSizesItSaysHowManyAreDoneAndWhatIsLeft) {
  Machine machine;
  RunProgress progress([] { return std::uint64_t{0}; }, machine.console);
  progress.count_sizes(5);
  machine.now += seconds(10);
  progress.show({}, machine.now);
  progress.size_done(seconds(1));
  progress.size_done(seconds(3));
  progress.size_done(seconds(7));
  machine.now += seconds(10);
  progress.show({}, machine.now);
  EXPECT_EQ(machine.err.str(), "0 of 5 sizes, at work for 0:10\n3 of 5 sizes, about 0:11 left, at work for 0:20\n");
}

TEST(RunProgress, ATerminalGetsABarThatIsClearedAtTheEnd) {
  Machine machine;
  machine.console.err_width = 40;
  auto progress = std::make_unique<RunProgress>(machine.total(), machine.console);
  const auto watch = [&](const schedule::Progress& each) { progress->show(each, machine.now); };
  machine.now += milliseconds(500);
  watch({microseconds(120), 40'000'000, kTotal / 2});
  const std::string drawn = machine.err.str();
  EXPECT_TRUE(drawn.starts_with("\r[#######.......]  50% delivered")) << drawn;
  EXPECT_LE(display_width(drawn), 40u + 4u) << "one line: " << drawn;  // \r and \x1b[K do not show
  machine.now += milliseconds(100);
  watch({microseconds(130), 40'000'000, kTotal / 2});
  EXPECT_EQ(machine.err.str(), drawn) << "not redrawn so soon";
  progress.reset();
  EXPECT_TRUE(machine.err.str().ends_with("\r\x1b[K"));
}

// One message per sender is enough to have nothing whole until the end.
TEST(RunProgress, WhatIsThereOfMessagesCountsAndIsAskedForRarely) {
  Machine machine;
  auto progress = std::make_unique<RunProgress>(machine.total(), machine.console);
  const auto watch = [&](const schedule::Progress& each) { progress->show(each, machine.now); };
  int asked = 0;
  const auto at = [&](std::uint64_t underway) {
    return schedule::Progress{microseconds(120), 40'000'000, kTotal / 10,
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

TEST(CtrlC, TheFirstIsANoteAndTheSecondKills) {
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
      ::testing::KilledBySignal(SIGINT), "");
}

TEST(RunProgress, AnObserverStopsAtCtrlCAndKnowsTheMemory) {
  const experiment::Observer observer = silent_observer();
  EXPECT_GT(observer.memory(), 1 << 20);
  const CtrlC guard;
  EXPECT_FALSE(observer.stopped());
  std::raise(SIGINT);
  EXPECT_TRUE(observer.stopped());
}

}  // namespace
}  // namespace weft::app
