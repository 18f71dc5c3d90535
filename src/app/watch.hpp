#pragma once
// Somebody who watches a run: shows how far it is, and stops it at a limit or at Ctrl-C.
//
// On a terminal a bar is redrawn a few times a second; elsewhere a line comes every ten seconds; a run that is
// over in half a second shows nothing. Everything goes to stderr.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/console.hpp"
#include "app/limits.hpp"
#include "schedule/horizon.hpp"
#include "schedule/progress.hpp"

namespace weft::app {

// Ctrl-C while an object of this type lives: the first asks for an orderly end, the second kills.
class CtrlC {
 public:
  CtrlC();
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;
  static bool pressed();
};

// The machine as a watch sees it; tests bring their own.
struct Surroundings {
  std::function<std::chrono::nanoseconds()> clock;
  std::function<std::int64_t()> memory;  // bytes of this process
  std::function<bool()> interrupted;
};
Surroundings real_surroundings();

// What progress is drawn of: "1:05", and "[####..........]" for a share of 0 to 1.
std::string clock_text(std::chrono::nanoseconds time);
std::string bar(double share);

class Watch {
 public:
  // `total_bytes`: what the traffic will have delivered when all is done. Asked for once, when something is shown: to
  // know it may take a while.
  using TotalBytes = std::function<std::uint64_t()>;
  Watch(const Limits& limits, TotalBytes total_bytes, Console& console, Surroundings around = real_surroundings());

  // To be called about once per window; false: stop now.
  bool operator()(const schedule::Progress& progress);
  // Where limits of time and events will stop it.
  schedule::Horizon horizon() const;
  // The run is over: clears the bar.
  void finish();
  // Empty while nothing stopped it; else "ctrl-c" or the limit as it was written.
  const std::string& stopped_by() const { return stopped_by_; }

 private:
  bool exceeds(const Limit& limit, const schedule::Progress& progress, std::chrono::nanoseconds elapsed);
  void show(const schedule::Progress& progress, std::chrono::nanoseconds elapsed);
  std::string describe(const schedule::Progress& progress, std::chrono::nanoseconds elapsed);

  Limits limits_;
  TotalBytes ask_total_;
  std::optional<std::uint64_t> total_bytes_;
  Console& console_;
  Surroundings around_;
  std::chrono::nanoseconds started_;
  std::chrono::nanoseconds next_show_;
  std::chrono::nanoseconds next_weighing_{0};
  bool drawn_ = false;
  std::string stopped_by_;
};

}  // namespace weft::app
