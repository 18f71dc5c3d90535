#include "transport/stack.hpp"

namespace weft::transport {

std::uint32_t StackConfig::packet_of(Protocol protocol) const {
  switch (protocol) {
    case Protocol::srd: return srd.payload + srd.header;
    case Protocol::rocev2: return roce.mtu + roce.header;
    case Protocol::tcp: return tcp.mtu + tcp.framing;
    case Protocol::uet: return uet.payload + uet.header;
    case Protocol::raw: return srd.payload + raw_header;
  }
  return 0;
}

std::uint32_t StackConfig::header_of(Protocol protocol) const {
  switch (protocol) {
    case Protocol::srd: return srd.header;
    case Protocol::rocev2: return roce.header;
    case Protocol::tcp: return tcp.headers + tcp.framing;
    case Protocol::uet: return uet.header;
    case Protocol::raw: return raw_header;
  }
  return 0;
}

void StackConfig::set_network(Instant base_rtt, Instant wire_time, std::uint32_t wire_bytes) {
  const auto time_of = [&](Protocol protocol) { return (wire_time * packet_of(protocol) + wire_bytes - 1) / wire_bytes; };
  srd.base_rtt = roce.base_rtt = tcp.base_rtt = uet.base_rtt = base_rtt;
  srd.packet_time = time_of(Protocol::srd);
  roce.packet_time = time_of(Protocol::rocev2);
  uet.packet_time = time_of(Protocol::uet);
  if (srd.rto == 0) srd.rto = 5 * base_rtt;
}

Counters Stack::counters() const {
  Counters all;
  const auto add = [&](const Counters& each) {
    all.data_sent += each.data_sent;
    all.data_resent += each.data_resent;
    all.acks_sent += each.acks_sent;
    all.trimmed_seen += each.trimmed_seen;
    all.marked_seen += each.marked_seen;
    all.duplicates += each.duplicates;
    all.timeouts += each.timeouts;
    all.payload_delivered += each.payload_delivered;
    all.ignored += each.ignored;
  };
  if (srd_) add(srd_->counters());
  if (roce_) add(roce_->counters());
  if (tcp_) add(tcp_->counters());
  if (uet_) add(uet_->counters());
  return all;
}

}  // namespace weft::transport
