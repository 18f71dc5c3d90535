#include "experiment/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace weft::experiment {
namespace {

using fabric::NodeId;
using spec::Error;

constexpr std::size_t kMostLinks = 4096;  // both directions counted; a capture of more is not looked at

struct Wanted {
  NodeId from;
  std::optional<NodeId> to;
};

NodeId node_at(const sim::Layout& layout, std::uint32_t port) {
  const fabric::Fabric& fabric = layout.fabric();
  if (layout.is_endpoint_port(port)) return fabric.nic_of(port - layout.port_of_endpoint(0));
  return fabric.node(fabric::NodeKind::network_switch, layout.owner(port));
}

std::optional<Wanted> parse_link(const fabric::Fabric& fabric, const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto from = fabric.find(text.substr(0, colon));
  if (!from) return std::nullopt;
  if (colon == std::string::npos) return Wanted{*from, std::nullopt};
  const auto to = fabric.find(text.substr(colon + 1));
  return to ? std::optional(Wanted{*from, *to}) : std::nullopt;
}

// The name that was meant, where one of a switch or NIC is near enough; of a large fabric the first ones are looked
// at.
std::optional<std::string> nearest(const fabric::Fabric& fabric, const std::string& name) {
  constexpr std::uint32_t kMostNames = 4096;
  if (fabric.find(name)) return name;
  std::vector<std::string> names;
  for (const fabric::NodeKind kind : {fabric::NodeKind::network_switch, fabric::NodeKind::nic})
    for (std::uint32_t i = 0; i < std::min(kMostNames, fabric.count(kind)); ++i)
      names.push_back(fabric.name(fabric.node(kind, i)));
  return did_you_mean(name, names);
}

std::string suggestion(const fabric::Fabric& fabric, const std::string& text) {
  const std::size_t colon = text.find(':');
  auto meant = nearest(fabric, text.substr(0, colon));
  if (meant && colon != std::string::npos) {
    const auto other = nearest(fabric, text.substr(colon + 1));
    meant = other ? std::optional(*meant + ":" + *other) : std::nullopt;
  }
  return meant ? fmt::format("did you mean '{}'?", *meant) : "two ends such as leaf0:spine1, or one: leaf0, s0/nic1";
}

bool matches(const Wanted& wanted, NodeId a, NodeId b) {
  return (wanted.from == a && (!wanted.to || *wanted.to == b)) || (wanted.from == b && (!wanted.to || *wanted.to == a));
}

}  // namespace

std::vector<NamedLink> find_links(const sim::Layout& layout, const std::vector<std::string>& names,
                                  const LinkAsker& asker, spec::Diagnostics& diagnostics) {
  const fabric::Fabric& fabric = layout.fabric();
  std::vector<std::pair<Wanted, bool>> wanted;  // and whether there is such a link
  for (const std::string& name : names) {
    const auto link = parse_link(fabric, name);
    if (link) wanted.emplace_back(*link, false);
    if (!link)
      diagnostics.add(Error::bad_reference, asker.place, fmt::format("{} finds no '{}'", asker.name, name),
                      suggestion(fabric, name));
  }
  std::vector<NamedLink> links;
  if (wanted.size() < names.size() || names.empty()) return links;
  std::map<std::string, int> parallel;
  for (std::uint32_t port = 0; port < layout.ports() && links.size() <= kMostLinks; ++port) {
    if (!layout.connected(port)) continue;
    const NodeId from = node_at(layout, port);
    const NodeId to = node_at(layout, layout.reverse(port));
    bool any = false;
    for (auto& [link, found] : wanted) {
      const bool here = matches(link, from, to);
      found = found || here;
      any = any || here;
    }
    if (!any) continue;
    std::string name = fmt::format("{} to {}", fabric.name(from), fabric.name(to));
    if (const int number = ++parallel[name]; number > 1) name += fmt::format(" ({})", number);
    links.push_back({port, std::move(name)});
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!wanted[i].second)
      diagnostics.add(Error::bad_reference, asker.place,
                      fmt::format("{}: no link of the network is '{}'", asker.name, names[i]),
                      "`weft show links` lists them");
  if (links.size() > kMostLinks)
    diagnostics.add(Error::out_of_range, asker.place, fmt::format("{} names too many links", asker.name),
                    fmt::format("at most {}", kMostLinks));
  return links;
}

}  // namespace weft::experiment
