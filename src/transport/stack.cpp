#include "transport/stack.hpp"

#include <algorithm>

namespace weft::transport {

std::uint32_t StackConfig::packet_of(Protocol protocol) const {
  std::uint32_t bytes = 0;
  Transports::with(protocol, [&]<class Each>() { bytes = Each::packet_bytes(Each::config_in(*this)); });
  return bytes;
}

std::uint32_t StackConfig::header_of(Protocol protocol) const {
  std::uint32_t bytes = 0;
  Transports::with(protocol, [&]<class Each>() { bytes = Each::header_bytes(Each::config_in(*this)); });
  return bytes;
}

std::uint32_t StackConfig::longest_packet() const {
  std::uint32_t longest = 0;
  for (const Description& each : kDescriptions)
    if (uses(each.protocol)) longest = std::max(longest, packet_of(each.protocol));
  return longest;
}

std::uint32_t StackConfig::shortest_header() const {
  std::uint32_t shortest = UINT32_MAX;
  for (const Description& each : kDescriptions)
    if (uses(each.protocol)) shortest = std::min(shortest, header_of(each.protocol));
  return shortest;
}

void StackConfig::set_network(Duration base_rtt, Duration wire_time, std::uint32_t wire_bytes) {
  Transports::for_each([&]<class Each>() {
    auto& config = Each::config_in(*this);
    Each::set_network(config,
                      {base_rtt, (wire_time * Each::packet_bytes(config) + Duration(wire_bytes - 1)) / wire_bytes});
  });
}

StackConfig StackConfig::in_lane(std::uint32_t lane, std::uint8_t protocols) const {
  StackConfig other = *this;
  other.used = protocols;
  other.for_each([&](const Description&, auto& config) {
    if constexpr (requires { config.generation; }) config.generation |= static_cast<std::uint16_t>(lane << kLaneShift);
  });
  return other;
}

Counters Stack::counters() const {
  Counters all;
  for_each_used([&](Protocol protocol) {
    const Counters each = counters(protocol);
    all.data_sent += each.data_sent;
    all.data_resent += each.data_resent;
    all.acks_sent += each.acks_sent;
    all.trimmed_seen += each.trimmed_seen;
    all.marked_seen += each.marked_seen;
    all.duplicates += each.duplicates;
    all.timeouts += each.timeouts;
    all.payload_delivered += each.payload_delivered;
    all.ignored += each.ignored;
  });
  return all;
}

Counters Stack::counters(Protocol protocol) const {
  Counters counters;
  Transports::with(protocol, [&]<class Each>() {
    if (const auto& each = engine<Each>()) counters = each->counters();
  });
  return counters;
}

std::uint64_t Stack::underway_bytes() const {
  std::uint64_t bytes = 0;
  Transports::for_each([&]<class Each>() {
    if constexpr (requires(const typename Each::Engine& each) { each.underway_bytes(); })
      if (const auto& each = engine<Each>()) bytes += each->underway_bytes();
  });
  return bytes;
}

}  // namespace weft::transport
