#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace weft::report {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return right ? fill + text : text + fill;
}

// The first `width` columns of a UTF-8 text, with dots where it was cut.
std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  if (width <= 3) return std::string(width, '.');
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < text.size()) {
    std::size_t next = bytes + 1;
    while (next < text.size() && (text[next] & 0xC0) == 0x80) ++next;
    if (++columns > width - 3) break;
    bytes = next;
  }
  return text.substr(0, bytes) + "...";
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    const std::size_t needed = display_width(lines.back()) + 1 + display_width(word);
    if (!lines.back().empty() && needed > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string Table::text(std::size_t width, bool colour) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  std::size_t total = 2 * (widths.size() - 1);
  for (const std::size_t w : widths) total += w;
  if (width > 0 && total > width) {
    for (std::size_t i = widths.size(); i-- > 0;) {
      if (columns_[i].number) continue;
      const std::size_t excess = total - width;
      widths[i] = std::max<std::size_t>(8, widths[i] > excess ? widths[i] - excess : 0);
      break;
    }
  }
  const auto line = [&](const auto& cell_at) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += "  ";
      out += padded(cut(cell_at(i), widths[i]), widths[i], columns_[i].number);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  };
  std::string head = line([&](std::size_t i) { return columns_[i].title; });
  if (colour) head = "\x1b[1m" + head.substr(0, head.size() - 1) + "\x1b[0m\n";
  std::string out = head;
  for (const auto& row : rows_) out += line([&](std::size_t i) { return i < row.size() ? row[i] : ""; });
  return out;
}

std::string Facts::text(std::size_t width, bool colour) const {
  std::size_t labels = 0;
  for (const auto& [label, value] : rows_) labels = std::max(labels, display_width(label));
  const std::size_t room = width > labels + 22 ? width - labels - 2 : 1000;
  std::string out;
  for (const auto& [label, value] : rows_) {
    const std::string name = padded(label, labels, false);
    bool first = true;
    for (const std::string& line : wrapped(value, room)) {
      const std::string shown = first ? name : std::string(labels, ' ');
      out += (colour && first ? "\x1b[1m" + shown + "\x1b[0m" : shown) + "  " + line + "\n";
      first = false;
    }
  }
  return out;
}

}  // namespace weft::report
