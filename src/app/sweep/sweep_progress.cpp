#include "app/sweep/sweep_progress.hpp"

#include <fmt/format.h>

#include <utility>

namespace weft::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kQuiet = milliseconds(500);
constexpr nanoseconds kRedraw = milliseconds(200);
constexpr nanoseconds kLineEvery = seconds(10);

}  // namespace

SweepProgress::SweepProgress(std::size_t runs, Console& console, std::string what, std::function<nanoseconds()> clock)
    : runs_(runs),
      what_(std::move(what)),
      console_(console),
      clock_(std::move(clock)),
      started_(clock_()),
      next_(console.err_width > 0 ? kQuiet : kLineEvery) {}

void SweepProgress::show(std::size_t done) {
  const nanoseconds elapsed = clock_() - started_;
  if (elapsed < next_ || console_.quiet || runs_ == 0) return;
  std::string text = fmt::format("{} of {} {}", done, runs_, what_);
  if (done > 0) {
    const auto left = static_cast<std::int64_t>(runs_ - done);
    text += fmt::format(", {} left", clock_text(elapsed / static_cast<std::int64_t>(done) * left));
  }
  if (console_.err_width == 0) {
    console_.err << text << std::endl;
    next_ = elapsed + kLineEvery;
    return;
  }
  text = bar(static_cast<double>(done) / static_cast<double>(runs_)) + " " + text;
  // One column is left free: a full line would move the cursor to the next one.
  console_.err << "\r" << text.substr(0, console_.err_width - 1) << "\x1b[K" << std::flush;
  drawn_ = true;
  next_ = elapsed + kRedraw;
}

int SweepProgress::interrupted(std::size_t done) {
  finish();
  console_.err << fmt::format("interrupted: the result is of {} of {} {}\n", done, runs_, what_);
  return kInterrupted;
}

void SweepProgress::finish() {
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace weft::app
