// What weft prints of collectives, read by what reads nccl-tests: weft's own reader, and the one-liners people use.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "measured/nccl_tests.hpp"
#include "report/collective_table.hpp"

namespace weft::app {
namespace {

report::CollectiveRow row(std::uint64_t bytes, std::int64_t time) {
  report::CollectiveRow made;
  made.operation = "all_reduce";
  made.bytes = bytes;
  made.ranks = 8;
  made.reduces = true;
  made.time = Duration(time);
  made.bus_over = 14;
  made.bus_under = 8;
  made.algorithm = "Ring";
  made.protocol = "Simple";
  made.channels = 16;
  return made;
}

const std::vector<report::CollectiveRow>& rows() {
  static const std::vector<report::CollectiveRow> made = {row(8, 24'600'000), row(1 << 20, 126'930'000),
                                                          row(std::uint64_t{1} << 34, 72'123'456'000)};
  return made;
}

std::string table() {
  std::ostringstream out;
  report::CollectiveHead head{"0.1.0", "acp", "all_reduce", 8, std::uint64_t{1} << 34, {}};
  for (int rank = 0; rank < 8; ++rank)
    head.devices.push_back("Group  0 Pid " + std::string(5, ' ') + std::to_string(rank) + " on         s0 device  " +
                           std::to_string(rank) + " [s0/gpu" + std::to_string(rank) + "] h100-sxm");
  report::write_collective_head(head, out);
  for (const report::CollectiveRow& each : rows()) report::write_collective_line(each, out);
  report::write_collective_foot(rows(), out);
  return out.str();
}

double gigabytes(Bandwidth rate) { return static_cast<double>(rate.count()) / 8e9; }

TEST(NcclRoundTrip, TheReaderOfNcclTestsReadsWhatIsPrinted) {
  spec::Diagnostics diagnostics;
  const auto read = measured::read_benchmark(diagnostics.sources().add("out.txt", table()), diagnostics);
  ASSERT_TRUE(read) << spec::render_text(diagnostics, false);
  ASSERT_EQ(read->tables.size(), 1u);
  EXPECT_EQ(read->ranks.size(), 8u);
  EXPECT_EQ(read->ranks.at(3).host, "s0");
  const measured::BenchmarkTable& got = read->tables[0];
  ASSERT_EQ(got.rows.size(), rows().size());
  double sum = 0;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const report::CollectiveRow& printed = rows()[i];
    const measured::BenchmarkRow& each = got.rows[i];
    EXPECT_EQ(each.bytes, static_cast<std::int64_t>(printed.size()));
    EXPECT_EQ(each.count, static_cast<std::int64_t>(printed.count()));
    EXPECT_EQ(each.type, "float");
    EXPECT_EQ(each.operation, "sum");
    ASSERT_TRUE(each.out_of_place && each.in_place);
    EXPECT_FALSE(each.out_of_place->wrong) << "nothing is computed, so nothing was checked";
    EXPECT_NEAR(static_cast<double>(each.in_place->time.count()) / static_cast<double>(printed.time.count()), 1, 0.001);
    EXPECT_NEAR(gigabytes(each.out_of_place->bus), printed.bus_bandwidth(), 0.005);
    EXPECT_NEAR(gigabytes(each.in_place->algorithm), printed.algorithm_bandwidth(), 0.005);
    sum += printed.bus_bandwidth();
  }
  EXPECT_EQ(got.out_of_bounds, 0);
  ASSERT_TRUE(got.average);
  EXPECT_NEAR(gigabytes(*got.average), sum / 3, 0.01);
}

std::string shell(const std::string& command) {
  const auto file = std::filesystem::temp_directory_path() / ("weft_round_trip_" + std::to_string(::getpid()));
  std::ofstream(file) << table();
  std::FILE* pipe = ::popen((command + " " + file.string()).c_str(), "r");
  std::string out;
  char buffer[256];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) out += buffer;
  if (pipe != nullptr) ::pclose(pipe);
  std::filesystem::remove(file);
  return out;
}

TEST(NcclRoundTrip, OneLinersFindTheirColumns) {
  EXPECT_EQ(shell("awk '$1 == 1048576 {print $6, $7, $8}'"), "126.9 8.26 14.46\n") << "out of place";
  EXPECT_EQ(shell("awk '$3 == \"float\" {print $1, $12}'"), "8 0.00\n1048576 14.46\n17179869184 416.85\n")
      << "in place";
  EXPECT_EQ(shell("grep -v '^#' <"), shell("awk '/float/'"));
  EXPECT_EQ(shell("awk '/Out of bounds values/ {print $7, $8}'"), "0 OK\n");
  EXPECT_NE(shell("awk '/Avg bus bandwidth/ {print $NF}'").find("143."), std::string::npos);
}

}  // namespace
}  // namespace weft::app
