#include "report/openmetrics.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace weft::report {
namespace {

TEST(OpenMetrics, CountersAddUpAndQueuesGoBackToNothing) {
  schedule::RunResult result;
  result.links = {{.from = "leaf0", .to = "spine1"}, {.from = "leaf0", .to = "spine1"}};
  // At 0, 1 and 5 us on the first link, at 5 us on the one beside it.
  result.samples = {{.time = Duration(0), .link = 0, .peak_bytes = 30'000, .bytes = 50'000},
                    {.time = Duration(1'000'000), .link = 0, .peak_bytes = 90'000, .bytes = 25'000, .dropped = 2},
                    {.time = Duration(5'000'000), .link = 0, .peak_bytes = 10, .bytes = 4'000},
                    {.time = Duration(5'000'000), .link = 1, .peak_bytes = 20, .bytes = 8'000}};
  RunInfo info;
  info.sample_interval = Duration(1'000'000);
  std::ostringstream out;
  write_openmetrics(info, result, out);
  const std::string text = out.str();
  EXPECT_NE(text.find("weft_sim_interval_seconds 1e-06 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE weft_link_transmit_bytes counter\n"), std::string::npos) << text;
  EXPECT_NE(text.find("weft_link_transmit_bytes_total{node=\"leaf0\",interface=\"spine1\"} 50000 1\n"
                      "weft_link_transmit_bytes_total{node=\"leaf0\",interface=\"spine1\"} 75000 2\n"
                      "weft_link_transmit_bytes_total{node=\"leaf0\",interface=\"spine1\"} 79000 6\n"
                      "weft_link_transmit_bytes_total{node=\"leaf0\",interface=\"spine1#2\"} 8000 6\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("weft_link_drops_total{node=\"leaf0\",interface=\"spine1\"} 2 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("weft_queue_peak_bytes{node=\"leaf0\",interface=\"spine1\"} 90000 2\n"
                      "weft_queue_peak_bytes{node=\"leaf0\",interface=\"spine1\"} 0 3\n"
                      "weft_queue_peak_bytes{node=\"leaf0\",interface=\"spine1\"} 10 6\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("# EOF\n")) << text;
}

}  // namespace
}  // namespace weft::report
