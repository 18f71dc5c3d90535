// A dashboard over weft's metric names: the fabric on the left, what GPUs and NICs feel on the right.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "render/qos.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

using Json = nlohmann::ordered_json;

struct Panel {
  const char* title;
  const char* unit;  // Grafana's
  std::string expression;
  std::string legend;
};

Json panel_of(const Panel& panel, int id, int x, int y) {
  constexpr int kWidth = 12;
  constexpr int kHeight = 8;
  const Json source = {{"type", "prometheus"}, {"uid", "${datasource}"}};
  return {
      {"id", id},
      {"title", panel.title},
      {"type", "timeseries"},
      {"datasource", source},
      {"gridPos", {{"x", x * kWidth}, {"y", y * kHeight}, {"w", kWidth}, {"h", kHeight}}},
      {"fieldConfig", {{"defaults", {{"unit", panel.unit}}}, {"overrides", Json::array()}}},
      {"targets",
       Json::array(
           {{{"refId", "A"}, {"datasource", source}, {"expr", panel.expression}, {"legendFormat", panel.legend}}})}};
}

}  // namespace

std::vector<File> grafana_files(const Addressing& plan, const Origin& origin) {
  const std::string pause =
      fmt::format("rate({{__name__=~\"node_ethtool_received_prio{}_pause(_total)?\"}}[1m])", kRdmaClass);
  const Panel panels[] = {
      {"BGP sessions down", "short", "count by (tier) (weft_bgp_session_up == 0) or vector(0)", "{{tier}}"},
      {"Equal paths upwards, least of a tier", "short", "min by (tier) (weft_ecmp_paths)", "{{tier}}"},
      {"Busiest links", "binBps", "topk(10, rate(weft_link_transmit_bytes_total[1m]))", "{{node}} {{interface}}"},
      {"Deepest RDMA queues, peak", "bytes", "topk(10, weft_queue_peak_bytes)", "{{node}} {{interface}}"},
      {"Drops", "pps", "topk(10, rate(weft_link_drops_total[1m]))", "{{node}} {{interface}}"},
      {"Pause frames that NICs receive", "pps", "topk(10, " + pause + ")", "{{node}} {{device}}"},
      {"Loss by path", "percentunit", "topk(10, weft_path_loss_ratio)", "{{node}} {{interface}}"},
      {"Drops by tenant", "pps", "sum by (tenant) (rate(weft_tenant_drops_total[1m]))", "{{tenant}}"},
      {"GPUs at work", "percent", "avg by (unit) (DCGM_FI_DEV_GPU_UTIL)", "{{unit}}"},
      {"NVLink", "binBps", "sum by (unit) (DCGM_FI_PROF_NVLINK_TX_BYTES)", "{{unit}}"},
  };
  Json dashboard = {
      {"title", plan.fabric().cluster().name},
      {"description", fmt::format("weft {}, render grafana (input {})", origin.version, origin.digest)},
      {"uid", "weft-" + origin.digest},
      {"tags", {"weft"}},
      {"schemaVersion", 38},
      {"refresh", "10s"},
      {"time", {{"from", "now-1h"}, {"to", "now"}}},
      {"templating",
       {{"list", Json::array({{{"name", "datasource"}, {"type", "datasource"}, {"query", "prometheus"}}})}}},
      {"panels", Json::array()}};
  int id = 0;
  for (const Panel& panel : panels) {
    dashboard["panels"].push_back(panel_of(panel, id + 1, id % 2, id / 2));
    ++id;
  }
  return {{"grafana/dashboard.json", dashboard.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"}};
}

}  // namespace weft::render
