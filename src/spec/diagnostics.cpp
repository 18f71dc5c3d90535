#include "spec/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace weft::spec {
namespace {

// A source line can be a megabyte long; a person sees a window around the fault.
constexpr std::size_t kWidestWindow = 100;
constexpr std::size_t kNarrowestWindow = 30;

std::size_t window_for(std::size_t width, std::size_t gutter) {
  constexpr std::size_t kDots = 6;  // at both ends
  if (width == 0) return kWidestWindow;
  return std::clamp(width > gutter + kDots ? width - gutter - kDots : 0, kNarrowestWindow, kWidestWindow);
}

struct Excerpt {
  std::string text;
  std::size_t caret;  // display column of the fault in `text`
  std::size_t width;
};

std::size_t back_to_character(std::string_view line, std::size_t at) {
  while (at > 0 && at < line.size() && (line[at] & 0xC0) == 0x80) --at;
  return at;
}

// Control characters would move the cursor or colour the terminal of whoever reads the error.
// So would the C1 controls (U+0080 to U+009F), and the marks that turn the direction of writing
// (U+202A to U+202E, U+2066 to U+2069) make a line read as something else than it is.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto last = [&](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
    if (rest.size() >= 2 && byte == 0xC2 && last(1) < 0xA0) {
      out += ' ';
      i += 1;
    } else if (rest.size() >= 3 && ((rest.starts_with("\xE2\x80") && last(2) >= 0xA8 && last(2) <= 0xAE) ||
                                    (rest.starts_with("\xE2\x81") && last(2) >= 0xA6 && last(2) <= 0xA9))) {
      out += ' ';
      i += 2;
    } else if (const std::size_t length = first_character(rest).length; length > 1) {
      out += rest.substr(0, length);
      i += length - 1;
    } else if (length == 0) {
      out += '?';
    } else {
      out += byte < 0x20 || byte == 0x7F ? ' ' : text[i];
    }
  }
  return out;
}

Excerpt excerpt(std::string_view line, const Place& place, std::size_t window) {
  const std::size_t at = std::min<std::size_t>(place.column - 1, line.size());
  std::size_t begin = at > window - 20 ? back_to_character(line, at - (window - 20)) : 0;
  std::size_t end = std::min(line.size(), begin + window);
  if (end < line.size()) end = back_to_character(line, end);
  const std::string before = printable(line.substr(begin, at - begin));
  const std::size_t fault_end = std::min<std::size_t>(end, at + place.length);
  Excerpt out;
  out.text = before + printable(line.substr(at, end - at));
  out.caret = display_width(before);
  out.width = std::max<std::size_t>(1, fault_end > at ? display_width(printable(line.substr(at, fault_end - at))) : 0);
  if (begin > 0) {
    out.text = "..." + out.text;
    out.caret += 3;
  }
  if (end < line.size()) out.text += "...";
  return out;
}

struct Paint {
  bool on;
  std::string operator()(std::string_view code, std::string_view text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
};

std::string_view word(Severity severity) { return severity == Severity::error ? "error" : "warning"; }

std::string where(const Sources& sources, const Place& place) {
  if (place.source == 0) return "";
  const std::string name = printable(sources.name(place.source));
  if (place.line == 0) return name + ": ";
  return fmt::format("{}:{}:{}: ", name, place.line, place.column);
}

void render_one(std::string& out, const Sources& sources, const Diagnostic& d, const Paint& paint, std::size_t width) {
  const ErrorInfo& what = info(d.error);
  const std::string_view colour = what.severity() == Severity::error ? "1;31" : "1;33";
  out += fmt::format("{}{}: {}\n", paint("1", where(sources, d.place)),
                     paint(colour, fmt::format("{} {}", word(what.severity()), what.code)), printable(d.message));
  if (d.place.line > 0) {
    const std::string number = std::to_string(d.place.line);
    const Excerpt shown = excerpt(sources.line(d.place), d.place, window_for(width, number.size() + 5));
    const std::string gutter(number.size(), ' ');
    out += fmt::format("  {} | {}\n", number, shown.text);
    out += fmt::format("  {} | {}{}\n", gutter, std::string(shown.caret, ' '),
                       paint(colour, std::string(shown.width, '^')));
  }
  if (!d.help.empty()) out += fmt::format("  = {}\n", printable(d.help));
}

}  // namespace

std::uint32_t Sources::add(std::string name, std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark is not text
  File file{std::move(name), std::move(text), {0}};
  for (std::size_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n') file.line_starts.push_back(i + 1);
  files_.push_back(std::move(file));
  return static_cast<std::uint32_t>(files_.size());
}

std::uint32_t Sources::find(std::string_view name) const {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.name == name; });
  return found == files_.end() ? 0 : static_cast<std::uint32_t>(found - files_.begin()) + 1;
}

std::string_view Sources::line(const Place& place) const {
  const File& file = files_[place.source - 1];
  if (place.line == 0 || place.line > file.line_starts.size()) return "";
  const std::size_t begin = file.line_starts[place.line - 1];
  std::size_t end = file.text.find('\n', begin);
  if (end == std::string::npos) end = file.text.size();
  if (end > begin && file.text[end - 1] == '\r') --end;
  return std::string_view(file.text).substr(begin, end - begin);
}

void Diagnostics::add(Error error, Place place, std::string message, std::string help) {
  const bool is_error = info(error).severity() == Severity::error;
  if (is_error && full()) {
    ++left_out_;
    return;
  }
  errors_ += is_error;
  all_.push_back({error, place, std::move(message), std::move(help)});
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  const auto key = [](const Diagnostic& d) {
    return std::tie(d.place.source, d.place.line, d.place.column, d.error, d.message);
  };
  std::vector<Diagnostic> out = all_;
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  out.erase(std::unique(out.begin(), out.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
            out.end());
  return out;
}

std::string render_text(const Diagnostics& diagnostics, bool colour, std::size_t width) {
  const Paint paint{colour};
  std::string out;
  std::int64_t errors = 0;
  std::int64_t warnings = 0;
  for (const Diagnostic& d : diagnostics.sorted()) {
    (info(d.error).severity() == Severity::error ? errors : warnings)++;
    render_one(out, diagnostics.sources(), d, paint, width);
  }
  if (errors + warnings == 0) return out;
  std::string summary;
  if (errors > 0) summary = counted(errors, "error");
  if (warnings > 0) summary += (errors > 0 ? ", " : "") + counted(warnings, "warning");
  if (diagnostics.left_out() > 0)
    summary += fmt::format(" and {} more", grouped(static_cast<std::int64_t>(diagnostics.left_out())));
  const Diagnostic first = diagnostics.sorted().front();
  return out + fmt::format("{}; `weft explain {}` says more\n", summary, info(first.error).code);
}

std::string render_json(const Diagnostic& diagnostic, const Sources& sources) {
  const ErrorInfo& what = info(diagnostic.error);
  const Place& place = diagnostic.place;
  nlohmann::ordered_json record = {{"record", word(what.severity())}, {"version", 1}, {"code", what.code}};
  if (place.source > 0) record["file"] = sources.name(place.source);
  if (place.line > 0) {
    record["line"] = place.line;
    record["column"] = place.column;
    record["source_line"] = sources.line(place);
  }
  record["message"] = diagnostic.message;
  if (!diagnostic.help.empty()) record["help"] = diagnostic.help;
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string render_json(const Diagnostics& diagnostics) {
  std::string lines;
  for (const Diagnostic& each : diagnostics.sorted()) lines += render_json(each, diagnostics.sources());
  return lines;
}

}  // namespace weft::spec
