#pragma once
// How far a sweep is, on stderr: a bar on a terminal, elsewhere a line every ten seconds, of a short one nothing.

#include <chrono>
#include <cstddef>
#include <functional>

#include "app/console.hpp"
#include "app/sim/progress.hpp"

namespace weft::app {

class SweepProgress {
 public:
  SweepProgress(std::size_t runs, Console& console,
                std::function<std::chrono::nanoseconds()> clock = experiment::Observer().clock);
  // To be called as often as one likes.
  void show(std::size_t done);
  // Clears the bar.
  void finish();

 private:
  std::size_t runs_;
  Console& console_;
  std::function<std::chrono::nanoseconds()> clock_;
  std::chrono::nanoseconds started_;
  std::chrono::nanoseconds next_;
  bool drawn_ = false;
};

}  // namespace weft::app
