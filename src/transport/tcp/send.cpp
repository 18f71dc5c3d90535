// TCP's sending half: segments and timers.

#include "transport/tcp/tcp.hpp"

#include <bit>

namespace weft::transport {

// ---- segments

// What goes out next: the tail probe, what is lost, what is fresh.
std::uint32_t Tcp::choose(Connection& connection) {
  if (connection.probe) {
    connection.probe = false;
    connection.probing = true;
    connection.probe_resent = !fresh(connection);
    ++counters_.probes;
    return connection.probe_resent ? connection.next - 1 : connection.next;
  }
  if (connection.lost == 0) return connection.next;
  std::uint32_t sequence = connection.next;
  for_flights(connection, connection.lost_scan, connection.next,
              [&](Flight& flight, std::uint32_t first, std::uint64_t mask) {
                const std::uint64_t lost = flight.lost & mask;
                if (lost != 0) sequence = first + static_cast<std::uint32_t>(std::countr_zero(lost));
                return lost == 0;
              });
  connection.lost_scan = sequence + 1;
  return sequence;
}

void Tcp::fill_data(Instant now, Connection& connection, Transmit& out) {
  const bool probe = connection.probe;
  const std::uint32_t sequence = choose(connection);
  const bool resend = sequence != connection.next;
  if (std::uint32_t& flight = connection.flight[sequence / 64 % kWords]; flight == kNone) {
    flight = flights_.take();
    flights_[flight].sacked = flights_[flight].lost = flights_[flight].resent = 0;
  }
  fill_header(connection, sequence, resend, out);
  Flight& flight = flight_of(connection, sequence);
  const std::uint64_t bit = std::uint64_t{1} << sequence % 64;
  flight.sent[sequence % 64] = connection.last_sent = now;
  if (!resend) {
    ++counters_.data_sent;
    ++connection.flying;
    take_fresh(send_messages_, connection);
  } else {
    ++counters_.data_resent;
    ++connection.resent;
    flight.resent |= bit;
    if (flight.lost & bit) {
      flight.lost &= ~bit;
      --connection.lost;
      ++connection.flying;
    }
    if (connection.state != State::open)
      connection.undo_resent = connection.undo_resent == kNone ? 1 : connection.undo_resent + 1;
  }
  ++connection.recovery_sent;
  connection.peak = std::max(connection.peak, connection.flying);
  if (probe) {
    connection.probe_end = connection.next;
    arm_rto(oldest_sent(connection), connection);
  } else if (connection.timer == Timer::none || (!resend && connection.timer == Timer::probe)) {
    arm(now, connection, true);
  } else if (resend && sequence == connection.una) {
    arm_rto(now, connection);
  }
  if (config_.pacing) pace(now, connection);
}

void Tcp::fill_header(const Connection& connection, std::uint32_t sequence, bool resend, Transmit& out) const {
  const std::uint32_t from = resend ? connection.first_message : connection.sending;
  const SendMessage& message = send_messages_[message_with(send_messages_, sequence, from)];
  const std::uint64_t offset = std::uint64_t{sequence - message.first} * segment_;
  const bool last = sequence + 1 == message.first + message.packets;
  out.type = PacketType::tcp_data;
  out.flags = static_cast<std::uint8_t>((last ? kAckNow : 0) | (resend ? kResent : 0));
  out.wire_bytes = config_.framing + config_.headers +
                   static_cast<std::uint32_t>(std::min<std::uint64_t>(segment_, message.bytes - offset));
  out.header = Header{};
  out.header.source = connection.endpoint;
  out.header.destination = connection.peer;
  out.header.path = connection.path;
  out.header.stream = connection.stream;
  out.header.generation = config_.generation;
  out.header.peer_generation = connection.peer_generation;
  out.header.op = message.op;
  out.header.sequence = sequence;
  out.header.data = {message.first, message.tag, message.bytes};
}

void Tcp::pace(Instant now, Connection& connection) const {
  const std::uint32_t percent = connection.window.slow_start() ? config_.pacing_slow_start : config_.pacing_avoidance;
  const Instant gap = connection.srtt * 100 / percent / std::max(1u, connection.window.segments());
  connection.paced_until = std::max(now, connection.paced_until) + gap;
}

// ---- timers

Instant Tcp::rto(const Connection& connection) const {
  // Who did not run, or whose clock jumped, has measured nonsense. Whatever it was, a silence is asked about several
  // times before it fails what waits.
  const Instant measured = std::min(connection.srtt + 4 * connection.rttvar, config_.give_up.count() >> 3);
  Instant time = std::max(config_.rto_min.count(), measured);
  for (std::uint32_t i = 0; i < connection.backoff && time < config_.rto_max.count(); ++i) time *= 2;
  return std::min(time, config_.rto_max.count());
}

void Tcp::arm_rto(Instant from, Connection& connection) {
  connection.timer = Timer::rto;
  connection.deadline = std::min(from + rto(connection), connection.heard + config_.give_up.count());
}

// `restart`: the cumulative acknowledgement moved, which gives the timeout new patience (RFC 6298, 5.3).
void Tcp::arm(Instant now, Connection& connection, bool restart) {
  if (connection.una == connection.next) {
    connection.timer = Timer::none;
    connection.deadline = kNever;
    return;
  }
  const Instant latest = (restart ? now : oldest_sent(connection)) + rto(connection);
  if (const Instant due = now + connection.reorder_left + config_.timer_least.count();
      connection.reorder_left > 0 && due < latest) {
    connection.timer = Timer::reorder;
    connection.deadline = due;
    return;
  }
  if (config_.tail_probe && connection.state == State::open && connection.sacked == 0 && connection.lost == 0 &&
      !connection.probing) {
    // A receiver may delay its answer to a single segment (RFC 8985, 7.2; Linux allows it the least RTO).
    const Instant slack = connection.next - connection.una == 1 ? config_.rto_min.count() : config_.timer_least.count();
    const Instant due = now + 2 * connection.srtt + slack;
    if (due < latest) {
      connection.timer = Timer::probe;
      connection.deadline = due;
      return;
    }
  }
  if (restart || connection.timer != Timer::rto) arm_rto(restart ? now : oldest_sent(connection), connection);
}

void Tcp::time_out(Instant now, Connection& connection) {
  if (now - connection.heard >= config_.give_up.count()) return give_up(connection);
  switch (connection.timer) {
    case Timer::none:
      return;
    case Timer::reorder: {
      News news;
      find_lost(now, connection, news);
      if (news.lost > 0 && connection.state == State::open) recover(connection);
      if (connection.state == State::recovery) meter(connection, news);
      return arm(now, connection, false);
    }
    case Timer::probe:
      connection.probe = true;
      connection.paced_until = now;
      return arm_rto(oldest_sent(connection), connection);
    case Timer::rto:
      return lose_everything(now, connection);
  }
}

void Tcp::lose_everything(Instant now, Connection& connection) {
  ++counters_.timeouts;
  // Once for what was in flight, however often it is sent in vain.
  if (connection.state == State::open || (connection.state == State::loss && connection.backoff == 0)) {
    remember(connection);
    connection.window.time_out(config_);
  }
  for_flights(connection, connection.una, connection.next, [&](Flight& flight, std::uint32_t, std::uint64_t mask) {
    flight.lost |= mask & ~flight.sacked;
    return true;
  });
  connection.lost += connection.flying;
  connection.flying = 0;
  connection.lost_scan = connection.una;
  connection.window.cwnd = TcpWindow::kSegment;
  connection.state = State::loss;
  connection.recovery_end = connection.next;
  connection.reorder_left = 0;
  connection.probe = connection.probing = connection.cutting = false;
  connection.paced_until = now;
  if (connection.backoff < 30) ++connection.backoff;
  if (config_.repath_on_timeout) repath(connection);
  arm_rto(now, connection);
}

}  // namespace weft::transport
