#include "measured/nccl_tests.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "measured/environment.hpp"
#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

Benchmark good(const std::string& text) {
  spec::Diagnostics notes;
  auto benchmark = read_benchmark(notes.sources().add("out.txt", text), notes);
  EXPECT_TRUE(benchmark) << spec::render_text(notes, false);
  return benchmark.value_or(Benchmark{});
}

std::string error_of(const std::string& text) {
  spec::Diagnostics notes;
  EXPECT_FALSE(read_benchmark(notes.sources().add("out.txt", text), notes));
  const std::string all = spec::render_text(notes, false);
  return all.substr(0, all.find('\n'));
}

Bandwidth gigabytes(double rate) { return Bandwidth(static_cast<std::int64_t>(rate * 1e9 + 0.5) * 8); }

// The layout of 2.13 and later, as nccl-tests formats it.
const std::string kNow =
    "# nccl-tests version 2.17.1 nccl-headers=22605 nccl-library=22602\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  11 on    node-a device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  12 on    node-b device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                              out-of-place                       in-place        "
    "  \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)     "
    "  \n"
    "           8             2     float     sum      -1    30.12    0.00    0.00      0    30.08    0.00    0.00     "
    " 0\n"
    "  1073741824     268435456     float     sum      -1   4484.9  239.41  239.41      3   4470.2  240.20  240.20    "
    "N/A\n"
    "# Out of bounds values : 3 FAILED\n"
    "# Avg bus bandwidth    : 119.805 \n"
    "#\n"
    "# Collective test concluded: all_reduce_perf\n";

