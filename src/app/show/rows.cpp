#include "app/show/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::app {
namespace {

std::vector<std::string> texts(const std::vector<Cell>& cells) {
  std::vector<std::string> out;
  for (const Cell& cell : cells) out.push_back(cell.text);
  return out;
}

class Measured : public Rows {
 public:
  Measured(std::size_t limit, report::Layout& layout) : Rows(limit), layout_(layout) {}

 private:
  void write(const std::vector<Cell>& cells) override { layout_.measure(texts(cells)); }
  report::Layout& layout_;
};

class Printed : public Rows {
 public:
  Printed(std::size_t limit, const report::Layout& layout, std::ostream& out)
      : Rows(limit), layout_(layout), out_(out) {}

 private:
  void write(const std::vector<Cell>& cells) override { out_ << layout_.line(texts(cells)); }
  const report::Layout& layout_;
  std::ostream& out_;
};

class Records : public Rows {
 public:
  Records(std::size_t limit, const Listing& listing, std::ostream& out) : Rows(limit), listing_(listing), out_(out) {}

 private:
  void write(const std::vector<Cell>& cells) override {
    Json row = {{"record", listing_.record}, {"version", 1}};
    for (std::size_t i = 0; i < cells.size(); ++i) row[listing_.fields[i].key] = cells[i].value;
    out_ << row.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  const Listing& listing_;
  std::ostream& out_;
};

class Kept : public Rows {
 public:
  explicit Kept(std::size_t limit) : Rows(limit) {}
  std::vector<std::vector<std::string>> all;

 private:
  void write(const std::vector<Cell>& cells) override { all.push_back(texts(cells)); }
};

std::uint64_t write_sparse(const Listing& listing, std::size_t limit, std::size_t width, bool colour,
                           std::ostream& out) {
  Kept rows(limit);
  listing.make(rows);
  std::vector<std::size_t> shown;
  std::vector<report::Column> columns;
  for (std::size_t i = 0; i < listing.fields.size(); ++i) {
    const auto says = [&](const std::vector<std::string>& row) { return !row[i].empty() && row[i] != "-"; };
    if (!std::any_of(rows.all.begin(), rows.all.end(), says)) continue;
    shown.push_back(i);
    columns.push_back({listing.fields[i].title, listing.fields[i].number});
  }
  report::Table table(std::move(columns));
  for (const std::vector<std::string>& row : rows.all) {
    std::vector<std::string> cells;
    for (const std::size_t i : shown) cells.push_back(row[i]);
    table.add(std::move(cells));
  }
  out << table.text(width, colour, listing.wrap);
  return rows.skipped();
}

// As RFC 4180 has it; what is not known is empty, and the parts of a list stand one behind another.
std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  std::string text;
  if (value.is_array()) {
    for (const Json& each : value) text += (text.empty() ? "" : " ") + each.get<std::string>();
  } else {
    text = value.is_string() ? value.get<std::string>() : value.dump();
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

class Csv : public Rows {
 public:
  Csv(std::size_t limit, std::ostream& out) : Rows(limit), out_(out) {}

 private:
  void write(const std::vector<Cell>& cells) override {
    for (std::size_t i = 0; i < cells.size(); ++i) out_ << (i > 0 ? "," : "") << csv_cell(cells[i].value);
    out_ << '\n';
  }
  std::ostream& out_;
};

}  // namespace

Cell::Cell(const std::vector<std::string>& list, std::string_view between)
    : text(fmt::format("{}", fmt::join(list, between))), value(list) {}

std::uint64_t write_table(const Listing& listing, std::size_t limit, std::size_t width, bool colour,
                          std::ostream& out) {
  if (listing.sparse) return write_sparse(listing, limit, width, colour, out);
  std::vector<report::Column> columns;
  for (const Field& field : listing.fields) columns.push_back({field.title, field.number});
  report::Layout layout(std::move(columns));
  Measured measured(limit, layout);
  listing.make(measured);
  layout.fit(width, listing.wrap);
  out << layout.head(colour);
  Printed printed(limit, layout, out);
  listing.make(printed);
  return printed.skipped();
}

std::uint64_t write_json(const Listing& listing, std::size_t limit, std::ostream& out) {
  Records records(limit, listing, out);
  listing.make(records);
  return records.skipped();
}

std::uint64_t write_csv(const Listing& listing, std::size_t limit, std::ostream& out) {
  for (std::size_t i = 0; i < listing.fields.size(); ++i) out << (i > 0 ? "," : "") << listing.fields[i].key;
  out << '\n';
  Csv csv(limit, out);
  listing.make(csv);
  return csv.skipped();
}

}  // namespace weft::app
