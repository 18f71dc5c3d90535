#pragma once
// Tables for terminals: columns as wide as their content, numbers to the right, cut to the width of
// the terminal at the last column that is text.

#include <string>
#include <vector>

namespace weft::report {

struct Column {
  std::string title;
  bool number = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // width 0: as wide as it needs to be.
  std::string text(std::size_t width, bool colour) const;

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
