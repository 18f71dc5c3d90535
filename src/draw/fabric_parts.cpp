#include "draw/fabric_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"

namespace weft::draw {
namespace {

using fabric::Fabric;

std::string count_of(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}", grouped(n), plural(noun, n));
}

std::string servers_line(const model::Cluster& cluster) {
  std::vector<std::string> kinds;
  std::set<std::string> nics;
  for (const model::Group& group : cluster.groups) {
    kinds.push_back(cluster.groups.size() == 1
                        ? group.spec.kind
                        : fmt::format("{} {} {}", grouped(group.servers), group.spec.kind, group.spec.name));
    if (group.nics() > 0) nics.insert(fmt::format("{} {}", group.spec.nic.kind, brief(group.spec.nic.rate)));
  }
  if (kinds.size() > 4) kinds = {fmt::format("{} groups", kinds.size())};
  std::string line = fmt::format("{} ({}), {}, {}", count_of(cluster.servers, "server"), fmt::join(kinds, ", "),
                                 count_of(cluster.gpus, "GPU"), count_of(cluster.nics, "NIC"));
  if (!nics.empty() && nics.size() <= 3) line += fmt::format(" ({})", fmt::join(nics, ", "));
  return line;
}

std::string switches_line(const Fabric& fabric) {
  std::vector<std::string> parts;
  for (const fabric::SwitchTier& tier : fabric.tiers()) {
    if (tier.count == 0) continue;
    const model::SwitchKind& kind = fabric.cluster().shape.switches[tier.kind];
    parts.push_back(fmt::format("{} ({}, {} x {})", count_of(std::int64_t{tier.count} * fabric.planes(), tier.noun),
                                kind.kind, kind.ports, brief(kind.rate)));
  }
  std::string line = fmt::format("{}", fmt::join(parts, ", "));
  const model::Shape& shape = fabric.cluster().shape;
  if (shape.rail_planes > 1) line += fmt::format(", in {} rails that nothing joins", shape.rail_planes);
  if (shape.port_planes > 1) line += fmt::format(", in {} planes", shape.port_planes);
  return line;
}

std::string domains_line(const model::Cluster& cluster) {
  std::set<std::string> lines;
  for (const model::Group& group : cluster.groups)
    if (group.spec.scale_up && group.spec.scale_up->servers > 1)
      lines.insert(fmt::format("{} servers with {} GPUs share one {} domain ({} per GPU one way)",
                               group.spec.scale_up->servers, group.spec.scale_up->servers * group.spec.gpus,
                               group.spec.scale_up->link.kind, byte_rate(group.spec.scale_up->link.one_way())));
  return fmt::format("{}", fmt::join(lines, "; "));
}

void write_legend(const Fabric& fabric, Picture& picture) {
  // One entry per rate that was drawn.
  std::map<Bandwidth, std::string> rates;
  const auto add = [&](Bandwidth rate) {
    if (rate.count() > 0) rates[rate] = rate_style(rate);
  };
  if (fabric.has_network()) {
    for (std::uint32_t g = 0; g < fabric.cluster().groups.size(); ++g) add(fabric.wire(fabric::LinkTier::nic, g).rate);
    for (const Bandwidth rate : fabric.ask([](const auto& network) { return drawn_rates(network); })) add(rate);
  }
  for (const auto& [rate, style] : rates)
    picture.legend.push_back({true, style, 3, brief(rate) + " link, or several as one line", {}});
  const auto drawn = [&](std::string_view style) {
    return std::any_of(picture.lines.begin(), picture.lines.end(),
                       [&](const Line& line) { return line.style.find(style) != std::string::npos; });
  };
  if (drawn("site")) picture.legend.push_back({true, "site", 3, "between sites", {}});
  if (drawn("nvlink")) picture.legend.push_back({true, "nvlink", 4, "scale-up links", {}});
  if (std::any_of(picture.boxes.begin(), picture.boxes.end(), [](const Box& box) { return box.style == "rack"; }))
    picture.legend.push_back({false, "rack", 2, "servers of one scale-up domain", {}});
  if (drawn("folded"))
    picture.legend.push_back(
        {true, (rates.empty() ? "link" : rates.begin()->second) + " folded", 3, "to parts that are folded away", {}});
}

}  // namespace

