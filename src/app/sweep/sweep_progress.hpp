#pragma once
// How far work is that can be counted (runs of a sweep, tables, seeds), on stderr: a bar on a terminal, elsewhere a
// line every ten seconds, of a short one nothing.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "app/console.hpp"
#include "app/sim/progress.hpp"

namespace weft::app {

class SweepProgress {
 public:
  // what: of which there are so many.
  SweepProgress(std::size_t runs, Console& console, std::string what = "runs",
                std::function<std::chrono::nanoseconds()> clock = experiment::Observer().clock);
  ~SweepProgress() { finish(); }
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;
  // To be called as often as one likes.
  void show(std::size_t done);
  // Says what the result is of, where somebody pressed Ctrl-C, and returns the exit code for it.
  int interrupted(std::size_t done);
  // Clears the bar.
  void finish();

 private:
  std::size_t runs_;
  std::string what_;
  Console& console_;
  std::function<std::chrono::nanoseconds()> clock_;
  std::chrono::nanoseconds started_;
  std::chrono::nanoseconds next_;
  bool drawn_ = false;
};

}  // namespace weft::app
