#include "truth/measurements.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

namespace weft::truth {
namespace {

class MeasurementsFile {
 public:
  explicit MeasurementsFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              (std::string("weft_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~MeasurementsFile() { std::filesystem::remove(path_); }
  std::optional<std::vector<Measurement>> load() {
    table = load_measurements(path_, diagnostics);
    return table ? std::optional(table->rows) : std::nullopt;
  }
  std::optional<Measurements> table;
  spec::Diagnostics diagnostics;

 private:
  std::filesystem::path path_;
};

TEST(Measurements, OfTwoTimesTheSmallerCountsAndABigDifferenceDoesNot) {
  MeasurementsFile file(
      "# source: "
      "somebody\nsize_bytes,count,oop_time_us,oop_algbw_GBps,ip_time_us\n8,2,14,0.1,13.5\n32,8,68.14,0,13.52\r\n");
  const auto rows = file.load();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].bytes, 8u);
  EXPECT_EQ((*rows)[0].time.count(), 13'500'000);
  EXPECT_TRUE((*rows)[0].steady);
  EXPECT_FALSE((*rows)[1].steady);
}

TEST(Measurements, BandwidthWillDo) {
  MeasurementsFile file("size_bytes,algbw_GBps\n1000000,10\n");
  const auto rows = file.load();
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].time.count(), 100'000'000);  // 100 us
}

TEST(Measurements, WhatIsWrongIsSaidWithItsPlace) {
  MeasurementsFile file("# x\nsize_bytes,time_us\n8,1\n16,soon\n32\n");
  EXPECT_FALSE(file.load());
  const auto all = file.diagnostics.sorted();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].place.line, 4u);
  EXPECT_EQ(all[0].place.column, 4u);
  EXPECT_EQ(all[1].place.line, 5u);
  MeasurementsFile headless("1048576,2\n2097152,3\n");
  EXPECT_FALSE(headless.load());
  MeasurementsFile timeless("size_bytes,type\n8,float\n");
  EXPECT_FALSE(timeless.load());
  ASSERT_FALSE(timeless.diagnostics.sorted().empty());
  EXPECT_NE(timeless.diagnostics.sorted()[0].message.find("neither a time nor a bandwidth"), std::string::npos);
  MeasurementsFile endless("size_bytes,time_us\n8,inf\n");
  EXPECT_FALSE(endless.load());
  MeasurementsFile empty("");
  EXPECT_FALSE(empty.load());
}

// Columns in any order and unit, between whatever programs put there.
TEST(Measurements, ColumnsAreFoundByWhatTheyAreCalled) {
  const std::string same[] = {
      "type;busbw (GB/s);Time (ms);Size (KiB)\nfloat;1.5;0.1;64\n",
      "\xEF\xBB\xBF\"Message size\",\"Latency [us]\"\r\n\"65,536\", 100 \r\n",
      "  # a remark\nmsg_size\tin-place time (us)\tout-of-place time (us)\n64K\t100\t110\n",
      "size_mb,duration_s\n0.0625,0.0001\n",
      "avg_time,batch_size,nbytes\n100,4,65536\n",
      "size_bytes,oop_time_us,ip_time_us\n65536,N/A,100\n",
      "bytes,algbw_GBps\n65536,0.65536\n",
      "bytes,algbw (Gbit/s)\n65536,5.24288\n",
  };
  for (const std::string& text : same) {
    MeasurementsFile file(text);
    const auto rows = file.load();
    ASSERT_TRUE(rows) << text << spec::render_text(file.diagnostics, false);
    ASSERT_EQ(rows->size(), 1u) << text;
    EXPECT_EQ((*rows)[0].bytes, 65536u) << text;
    EXPECT_NEAR(static_cast<double>((*rows)[0].time.count()), 100e6, 1) << text;
    EXPECT_TRUE((*rows)[0].steady) << text;
  }
}

