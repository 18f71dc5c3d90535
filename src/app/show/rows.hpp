#pragma once
// Rows of a listing, written while they are made: as a table, as JSON records, one a line, or as CSV with the records'
// keys.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/table.hpp"

namespace weft::app {

using Json = nlohmann::ordered_json;

// What a person reads and what a program reads.
struct Cell {
  std::string text;
  Json value;

  Cell(std::string words) : text(words), value(std::move(words)) {}
  Cell(const char* words) : Cell(std::string(words)) {}
  Cell(std::uint32_t number) : text(std::to_string(number)), value(number) {}
  static Cell count(std::uint64_t number) { return Cell(grouped(static_cast<std::int64_t>(number)), number); }
  Cell(Bandwidth rate) : text(brief(rate)), value(rate.count()) {}
  Cell(Duration time) : text(brief(time)), value(time.count()) {}
  Cell(const std::vector<std::string>& list, std::string_view between = " ");
  Cell(std::string words, Json json) : text(std::move(words)), value(std::move(json)) {}
  static Cell none() { return Cell("-", Json()); }
};

struct Field {
  std::string title;
  std::string key;
  bool number = false;
};

// Where the rows of one listing go.
class Rows {
 public:
  virtual ~Rows() = default;
  // False once the limit is reached; the maker then says how many it left out.
  bool wants_more() const { return limit_ == 0 || made_ < limit_; }
  void add(const std::vector<Cell>& cells) {
    ++made_;
    write(cells);
  }
  void skip(std::uint64_t n) { skipped_ += n; }
  std::uint64_t made() const { return made_; }
  std::uint64_t skipped() const { return skipped_; }

 protected:
  explicit Rows(std::size_t limit) : limit_(limit) {}

 private:
  virtual void write(const std::vector<Cell>& cells) = 0;
  std::size_t limit_;
  std::uint64_t made_ = 0;
  std::uint64_t skipped_ = 0;
};

struct Listing {
  std::string record;
  std::vector<Field> fields;
  bool wrap = false;  // the last column is for reading: wrapped, not cut
  // Called twice for a table (once to measure), so that no row is kept.
  std::function<void(Rows&)> make;
  bool sparse = false;  // few rows; a table leaves out columns in which nothing stands
};

// Returns how many rows were left out.
std::uint64_t write_table(const Listing& listing, std::size_t limit, std::size_t width, bool colour, std::ostream& out);
std::uint64_t write_json(const Listing& listing, std::size_t limit, std::ostream& out);
std::uint64_t write_csv(const Listing& listing, std::size_t limit, std::ostream& out);

}  // namespace weft::app
