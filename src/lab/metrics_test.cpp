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
  metrics.tenants = {{1, "research", {}, {5, 6, 7}}};
  const std::string page = "# HELP x Of a path.\n# TYPE x gauge\nx{port=\"1\"} 3\nx{port=\"2\"} 4\n";
  metrics.runs = {{"s0", "s2", page}, {"s0", "s3", page}};
  const std::string text = metrics_text(plan, metrics);
  EXPECT_TRUE(has_line(text, R"(weft_bgp_session_up{node="leaf0",tier="leaf",interface="Ethernet0",peer="s0"} 0)"))
      << text;
  EXPECT_TRUE(has_line(text, R"(weft_ecmp_paths{node="leaf0",tier="leaf"} 3)")) << text;
  EXPECT_TRUE(has_line(text, R"(weft_queue_peak_bytes{node="s0",tier="server",interface="pf1"} 4096)")) << text;
  EXPECT_TRUE(has_line(text, R"(weft_path_loss_ratio{node="s0",tier="server",interface="pf1"} 0.25)")) << text;
  EXPECT_TRUE(
      has_line(text, R"(weft_tenant_drops_total{node="s0",tier="server",tenant="research",reason="from_others"} 6)"))
      << text;
  EXPECT_NE(text.find("# HELP x Of a path.\n# TYPE x gauge\nx{node=\"s0\",peer=\"s2\",port=\"1\"} 3\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(has_line(text, R"(x{node="s0",peer="s3",port="2"} 4)")) << text;
  EXPECT_EQ(text.find("# TYPE x"), text.rfind("# TYPE x")) << "a family is told once";
  EXPECT_TRUE(has_line(text, "weft_lab_sample_interval_seconds 0.01")) << text;
}

TEST(LabMetrics, QueuesOfUpTo64LinksAreLookedAtEveryTenMilliseconds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(sample_interval(1), milliseconds(10));
  EXPECT_EQ(sample_interval(64), milliseconds(10));
  EXPECT_EQ(sample_interval(65), milliseconds(20));
  EXPECT_EQ(sample_interval(128), milliseconds(20));
  EXPECT_EQ(stretched(milliseconds(10), milliseconds(250), milliseconds(1000)), milliseconds(10));
  EXPECT_EQ(stretched(milliseconds(10), milliseconds(251), milliseconds(1000)), milliseconds(20));
}

TEST(LabMetrics, DropsOnlyGrowThoughCountersGoWithATenantsLastPod) {
  TenantDrops drops{0, "research", {}, {}};
  drops.see({10, 0, 1});
  drops.see({12, 0, 1});
  drops.see({3, 0, 0});  // other flows
  EXPECT_EQ(drops.total.spoofed, 15u);
  EXPECT_EQ(drops.total.to_others, 1u);
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
