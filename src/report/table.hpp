#pragma once
// Tables for terminals: columns as wide as their content, numbers to the right, cut to the width of
// the terminal at the last column that is text, and where that is not enough at those before it.

#include <string>
#include <vector>

namespace weft::report {

struct Column {
  std::string title;
  bool number = false;
};

// The widths of a table's columns. Rows are measured first and written afterwards, so that a table
// of millions of rows need not be kept.
class Layout {
 public:
  explicit Layout(std::vector<Column> columns);
  void measure(const std::vector<std::string>& cells);
  std::size_t width() const;  // of what was measured
  // Once everything is measured. width 0: as wide as it needs to be. `wrap`: a last column that does
  // not fit is continued on the next line instead of being cut.
  void fit(std::size_t width, bool wrap = false);
  std::string head(bool colour) const;
  std::string line(const std::vector<std::string>& cells) const;

 private:
  std::string cells_before(const std::vector<std::string>& cells, std::size_t end) const;
  std::string wrapped_line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::size_t wrap_at_ = 0;  // columns of the terminal; 0: nothing to wrap
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Columns of the terminal that it takes uncut.
  std::size_t width() const;
  std::string text(std::size_t width, bool colour, bool wrap = false) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "label  value" lines with the labels aligned and long values wrapped at `width`.
class Facts {
 public:
  void add(std::string label, std::string value) { rows_.emplace_back(std::move(label), std::move(value)); }
  std::string text(std::size_t width, bool colour) const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

}  // namespace weft::report
