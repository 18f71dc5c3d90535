#pragma once
// An error is data: where, what, what would be right. It is rendered twice, for people with the
// source line and a caret, and as JSON.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/places.hpp"
#include "spec/codes.hpp"

namespace weft::spec {

using weft::KeyPlaces;
using weft::Place;

// The texts that places point into.
class Sources {
 public:
  std::uint32_t add(std::string name, std::string text);
  const std::string& name(std::uint32_t source) const { return files_[source - 1].name; }
  const std::string& text(std::uint32_t source) const { return files_[source - 1].text; }
  std::string_view line(const Place& place) const;
  std::uint32_t find(std::string_view name) const;  // 0 when there is none

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<std::size_t> line_starts;
  };
  std::deque<File> files_;  // a deque keeps the texts in place while more are added
};

struct Diagnostic {
  Error error;
  Place place;
  std::string message;
  std::string help;  // what would be right; may be empty
};

class Diagnostics {
 public:
  Sources& sources() { return sources_; }
  const Sources& sources() const { return sources_; }

  void add(Error error, Place place, std::string message, std::string help = "");
  bool has_errors() const { return errors_ > 0; }
  // Enough errors were named: those added from here on are only counted.
  bool full() const { return errors_ >= kMost; }
  std::size_t left_out() const { return left_out_; }
  // In source order; the same error at the same place only once.
  std::vector<Diagnostic> sorted() const;

 private:
  Sources sources_;
  static constexpr std::size_t kMost = 200;
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
  std::size_t left_out_ = 0;
};

// `colour` adds ANSI codes; `width` is that of the terminal, 0 when there is none: source lines are
// shown as far as they fit. Ends with a line that counts the errors and warnings.
std::string render_text(const Diagnostics& diagnostics, bool colour, std::size_t width = 0);
// A line for each: a record "error" or "warning" with code, file, line, column, source_line, message and help.
std::string render_json(const Diagnostics& diagnostics);
std::string render_json(const Diagnostic& diagnostic, const Sources& sources);

}  // namespace weft::spec
