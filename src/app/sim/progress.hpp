#pragma once
// How far a run is, on stderr.
//
// On a terminal a bar is redrawn a few times a second; elsewhere a line comes every ten seconds; a run that is
// over in half a second shows nothing.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "experiment/observer.hpp"

namespace weft::app {

std::int64_t resident_bytes();  // of this process

// What progress is drawn of: "1:05", and "[####..........]" for a share of 0 to 1.
std::string clock_text(std::chrono::nanoseconds time);
std::string bar(double share);

class RunProgress {
 public:
  // `total_bytes`: what the traffic will have delivered when all is done. Asked for once, when something is shown: to
  // know it may take a while.
  using TotalBytes = std::function<std::uint64_t()>;
  RunProgress(TotalBytes total_bytes, Console& console);
  // Clears the bar.
  ~RunProgress();
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;

  // Of a collective, whose bytes nobody knows before: how many sizes there are, and each that is done.
  void count_sizes(std::size_t sizes) { sizes_ = sizes; }
  void size_done(std::chrono::nanoseconds elapsed) { done_.push_back(elapsed); }
  // Takes a bar away, before something else is printed there.
  void clear();
  void show(const schedule::Progress& progress, std::chrono::nanoseconds elapsed);
  // Shows here, stops at Ctrl-C.
  experiment::Observer observer();

 private:
  std::string describe_sizes(std::chrono::nanoseconds elapsed) const;
  std::string describe(const schedule::Progress& progress, std::chrono::nanoseconds elapsed);

  TotalBytes ask_total_;
  std::optional<std::uint64_t> total_bytes_;
  std::size_t sizes_ = 0;
  std::vector<std::chrono::nanoseconds> done_;  // when each size was
  Console& console_;
  std::chrono::nanoseconds next_;
  bool drawn_ = false;
};

// Shows nothing, stops at Ctrl-C.
experiment::Observer silent_observer();

}  // namespace weft::app
