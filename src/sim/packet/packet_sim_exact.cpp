// Exact ports: what is set before a run.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "base/units.hpp"
#include "sim/packet/packet_sim.hpp"

namespace weft::sim {

void PacketSim::prepare_exact() {
  ExactConfig& exact = config_.exact;
  ExactWorld& world = world_.exact;
  if (exact.resume_below == 0) exact.resume_below = 2 * config_.full_packet;
  const std::size_t ports = layout_.ports();
  world.classes = exact.classes;
  world.ports.resize(ports);
  world.more_gates.resize(ports * (std::max(exact.classes, ExactPort::kGates) - ExactPort::kGates));
  world.details.resize(ports * exact.classes);
  world.holds.resize(ports * exact.classes);
  world.drops.resize(ports);
  world.used.resize(layout_.switches());
  world.shared.resize(layout_.switches());
  world.intakes.resize(layout_.endpoints());
  world.ingress_shift = static_cast<std::uint32_t>(std::bit_width(layout_.entities() - 1));
  if (exact.channels > 1) prepare_channels();
  world.wires.resize(ports);
  for (std::uint32_t port = 0; port < ports; ++port) {
    const Layout::Far& far = layout_.far(port);
    ExactWire& wire = world.wires[port];
    wire.entity = far.entity;
    wire.link = far.link;
    wire.latency = layout_.link(far.link).latency;
    if (!layout_.connected(port) || layout_.is_host(far.entity)) continue;
    wire.latency += layout_.switch_latency(far.entity);
    wire.ingress = layout_.reverse_local(port) << world.ingress_shift;
  }
  const auto lossless = static_cast<std::int64_t>(std::popcount(exact.lossless));
  std::int64_t slowest_asic = 0;
  for (std::uint32_t s = 0; s < layout_.switches(); ++s)
    slowest_asic = std::max(slowest_asic, layout_.switch_latency(s));
  // What comes in after the threshold was passed: a packet that the pause has to wait for, the pause and the data
  // that it meets on the cable, what the neighbour sends until it reacts, what is still being decided upon here,
  // and at both ends a packet that was begun.
  for (std::uint32_t kind = 0; kind < layout_.link_kinds(); ++kind) {
    const Link& link = layout_.link(kind);
    const std::int64_t cable = exact.headroom_latency.count() > 0 ? exact.headroom_latency.count() : link.latency;
    const std::int64_t time =
        2 * cable + link.wire(config_.full_packet) + link.wire(kControlBytes) + exact.reaction.count() + slowest_asic;
    world.headroom.push_back(link.per_byte == 0 ? 0 : link.bytes_in(time) + 2 * std::int64_t{config_.full_packet});
  }
  world.credit = INT64_MAX;
  for (std::uint32_t s = 0; s < layout_.switches(); ++s) {
    const BufferUse use = buffer_use(s);
    if (exact.flow_control == FlowControl::credits && lossless > 0 && use.ports > 0)
      world.credit = std::min(world.credit, use.buffer / use.ports / lossless);
    world.shared[s] = std::max<std::int64_t>(0, use.buffer - use.headroom);
  }
  if (exact.flow_control != FlowControl::credits) return;
  for (ExactPort& port : world.ports)
    for (Gate& gate : port.gates) gate.credit = world.credit;
  for (Gate& gate : world.more_gates) gate.credit = world.credit;
}

PacketSim::BufferUse PacketSim::buffer_use(std::uint32_t s) const {
  const ExactConfig& exact = config_.exact;
  const auto lossless = static_cast<std::int64_t>(std::popcount(exact.lossless));
  BufferUse use;
  use.buffer = exact.buffer > 0 ? exact.buffer : layout_.fabric().switch_kind(s).buffer.count();
  for (std::uint32_t port = 0; port < layout_.fabric().ports(s); ++port) {
    const std::uint32_t index = layout_.port_of(s, port);
    if (!layout_.connected(index)) continue;
    ++use.ports;
    const bool to_host = layout_.is_host(layout_.far(index).entity);
    if (exact.flow_control != FlowControl::pause && !(exact.is_scheduled() && to_host)) continue;
    ++use.pausing;
    use.headroom += (to_host ? lossless / exact.channels : lossless) * world_.exact.headroom[layout_.far(index).link];
  }
  return use;
}

// What Event::from says beside the entity fits the rest of its bits; else exact_problem says so.
void PacketSim::prepare_channels() {
  ExactWorld& world = world_.exact;
  const auto port_bits = static_cast<std::uint32_t>(std::bit_width(most_ports() - 1));
  const auto channel_bits = static_cast<std::uint32_t>(std::bit_width(config_.exact.channels - 1));
  world.turns.resize(world.details.size());
  world.ingress_mask = (1u << port_bits) - 1;
  world.channel_mask = (1u << channel_bits) - 1;
  world.in_shift = world.ingress_shift + port_bits;
  world.out_shift = world.in_shift + channel_bits;
}

std::uint32_t PacketSim::most_ports() const {
  std::uint32_t most = 1;
  for (std::uint32_t s = 0; s < layout_.switches(); ++s) most = std::max(most, layout_.fabric().ports(s));
  return most;
}

ExactProblem PacketSim::exact_problem() const {
  using Kind = ExactProblem::Kind;
  const ExactWorld& world = world_.exact;
  if (!config_.exact.on) return {};
  const int channel_bits = 2 * static_cast<int>(std::bit_width(config_.exact.channels - 1));
  if (std::uint64_t{most_ports()} << world.ingress_shift << channel_bits > std::uint64_t{1} << 32)
    return {Kind::too_large, "the fabric is too large for exact ports"};
  if (config_.exact.is_scheduled() && !layout_.can_be_scheduled())
    return {Kind::not_two_tiers, "a scheduled fabric has leaves and spines and nothing else"};
  const bool pauses = config_.exact.flow_control == FlowControl::pause || config_.exact.is_scheduled();
  const auto full = std::find(world.shared.begin(), world.shared.end(), 0);
  if (pauses && full != world.shared.end()) {
    const auto s = static_cast<std::uint32_t>(full - world.shared.begin());
    const BufferUse use = buffer_use(s);
    return {Kind::headroom,
            fmt::format("{} needs {} of headroom for {} with {}, and its buffer is {}",
                        layout_.fabric().name(layout_.fabric().node(fabric::NodeKind::network_switch, s)),
                        brief(Bytes(use.headroom)), counted(use.pausing, "port"),
                        counted(std::popcount(config_.exact.lossless), "lossless class"), brief(Bytes(use.buffer)))};
  }
  // A quarter may be on its way back.
  const std::int64_t two = 2 * std::int64_t{config_.full_packet};
  if (config_.exact.flow_control == FlowControl::credits && world.credit < two)
    return {Kind::credit, fmt::format("a port's part of the buffer, {}, does not hold two packets, {}",
                                      brief(Bytes(world.credit)), brief(Bytes(two)))};
  return {};
}

void PacketSim::slow_receiver(std::uint32_t endpoint, std::uint32_t millionths) {
  const Link& link = layout_.link(layout_.far(layout_.port_of_endpoint(endpoint)).link);
  world_.exact.intakes[endpoint].per_byte = link.per_byte * 1'000'000 / std::max(1u, millionths);
}

}  // namespace weft::sim
