#include "app/watch.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kQuiet = milliseconds(500);      // a shorter run needs no progress
constexpr nanoseconds kRedraw = milliseconds(200);     // of a bar: often enough to look alive
constexpr nanoseconds kLineEvery = seconds(10);        // where lines pile up in a log
constexpr nanoseconds kWeighEvery = milliseconds(20);  // asking for memory is a system call
constexpr double kTooFar = 100 * 3600;                 // seconds; an estimate beyond is a guess

volatile sig_atomic_t ctrl_c_pressed = 0;
struct sigaction before_ctrl_c;

void on_ctrl_c(int) { ctrl_c_pressed = 1; }

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::string rate_text(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f}M", per_second / 1e6);
  return per_second >= 1e3 ? fmt::format("{:.1f}k", per_second / 1e3) : fmt::format("{:.0f}", per_second);
}

}  // namespace

std::string clock_text(nanoseconds time) {
  const std::int64_t s = std::chrono::duration_cast<seconds>(time).count();
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string bar(double share) {
  constexpr int kCells = 14;  // with the longest words beside it, 80 columns
  const int full = static_cast<int>(share * kCells);
  return fmt::format("[{}{}]", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kCells - full), '.'));
}

CtrlC::CtrlC() {
  ctrl_c_pressed = 0;
  struct sigaction action {};
  action.sa_handler = on_ctrl_c;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);  // the second one finds the default again
  sigaction(SIGINT, &action, &before_ctrl_c);
}

CtrlC::~CtrlC() { sigaction(SIGINT, &before_ctrl_c, nullptr); }

bool CtrlC::pressed() { return ctrl_c_pressed != 0; }

Surroundings real_surroundings() {
  return {[] { return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()); },
          resident_bytes, CtrlC::pressed};
}

Watch::Watch(const Limits& limits, TotalBytes total_bytes, Console& console, Surroundings around)
    : limits_(limits),
      ask_total_(std::move(total_bytes)),
      console_(console),
      around_(std::move(around)),
      started_(around_.clock()),
      next_show_(console.err_width > 0 ? kQuiet : kLineEvery) {}

bool Watch::operator()(const schedule::Progress& progress) {
  if (!stopped_by_.empty()) return false;
  const nanoseconds elapsed = around_.clock() - started_;
  if (around_.interrupted()) {
    stopped_by_ = "ctrl-c";
    return false;
  }
  for (const Limit& limit : limits_) {
    if (!exceeds(limit, progress, elapsed)) continue;
    stopped_by_ = limit.text;
    return false;
  }
  if (elapsed >= next_show_) show(progress, elapsed);
  return true;
}

schedule::Horizon Watch::horizon() const {
  schedule::Horizon horizon;
  for (const Limit& limit : limits_) {
    if (limit.kind == Limit::Kind::time) horizon.time = limit.most;
    if (limit.kind == Limit::Kind::events) horizon.events = static_cast<std::uint64_t>(limit.most);
  }
  return horizon;
}

bool Watch::exceeds(const Limit& limit, const schedule::Progress& progress, nanoseconds elapsed) {
  switch (limit.kind) {
    case Limit::Kind::time:
      return progress.now >= limit.most;
    case Limit::Kind::events:
      return progress.events >= static_cast<std::uint64_t>(limit.most);
    case Limit::Kind::wall:
      return elapsed.count() >= limit.most / 1000;
    case Limit::Kind::memory:
      break;
  }
  if (elapsed < next_weighing_) return false;
  next_weighing_ = elapsed + kWeighEvery;
  return around_.memory() >= limit.most;
}

void Watch::show(const schedule::Progress& progress, nanoseconds elapsed) {
  const std::string text = describe(progress, elapsed);
  if (console_.err_width == 0) {
    console_.err << text << "\n";
    next_show_ = elapsed + kLineEvery;
    return;
  }
  // One column is left free: a full line would move the cursor to the next one.
  console_.err << "\r" << text.substr(0, console_.err_width - 1) << "\x1b[K" << std::flush;
  drawn_ = true;
  next_show_ = elapsed + kRedraw;
}

std::string Watch::describe(const schedule::Progress& progress, nanoseconds elapsed) {
  if (!total_bytes_) total_bytes_ = ask_total_();
  const double spent = static_cast<double>(elapsed.count()) / 1e9;
  const std::uint64_t arrived = progress.delivered_bytes + (progress.underway_bytes ? progress.underway_bytes() : 0);
  const double share =
      *total_bytes_ == 0 ? 0 : std::min(1.0, static_cast<double>(arrived) / static_cast<double>(*total_bytes_));
  std::string text =
      fmt::format("{:3.0f}% delivered, {} simulated, {} events/s", share * 100, brief(Duration(progress.now)),
                  rate_text(static_cast<double>(progress.events) / spent));
  const double left = share > 0 ? spent * (1 - share) / share : kTooFar;
  if (left < kTooFar) text += fmt::format(", {} left", clock_text(nanoseconds(static_cast<std::int64_t>(left * 1e9))));
  return console_.err_width > 0 ? bar(share) + " " + text : text;
}

void Watch::finish() {
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace weft::app
