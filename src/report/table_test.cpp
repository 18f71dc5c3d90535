#include "report/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text.hpp"

namespace weft::report {
namespace {

// Characters of Chinese and Japanese take two columns of a terminal, and no character is cut in the middle.
TEST(Table, IsCutToTheTerminalWhateverTheScript) {
  for (const std::string text : {"a long name of a server in the second rack",
                                 "東京第二データセンターのサーバー百二十八台", "Zürich ÄÖÜ äöü ß"}) {
    Table table({{"name"}, {"GB/s", true}});
    table.add({text + text, "42.5"});
    for (const std::size_t width : {20, 21, 22, 23}) {
      std::istringstream lines(table.text(width, false));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(display_width(line), width) << line;
        if (line.find("...") != std::string::npos) {
          EXPECT_GE(display_width(line) + 1, width) << "cut further than needed: " << line;
        }
      }
    }
  }
}

TEST(Table, NumbersStandRight) {
  Table table({{"name"}, {"GB/s", true}});
  table.add({"a", "5"});
  table.add({"bb", "1,000"});
  EXPECT_EQ(table.text(0, false), "name   GB/s\na         5\nbb    1,000\n");
}

}  // namespace
}  // namespace weft::report
