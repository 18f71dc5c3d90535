#pragma once
// One page of HTML that needs nothing beside it: no network, no other file, so that it works from a mail. It is
// readable on light and on dark ground and on paper. All texts are escaped here; what comes as SVG is taken as it is.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/table.hpp"

namespace weft::report {

class Page {
 public:
  Page(std::string title, std::string subtitle) : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

  // A number that somebody looks for first, above everything else.
  void figure(const std::string& value, const std::string& what);
  void section(const std::string& title);
  void paragraph(const std::string& text);
  // Something that must not be overlooked.
  void remark(const std::string& text);
  void facts(const std::vector<std::pair<std::string, std::string>>& rows);
  // Columns in which nothing stands in any row are left out.
  void table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);
  void picture(const std::string& svg, const std::string& caption);
  void text(const std::string& preformatted);

  std::string html() const;

 private:
  std::string title_;
  std::string subtitle_;
  std::string figures_;
  std::string contents_;  // links to the sections
  std::string body_;
  int sections_ = 0;
};

}  // namespace weft::report
