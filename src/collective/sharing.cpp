#include "collective/sharing.hpp"

#include <algorithm>

namespace weft::collective {
namespace {

// What a PCIe link of so many lanes carries as payload: 4 KiB requests answered in 256-byte packets with 24 bytes of
// header each, rounded down.
constexpr std::int64_t kPciePerMille = 850;

Bandwidth part_of(Bandwidth rate, std::int64_t per_mille) {
  return Bandwidth(rate.count() / 1000 * per_mille);
}

}  // namespace

Sharing::Sharing(const Team& team, const Generation& generation, const Stack& stack, Options options)
    : team_(team), options_(options) {
  for (std::uint32_t rank = 0; rank < team.ranks(); ++rank) {
    const model::Group& group = team.group(rank);
    const Bandwidth inside = group.spec.scale_up
                                 ? part_of(group.spec.scale_up->link.one_way(), generation.scale_up_per_mille)
                                 : part_of(group.pcie.one_way(group.spec.pcie_lanes), kPciePerMille);
    parts_.push_back({inside});
    parts_.push_back({inside});
  }
  for (std::uint32_t node = 0; node < team.nodes(); ++node) {
    first_port_.push_back(static_cast<std::uint32_t>(parts_.size()));
    for (const Port& port : team.domain(node).ports) {
      const Bandwidth pcie = part_of(port.pcie_rate, kPciePerMille);
      const Bandwidth nic = std::min(part_of(port.nic_rate, stack.network.nic_per_mille), pcie);
      parts_.push_back({nic});
      parts_.push_back({nic});
      parts_.push_back({pcie / 2});  // in and out of the socket's memory over the same root complex
    }
  }
}

Way Sharing::inside(std::uint32_t from, std::uint32_t to) const {
  Way way;
  way.add(out_of(from));
  way.add(into(to));
  return way;
}

Way Sharing::to_switch(std::uint32_t rank) const {
  Way way;
  way.add(out_of(rank));
  return way;
}

Way Sharing::from_switch(std::uint32_t rank) const {
  Way way;
  way.add(into(rank));
  return way;
}

Way Sharing::to_network(std::uint32_t from, std::uint32_t port) const {
  const std::uint32_t node = team_.node_of(from);
  const Port& used = team_.domain(node).ports[port];
  Way way;
  const bool near = team_.port_of(from) == port && team_.direct(from);
  const bool relayed = !near && options_.pxn && used.rank != from && team_.group(from).spec.scale_up.has_value();
  if (relayed) {
    way.add(out_of(from));
    way.add(into(used.rank));
  }
  way.host_memory = !near && !(relayed && used.direct);
  if (way.host_memory) way.add(bounce(node, port));
  way.add(port_out(node, port));
  return way;
}

// The network writes where it can reach: there is no PXN at this end.
Way Sharing::from_network(std::uint32_t to, std::uint32_t port) const {
  const std::uint32_t node = team_.node_of(to);
  Way way;
  way.add(port_in(node, port));
  way.host_memory = team_.port_of(to) != port || !team_.direct(to);
  if (way.host_memory) way.add(bounce(node, port));
  return way;
}

Way Sharing::across(std::uint32_t from, std::uint32_t from_port, std::uint32_t to, std::uint32_t to_port) const {
  Way way = to_network(from, from_port);
  const Way rest = from_network(to, to_port);
  for (std::uint32_t i = 0; i < rest.count; ++i) way.add(rest.parts[i]);
  way.host_memory |= rest.host_memory;
  return way;
}

void Sharing::load(const Way& way, std::uint32_t weight) {
  for (std::uint32_t i = 0; i < way.count; ++i) parts_[way.parts[i]].users += weight;
}

Bandwidth Sharing::share(const Way& way) const {
  Bandwidth least{INT64_MAX};
  for (std::uint32_t i = 0; i < way.count; ++i) {
    const Part& part = parts_[way.parts[i]];
    least = std::min(least, part.capacity / std::max(1u, part.users));
  }
  return least;
}

std::uint32_t Sharing::posted(const Way& way) const {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < way.count; ++i) {
    const std::uint32_t part = way.parts[i];
    if (first_port_.empty() || part < first_port_.front()) continue;
    const std::uint32_t out = part - (part - first_port_.front()) % 3;  // ports have three parts each
    most = std::max(most, parts_[out].users + parts_[out + 1].users);
  }
  return most;
}

}  // namespace weft::collective
