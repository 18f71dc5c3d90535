#include "report/collective_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace weft::report {
namespace {

CollectiveRow row() {
  CollectiveRow made;
  made.operation = "all_reduce";
  made.bytes = 1 << 20;
  made.ranks = 8;
  made.reduces = true;
  made.time = 26'930'000;
  made.bus_over = 14;
  made.bus_under = 8;
  made.algorithm = "Ring";
  made.protocol = "LL";
  made.channels = 24;
  return made;
}

// The line of nccl-tests for the same time, but for what it checks: nothing is computed here.
//      1048576        262144     float     sum      -1    26.93   38.94   68.14      0    26.93   38.94   68.14      0
TEST(CollectiveTable, LinesAreNcclTestsOwn) {
  std::ostringstream out;
  write_collective_line(row(), out);
  EXPECT_EQ(out.str(),
            "     1048576        262144     float     sum      -1    26.93   38.94   68.14    N/A    26.93   38.94   "
            "68.14    N/A  Ring LL 24\n");
}

TEST(CollectiveTable, LongTimesHaveFewerDecimals) {
  CollectiveRow longer = row();
  longer.time = 15'749'400'000;
  std::ostringstream out;
  write_collective_line(longer, out);
  EXPECT_NE(out.str().find("      -1    15749  "), std::string::npos) << out.str();
}

TEST(CollectiveTable, PartsAreCountedPerRank) {
  CollectiveRow parts = row();
  parts.parts = true;
  parts.bytes = 1000;  // 31 elements for each of 8 ranks are 992 bytes
  EXPECT_EQ(parts.count(), 31u);
  EXPECT_EQ(parts.size(), 992u);
}

TEST(CollectiveTable, AlgorithmsStandInColumnsAndTheChosenOneBehind) {
  CollectiveRow tree = row();
  tree.algorithm = "Tree";
  tree.time = 40'000'000;
  std::ostringstream out;
  write_algorithms_side_by_side({tree, row()}, out);
  const std::string text = out.str();
  EXPECT_LT(text.find("Ring"), text.find("Tree"));
  EXPECT_NE(text.find("26.93    68.14"), std::string::npos) << text;
  EXPECT_NE(text.find("  Tree LL 24\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::report
