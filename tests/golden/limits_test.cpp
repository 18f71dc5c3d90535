// docs/limits.md: every limit that it names is there, and says what the page says.

#include "golden.hpp"

namespace weft::golden {
namespace {

struct Row {
  std::string most;
  std::string command;
  std::string answer;
};

std::string without(std::string text, const std::string& letters) {
  const std::size_t first = text.find_first_not_of(letters);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(letters) - first + 1);
}

// Of the tables: | what | most | `command` | `answer` |
std::vector<Row> rows_of(const std::string& page) {
  std::vector<Row> rows;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(without(cell, " `"));
    if (cells.size() == 5 && cells[3].starts_with("weft ")) rows.push_back({cells[2], cells[3], cells[4]});
  }
  return rows;
}

// "257MiB.cm": a file of that size, which takes no room.
void make_file_of_its_size(const std::string& word) {
  const std::size_t unit = word.find("MiB.");
  if (unit == std::string::npos) return;
  std::ofstream(word).close();
  std::filesystem::resize_file(word, std::stoul(word) << 20);
}

TEST(Limits, EveryLimitOfThePageIsRefusedAsThePageSays) {
  const std::vector<Row> rows = rows_of(read(kSource / "docs/limits.md"));
  EXPECT_GE(rows.size(), 20u);
  for (const Row& row : rows) {
    const Scratch scratch;
    const InDirectory here(scratch.path());
    ASSERT_EQ(weft({"init"}).code, 0);
    std::vector<std::string> arguments = words(row.command.substr(5));
    for (std::string& word : arguments) {
      make_file_of_its_size(word);
      if (word.starts_with("examples/")) word = (kSource / word).string();
    }
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2) << row.command << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(row.answer), std::string::npos) << row.command << "\n" << outcome.err;
  }
}

// The largest that is allowed is: else the page would name a limit that is too high.
TEST(Limits, WhatIsJustAllowedIsNotRefused) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  ASSERT_EQ(weft({"init"}).code, 0);
  for (const std::string line :
       {"sim --size 1TiB --pattern one --limit events=100", "sim --gpus 256 --limit events=100",
        "sim --threads 256 --limit events=100", "sim --pattern all-to-all --window 64 --limit events=100",
        "sim --collective all_reduce --sizes 16TiB", "sim --collective all_reduce --channels 64 --sizes 8B",
        "sim --collective all_reduce --skew 1s --sizes 8B", "place --gpus 256"}) {
    const int code = weft(words(line)).code;
    EXPECT_TRUE(code == 0 || code == 4) << line << ": " << code;
  }
}

}  // namespace
}  // namespace weft::golden
