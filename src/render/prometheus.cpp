// Monitoring: what Prometheus scrapes, and what it must shout about.
//
// Rules and dashboard speak of weft's own names (weft_bgp_session_up, ...), which the lab exports itself. For a real
// cluster recording rules make the same names of what exporters give: sonic-exporter (vinted) and frr_exporter (tynany)
// on switches, node_exporter, frr_exporter and NVIDIA's dcgm-exporter on servers. So one set of alerts and one
// dashboard serve both.

#include <fmt/format.h>

#include <map>

#include "fabric/position.hpp"
#include "render/qos.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

using fabric::unit_name;

// A job and the port its exporter listens on.
struct Job {
  std::string_view name;
  std::uint32_t port;
  bool on_servers;
  bool on_switches;
};
constexpr Job kJobs[] = {
    {"sonic", 9101, false, true},
    {"frr", 9342, true, true},
    {"node", 9100, true, false},
    {"dcgm", 9400, true, false},
};

// Names resolve by hosts/etc-hosts; the labels say where a target stands.
std::string targets(const Addressing& plan, const Job& job) {
  std::string text;
  const auto add = [&](const std::string& name, std::string_view tier, const std::string& unit) {
    text += fmt::format("      - targets: ['{}:{}']\n        labels: {{node: {}, tier: {}{}}}\n", name, job.port, name,
                        tier, unit.empty() ? "" : ", unit: " + unit);
  };
  if (job.on_switches)
    for (std::uint32_t i = 0; i < plan.switches(); ++i) add(plan.switch_name(i), plan.tier_noun(i), "");
  if (job.on_servers)
    for (std::uint32_t i = 0; i < plan.servers(); ++i) add(plan.server_name(i), "server", unit_name(plan.fabric(), i));
  return text;
}

std::string scrape(const Addressing& plan, const Origin& origin) {
  std::string text =
      header(origin, "prometheus", "scrape configuration", "#") +
      "# Switches run sonic-exporter and frr_exporter (--collector.bgp.peer-groups), servers node_exporter,\n"
      "# frr_exporter and dcgm-exporter. frr_exporter's option puts the peer group beside each session.\n"
      "global:\n"
      "  scrape_interval: 15s\n"
      "  evaluation_interval: 15s\n"
      "rule_files:\n"
      "  - rules.yml\n"
      "scrape_configs:\n";
  for (const Job& job : kJobs) {
    const std::string list = targets(plan, job);
    if (!list.empty()) text += fmt::format("  - job_name: {}\n    static_configs:\n{}", job.name, list);
  }
  return text +
         "  # The lab's own exporter; it has no targets on a real cluster.\n"
         "  - job_name: weft-lab\n"
         "    honor_labels: true\n"
         "    scrape_interval: 1s\n"
         "    file_sd_configs:\n"
         "      - files: ['lab-targets*.json']\n";
}

