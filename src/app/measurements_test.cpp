#include "app/measurements.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weft::app {
namespace {

class MeasurementsFile {
 public:
  explicit MeasurementsFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              (std::string("weft_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~MeasurementsFile() { std::filesystem::remove(path_); }
  std::optional<std::vector<Measurement>> load() { return load_measurements(path_, diagnostics); }
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
  EXPECT_EQ((*rows)[0].time, 13'500'000);
  EXPECT_TRUE((*rows)[0].steady);
  EXPECT_FALSE((*rows)[1].steady);
}

TEST(Measurements, BandwidthWillDo) {
  MeasurementsFile file("size_bytes,algbw_GBps\n1000000,10\n");
  const auto rows = file.load();
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].time, 100'000'000);  // 100 us
}

TEST(Measurements, WhatIsWrongIsSaidWithItsPlace) {
  MeasurementsFile file("# x\nsize_bytes,time_us\n8,1\n16,soon\n32\n");
  EXPECT_FALSE(file.load());
  const auto all = file.diagnostics.sorted();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].place.line, 4u);
  EXPECT_EQ(all[0].place.column, 4u);
  EXPECT_EQ(all[1].place.line, 5u);
  MeasurementsFile headless("bytes,time\n1,2\n");
  EXPECT_FALSE(headless.load());
  MeasurementsFile endless("size_bytes,time_us\n8,inf\n");
  EXPECT_FALSE(endless.load());
  MeasurementsFile empty("");
  EXPECT_FALSE(empty.load());
}

}  // namespace
}  // namespace weft::app
