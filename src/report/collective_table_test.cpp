#include "report/collective_table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sstream>

namespace weft::report {
namespace {

CollectiveRow row() {
  CollectiveRow made;
  made.operation = "all_reduce";
  made.bytes = 1 << 20;
  made.ranks = 8;
  made.reduces = true;
  made.time = Duration(26'930'000);
  made.bus_over = 14;
  made.bus_under = 8;
  made.algorithm = "Ring";
  made.protocol = "LL";
  made.channels = 24;
  return made;
}

TEST(CollectiveTable, FitsANarrowTerminal) {
  CollectiveHead head;
  head.version = "0.2.0";
  head.cluster = "c";
  head.operation = "all_reduce";
  head.level = "message";
  head.ranks = 512;
  head.servers = 64;
  for (int rank = 0; rank < 64; ++rank)
    head.devices.push_back("Group  0 Pid      0 on         s0 device  0 [s0/gpu0] h100-sxm");
  std::ostringstream out;
  write_collective_head(head, out, true);
  write_collective_line(row(), out, true);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 79u) << line;
  EXPECT_NE(out.str().find("#  ... 508 more\n"), std::string::npos);
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
  longer.time = Duration(15'749'400'000);
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
  tree.time = Duration(40'000'000);
  std::ostringstream out;
  write_algorithms_side_by_side({tree, row()}, out);
  const std::string text = out.str();
  EXPECT_LT(text.find("Ring"), text.find("Tree"));
  EXPECT_NE(text.find("26.93    68.14"), std::string::npos) << text;
  EXPECT_NE(text.find("  Tree LL 24\n"), std::string::npos) << text;
}

TEST(CollectiveTable, StatesHowFarExecutorsDiffer) {
  CollectiveRow packet = row();
  packet.fidelity = schedule::Fidelity::packet;
  packet.time = Duration(200'000'000);
  CollectiveRow message = row();
  message.time = Duration(100'000'000);
  std::ostringstream text;
  write_collective_differences({{packet}, {message}}, text);
  EXPECT_NE(text.str().find("-50.0%"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("packet level says 2.00 times what message level does"), std::string::npos) << text.str();
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line[0], '#') << "readers of nccl-tests skip it";
    EXPECT_LE(line.size(), 80u) << line;
  }
  std::ostringstream records;
  write_difference_records({{packet}, {message}}, records);
  const auto record = nlohmann::json::parse(records.str());
  EXPECT_EQ(record["executors"]["packet"]["difference"], 0.0);
  EXPECT_EQ(record["executors"]["message"]["difference"], -0.5);
}

TEST(CollectiveTable, SaysWhichJobIsFastest) {
  CollectiveRow fast = row();
  CollectiveRow slow = row();
  slow.time = Duration(3 * fast.time.count());
  slow.host_memory = true;
  std::ostringstream text;
  write_collective_verdict({{"GPUs 1,2", slow}, {"GPUs 0,4", fast}}, text);
  EXPECT_NE(text.str().find("GPUs 0,4 is fastest"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("GPUs 1,2: "), std::string::npos);
  EXPECT_NE(text.str().find("3.00x the time, through host memory"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace weft::report
