#include "transport/stack.hpp"

namespace weft::transport {

void StackConfig::set_network(Instant base_rtt, Instant packet_time) {
  srd.base_rtt = base_rtt;
  srd.packet_time = packet_time;
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
  return all;
}

}  // namespace weft::transport