TEST(Measurements, HeadsSayInWhichUnitTheyAre) {
  const auto time_of = [](const std::string& unit) {
    MeasurementsFile file("size_bytes,time_" + unit + "\n8,3\n");
    const auto rows = file.load();
    EXPECT_TRUE(rows) << unit << spec::render_text(file.diagnostics, false);
    return rows ? (*rows)[0].time.count() : 0;
  };
  EXPECT_EQ(time_of("ns"), 3'000);
  for (const char* unit : {"us", "usec", "microseconds"}) EXPECT_EQ(time_of(unit), 3'000'000) << unit;
  for (const char* unit : {"ms", "msec", "milliseconds"}) EXPECT_EQ(time_of(unit), 3'000'000'000) << unit;
  for (const char* unit : {"s", "sec", "seconds"}) EXPECT_EQ(time_of(unit), 3'000'000'000'000) << unit;
  const auto bytes_of = [](const std::string& unit) {
    MeasurementsFile file("size_" + unit + ",time_us\n3,1\n");
    const auto rows = file.load();
    EXPECT_TRUE(rows) << unit << spec::render_text(file.diagnostics, false);
    return rows ? (*rows)[0].bytes : 0;
  };
  for (const char* unit : {"b", "bytes"}) EXPECT_EQ(bytes_of(unit), 3u) << unit;
  for (const char* unit : {"kb", "kib"}) EXPECT_EQ(bytes_of(unit), 3u << 10) << unit;
  for (const char* unit : {"mb", "mib"}) EXPECT_EQ(bytes_of(unit), 3u << 20) << unit;
  for (const char* unit : {"gb", "gib"}) EXPECT_EQ(bytes_of(unit), 3u << 30) << unit;
}

TEST(Measurements, BitsAndBytesAreNotGuessed) {
  MeasurementsFile file("size_bytes,algbw_gbps\n65536,1\n");
  EXPECT_FALSE(file.load());
  ASSERT_FALSE(file.diagnostics.sorted().empty());
  EXPECT_EQ(file.diagnostics.sorted()[0].place.column, 12u);
  MeasurementsFile timed("size_bytes,algbw_gbps,time_us\n65536,1,3\n");  // which nobody needs here
  EXPECT_TRUE(timed.load());
}

TEST(Measurements, BusBandwidthWaitsForTheNumberOfRanks) {
  MeasurementsFile file("size_bytes,busbw_GBps\n1000000,17.5\n");
  auto rows = file.load();
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].time.count(), 0);
  time_from_bus(*rows, {7, 4});  // all-reduce of 8
  EXPECT_NEAR(static_cast<double>((*rows)[0].time.count()), 100e6, 1);
  MeasurementsFile both("size_bytes,time_us,algbw,busbw\n1073741824,4029,266.48,466.33\n");
  ASSERT_TRUE(both.load());
  EXPECT_EQ(both.table->ranks, 8);
}

// Outputs are kept under any name, and what was forced is said in remarks.
TEST(Measurements, WhatNcclTestsPrintedIsATableUnderAnyName) {
  MeasurementsFile printed(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n# NCCL_ALGO=Ring\n# Collective test starting: all_gather_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "     1048576         16384     float    none      -1    61.30   17.11    8.55      0    57.32   18.29    9.15   "
      "   0\n");
  const auto rows = printed.load();
  ASSERT_TRUE(rows) << spec::render_text(printed.diagnostics, false);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].time.count(), 57'320'000);
  EXPECT_EQ(printed.table->collective, "all_gather");
  MeasurementsFile table("# operation: all_reduce\n# NCCL_ALGO=Tree NCCL_PROTO=Simple (forced)\nsize,time\n8,3\n");
  ASSERT_TRUE(table.load());
  EXPECT_EQ(table.table->collective, "all_reduce");
  EXPECT_EQ(table.table->environment.at("NCCL_ALGO"), "Tree");
  EXPECT_EQ(table.table->environment.at("NCCL_PROTO"), "Simple");
}

// Whatever is in a file, reading it ends with rows or with an error.
RC_GTEST_PROP(Measurements, AnyTextIsReadOrComplainedAbout, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("size_bytes", "time_us", ",", ";", "\t", "\n", "8", "1e999", "-1", "N/A", "\"",
                                    "busbw", " float ", "#", "64K", "\r"));
  std::string text;
  for (const std::string& each : pieces) text += each;
  MeasurementsFile file(text);
  const auto rows = file.load();
  RC_ASSERT(rows.has_value() != file.diagnostics.has_errors());
}

}  // namespace
}  // namespace weft::truth
