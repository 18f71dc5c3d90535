// TCP's sending half: what counts as lost (RACK, RFC 8985, 6), and how much goes out while it is repaired (PRR,
// RFC 6937).

#include "transport/tcp/tcp.hpp"

#include <bit>

namespace weft::transport {

Instant Tcp::reorder_window(const Connection& connection) const {
  // Where nothing was ever reordered, segments beyond a gap say enough.
  if (!connection.reordering && (connection.state != State::open || connection.sacked >= config_.dup_thresh)) return 0;
  return std::min(connection.reorder_steps * (connection.least_rtt / 4), connection.srtt);
}

void Tcp::find_lost(Instant now, Connection& connection, News& news) {
  connection.reorder_left = 0;
  if (connection.flying == 0) return;
  if (connection.sacked == 0 && connection.state == State::open && !connection.rack_resent) return;
  const Instant allowed = connection.rack_rtt + reorder_window(connection);
  const auto visit = [&](Flight& flight, std::uint32_t first, std::uint64_t mask) {
    for (std::uint64_t left = mask & ~flight.sacked & ~flight.lost; left != 0; left &= left - 1) {
      const int at = std::countr_zero(left);
      const std::uint32_t sequence = first + static_cast<std::uint32_t>(at);
      const Instant sent = flight.sent[at];
      if (sent > connection.rack_sent ||
          (sent == connection.rack_sent && !before(sequence, connection.rack_sequence))) {
        // First transmissions are in the order of their numbers: all later ones are younger still.
        if (flight.resent >> at & 1) continue;
        return false;
      }
      if (const Instant more = sent + allowed - now; more > 0) {
        connection.reorder_left = std::max(connection.reorder_left, more);
        continue;
      }
      flight.lost |= std::uint64_t{1} << at;
      --connection.flying;
      ++connection.lost;
      ++news.lost;
      if (before(sequence, connection.lost_scan)) connection.lost_scan = sequence;
    }
    return true;
  };
  for_flights(connection, connection.una, connection.next, visit);
}

// What to go back to if all repeats prove needless.
void Tcp::remember(Connection& connection) {
  connection.undo_cwnd = connection.window.cwnd;
  connection.undo_ssthresh = connection.window.ssthresh;
  connection.undo_resent = kNone;
}

void Tcp::reduce(Connection& connection) {
  connection.window.lose(config_);
  connection.window.cwnd = std::min(connection.window.cwnd, connection.window.ssthresh);
}

void Tcp::recover(Connection& connection) {
  ++counters_.recoveries;
  remember(connection);
  connection.recovery_window = std::max(1u, connection.window.segments());
  if (!connection.cutting) connection.window.lose(config_);  // a mark has reduced it in this round trip already
  connection.cutting = connection.probing = false;           // nor will a probe reduce it again
  connection.state = State::recovery;
  connection.recovery_end = connection.next;
  connection.recovery_delivered = connection.recovery_sent = 0;
}

// For what arrives something may go out, so much less that the window is ssthresh in the end; where losses have
// emptied the pipe below that, a little more.
void Tcp::meter(Connection& connection, const News& news) {
  const std::uint32_t target = connection.window.ssthresh / TcpWindow::kSegment;
  const std::uint32_t delivered = std::max(1u, news.delivered);  // a timer's word counts as one, as in Linux
  connection.recovery_delivered += delivered;
  std::uint32_t allowed = 0;
  if (connection.flying > target) {
    const std::uint64_t due = (std::uint64_t{connection.recovery_delivered} * target + connection.recovery_window - 1) /
                              connection.recovery_window;
    if (due > connection.recovery_sent) allowed = static_cast<std::uint32_t>(due) - connection.recovery_sent;
  } else {
    const std::uint32_t all = connection.recovery_delivered;
    const std::uint32_t owed = all > connection.recovery_sent ? all - connection.recovery_sent : 0;
    allowed = std::max(owed, delivered) + (news.advanced && news.lost == 0 ? 1 : 0);
    allowed = std::min(allowed, target - connection.flying);
  }
  if (connection.recovery_sent == 0) allowed = std::max(allowed, 1u);  // the first repeat goes at once
  connection.window.cwnd = (connection.flying + allowed) * TcpWindow::kSegment;
}

void Tcp::leave_recovery(Connection& connection) {
  if (connection.state == State::recovery) {
    connection.window.cwnd = connection.window.ssthresh;
    if (connection.reorder_persist > 0 && --connection.reorder_persist == 0) connection.reorder_steps = 1;
  }
  connection.state = State::open;
}

void Tcp::undo(Connection& connection) {
  ++counters_.undone;
  connection.window.cwnd = std::max(connection.window.cwnd, connection.undo_cwnd);
  connection.window.ssthresh = std::max(connection.window.ssthresh, connection.undo_ssthresh);
  connection.undo_cwnd = 0;
  connection.cutting = false;  // nor is a mark's reduction in force
  if (connection.state == State::open) return;
  connection.state = State::open;
  for_flights(connection, connection.una, connection.next, [&](Flight& flight, std::uint32_t, std::uint64_t mask) {
    flight.lost &= ~mask;
    return true;
  });
  connection.flying += connection.lost;
  connection.lost = 0;
}

}  // namespace weft::transport
