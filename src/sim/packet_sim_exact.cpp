// Exact ports: what is set before a run, and the search for circles of ports that wait for each other.

#include <algorithm>
#include <bit>

#include "sim/packet_sim.hpp"

namespace weft::sim {

void PacketSim::prepare_exact() {
  ExactConfig& exact = config_.exact;
  ExactWorld& world = world_.exact;
  if (exact.resume_below == 0) exact.resume_below = 2 * config_.full_packet;
  world.gates.resize(std::size_t{layout_.ports()} * exact.classes);
  world.holds.resize(world.gates.size());
  world.ports.resize(layout_.ports());
  world.used.resize(layout_.switches());
  world.shared.resize(layout_.switches());
  world.intakes.resize(layout_.endpoints());
  world.ingress_shift = static_cast<std::uint32_t>(std::bit_width(layout_.entities() - 1));
  const auto lossless = static_cast<std::int64_t>(std::popcount(exact.lossless));
  std::int64_t slowest_asic = 0;
  for (std::uint32_t s = 0; s < layout_.switches(); ++s)
    slowest_asic = std::max(slowest_asic, layout_.switch_latency(s));
  // What comes in after the threshold was passed: a packet that the pause has to wait for, the pause and the data
  // that it meets on the cable, what the neighbour sends until it reacts, what is still being decided upon here,
  // and at both ends a packet that was begun.
  for (std::uint32_t kind = 0; kind < layout_.link_kinds(); ++kind) {
    const Link& link = layout_.link(kind);
    const std::int64_t cable = exact.headroom_latency > 0 ? exact.headroom_latency : link.latency;
    const std::int64_t time =
        2 * cable + link.wire(config_.full_packet) + link.wire(kControlBytes) + exact.reaction + slowest_asic;
    world.headroom.push_back(link.per_byte == 0 ? 0 : link.bytes_in(time) + 2 * std::int64_t{config_.full_packet});
  }
  world.credit = INT64_MAX;
  for (std::uint32_t s = 0; s < layout_.switches(); ++s) {
    const std::int64_t buffer = exact.buffer > 0 ? exact.buffer : layout_.fabric().switch_kind(s).buffer.count();
    std::int64_t connected = 0;
    std::int64_t reserved = 0;
    for (std::uint32_t port = 0; port < layout_.fabric().ports(s); ++port) {
      const std::uint32_t index = layout_.port_of(s, port);
      if (!layout_.connected(index)) continue;
      ++connected;
      const bool to_host = layout_.is_host(layout_.far(index).entity);
      if (exact.flow_control == FlowControl::pause || (exact.is_scheduled() && to_host))
        reserved += lossless * world.headroom[layout_.far(index).link];
    }
    if (exact.flow_control == FlowControl::credits && lossless > 0 && connected > 0)
      world.credit = std::min(world.credit, buffer / connected / lossless);
    world.shared[s] = std::max<std::int64_t>(0, buffer - reserved);
  }
  if (exact.flow_control != FlowControl::credits) return;
  for (Gate& gate : world.gates) gate.credit = world.credit;
}

std::string PacketSim::exact_problem() const {
  const ExactWorld& world = world_.exact;
  if (!config_.exact.on) return {};
  std::uint32_t most_ports = 0;
  for (std::uint32_t s = 0; s < layout_.switches(); ++s) most_ports = std::max(most_ports, layout_.fabric().ports(s));
  if (std::uint64_t{most_ports} << world.ingress_shift > std::uint64_t{1} << 32)
    return "the fabric is too large for exact ports";
  if (config_.exact.is_scheduled() && !layout_.can_be_scheduled())
    return "a scheduled fabric has leaves and spines and nothing else";
  const bool pauses = config_.exact.flow_control == FlowControl::pause || config_.exact.is_scheduled();
  if (pauses && *std::min_element(world.shared.begin(), world.shared.end()) == 0)
    return "the headroom of the ports takes all of a switch's buffer";
  // A quarter may be on its way back.
  if (config_.exact.flow_control == FlowControl::credits && world.credit < 2 * std::int64_t{config_.full_packet})
    return "a port's part of the buffer does not hold two packets";
  return {};
}

void PacketSim::slow_receiver(std::uint32_t endpoint, std::uint32_t millionths) {
  const Link& link = layout_.link(layout_.far(layout_.port_of_endpoint(endpoint)).link);
  world_.exact.intakes[endpoint].per_byte = link.per_byte * 1'000'000 / std::max(1u, millionths);
}

// A gate is alive when nothing holds it, or when anything that holds the buffer behind it is alive. What is not
// alive then can never move again: packets only ever join it. But credit may be on its way, so only a circle that is
// found twice without having sent anything counts.
PacketSim::Circle PacketSim::find_deadlock() const {
  const std::uint32_t classes = config_.exact.classes;
  const bool credits = config_.exact.flow_control == FlowControl::credits;
  std::vector<std::uint32_t> held;  // gates that wait, by number
  std::vector<std::uint8_t> dead(world_.exact.gates.size(), 0);
  for (std::uint32_t g = 0; g < world_.exact.gates.size(); ++g) {
    const Gate& gate = world_.exact.gates[g];
    const std::uint32_t port = g / classes;
    if (gate.head == PacketPool::kNone || !(config_.exact.lossless >> g % classes & 1)) continue;
    if (layout_.is_host(layout_.far(port).entity)) continue;  // a host takes what comes, however slowly
    const bool stuck = credits ? gate.credit < pool_of(port)[gate.head].bytes
                               : world_.exact.holds[layout_.reverse_port(port) * classes + g % classes].pausing;
    if (!stuck) continue;
    held.push_back(g);
    dead[g] = 1;
  }
  if (held.empty()) return {};
  // For each gate that waits: which gates of the next switch hold what came through it.
  std::vector<std::vector<std::uint32_t>> behind(held.size());
  std::vector<std::int32_t> number(world_.exact.gates.size(), -1);
  for (std::size_t i = 0; i < held.size(); ++i) number[held[i]] = static_cast<std::int32_t>(i);
  for (std::uint32_t g = 0; g < world_.exact.gates.size(); ++g) {
    const std::uint32_t port = g / classes;
    const std::uint32_t at = layout_.owner(port);
    if (layout_.is_host(at)) continue;
    const PacketPool& pool = pool_of(port);
    std::uint32_t last = PacketPool::kNone;
    for (std::uint32_t index = world_.exact.gates[g].head; index != PacketPool::kNone; index = pool[index].number) {
      const std::uint32_t in = layout_.port_of(at, pool[index].from >> world_.exact.ingress_shift);
      if (in == last) continue;
      last = in;
      const std::int32_t from = number[layout_.reverse_port(in) * classes + g % classes];
      if (from >= 0) behind[static_cast<std::size_t>(from)].push_back(g);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!dead[held[i]]) continue;
      const bool empty = behind[i].empty();  // what held it is on its way out
      const bool alive = std::any_of(behind[i].begin(), behind[i].end(), [&](std::uint32_t g) { return !dead[g]; });
      if (!empty && !alive) continue;
      dead[held[i]] = 0;
      changed = true;
    }
  }
  // Following what each waits for must come round.
  const auto first = std::find_if(held.begin(), held.end(), [&](std::uint32_t g) { return dead[g] != 0; });
  if (first == held.end()) return {};
  std::vector<std::uint32_t> way;
  std::uint32_t at = *first;
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    at = behind[static_cast<std::size_t>(number[at])].front();
  }
  Circle circle;
  for (auto each = std::find(way.begin(), way.end(), at); each != way.end(); ++each) {
    circle.names += layout_.name_of_end(*each / classes) + " -> ";
    circle.sent += world_.ports[*each / classes].packets;
  }
  circle.names += layout_.name_of_end(at / classes);
  return circle;
}

}  // namespace weft::sim