TEST(NcclTests, OfTodayAreRead) {
  const Benchmark out = good(kNow);
  EXPECT_EQ(out.tests_version, "2.17.1");
  EXPECT_EQ(out.nccl_version, "2.26.2");
  EXPECT_EQ(out.threads, 1);
  EXPECT_EQ(out.gpus_per_thread, 1);
  ASSERT_EQ(out.ranks.size(), 2U);
  EXPECT_EQ(out.hosts(), 2);
  EXPECT_EQ(out.ranks[1].host, "node-b");
  EXPECT_EQ(out.ranks[1].bus_id, "0000:1b:00");
  EXPECT_EQ(out.ranks[1].gpu, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(out.tables.size(), 1U);
  const BenchmarkTable& table = out.tables[0];
  EXPECT_EQ(table.collective, "all_reduce");
  ASSERT_EQ(table.rows.size(), 2U);
  const BenchmarkRow& row = table.rows[1];
  EXPECT_EQ(row.bytes, 1'073'741'824);
  EXPECT_EQ(row.operation, "sum");
  EXPECT_EQ(row.out_of_place->time, Duration(4'484'900'000));
  EXPECT_EQ(row.out_of_place->algorithm, gigabytes(239.41));
  EXPECT_EQ(row.in_place->bus, gigabytes(240.20));
  EXPECT_EQ(row.out_of_place->wrong, 3);
  EXPECT_EQ(row.in_place->wrong, std::nullopt);
  EXPECT_EQ(row.best().time, Duration(4'470'200'000));
  EXPECT_EQ(row.place.line, 13U);
  EXPECT_EQ(row.place.column, 3U);
  EXPECT_EQ(table.wrong(), 3);
  EXPECT_EQ(table.out_of_bounds, 3);
  EXPECT_EQ(table.average, gigabytes(119.805));
  EXPECT_EQ(table.inferred_ranks(), 2);
}

TEST(NcclTests, OfTheFirstVersionPrintMilliseconds) {
  const Benchmark out = good(
      "# NCCL Tests compiled with NCCL 2.0\n# Using devices\n#   Rank  0 on      dgx device  0 [0x06] Tesla "
      "P100-SXM2-16GB\n"
      "#                                        out-of-place                    in-place\n"
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
      "    10000000       2500000   float     sum    0.422  23.67  41.42    1e-06    0.424  23.61  41.32    1e-06\n"
      " Out of bounds values : 0 OK\n Avg bus bandwidth    : 41.3741\n");
  ASSERT_EQ(out.tables.size(), 1U);
  EXPECT_EQ(out.tables[0].rows[0].out_of_place->time, microseconds(422));
  EXPECT_EQ(out.tables[0].rows[0].out_of_place->wrong, 0) << "a relative error is no count of elements";
  EXPECT_EQ(out.tables[0].average, gigabytes(41.3741));
  EXPECT_EQ(out.ranks[0].gpu, "Tesla P100-SXM2-16GB");
}

TEST(NcclTests, OfVersion2MayLackRedopAndRoot) {
  const Benchmark out = good(
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
      "          32             1   float    35.03    0.00    0.00    N/A    34.15    0.00    0.00    N/A\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "          64             1   float     sum       0    35.40    0.00    0.00    N/A    35.59    0.00    0.00    "
      "N/A\n"
      "         128             2   float                    35.40    0.00    0.00    N/A    35.59    0.00    0.00    "
      "N/A\n"
      "         256             4   float     sum            35.40    0.00    0.00    N/A    35.59    0.00    0.00    "
      "N/A\n");
  ASSERT_EQ(out.tables.size(), 2U);
  EXPECT_EQ(out.tables[0].rows[0].out_of_place->time, nanoseconds(35'030));
  EXPECT_EQ(out.tables[1].rows[0].root, 0);
  EXPECT_EQ(out.tables[1].rows[1].root, -1);
  EXPECT_EQ(out.tables[1].rows[1].operation, "");
  EXPECT_EQ(out.tables[1].rows[2].operation, "sum");
}

TEST(NcclTests, WithTimesOfIterationsAndStampsAreRead) {
  const Benchmark out = good(
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    "
      "i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%            timestamp\n"
      "          64            16     float     sum      -1    10.00    1.00    2.00       0     9.00    11.00    "
      "10.90     2.00    20.00    3.00    4.00       0    19.00    21.00    20.90     1.00  2026-01-02 03:04:05\n");
  ASSERT_EQ(out.tables.size(), 1U);
  EXPECT_EQ(out.tables[0].rows[0].root, -1);
  EXPECT_EQ(out.tables[0].rows[0].in_place->time, microseconds(20));
  EXPECT_EQ(out.tables[0].rows[0].in_place->bus, gigabytes(4));
}

TEST(NcclTests, AreFoundBetweenWhatLaunchersAndNcclPrint) {
  const Benchmark out = good(
      "mpirun -np 16 -x NCCL_ALGO=Ring -x NCCL_DEBUG=INFO ./build/all_gather_perf -b 8 -e 1G\n"
      "[1,0]<stdout>:node-a:11:11 [0] NCCL INFO Using network IB\n"
      "[1,0]<stdout>:           64             1     float    none      -1    30.12    0.00    0.00      0    30.08    "
      "0.00    0.00      0\n"
      "0:          128             2     float    none      -1    30.12    0.00    0.00      0    30.08    0.00    "
      "0.00      0\n");
  ASSERT_EQ(out.tables.size(), 1U);
  EXPECT_EQ(out.tables[0].collective, "all_gather");
  EXPECT_EQ(out.tables[0].rows.size(), 2U);
  EXPECT_EQ(out.tables[0].environment.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(out.tables[0].rows[0].place.column, 26U) << "in the line as it stands";
}

TEST(NcclTests, TellTablesApartWhereSizesBeginAgain) {
  const std::string row =
      " 8 2 float sum -1 1.0 0.1 0.1 0 1.0 0.1 0.1 0\n 16 2 float sum -1 1.0 0.1 0.1 0 1.0 0.1 0.1 0\n";
  EXPECT_EQ(good(row + row).tables.size(), 2U);
}

TEST(NcclTests, WithBrokenRowsAreRefused) {
  EXPECT_EQ(error_of("no rows\n"), "out.txt: error E0704: no row of nccl-tests was found");
  EXPECT_EQ(error_of("8 2 float sum -1 30.12 0.00\n"),
            "out.txt:1:24: error E0704: the row has 3 numbers after its type, not 9");
  EXPECT_EQ(error_of("8 2 float sum -1 fast 0.00 0.00 0 30.08 0.00 0.00 0\n"),
            "out.txt:1:18: error E0704: 'fast' is not a number");
  EXPECT_EQ(error_of("8 2 float sum 1.5 30.12 0.00 0.00 0 30.08 0.00 0.00 0\n"),
            "out.txt:1:15: error E0704: the root cannot be '1.5'");
  EXPECT_EQ(error_of("8 2 float sum -1 N/A N/A N/A N/A N/A N/A N/A N/A\n"),
            "out.txt:1:1: error E0704: the row has no time");
}

TEST(NcclTests, VersionCodes) {
  EXPECT_EQ(version_of_code(22105), "2.21.5");
  EXPECT_EQ(version_of_code(2708), "2.7.8");
  EXPECT_EQ(version_of_code(21003), "2.10.3");
}

TEST(Environment, IsFoundInBothSpellings) {
  std::map<std::string, std::string> out;
  collect_environment(
      "with NCCL_NET_GDR_LEVEL=SYS, NCCL_BUFFSIZE=4M (NCCL_P2P_LEVEL set by environment to LOC) NCCL_DEBUG", out);
  EXPECT_EQ(out, (std::map<std::string, std::string>{
                     {"NCCL_NET_GDR_LEVEL", "SYS"}, {"NCCL_BUFFSIZE", "4M"}, {"NCCL_P2P_LEVEL", "LOC"}}));
  collect_environment("NCCL_MIN_NRINGS set by environment to 4.", out);
  EXPECT_EQ(out["NCCL_MIN_NRINGS"], "4");
}

RC_GTEST_PROP(NcclTests, GiveBackWhatWasPrinted, ()) {
  const auto time = *rc::gen::inRange<std::int64_t>(1, 99'999'999);  // hundredths of a microsecond
  const auto rate = *rc::gen::inRange<std::int64_t>(0, 99'999);      // hundredths of GB/s
  const auto ranks = *rc::gen::inRange<std::int64_t>(2, 65);
  const std::string row =
      fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}\n",
                  1 << 20, 1 << 18, "float", "sum", -1, fmt::format("{}.{:02}", time / 100, time % 100),
                  fmt::format("{}.{:02}", rate / 100, rate % 100), "0.00", 0, "1.00", "9999.99",
                  fmt::format("{:.2f}", 9999.99 * 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks)), 0);
  spec::Diagnostics notes;
  const auto out = read_benchmark(notes.sources().add("t", "# all_reduce_perf\n" + row), notes);
  RC_ASSERT(out.has_value());
  RC_ASSERT(out->tables[0].rows[0].out_of_place->time.count() == time * 10'000);
  RC_ASSERT(out->tables[0].rows[0].out_of_place->algorithm.count() == rate * 80'000'000);
  if (time > 100) RC_ASSERT(out->tables[0].inferred_ranks() == ranks);
}

TEST(Benchmark, WhatWeftPrintsIsReadAsWell) {
  spec::Diagnostics notes;
  const auto out = read_benchmark(
      notes.sources().add(
          "weft.txt",
          "# weft 0.1.0 all_reduce: simulated, acp\n"
          "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "
          "algbw   busbw #wrong  algorithm\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  "
          "(GB/s)  (GB/s)       \n"
          "     1048576        262144     float     sum      -1    344.2    3.05    5.90    N/A    344.2    "
          "3.05    5.90    N/A  Ring LL 4\n"),
      notes);
  ASSERT_TRUE(out) << spec::render_text(notes, false);
  ASSERT_EQ(out->tables.size(), 1U);
  EXPECT_EQ(out->tables[0].collective, "all_reduce");
  EXPECT_EQ(out->tables[0].rows[0].best().time.count(), 344'200'000);
}

TEST(Environment, KeepsListsAndOtherPrefixes) {
  std::map<std::string, std::string> out;
  collect_environment("NCCL_IB_HCA=mlx5_0,mlx5_1, FI_PROVIDER=tcp XNCCL_A=1", out);
  EXPECT_EQ(out.at("NCCL_IB_HCA"), "mlx5_0,mlx5_1");
  EXPECT_EQ(out.at("FI_PROVIDER"), "tcp");
  EXPECT_EQ(out.size(), 2U) << "the end of another name is none";
}

// Who lists what was tried, and what each gave, ran with none of it.
TEST(Environment, OfTrialsIsNotTheJobs) {
  const auto collected = [](std::string_view line) {
    std::map<std::string, std::string> out;
    collect_environment(line, out);
    return out.size();
  };
  EXPECT_EQ(collected("Worse: NCCL_NVLS_ENABLE=0 112.3 GB/s, NCCL_NET_GDR_LEVEL=0 72.1 GB/s"), 0u);
  EXPECT_EQ(collected("| `NCCL_PROTO=LL128` | 90.9 GB/s |"), 0u);
  EXPECT_EQ(collected("with NCCL_ALGO=Ring 90.9 GB/s"), 1u) << "one alone is what was run";
  EXPECT_EQ(collected("mpirun -x NCCL_IB_TIMEOUT=22 -x NCCL_ALGO=Ring -np 16"), 2u);
  EXPECT_EQ(collected("NCCL_IB_TC=106 NCCL_IB_TIMEOUT=22 NCCL_BUFFSIZE=8388608"), 3u);
}

TEST(NcclTests, TagsOfLaunchersAreNoPartOfARow) {
  const std::string head =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   "
      "algbw   busbw #wrong\n";
  const std::string row =
      "     1048576        262144     float     sum      -1    71.93   14.58   27.33      0    "
      "71.47   "
      "14.67   27.51      0\n";
  for (const std::string tag :
       {"[3] ", "[1,0]<stdout>:", "7: ", "10.3.0.7: ", "gpu-node-12: ", "(worker pid=71) ", "2026-05-01T10:20:30.123Z ",
        "[2026-05-01 10:20:30] [rank0] ", "\x1b[36m[pod/a]\x1b[0m "}) {
    const Benchmark out =
        good(tag + "#  Rank  0 Group  0 Pid 1 on  node-a device  0 [0x1b] NVIDIA H100\n" + tag + head + tag + row);
    ASSERT_EQ(out.tables.size(), 1u) << tag;
    ASSERT_EQ(out.ranks.size(), 1u) << tag;
    EXPECT_EQ(out.tables[0].rows[0].bytes, 1'048'576) << tag;
    EXPECT_EQ(out.tables[0].rows[0].in_place->bus, gigabytes(27.51)) << tag;
  }
}

// A launcher that tags what it flushes tags the middle of rows too; NCCL's log gets in between;
// terminals wrap.
TEST(NcclTests, TornRowsArePutTogether) {
  const std::string head = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  const Benchmark out = good(head +
                             "[0] 262144 65536 float sum -1[0] 283.9 0.92 1.77 0[0] 237.0 1.11 2.12 0\n"
                             "[0] 524288 131072 float sum -1[0] node-a:22:77 [0] NCCL INFO Channel 01/0 : 16[0] -> "
                             "0[0] via NET/IB/7/GDRDMA\n"
                             "[0] node-a:22:77 [0] NCCL INFO Connected all trees\n"
                             "[0] 366.5 1.43 2.74 0[0] node-a:22:77 [0] NCCL INFO more of it\n"
                             "[0] 340.8 1.54 2.95 0\n"
                             "1048576 262144 float sum -1 1626.5 0.64\n1.24 0 2302.3 0.46 0.87 0\n");
  ASSERT_EQ(out.tables.size(), 1u);
  const auto& rows = out.tables[0].rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].in_place->bus, gigabytes(2.12));
  EXPECT_EQ(rows[1].bytes, 524'288);
  EXPECT_EQ(rows[1].out_of_place->bus, gigabytes(2.74));
  EXPECT_EQ(rows[1].in_place->bus, gigabytes(2.95));
  EXPECT_EQ(rows[2].out_of_place->bus, gigabytes(1.24));
  EXPECT_EQ(rows[2].in_place->bus, gigabytes(0.87));
}

TEST(NcclTests, ARowThatALogSwallowedIsLeftOut) {
  const Benchmark out = good(
      "8 2 float sum -1 node-a:1:2 [0] NCCL INFO half a row\n16 4 float sum -1 9.1 0.01 0.01 0 9.0 "
      "0.01 0.01 0\n");
  ASSERT_EQ(out.tables.size(), 1u);
  EXPECT_EQ(out.tables[0].rows.size(), 1u);
  EXPECT_NE(error_of("8 2 float sum -1 9.1 0.01\nand then nothing\n").find("numbers after its type"), std::string::npos)
      << "cut off by hand it is a mistake";
}

TEST(NcclTests, MarksAndColumnsMayBeMissing) {
  const Benchmark out = good(
      "   Rank  0 Pid 18 on host-a device  0 [0x00] NVIDIA A100-SXM4-40GB\n"
      "   Rank  1 Pid 18 on host-a device  1 [0x00] NVIDIA A100-SXM4-40GB\n"
      "  size count type redop time algbw busbw error time algbw busbw error\n"
      "| 1024 | 256 | float | sum | 9.1 | 0.11 | 0.11 | 0e+00 | 9.0 | 0.11 | 0.11 | 0e+00 |\n"
      "2048 512 bfloat16 sum -1 10.0 0.20 0.21 10.1 0.20 0.22\n");
  EXPECT_EQ(out.ranks.size(), 2u);
  ASSERT_EQ(out.tables.size(), 1u);
  ASSERT_EQ(out.tables[0].rows.size(), 2u);
  EXPECT_EQ(out.tables[0].rows[1].in_place->bus, gigabytes(0.22));
  EXPECT_FALSE(out.tables[0].rows[1].in_place->wrong) << "nobody said it was checked";
}

TEST(NcclTests, RanksWithoutRowsAreSomething) {
  const Benchmark out = good("#  Rank  0 Group  0 Pid 1 on  node-a device  0 [0x1b] NVIDIA H100\nit hangs here\n");
  EXPECT_TRUE(out.tables.empty());
  EXPECT_EQ(out.ranks.size(), 1u);
}

// Without MPI every process is rank 0 of a job of its own; one job after another is not that.
TEST(NcclTests, JobsAtOnceAreNotOneJob) {
  const std::string a =
      "#  Rank  0 Group  0 Pid 1 on  node-a device  0 [0x1b] NVIDIA H100\n"
      "#  Rank  1 Group  0 Pid 1 on  node-a device  1 [0x1c] NVIDIA H100\n";
  const std::string b =
      "#  Rank  0 Group  0 Pid 1 on  node-b device  0 [0x1b] NVIDIA H100\n"
      "#  Rank  1 Group  0 Pid 1 on  node-b device  1 [0x1c] NVIDIA H100\n";
  const std::string row = "1048576 262144 float sum -1 71.9 14.58 27.33 0 71.5 14.67 27.51 0\n";
  EXPECT_EQ(good(a + b + row + row).jobs_at_once, 2);
  EXPECT_EQ(good(a + b + row + row).hosts(), 1);
  EXPECT_EQ(good(a + row + b + row).jobs_at_once, 1);
  EXPECT_EQ(good(a + row + a + row).jobs_at_once, 1);
}

// Where lists of ranks are left out, the last lines tell: several ends without a row between.
TEST(NcclTests, EndsTellOfJobsAtOnce) {
  const std::string end = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 3.94145 \n#\n";
  const std::string row = "1048576 262144 float sum -1 71.9 14.58 27.33 0 71.5 14.67 27.51 0\n";
  EXPECT_EQ(good(end + end).jobs_at_once, 2);
  EXPECT_EQ(good(row + row + end + end + end).jobs_at_once, 3);
  EXPECT_EQ(good(row + end + row + end).jobs_at_once, 1) << "one after another";
  EXPECT_EQ(good(row + end + "# Avg bus bandwidth : 3.9\n# Avg bus bandwidth : 3.8\n").jobs_at_once, 1)
      << "a list that somebody made";
}

}  // namespace
}  // namespace weft::measured
