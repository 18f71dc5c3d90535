#pragma once
// What programs printed, line by line: words with their columns, and numbers as exact integers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::measured {

// Outputs and logs of large jobs are long; beyond this they are refused.
inline constexpr std::size_t kMostOutput = std::size_t{64} << 20;

struct Word {
  std::string_view text;
  std::uint32_t column = 1;
};

struct Line {
  std::string_view text;
  std::uint32_t number = 1;
};

// The lines of a source. Colours (ANSI escapes) and other control characters are blanks, so that columns
// stay those of the file.
class Lines {
 public:
  // Complains, with `error`, when the text is too long or binary; there are no lines then.
  Lines(std::uint32_t source, spec::Error error, spec::Diagnostics& diagnostics);

  bool readable() const { return readable_; }
  bool next(Line& line);
  spec::Place place(const Line& line, const Word& word) const;
  spec::Place place(const Line& line) const;
  spec::Place whole() const { return {source_, 0, 0, 1}; }

 private:
  std::uint32_t source_;
  bool readable_ = false;
  std::string text_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
};

// Without what launchers put before a line: "[1,0]<stdout>:" of Open MPI, "0: " of Slurm, "[3]" of
// others, "node7: " of pdsh, "(worker pid=7)" of Ray, and dates and times of day.
std::string_view after_tags(std::string_view text);

// Split at blanks; `most` bounds what one line can cost.
std::vector<Word> words(std::string_view text, std::size_t most = 4096);

// A whole number, all of the text.
std::optional<std::int64_t> whole_number(std::string_view text);

// The digits that `text` begins with, as a number, and how many they are; at most 18 of them.
struct Leading {
  std::int64_t value = 0;
  std::size_t length = 0;
};
std::optional<Leading> leading_number(std::string_view text);

// "12.34" or "1.2e+06" times 10^decimals, rounded to nearest; nothing when it is no such number or too large.
std::optional<std::int64_t> scaled_decimal(std::string_view text, int decimals);

}  // namespace weft::measured
