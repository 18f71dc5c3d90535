#include "app/sweep/sweep_progress.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace weft::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct Machine {
  nanoseconds now{0};
  std::ostringstream err;
  Console console{err, err, false, false, 0, 0};
  std::function<nanoseconds()> clock() {
    return [this] { return now; };
  }
};

TEST(SweepProgress, ALogGetsALineEveryTenSeconds) {
  Machine machine;
  SweepProgress progress(24, machine.console, "runs", machine.clock());
  for (std::size_t i = 1; i <= 25; ++i) {
    machine.now += seconds(1);
    progress.show(i / 5);
  }
  progress.finish();
  EXPECT_EQ(machine.err.str(), "2 of 24 runs, 1:50 left\n4 of 24 runs, 1:40 left\n");
}

TEST(SweepProgress, ATerminalGetsABarThatIsClearedAtTheEnd) {
  Machine machine;
  machine.console.err_width = 80;
  SweepProgress progress(4, machine.console, "tables", machine.clock());
  machine.now += milliseconds(499);
  progress.show(1);
  EXPECT_EQ(machine.err.str(), "") << "a short sweep shows nothing";
  machine.now += milliseconds(1);
  progress.show(0);
  EXPECT_EQ(machine.err.str(), "\r[..............] 0 of 4 tables\x1b[K") << "nothing is known of what is left";
  progress.finish();
  EXPECT_TRUE(machine.err.str().ends_with("\r\x1b[K"));
}

}  // namespace
}  // namespace weft::app
