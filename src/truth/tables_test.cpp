#include "truth/tables.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::truth {
namespace {

// A folder as strangers bring it.
class Folder : public ::testing::Test {
 protected:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("weft-{}-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(path_ / name) << text; }
  std::vector<TruthTable> load() {
    LoadedTables loaded = load_tables(path_.string());
    failed_ = !loaded.wrong.empty();
    said_.clear();
    for (const spec::Diagnostics& each : loaded.wrong) said_ += spec::render_text(each, false);
    for (const std::string& each : loaded.remarks) said_ += each + "\n";
    return std::move(loaded.tables);
  }

  std::filesystem::path path_;
  bool failed_ = false;
  std::string said_;
};

constexpr const char* kPrinted =
    "# Collective test starting: all_reduce_perf\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "  8589934592    2147483648     float     sum      -1    31307  274.38  480.16      0    31328  274.19  479.84     "
    " 0\n";

// The kind of the servers is enough where the table says what was run.
TEST_F(Folder, AClusterFileMayNameServersAlone) {
  write("h100.csv", kPrinted);
  write("h100.weft.yaml", "servers: {kind: hgx-h100, count: 1}\n");
  write("README.txt", "about something else\n");
  const auto tables = load();
  ASSERT_EQ(tables.size(), 1u) << said_;
  EXPECT_FALSE(failed_) << said_;
  EXPECT_EQ(said_, "");
  EXPECT_EQ(tables[0].job.operation, collective::Operation::all_reduce);
  EXPECT_EQ(tables[0].team->ranks(), 8u);
  EXPECT_EQ(tables[0].stack, "roce");
}

TEST_F(Folder, ATableWithoutAClusterIsNamedAndTheOthersCount) {
  write("a.csv", kPrinted);
  write("a.weft.yaml", "servers: {kind: hgx-h100, count: 1}\n");
  write("lonely.csv", "size_bytes,time_us\n8,10\n");
  EXPECT_EQ(load().size(), 1u);
  EXPECT_TRUE(failed_);
  EXPECT_NE(said_.find("lonely.csv has no cluster file beside it"), std::string::npos) << said_;
  EXPECT_NE(said_.find("lonely.weft.yaml"), std::string::npos) << said_;
}

TEST_F(Folder, WhatTheEnvironmentForcedIsChosen) {
  const auto chosen = [&](const std::string& remark) {
    write("x.csv", remark + "size_bytes,time_us\n1073741824,4000\n");
    write("x.weft.yaml", "servers: {kind: hgx-h100, count: 1}\nrun: [{all_reduce: {stack: ib}}]\n");
    const auto tables = load();
    return tables.empty() ? collective::Choice{} : tables[0].choices[0];
  };
  using collective::Algorithm;
  EXPECT_EQ(chosen("").algorithm, Algorithm::nvls);
  EXPECT_EQ(chosen("# NCCL_ALGO=Ring\n").algorithm, Algorithm::ring);
  EXPECT_EQ(chosen("# NCCL_ALGO=^NVLS,Ring\n").algorithm, Algorithm::tree);
  EXPECT_EQ(chosen("# NCCL_NVLS_ENABLE=0\n").algorithm, Algorithm::ring);
  const collective::Choice low = chosen("# NCCL_ALGO=ring,tree NCCL_PROTO=LL\n");
  EXPECT_EQ(low.protocol, collective::Protocol::ll);
  EXPECT_EQ(chosen("# NCCL_ALGO=CollnetDirect\n").algorithm, Algorithm::nvls);  // which leaves nothing
}

TEST_F(Folder, ChannelsAreSetUpAsTheEnvironmentSays) {
  const auto channels = [&](const std::string& remark, const std::string& algorithm) {
    write("x.csv", remark + "# NCCL_ALGO=" + algorithm + "\nsize_bytes,time_us\n1073741824,4000\n");
    write("x.weft.yaml", "servers: {kind: hgx-h100, count: 2}\nrun: [{all_reduce: {stack: ib}}]\n");
    const auto tables = load();
    TruthClock clock;
    return tables.empty() ? 0u : clock.row(tables[0], 0, collective::constants()).channels;
  };
  EXPECT_EQ(channels("", "Ring"), 16u) << said_;
  EXPECT_EQ(channels("# NCCL_MIN_CTAS=24\n", "Ring"), 24u);
  EXPECT_EQ(channels("# NCCL_MIN_CTAS=24\n", "NVLSTree"), 24u);
  EXPECT_EQ(channels("# NCCL_MIN_NCHANNELS=32\n", "Ring"), 32u);
  EXPECT_EQ(channels("# NCCL_MIN_NCHANNELS=32\n", "NVLSTree"), 16u) << "these are of rings and trees";
  EXPECT_EQ(channels("# NCCL_MAX_NCHANNELS=4\n", "Ring"), 4u);
  EXPECT_EQ(channels("# NCCL_MAX_CTAS=4\n", "NVLSTree"), 4u);
  EXPECT_EQ(channels("# NCCL_MAX_CTAS=-1\n", "Ring"), 16u) << "says nothing";
  EXPECT_EQ(channels("# NCCL_MAX_CTAS=4 NCCL_MIN_CTAS=8\n", "Ring"), 8u);
}

TEST_F(Folder, MoreRanksThanTheRunHasAreSaid) {
  write("x.csv", kPrinted);
  write("x.weft.yaml", "servers: {kind: hgx-h100, count: 2}\n");
  EXPECT_EQ(load().size(), 1u);
  EXPECT_NE(said_.find("busbw / algbw is that of 8 ranks, and the run has 16"), std::string::npos) << said_;
}

TEST_F(Folder, AStackThatIsNoneIsSaidWithItsPlace) {
  write("x.csv", "size_bytes,time_us\n8,10\n");
  write("x.weft.yaml", "servers: {kind: hgx-h100, count: 1}\nrun: [{all_reduce: {stack: infiniband}}]\n");
  EXPECT_TRUE(load().empty());
  EXPECT_NE(said_.find("x.weft.yaml:2:"), std::string::npos) << said_;
  EXPECT_NE(said_.find("there is no stack 'infiniband'"), std::string::npos) << said_;
  EXPECT_NE(said_.find("one of ib, roce, gib,"), std::string::npos) << said_;
}

TEST_F(Folder, BusBandwidthAloneIsEnough) {
  write("x.csv", "size_bytes,busbw_GBps\n1000000,17.5\n");
  write("x.weft.yaml", "servers: {kind: hgx-h100, count: 1}\nrun: [{all_reduce: {stack: ib}}]\n");
  const auto tables = load();
  ASSERT_EQ(tables.size(), 1u) << said_;
  EXPECT_NEAR(static_cast<double>(tables[0].rows[0].time.count()), 100e6, 1);
}

}  // namespace
}  // namespace weft::truth
