#pragma once
// How far a lab is, on a terminal: one line that is redrawn and goes away. Elsewhere nothing.

#include <fmt/format.h>

#include "app/console.hpp"
#include "lab/lab.hpp"

namespace weft::app {

class LabProgress {
 public:
  explicit LabProgress(Console& console) : console_(console) {}
  LabProgress(const LabProgress&) = delete;
  LabProgress& operator=(const LabProgress&) = delete;
  ~LabProgress() {
    if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  }

  lab::OnProgress observer() {
    return [this](const lab::Progress& now) {
      if (console_.err_width == 0) return;
      const std::string text = fmt::format("{} {} of {}", now.step, now.done, now.total);
      // One column is left free: a full line would move the cursor to the next one.
      console_.err << "\r" << text.substr(0, console_.err_width - 1) << "\x1b[K" << std::flush;
      drawn_ = true;
    };
  }

 private:
  Console& console_;
  bool drawn_ = false;
};

}  // namespace weft::app
