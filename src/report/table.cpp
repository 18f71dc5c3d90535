#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "base/utf8.hpp"

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
  for (std::size_t columns = 0; bytes < text.size();) {
    const std::string_view rest = std::string_view(text).substr(bytes);
    const std::size_t length = bytes_of_first(rest);
    columns += display_width(rest.substr(0, length));
    if (columns > width - 3) break;
    bytes += length;
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

Layout::Layout(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(display_width(column.title));
}

void Layout::measure(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], display_width(cells[i]));
}

std::size_t Layout::width() const { return std::accumulate(widths_.begin(), widths_.end(), 2 * (widths_.size() - 1)); }

void Layout::fit(std::size_t width, bool wrap) {
  std::size_t total = this->width();
  if (width == 0 || total <= width) return;
  if (wrap) {
    wrap_at_ = width;
    return;
  }
  constexpr std::size_t kLeast = 8;  // that still says something
  for (std::size_t i = widths_.size(); i-- > 0 && total > width;) {
    if (columns_[i].number || widths_[i] <= kLeast) continue;
    const std::size_t cut_off = std::min(total - width, widths_[i] - kLeast);
    widths_[i] -= cut_off;
    total -= cut_off;
  }
}

std::string Layout::cells_before(const std::vector<std::string>& cells, std::size_t end) const {
  std::string out;
  for (std::size_t i = 0; i < end; ++i) {
    if (i > 0) out += "  ";
    out += padded(cut(i < cells.size() ? cells[i] : "", widths_[i]), widths_[i], columns_[i].number);
  }
  return out;
}

std::string Layout::wrapped_line(const std::vector<std::string>& cells) const {
  constexpr std::size_t kNarrowest = 24;  // a narrower last column starts on a line of its own
  constexpr std::size_t kIndent = 4;
  std::string out = cells_before(cells, columns_.size() - 1) + "  ";
  std::size_t indent = display_width(out);
  if (indent + kNarrowest > wrap_at_) {
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n" + std::string(kIndent, ' ');
    indent = kIndent;
  }
  bool first = true;
  const std::size_t room = wrap_at_ > indent + kNarrowest ? wrap_at_ - indent : kNarrowest;
  for (const std::string& part : wrapped(cells.back(), room)) {
    out += (first ? "" : "\n" + std::string(indent, ' ')) + part;
    first = false;
  }
  return out + "\n";
}

std::string Layout::line(const std::vector<std::string>& cells) const {
  if (wrap_at_ > 0) return wrapped_line(cells);
  std::string out = cells_before(cells, columns_.size());
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string Layout::head(bool colour) const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const std::string text = line(titles);
  return colour ? "\x1b[1m" + text.substr(0, text.size() - 1) + "\x1b[0m\n" : text;
}

std::size_t Table::width() const {
  Layout layout(columns_);
  for (const auto& row : rows_) layout.measure(row);
  return layout.width();
}

std::string Table::text(std::size_t width, bool colour, bool wrap) const {
  Layout layout(columns_);
  for (const auto& row : rows_) layout.measure(row);
  layout.fit(width, wrap);
  std::string out = layout.head(colour);
  for (const auto& row : rows_) out += layout.line(row);
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
