#include "transport/stack.hpp"

#include <algorithm>

namespace weft::transport {

std::uint32_t StackConfig::packet_of(Protocol protocol) const {
  switch (protocol) {
    case Protocol::srd:
      return srd.payload + srd.header;
    case Protocol::rocev2:
      return roce.mtu + roce.header;
    case Protocol::tcp:
      return tcp.mtu + tcp.framing;
    case Protocol::uet:
      return uet.payload + uet.header;
    case Protocol::raw:
      return srd.payload + raw_header;
    case Protocol::tcp_over_srd:
      return tcp_over_srd.payload + tcp_over_srd.header;
  }
  return 0;
}

std::uint32_t StackConfig::header_of(Protocol protocol) const {
  switch (protocol) {
    case Protocol::srd:
      return srd.header;
    case Protocol::rocev2:
      return roce.header;
    case Protocol::tcp:
      return tcp.headers + tcp.framing;
    case Protocol::uet:
      return uet.header;
    case Protocol::raw:
      return raw_header;
    case Protocol::tcp_over_srd:
      return tcp_over_srd.header;
  }
  return 0;
}

std::uint32_t StackConfig::longest_packet() const {
  std::uint32_t longest = 0;
  for (std::uint32_t i = 0; i < kProtocols; ++i)
    if (uses(static_cast<Protocol>(i))) longest = std::max(longest, packet_of(static_cast<Protocol>(i)));
  return longest;
}

std::uint32_t StackConfig::shortest_header() const {
  std::uint32_t shortest = UINT32_MAX;
  for (std::uint32_t i = 0; i < kProtocols; ++i)
    if (uses(static_cast<Protocol>(i))) shortest = std::min(shortest, header_of(static_cast<Protocol>(i)));
  return shortest;
}

void StackConfig::set_network(Instant base_rtt, Instant wire_time, std::uint32_t wire_bytes) {
  const auto time_of = [&](Protocol protocol) {
    return (wire_time * packet_of(protocol) + wire_bytes - 1) / wire_bytes;
  };
  roce.base_rtt = tcp.base_rtt = uet.base_rtt = base_rtt;
  srd.packet_time = time_of(Protocol::srd);
  roce.packet_time = time_of(Protocol::rocev2);
  uet.packet_time = time_of(Protocol::uet);
  for (SrdConfig* each : {&srd, &tcp_over_srd}) {
    each->base_rtt = base_rtt;
    if (each->rto == 0) each->rto = 5 * base_rtt + each->longest_wait;
  }
  tcp_over_srd.packet_time = time_of(Protocol::tcp_over_srd);
}

StackConfig StackConfig::in_lane(std::uint32_t lane, std::uint8_t protocols) const {
  StackConfig other = *this;
  other.used = protocols;
  const auto bits = static_cast<std::uint16_t>(lane << kLaneShift);
  other.srd.generation |= bits;
  other.roce.generation |= bits;
  other.tcp.generation |= bits;
  other.uet.generation |= bits;
  other.tcp_over_srd.generation |= bits;
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
  const auto of = [](const auto& transport) { return transport ? Counters(transport->counters()) : Counters{}; };
  switch (protocol) {
    case Protocol::srd:
      return of(srd_);
    case Protocol::rocev2:
      return of(roce_);
    case Protocol::tcp:
      return of(tcp_);
    case Protocol::uet:
      return of(uet_);
    case Protocol::tcp_over_srd:
      return of(tcp_over_srd_);
    case Protocol::raw:
      return of(raw_messages_);
  }
  return {};
}

}  // namespace weft::transport
