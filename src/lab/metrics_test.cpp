#include "lab/metrics.hpp"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(LabMetrics, HaveTheNamesThatRulesAreMadeFor) {
  Plan plan;
  plan.devices = {{"leaf0", "leaf", false, {}}, {"s0", "server", true, {}}};
  Metrics metrics;
  metrics.status.sessions = {{0, "Ethernet0", "s0", "Active", false}};
  metrics.status.devices.resize(2);
  metrics.status.devices[0].width = 3;
  metrics.interfaces.resize(2);
  metrics.interfaces[1]["pf1"] = {1000, 7, 4096, 0.25};
  metrics.interval_s = 0.01;
  const std::string text = metrics_text(plan, metrics);
  EXPECT_TRUE(has_line(text, R"(weft_bgp_session_up{node="leaf0",tier="leaf",interface="Ethernet0",peer="s0"} 0)"))
      << text;
  EXPECT_TRUE(has_line(text, R"(weft_ecmp_paths{node="leaf0",tier="leaf"} 3)")) << text;
  EXPECT_TRUE(has_line(text, R"(weft_queue_peak_bytes{node="s0",tier="server",interface="pf1"} 4096)")) << text;
  EXPECT_TRUE(has_line(text, R"(weft_path_loss_ratio{node="s0",tier="server",interface="pf1"} 0.25)")) << text;
  EXPECT_TRUE(has_line(text, "weft_lab_sample_interval_seconds 0.01")) << text;
}

TEST(LabMetrics, QueuesOfUpTo64LinksAreLookedAtEveryTenMilliseconds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(sample_interval(1), milliseconds(10));
  EXPECT_EQ(sample_interval(64), milliseconds(10));
  EXPECT_EQ(sample_interval(65), milliseconds(20));
  EXPECT_EQ(sample_interval(128), milliseconds(20));
}

TEST(LabMetrics, CountsWhatRulesDropped) {
  const auto counts = parse_filter_counts(R"({"nftables":[{"metainfo":{}},{"chain":{"name":"pf1"}},
      {"rule":{"chain":"pf1","expr":[{"counter":{"packets":200,"bytes":1}}]}},
      {"rule":{"chain":"pf1","expr":[{"match":{}},{"counter":{"packets":9,"bytes":1}},{"drop":null}]}}]})");
  EXPECT_EQ(counts.at("pf1").arrived, 200u);
  EXPECT_EQ(counts.at("pf1").dropped, 9u);
  EXPECT_TRUE(parse_filter_counts("No such file or directory").empty());
}

}  // namespace
}  // namespace weft::lab
