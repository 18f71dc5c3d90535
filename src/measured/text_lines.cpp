#include "measured/text_lines.hpp"

#include <charconv>

namespace weft::measured {
namespace {

constexpr char kEscape = '\x1b';

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where an escape sequence that begins at `at` ends: ESC [ parameters letter.
std::size_t escape_end(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= text.size() || text[end] != '[') return end;
  ++end;
  while (end < text.size() && (is_digit(text[end]) || text[end] == ';')) ++end;
  return end < text.size() && text[end] != '\n' ? end + 1 : end;
}

std::string without_controls(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t end = text[i] == kEscape ? escape_end(text, i) : i + 1;
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F)
      for (std::size_t blank = i; blank < end; ++blank) text[blank] = ' ';
    i = end;
  }
  return text;
}

// 2026-05-01, 2026-05-01T10:20:30.4Z, 10:20:30,4
bool is_time(std::string_view word) {
  std::size_t digits = 0;
  std::size_t marks = 0;
  for (const char c : word) {
    digits += is_digit(c);
    marks += c == '-' || c == ':';
    if (!is_digit(c) && std::string_view("-:.,/TZ+").find(c) == std::string_view::npos) return false;
  }
  return is_digit(word[0]) && ((marks == 2 && digits >= 6) || (marks >= 4 && digits >= 12));
}

// How much of the text, which begins with no blank, is one tag.
std::size_t tag_length(std::string_view text) {
  constexpr std::size_t kMostTag = 64;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"})
    if (const std::size_t at = text.find(stream); at != std::string_view::npos && at < kMostTag)
      return at + stream.size();
  if (text[0] == '[') {
    const std::size_t end = text.find(']');
    return end < kMostTag ? end + 1 : 0;
  }
  if (text[0] == '(') {
    const std::size_t end = text.find(')');
    return end < kMostTag && text.substr(0, end).find("pid=") != std::string_view::npos ? end + 1 : 0;
  }
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  if (word.size() > 1 && word.size() < kMostTag && word.ends_with(':') &&
      word.find_first_of("0123456789") != std::string_view::npos)
    return word.size();  // a rank or a host
  return is_time(word) ? word.size() : 0;
}

}  // namespace

std::string_view after_tags(std::string_view text) {
  constexpr int kMostTags = 4;
  std::string_view rest = text;
  for (int tags = 0; tags <= kMostTags; ++tags) {
    const std::size_t begin = rest.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return rest;
    const std::size_t length = tags < kMostTags ? tag_length(rest.substr(begin)) : 0;
    if (length == 0) return tags == 0 ? text : rest;
    rest = rest.substr(begin + length);
  }
  return rest;
}

Lines::Lines(std::uint32_t source, spec::Error error, spec::Diagnostics& diagnostics) : source_(source) {
  const std::string& text = diagnostics.sources().text(source);
  if (text.size() > kMostOutput) {
    diagnostics.add(error, whole(), "the file is larger than 64 MiB",
                    "the output of one job, or of its first ranks, is enough");
  } else if (text.find('\0') != std::string::npos) {
    diagnostics.add(error, whole(), "the file is binary", "the text that the program printed");
  } else {
    text_ = without_controls(text);
    readable_ = true;
  }
}

bool Lines::next(Line& line) {
  if (at_ >= text_.size()) return false;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  line = {std::string_view(text_).substr(at_, end - at_), ++number_};
  at_ = end + 1;
  return true;
}

spec::Place Lines::place(const Line& line, const Word& word) const {
  return {source_, line.number, word.column, std::max<std::uint32_t>(1, static_cast<std::uint32_t>(word.text.size()))};
}

spec::Place Lines::place(const Line& line) const {
  const auto all = words(line.text, 1);
  return place(line, all.empty() ? Word{} : all[0]);
}

std::vector<Word> words(std::string_view text, std::size_t most) {
  std::vector<Word> out;
  for (std::size_t at = 0; at < text.size() && out.size() < most;) {
    while (at < text.size() && is_blank(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    if (at > begin) out.push_back({text.substr(begin, at - begin), static_cast<std::uint32_t>(begin + 1)});
  }
  return out;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Leading> leading_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  Leading out;
  while (out.length < text.size() && is_digit(text[out.length])) ++out.length;
  if (out.length == 0 || out.length > kMostDigits) return std::nullopt;
  out.value = *whole_number(text.substr(0, out.length));
  return out;
}

std::optional<std::int64_t> scaled_decimal(std::string_view text, int decimals) {
  constexpr std::int64_t kMost = INT64_MAX / 20;  // one more digit and rounding still fit
  constexpr int kMostExponent = 30;
  std::int64_t value = 0;
  int exponent = decimals;
  bool any = false;
  bool fraction = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !fraction)); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    any = true;
    if (value > kMost / 10) {  // more digits than matter: they only shift
      exponent += fraction ? 0 : 1;
      continue;
    }
    value = value * 10 + (text[at] - '0');
    exponent -= fraction ? 1 : 0;
  }
  if (!any) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    const auto power = whole_number(rest);
    if (!power || *power < -kMostExponent || *power > kMostExponent) return std::nullopt;
    exponent += static_cast<int>(*power);
    at = text.size();
  }
  if (at != text.size()) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kMost / 10) return std::nullopt;
    value *= 10;
  }
  if (value == 0) return 0;
  for (; exponent < -1; ++exponent) value /= 10;
  return exponent == -1 ? (value + 5) / 10 : value;
}

}  // namespace weft::measured
