#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/session.hpp"
#include "app/show/shown_costs.hpp"
#include "app/sim/experiment_options.hpp"
#include "base/text.hpp"
#include "experiment/headroom.hpp"
#include "experiment/run_traffic.hpp"
#include "experiment/training_warnings.hpp"
#include "experiment/warnings.hpp"
#include "fabric/summary.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using fabric::Fabric;
using fabric::NodeKind;
using fabric::Summary;
using fabric::TierSummary;

constexpr std::int64_t kHoursPerMonth = 730;  // 8760 / 12, as cloud price lists count

std::string dollars(double amount) {
  if (amount < 100'000) return fmt::format("${}", grouped(static_cast<std::int64_t>(amount + 0.5)));
  if (amount < 999'500) return fmt::format("${:.0f}k", amount / 1e3);
  return fmt::format("${:.2f}M", amount / 1e6);
}

double price_per_month(Price price) {
  return static_cast<double>(price.count()) / 1e6 * static_cast<double>(kHoursPerMonth);
}

std::string ratio(double value) {
  if (value == 0) return "-";
  return value == static_cast<double>(static_cast<int>(value)) ? fmt::format("{:.0f}:1", value)
                                                               : fmt::format("{:.2f}:1", value);
}

std::string server_line(const model::Group& group) {
  const model::ServerGroup& spec = group.spec;
  std::string nics =
      spec.nics == 0 ? "no NICs" : fmt::format("{} x {} {}", spec.nics, spec.nic.kind, brief(spec.nic.rate));
  std::string site = spec.site.empty() ? "" : fmt::format(" on site {}", spec.site);
  return fmt::format("{} {}{}: {} x {}, {}", grouped(group.servers), spec.kind, site, spec.gpus, spec.gpu.kind, nics);
}

// What makers print of a server or a rack: all its GPUs, both directions together.
Bandwidth scale_up_of_domain(const model::Group& group) {
  const model::ScaleUp& domain = *group.spec.scale_up;
  return domain.link.both_ways.value_or(Bandwidth{}) * (domain.servers * group.spec.gpus);
}

std::string scale_up_line(const model::Group& group) {
  const model::ScaleUp& domain = *group.spec.scale_up;
  const std::string size =
      domain.servers > 1 ? fmt::format("{} servers share one scale-up domain, ", domain.servers) : "";
  const std::string how = domain.switches > 0 ? counted(domain.switches, "switch")
                                              : fmt::format("torus {}", fmt::join(domain.torus, " x "));
  return fmt::format("{}: {}{}, {}GB/s per GPU one way, {:.4g}TB/s of a {} both ways", domain.link.kind, size, how,
                     domain.link.one_way().count() / 8'000'000'000,
                     static_cast<double>(scale_up_of_domain(group).count()) / 8e12,
                     domain.servers > 1 ? "domain" : "server");
}

// "72 servers in 4 scale-up domains", where a domain is more than a server.
std::string servers_text(const model::Cluster& cluster) {
  std::int64_t domains = 0;
  for (const model::Group& group : cluster.groups)
    if (group.spec.scale_up && group.spec.scale_up->servers > 1)
      domains += group.servers / group.spec.scale_up->servers;
  const std::string text = counted(cluster.servers, "server");
  return domains > 0 ? fmt::format("{} in {}", text, counted(domains, "scale-up domain")) : text;
}

std::string power_line(const Summary& summary) {
  const fabric::Costs& costs = summary.costs;
  std::string text = fmt::format("{} servers", brief(costs.servers_power));
  if (costs.scale_up_power.count() > 0)
    text += fmt::format(" + {} switch trays and power shelves", brief(costs.scale_up_power));
  if (costs.switches_power.count() > 0) text += fmt::format(" + {} switches", brief(costs.switches_power));
  if (costs.optics_power.count() > 0) text += fmt::format(" + {} optics", brief(costs.optics_power));
  if (!costs.not_in_power.empty()) text += fmt::format(" (without {})", fmt::join(costs.not_in_power, ", "));
  return text;
}

std::string price_line(const fabric::Costs& costs) {
  if (!costs.price) return "not public for these servers";
  std::vector<std::string> rented;
  for (const fabric::PartCosts& part : costs.parts)
    if (part.rented > 0)
      rented.push_back(fmt::format("{}the {}", part.rented < part.pieces ? "some of " : "", part.name));
  std::string text = fmt::format("{}/h, {} a month for {}", dollars(static_cast<double>(costs.price->count()) / 1e6),
                                 dollars(price_per_month(*costs.price)), fmt::join(rented, " and "));
  for (const fabric::PartCosts& part : costs.parts)
    if (part.name == "storage" && part.unpriced == part.pieces) text += " (without storage)";
  return text;
}

// "$1.2M: $720k switches, $480k cables (without servers)".
std::string purchase_line(const fabric::Costs& costs) {
  std::vector<std::string> bought;
  for (const fabric::PartCosts& part : costs.parts)
    if (part.bought > 0) bought.push_back(fmt::format("{} {}", brief(part.purchase), part.name));
  std::string text = fmt::format("{}: {}", brief(*costs.purchase()), fmt::join(bought, ", "));
  if (const auto without = not_priced(costs); !without.empty())
    text += fmt::format(" (without {})", fmt::join(without, ", "));
  return text;
}

// "leaf0: 64 ports x 33.1KB at 400Gbps over 30m; 2.1MB of 64MB".
std::string headroom_line(const experiment::SwitchHeadroom& each) {
  std::vector<std::string> ports;
  for (const experiment::PortHeadroom& port : each.ports)
    ports.push_back(fmt::format("{} x {} at {} over {}{}", counted(port.ports, "port"), brief(port.per_class),
                                brief(port.rate), exact(port.cable),
                                port.classes > 1 ? fmt::format(", {} classes", port.classes) : ""));
  return fmt::format("{}: {}; {} of {}", each.name, fmt::join(ports, "; "), brief(each.total()), brief(each.buffer));
}

void add_network(const Session& session, const Summary& summary, report::Facts& facts) {
  const Fabric& fabric = session.fabric();
  if (!fabric.has_network()) return;
  const double share = static_cast<double>(summary.bisection.count()) /
                       static_cast<double>(std::max<std::int64_t>(1, summary.nic_bandwidth.count() / 2));
  facts.add("bisection",
            fmt::format("{} one way, {:.0f}% of what the NICs could send", brief(summary.bisection), share * 100));
  if (summary.between_sites)
    facts.add("between sites", fmt::format("{} one way for each pair of sites", brief(*summary.between_sites)));
  const bool apart = session.cluster().shape.rail_planes > 1;
  const std::string paths =
      summary.paths_far == 0 ? (apart ? "one leaf per rail: no choice of path" : "one leaf for all: no choice of path")
      : summary.paths_near == summary.paths_far
          ? fmt::format("{} between NICs on different leaves", grouped(static_cast<std::int64_t>(summary.paths_far)))
          : fmt::format("{} to {} between NICs on different leaves",
                        grouped(static_cast<std::int64_t>(summary.paths_near)),
                        grouped(static_cast<std::int64_t>(summary.paths_far)));
  facts.add("paths", paths);
  for (const experiment::SwitchHeadroom& each : experiment::headroom_of(session.design()))
    facts.add("PFC headroom", headroom_line(each));
}

void add_costs(const model::Cluster& cluster, const Summary& summary, report::Facts& facts) {
  facts.add("power", power_line(summary));
  const bool bought = summary.costs.purchase().has_value();
  if (summary.costs.price || !bought) facts.add("price", price_line(summary.costs));
  if (bought) facts.add("purchase", purchase_line(summary.costs));
  const fabric::ScaleStep step = fabric::scale_step(cluster.servers, fabric::owner_of(cluster));
  facts.add("scale", fmt::format("{}: {}", step.name, step.implies));
}

std::string fabric_line(const Fabric& fabric) {
  const model::Cluster& cluster = fabric.cluster();
  const model::Shape& shape = cluster.shape;
  std::string text(enum_name(cluster.file.fabric.kind));
  if (shape.rail_planes > 1) text += fmt::format(", {} separate rails", shape.rail_planes);
  if (shape.port_planes > 1) text += fmt::format(", {} planes", shape.port_planes);
  if (fabric.has_network()) text += fabric.ask([](const auto& network) { return network.text(); });
  return text;
}

std::string frontend_line(const model::Cluster& cluster) {
  const model::FrontendSpec& spec = *cluster.file.frontend;
  const std::uint32_t each = std::min(cluster.servers_per_frontend_leaf(), cluster.servers);
  const std::uint32_t leaves = cluster.frontend_leaves();
  return fmt::format("{} x {}, each server by {} to two of them, {} of {} ports used; not in power and price{}",
                     grouped(leaves), spec.leaf_switch.kind, exact(spec.rate),
                     model::ports_needed(spec.leaf_switch, {{spec.rate, each}}), spec.leaf_switch.ports,
                     leaves > 2 ? "; what joins the pairs is not in the file" : "");
}

void print(Session& session, const Summary& summary, Console& console) {
  const model::Cluster& cluster = session.cluster();
  const Fabric& fabric = session.fabric();
  report::Facts facts;
  facts.add("cluster", cluster.name);
  for (const model::Group& group : cluster.groups) facts.add("servers", server_line(group));
  facts.add(
      "counts",
      fmt::format("{}, {}, {}", servers_text(cluster), counted(cluster.gpus, "GPU"), counted(cluster.nics, "NIC")) +
          (fabric.has_network() ? ", " + counted(fabric.count(NodeKind::network_switch), "switch") : ""));
  std::string last_scale_up;
  for (const model::Group& group : cluster.groups) {
    const std::string line = group.spec.scale_up ? scale_up_line(group) : "";
    if (!line.empty() && line != last_scale_up) facts.add("scale-up", line);
    last_scale_up = line;
  }
  facts.add("fabric", fabric_line(fabric));
  if (cluster.file.frontend) facts.add("frontend", frontend_line(cluster));
  add_network(session, summary, facts);
  if (summary.longest) {
    const fabric::LongestPath& far = *summary.longest;
    const std::string switches = far.switches > 0 ? ", " + counted(far.switches, "switch") : "";  // NVLink or PCIe only
    facts.add("longest path", fmt::format("{} to {}: {}{}, {} one way unloaded", fabric.name(fabric.gpu(far.from_gpu)),
                                          fabric.name(fabric.gpu(far.to_gpu)), counted(far.links, "link"), switches,
                                          brief(far.latency)));
  }
  const bool hardware = cluster.file.fabric.kind != model::FabricKind::topo;  // htsim's files name no machines
  if (hardware) add_costs(cluster, summary, facts);
  console.out << facts.text(console.width, console.colour_out);
  if (summary.tiers.empty()) return;
  report::Table table({{"tier"},
                       {"switch"},
                       {"count", true},
                       {"ports used", true},
                       {"below", true},
                       {"above", true},
                       {"oversub", true}});
  for (const TierSummary& tier : summary.tiers)
    table.add({tier.name, tier.kind, grouped(static_cast<std::int64_t>(tier.switches)),
               fmt::format("{} of {}", tier.ports_used, tier.ports), brief(tier.below),
               tier.above.count() == 0 ? "-" : brief(tier.above), ratio(tier.oversubscription())});
  console.out << "\n" << table.text(console.width, console.colour_out);
}

nlohmann::ordered_json to_json(const Session& session, const Summary& summary) {
  const model::Cluster& cluster = session.cluster();
  nlohmann::ordered_json record = {{"record", "check"}, {"version", 1}, {"cluster", cluster.name}};
  record["servers"] = cluster.servers;
  record["gpus"] = cluster.gpus;
  record["nics"] = cluster.nics;
  record["fabric"] = enum_name(cluster.file.fabric.kind);
  record["planes"] = session.fabric().planes();
  record["switches"] = session.fabric().count(NodeKind::network_switch);
  if (cluster.file.frontend) record["frontend_leaves"] = cluster.frontend_leaves();
  record["scale_up"] = nlohmann::ordered_json::array();
  for (const model::Group& group : cluster.groups)
    if (group.spec.scale_up)
      record["scale_up"].push_back({{"servers", group.spec.name},
                                    {"link", group.spec.scale_up->link.kind},
                                    {"servers_per_domain", group.spec.scale_up->servers},
                                    {"domain_both_ways_bps", scale_up_of_domain(group).count()}});
  record["nic_bandwidth_bps"] = summary.nic_bandwidth.count();
  record["bisection_bps"] = summary.bisection.count();
  if (summary.between_sites) record["between_sites_bps"] = summary.between_sites->count();
  record["paths_near"] = summary.paths_near;
  record["paths_far"] = summary.paths_far;
  if (summary.longest) {
    record["longest_path"] = {{"from", session.fabric().name(session.fabric().gpu(summary.longest->from_gpu))},
                              {"to", session.fabric().name(session.fabric().gpu(summary.longest->to_gpu))},
                              {"links", summary.longest->links},
                              {"switches", summary.longest->switches},
                              {"latency_ps", summary.longest->latency.count()}};
  }
  const auto headroom = experiment::headroom_of(session.design());
  if (!headroom.empty()) record["pfc_headroom"] = nlohmann::ordered_json::array();
  for (const experiment::SwitchHeadroom& each : headroom)
    for (const experiment::PortHeadroom& port : each.ports)
      record["pfc_headroom"].push_back({{"switch", each.name},
                                        {"ports", port.ports},
                                        {"rate_bps", port.rate.count()},
                                        {"cable_mm", port.cable.count()},
                                        {"classes", port.classes},
                                        {"bytes_per_class", port.per_class.count()},
                                        {"buffer_bytes", each.buffer.count()}});
  const fabric::Costs& costs = summary.costs;
  record["power_milliwatts"] = costs.power().count();
  record["optics_power_milliwatts"] = costs.optics_power.count();
  record["power_is_partial"] = costs.power_is_partial;
  record["optics_in_power"] = std::none_of(costs.not_in_power.begin(), costs.not_in_power.end(),
                                           [](const std::string& name) { return name.ends_with("optics"); });
  record["not_in_power"] = costs.not_in_power;
  if (costs.price) {
    record["price_usd_per_hour"] = static_cast<double>(costs.price->count()) / 1e6;
    record["price_usd_per_month"] = price_per_month(*costs.price);
  }
  record["parts"] = nlohmann::ordered_json::array();
  for (const fabric::PartCosts& part : costs.parts) {
    record["parts"].push_back({{"name", part.name}, {"pieces", part.pieces}, {"purchase_usd", nullptr}});
    if (part.bought > 0) record["parts"].back()["purchase_usd"] = static_cast<double>(part.purchase.count()) / 1e6;
  }
  record["not_priced"] = not_priced(costs);
  record["scale_step"] = fabric::scale_step(cluster.servers, fabric::owner_of(cluster)).name;
  record["tiers"] = nlohmann::ordered_json::array();
  for (const TierSummary& tier : summary.tiers) {
    nlohmann::ordered_json row = {{"name", tier.name},
                                  {"kind", tier.kind},
                                  {"switches", tier.switches},
                                  {"ports", tier.ports},
                                  {"ports_used", tier.ports_used},
                                  {"ports_in_use", tier.ports_in_use},
                                  {"below_bps", tier.below.count()},
                                  {"above_bps", nullptr},
                                  {"oversubscription", nullptr}};  // null: nothing above
    if (tier.above.count() > 0) {
      row["above_bps"] = tier.above.count();
      row["oversubscription"] = tier.oversubscription();
    }
    record["tiers"].push_back(std::move(row));
  }
  return record;
}

// The file's run at this level, or at its usual one, as `sim` checks it.
bool can_run(experiment::Design& design, std::optional<experiment::Fidelity> fidelity) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  auto work = load_work({}, experiment::ground_of(design, RunOptions{}.seed), design);
  for (const experiment::Experiment& each : make_experiments(std::move(work), {}, {}, design))
    if (!diagnostics.has_errors()) experiment::check(design, each, {fidelity.value_or(each.fidelity)});
  return !diagnostics.has_errors();
}

// At which level it runs is said when it is run: one that can is enough.
void check_run(experiment::Design& design) {
  if (design.cluster().file.run.empty()) return;
  for (const auto fidelity : {std::optional<experiment::Fidelity>(), std::optional(experiment::Fidelity::packet)})
    if (const auto scratch = design.with({}); scratch != nullptr && can_run(*scratch, fidelity)) return;
  can_run(design, {});
}

}  // namespace

int check(const InputOptions& input, Console& console) {
  Session session(input, console);
  if (!session.ok()) return kYourInput;
  experiment::check_switching(session.design());
  if (!session.diagnostics().has_errors()) check_run(session.design());
  if (report(session.diagnostics(), input, console)) return kYourInput;
  const Summary summary = fabric::summarise(session.fabric());
  experiment::add_warnings(session.design(), summary);
  for (const experiment::Training& work : experiment::training_of(session.cluster()))
    for (spec::Diagnostic& each : experiment::training_warnings(session.design(), work))
      session.diagnostics().add(each.error, each.place, std::move(each.message), std::move(each.help));
  if (input.json) {
    console.out << to_json(session, summary).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n"
                << spec::render_json(session.diagnostics());
    return kFine;
  }
  print(session, summary, console);
  const std::string warnings = spec::render_text(session.diagnostics(), console.colour_out, console.width);
  if (!warnings.empty()) console.out << "\n" << warnings;
  return kFine;
}

}  // namespace weft::app