class Rules {
 public:
  void group(const std::string& name) { text_ += fmt::format("  - name: {}\n    rules:\n", name); }
  void record(const std::string& name, const std::string& expression) {
    text_ += fmt::format("      - record: {}\n        expr: {}\n", name, expression);
  }
  void alert(const std::string& name, const std::string& expression, const std::string& lasts,
             const std::string& severity, const std::string& summary, const std::string& description) {
    text_ += fmt::format(
        "      - alert: {}\n        expr: {}\n        for: {}\n        labels: {{severity: {}}}\n        annotations:\n"
        "          summary: \"{}\"\n          description: \"{}\"\n",
        name, expression, lasts, severity, summary, description);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_ = "groups:\n";
};

void same_names(Rules& rules) {
  rules.group("weft-names");
  const auto by_interface = [](const std::string& metric) {
    return fmt::format("label_replace({}, \"interface\", \"$1\", \"device\", \"(.*)\")", metric);
  };
  rules.record("weft_bgp_session_up",
               "label_replace(frr_bgp_peer_state == bool 1, \"interface\", \"$1\", \"peer\", \"(.*)\")");
  rules.record("weft_ecmp_paths", "count by (node, tier) (frr_bgp_peer_state{peer_group=\"ABOVE\"} == 1)");
  rules.record("weft_link_transmit_bytes_total", by_interface("sonic_interface_transmit_bytes"));
  rules.record("weft_link_drops_total", by_interface("sonic_interface_transmit_errs{type=\"discard\"}"));
  rules.record("weft_queue_peak_bytes",
               by_interface(fmt::format("sonic_queue_shared_watermark_bytes_total{{queue=\"{}\"}}", kRdmaClass)));
  rules.record("weft_path_loss_ratio",
               by_interface("sum without (type, method) (rate(sonic_interface_receive_errs{type=\"error\"}[1m])) / "
                            "sum without (type, method) (rate(sonic_interface_receive_packets[1m]) > 0)"));
}

// Of switches whose planned number is the same, one alert.
std::map<std::string, std::uint32_t> planned_width(const Addressing& plan) {
  std::map<std::string, std::uint32_t> by_tier;
  for (std::uint32_t i = 0; i < plan.switches(); ++i) {
    std::uint32_t above = 0;
    for (const Port& port : plan.switch_ports(i)) above += port.connected && port.up ? 1 : 0;
    std::uint32_t& least = by_tier.emplace(std::string(plan.tier_noun(i)), above).first->second;
    least = std::min(least, above);
  }
  std::erase_if(by_tier, [](const auto& each) { return each.second == 0; });
  return by_tier;
}

void alerts(const Addressing& plan, Rules& rules) {
  const fabric::Fabric& fabric = plan.fabric();
  rules.group("weft-alerts");
  rules.alert("BgpSessionDown", "weft_bgp_session_up == 0", "10s", "critical",
              "{{ $labels.node }} {{ $labels.interface }}: no BGP session",
              "The cable, the neighbour or its bgpd is down. hosts/cables.csv says what hangs there.");
  std::vector<std::string> narrow;
  std::vector<std::string> planned;
  for (const auto& [tier, width] : planned_width(plan)) {
    narrow.push_back(fmt::format("weft_ecmp_paths{{tier=\"{}\"}} < {}", tier, width));
    planned.push_back(fmt::format("{} {}", tier, width));
  }
  if (!narrow.empty())
    rules.alert(
        "EcmpNarrow", fmt::format("{}", fmt::join(narrow, " or ")), "30s", "warning",
        "{{ $labels.node }} has {{ $value }} equal paths upwards",
        fmt::format("Planned: {}. What is left carries the rest, so collectives that cross the tier slow down by "
                    "as much.",
                    fmt::join(planned, ", ")));
  rules.alert("PathLossy", "weft_path_loss_ratio > 0.00001", "1m", "warning",
              "{{ $labels.node }} {{ $labels.interface }} loses {{ $value | humanizePercentage }}",
              "One packet in 100,000 is enough to slow RoCE down. Clean or replace the cable or its transceiver.");
  if (fabric.has_network()) {
    const Duration round_trip = longest_round_trip(fabric);
    std::map<std::int64_t, bool> rates;
    for (std::uint32_t i = 0; i < plan.fabric_switches(); ++i)
      for (const Port& port : plan.switch_ports(i)) rates[port.wire.rate.count()] = true;
    if (!rates.empty()) {
      const Bandwidth fastest(rates.rbegin()->first);
      const Marking mark = marking(fabric.cluster().file.switching, fastest, round_trip);
      rules.alert(
          "QueueAboveThreshold", fmt::format("weft_queue_peak_bytes > {}", mark.to.count()), "30s", "warning",
          "{{ $labels.node }} {{ $labels.interface }}: {{ $value | humanize1024 }}B in the RDMA queue",
          fmt::format("Above {} every packet is marked (ECN); senders do not slow down enough, or too many meet.",
                      brief(mark.to)));
    }
  }
  rules.alert("TenantDrops", "rate(weft_tenant_drops_total[1m]) > 0", "1m", "warning",
              "{{ $labels.node }}: packets of tenant {{ $labels.tenant }} are dropped",
              "A pod of this tenant talks to another tenant's, or with an address that is not its own.");
  rules.alert("GpuXid", "changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0", "0s", "critical",
              "{{ $labels.node }} GPU {{ $labels.gpu }}: XID {{ $value }}",
              "The driver reports a fault of the GPU: jobs on it fail or hang.");
  rules.alert("ExporterDown", "up{job!=\"weft-lab\"} == 0", "1m", "warning",
              "{{ $labels.node }}: nothing answers for {{ $labels.job }}",
              "The machine or its exporter is down; other alerts about it are blind.");
}

}  // namespace

std::vector<File> prometheus_files(const Addressing& plan, const Origin& origin) {
  Rules rules;
  same_names(rules);
  alerts(plan, rules);
  return {{"prometheus/prometheus.yml", scrape(plan, origin)},
          {"prometheus/rules.yml", header(origin, "prometheus", "rules", "#") + std::move(rules).text()}};
}

}  // namespace weft::render
