#pragma once
// Where a command writes and what the other side is: stdout is the result, stderr is for people.

#include <cstddef>
#include <ostream>

namespace weft::app {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool colour_out = false;
  bool colour_err = false;
  std::size_t width = 80;     // columns of the terminal; 0 when stdout is not one
  std::size_t err_width = 0;  // the same for stderr, where progress is shown
  bool quiet = false;         // on stderr nothing but errors: no progress, no warnings, no notes
};

// The exit codes of every command.
inline constexpr int kFine = 0;
inline constexpr int kExpectationFailed = 1;
inline constexpr int kYourInput = 2;
inline constexpr int kThisMachine = 3;
inline constexpr int kLimitReached = 4;
inline constexpr int kOurBug = 70;
inline constexpr int kInterrupted = 130;

}  // namespace weft::app
