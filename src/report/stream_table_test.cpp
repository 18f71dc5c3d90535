#include "report/stream_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/text.hpp"

namespace weft::report {
namespace {

StreamSummary stream(const std::string& name, const std::string& transport, const std::string& service) {
  StreamSummary each;
  each.record.name = name;
  each.record.transport = transport;
  each.record.service = service;
  each.record.data_resent = 1'234'567;
  each.end = Duration(123'400'000);
  each.summary.flows = 10'240;
  each.summary.done = 10'239;
  each.summary.completion = Quantiles{101'000'000, 122'000'000, 123'000'000, 123'400'000};
  each.summary.slowdown = Quantiles{1'000'000, 1'234'560, 1'300'000, 1'400'000};
  each.summary.goodput = 123'400'000'000;
  return each;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(StreamTable, IsOneTableWhereItFits) {
  std::vector<StreamSummary> streams = {stream("training", "srd", ""), stream("storage", "tcp", "")};
  for (StreamSummary& each : streams) each.summary.done = each.summary.flows;
  const std::string text = streams_text(streams, 0, false);
  EXPECT_NE(text.find("streams   over   done    p50    p99   slowed  goodput      again\n"
                      "training  srd   123us  101us  122us  1234.56  123Gbps  1,234,567\n"),
            std::string::npos)
      << text;
  EXPECT_LE(widest_line(text), 80u) << text;
}

TEST(StreamTable, IsTwoTablesWhereItDoesNotFit) {
  const std::vector<StreamSummary> streams = {stream("checkpoints", "tcp-over-srd", "best-effort"),
                                              stream("training", "rocev2", "lossless")};
  const std::string text = streams_text(streams, 0, false);
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_NE(text.find("checkpoints  tcp-over-srd  best-effort  10239 of 10240  1,234,567\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nstreams        p50    p99   slowed  goodput\n"
                      "checkpoints  101us  122us  1234.56  123Gbps\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9) << "a wide terminal shows one:\n"
                                                           << streams_text(streams, 120, false);
  const std::string wide = streams_text(streams, 120, false);
  EXPECT_EQ(std::count(wide.begin(), wide.end(), '\n'), 5) << wide;
}

TEST(StreamTable, ATerminalCutsLongNames) {
  const std::string name(100, 'n');
  for (const std::size_t width : {60u, 80u, 100u}) {
    const std::string text = streams_text({stream(name, "tcp-over-srd", std::string(50, 's'))}, width, false);
    EXPECT_LE(widest_line(text.substr(0, text.find("p50, p99:"))), width) << text;
  }
}

}  // namespace
}  // namespace weft::report
