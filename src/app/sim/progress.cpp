#include "app/sim/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "app/ctrl_c.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kQuiet = milliseconds(500);   // a shorter run needs no progress
constexpr nanoseconds kRedraw = milliseconds(200);  // of a bar: often enough to look alive
constexpr nanoseconds kLineEvery = seconds(10);     // where lines pile up in a log
constexpr double kTooFar = 100 * 3600;              // seconds; an estimate beyond is a guess

std::string rate_text(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f}M", per_second / 1e6);
  return per_second >= 1e3 ? fmt::format("{:.1f}k", per_second / 1e3) : fmt::format("{:.0f}", per_second);
}

}  // namespace

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

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

experiment::Observer silent_observer() { return {.stop = CtrlC::token(), .memory = resident_bytes}; }

RunProgress::RunProgress(TotalBytes total_bytes, Console& console)
    : ask_total_(std::move(total_bytes)), console_(console), next_(console.err_width > 0 ? kQuiet : kLineEvery) {}

RunProgress::~RunProgress() { clear(); }

void RunProgress::clear() {
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

experiment::Observer RunProgress::observer() {
  experiment::Observer observer = silent_observer();
  observer.progress = [this](const schedule::Progress& progress, nanoseconds elapsed) { show(progress, elapsed); };
  return observer;
}

void RunProgress::show(const schedule::Progress& progress, nanoseconds elapsed) {
  if (elapsed < next_ || console_.quiet) return;
  const std::string text = describe(progress, elapsed);
  if (console_.err_width == 0) {
    console_.err << text << "\n";
    next_ = elapsed + kLineEvery;
    return;
  }
  // One column is left free: a full line would move the cursor to the next one.
  console_.err << "\r" << text.substr(0, console_.err_width - 1) << "\x1b[K" << std::flush;
  drawn_ = true;
  next_ = elapsed + kRedraw;
}

// What is left is told from the sizes before: each takes longer than the last by as much as that took longer than the
// one before it.
std::string RunProgress::describe_sizes(nanoseconds elapsed) const {
  if (sizes_ < 2) return "";
  std::string text = fmt::format("{} of {} sizes, ", done_.size(), sizes_);
  if (done_.size() < 2) return text;
  const auto took = [&](std::size_t i) {
    return static_cast<double>((done_[i] - (i > 0 ? done_[i - 1] : nanoseconds(0))).count()) / 1e9;
  };
  const double last = took(done_.size() - 1);
  const double growth = std::clamp(last / std::max(took(done_.size() - 2), 1e-6), 1.0, 2.0);
  double left = 0;
  double next = last;
  for (std::size_t i = done_.size(); i < sizes_ && left < kTooFar; ++i) left += next *= growth;
  left -= static_cast<double>((elapsed - done_.back()).count()) / 1e9;
  if (left <= 0 || left >= kTooFar) return text;
  return text + fmt::format("about {} left, ", clock_text(nanoseconds(static_cast<std::int64_t>(left * 1e9))));
}

std::string RunProgress::describe(const schedule::Progress& progress, nanoseconds elapsed) {
  if (!total_bytes_) total_bytes_ = ask_total_();
  const double spent = static_cast<double>(elapsed.count()) / 1e9;
  const std::string speed = fmt::format("{} simulated, {} events/s", brief(progress.now),
                                        rate_text(static_cast<double>(progress.events) / spent));
  // Of a collective, or a search for a layout, nobody knows before what all of it is.
  if (*total_bytes_ == 0)
    return fmt::format("{}at work for {}{}", describe_sizes(elapsed), clock_text(elapsed),
                       progress.events > 0 ? ", " + speed : "");
  const std::uint64_t arrived = progress.delivered_bytes + (progress.underway_bytes ? progress.underway_bytes() : 0);
  const double share = std::min(1.0, static_cast<double>(arrived) / static_cast<double>(*total_bytes_));
  std::string text = fmt::format("{:3.0f}% delivered, {}", share * 100, speed);
  const double left = share > 0 ? spent * (1 - share) / share : kTooFar;
  if (left < kTooFar) text += fmt::format(", {} left", clock_text(nanoseconds(static_cast<std::int64_t>(left * 1e9))));
  return console_.err_width > 0 ? bar(share) + " " + text : text;
}

}  // namespace weft::app