std::string run_name(const Fabric& fabric, const ServerRun& run) {
  const std::string& name = fabric.cluster().groups[run.group].spec.name;
  if (run.count == 1) return fmt::format("{}{}", name, run.first);
  return fmt::format("{}{} … {}{}", name, run.first, name, run.first + run.count - 1);
}

Box server_box(const Fabric& fabric, const ServerRun& run, std::uint32_t of_all, bool folded) {
  const model::Group& group = fabric.cluster().groups[run.group];
  const std::int64_t gpus = static_cast<std::int64_t>(run.count) * group.gpus();
  const std::int64_t nics = static_cast<std::int64_t>(run.count) * group.nics();
  const std::string devices = fmt::format("{}, {}", count_of(gpus, "GPU"), count_of(nics, "NIC"));
  Box box;
  box.id = run_name(fabric, run);
  box.label = run_name(fabric, run);
  box.style = "server";
  box.title = fmt::format("{}: {} {}, {}", box.label, count_of(run.count, "server"), group.spec.kind, devices);
  if (folded) {
    box.label = fmt::format("… {} more", grouped(run.count));
    box.notes = {fmt::format("({} in all)", grouped(of_all))};
    box.style = "more";
  } else if (run.count > 1) {
    box.notes = {fmt::format("{} {}", grouped(run.count), group.spec.kind), devices};
  } else {
    box.notes = {group.spec.kind, devices};
  }
  return box;
}

std::string rate_style(Bandwidth rate) {
  const std::int64_t giga = rate.count() / 1'000'000'000;
  return giga <= 100 ? "r100" : giga <= 200 ? "r200" : giga <= 400 ? "r400" : giga <= 800 ? "r800" : "r1600";
}

double line_width(std::int64_t links, Bandwidth rate) {
  const double hundreds = static_cast<double>(links) * static_cast<double>(rate.count()) / 1e11;
  return std::clamp(0.8 + 0.45 * std::log2(hundreds + 1), 1.0, 6.0);
}

std::string links_of_servers(const model::Cluster& cluster) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    const model::Group& group = cluster.groups[i];
    if (group.nics() == 0) continue;
    std::string text =
        bundle_text(static_cast<std::int64_t>(group.nics()) * group.spec.nic.ports, cluster.shape.wiring[i].wire.rate);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts.size() <= 2 ? fmt::format("{}", fmt::join(texts, " or ")) : fmt::format("{} or others", texts[0]);
}

void describe_fabric(const Fabric& fabric, Picture& picture) {
  const model::Cluster& cluster = fabric.cluster();
  const std::string_view kind =
      cluster.file.fabric.kind == model::FabricKind::none ? "scale-up only" : enum_name(cluster.file.fabric.kind);
  picture.title = cluster.name;
  if (cluster.name.find(kind) == std::string::npos) picture.title += fmt::format(": {}", kind);
  picture.caption.push_back(servers_line(cluster));
  if (fabric.has_network()) picture.caption.push_back(switches_line(fabric));
  std::string last;
  std::vector<std::string> parts;
  if (fabric.has_network()) parts = fabric.ask([&](const auto& network) { return caption_of(network, fabric); });
  parts.push_back(domains_line(cluster));
  for (const std::string& part : parts)
    if (!part.empty()) last += (last.empty() ? "" : "; ") + part;
  if (!last.empty()) picture.caption.push_back(last);
  picture.description = fmt::format("{}", fmt::join(picture.caption, "; "));
  write_legend(fabric, picture);
}

}  // namespace weft::draw
