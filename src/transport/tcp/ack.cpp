// TCP's sending half: what acknowledgements say.

#include "transport/tcp/tcp.hpp"

#include <bit>

namespace weft::transport {

void Tcp::handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  const std::uint32_t first = connections_.find(endpoint, header.source);
  const std::uint32_t which = header.stream % (1u << kConnectionBits);
  if (first == kNone || which >= config_.connections) {
    ++counters_.ignored;
    return;
  }
  Connection& connection = connections_[first + which];
  if (header.peer_generation != 0 && header.peer_generation != config_.generation) {
    ++counters_.ignored;  // an answer to our predecessor
    return;
  }
  if (const std::uint16_t known = connection.peer_generation; header.generation != known) {
    // The first word to this connection, neither a late one to its predecessor nor by a process that has a successor,
    // as another connection knows; or a reset.
    std::uint16_t& newest = connections_[first].newest_peer;
    const bool outdated = newest != 0 && newer(newest, header.generation);
    if (outdated || (known == 0 && header.stream != connection.stream)) {
      ++counters_.ignored;
      return;
    }
    // The process that answers knows nothing of connections to those before it.
    newest = header.generation;
    for (std::uint32_t i = 0; i < config_.connections; ++i) {
      Connection& other = connections_[first + i];
      if (other.peer_generation != 0 && other.peer_generation != newest) fail(other);
    }
    if (known != 0) return;
    connection.peer_generation = header.generation;
  }
  if (header.stream != connection.stream || before(connection.next, header.sequence)) {
    ++counters_.ignored;
    return;
  }
  News news;
  news.highest = connection.highest;
  if (before(connection.una, header.sequence)) deliver_below(now, connection, header.sequence, news);
  for (const auto& range : header.tcp.sack)
    if (range.from > 0 && range.from < range.to)
      deliver_range(now, connection, header.sequence + range.from, header.sequence + range.to, news);
  if (flags & kRepeated) judge_repeat(connection, header.tcp.repeated, news);
  judge_marks(connection, header, news);
  if (news.delivered == 0 && !news.advanced && !news.repeated && news.marked == 0) return;

  if (news.delivered > 0) {
    connection.heard = now;
    connection.probe = false;
  }
  if (news.advanced) connection.backoff = 0;
  if (news.rtt > 0) measure(connection, news.rtt);
  if (news.advanced && !before(connection.una, connection.round_end)) end_round(connection);
  if (news.delivered > 0 && connection.window.slow_start()) see_train(now, connection);
  judge_probe(connection);
  if (connection.state != State::open && !before(connection.una, connection.recovery_end)) leave_recovery(connection);
  if (news.repeated && connection.undo_cwnd > 0 && connection.undo_resent == 0) undo(connection);
  find_lost(now, connection, news);
  if (news.lost > 0 && connection.state == State::open) recover(connection);
  judge_window(now, connection, news);
  // What this acknowledgement says of marks is still about segments sent before the reduction.
  if (connection.cutting && !before(connection.una, connection.cut_end)) connection.cutting = false;
  finish_messages(connection);
  arm(now, connection, news.advanced);
}

// ---- what has arrived

void Tcp::deliver_below(Instant now, Connection& connection, std::uint32_t sequence, News& news) {
  for_flights(connection, connection.una, sequence, [&](Flight& flight, std::uint32_t begin, std::uint64_t mask) {
    connection.sacked -= static_cast<std::uint32_t>(std::popcount(flight.sacked & mask));
    for (std::uint64_t left = mask & ~flight.sacked; left != 0; left &= left - 1)
      deliver(now, connection, flight, begin + static_cast<std::uint32_t>(std::countr_zero(left)), news);
    const bool used_up = mask >> 63 || sequence == connection.next;
    if (std::uint32_t& slot = connection.flight[begin / 64 % kWords]; used_up) {
      flights_.give_back(slot);
      slot = kNone;
    }
    return true;
  });
  connection.una = sequence;
  if (before(connection.lost_scan, sequence)) connection.lost_scan = sequence;
  if (before(connection.highest, sequence)) connection.highest = sequence;
  news.advanced = true;
}

void Tcp::deliver_range(Instant now, Connection& connection, std::uint32_t from, std::uint32_t to, News& news) {
  if (before(from, connection.una + 1)) from = connection.una + 1;  // the oldest is only acknowledged by number
  if (before(connection.next, to)) to = connection.next;
  if (!before(from, to)) return;
  for_flights(connection, from, to, [&](Flight& flight, std::uint32_t begin, std::uint64_t mask) {
    const std::uint64_t fresh_bits = mask & ~flight.sacked;
    flight.sacked |= fresh_bits;
    connection.sacked += static_cast<std::uint32_t>(std::popcount(fresh_bits));
    for (std::uint64_t left = fresh_bits; left != 0; left &= left - 1)
      deliver(now, connection, flight, begin + static_cast<std::uint32_t>(std::countr_zero(left)), news);
    return true;
  });
}

void Tcp::deliver(Instant now, Connection& connection, Flight& flight, std::uint32_t sequence, News& news) {
  const std::uint64_t bit = std::uint64_t{1} << sequence % 64;
  if (flight.lost & bit) {
    flight.lost &= ~bit;
    --connection.lost;
  } else {
    --connection.flying;
  }
  ++news.delivered;
  const bool resent = flight.resent & bit;
  const Instant sent = flight.sent[sequence % 64];
  const Instant rtt = std::max<Instant>(1, now - sent);
  if (!resent) {
    // Which transmission of a repeated one arrived, nobody knows (Karn).
    news.rtt = news.rtt == 0 ? rtt : std::min(news.rtt, rtt);
    if (before(sequence, news.highest)) connection.reordering = true;
  }
  if (!before(sequence, connection.highest)) connection.highest = sequence + 1;
  if (resent && rtt < connection.least_rtt) return;  // it was the original (RFC 8985, 6.2, step 2)
  if (sent < connection.rack_sent) return;
  if (sent == connection.rack_sent && before(sequence, connection.rack_sequence)) return;
  connection.rack_sent = sent;
  connection.rack_sequence = sequence;
  connection.rack_rtt = rtt;
  connection.rack_resent = resent;
}

void Tcp::measure(Connection& connection, Instant rtt) {
  connection.least_rtt = std::min(connection.least_rtt, rtt);
  const Instant off = rtt < connection.srtt ? connection.srtt - rtt : rtt - connection.srtt;
  connection.rttvar += (off - connection.rttvar) / 4;
  connection.srtt += (rtt - connection.srtt) / 8;
  connection.window.sample(config_, rtt);
}

// ---- what else they tell

void Tcp::judge_marks(Connection& connection, const Header& header, News& news) {
  const auto more = static_cast<std::int16_t>(static_cast<std::uint16_t>(header.marks - connection.marks));
  connection.window.round_acked += news.delivered;
  if (more <= 0) return;  // none, or an older acknowledgement
  connection.marks = header.marks;
  news.marked = static_cast<std::uint32_t>(more);
  connection.window.round_marked += news.marked;
}

// A segment arrived more than once. Where we repeated none, the network did.
void Tcp::judge_repeat(Connection& connection, std::uint32_t sequence, News& news) {
  if (connection.resent == 0) return;
  --connection.resent;
  ++counters_.needless;
  news.repeated = true;
  if (connection.probing && connection.probe_resent && sequence == connection.probe_end - 1) {
    connection.probing = false;  // nothing was lost
    return;
  }
  if (connection.undo_resent != kNone && connection.undo_resent > 0) --connection.undo_resent;
  connection.reordering = true;
  if (connection.widened) return;  // once per round trip
  connection.widened = true;
  connection.reorder_steps = static_cast<std::uint8_t>(std::min(254, connection.reorder_steps + 1));
  connection.reorder_persist = static_cast<std::uint8_t>(config_.reorder_persist);
}

// What was acknowledged beyond a probe that repeated the tail, without a word that it came twice, was repaired by
// it: a loss like others (RFC 8985, 7.4).
void Tcp::judge_probe(Connection& connection) {
  if (!connection.probing || before(connection.una, connection.probe_end)) return;
  if (connection.probe_resent && connection.una == connection.probe_end) return;
  connection.probing = false;
  if (!connection.probe_resent || connection.state != State::open) return;
  remember(connection);
  reduce(connection);
}

// A host sends, and is answered, in bunches: four of them at the rate that Linux would pace slow start to.
void Tcp::see_train(Instant now, Connection& connection) {
  if (before(connection.train_end, connection.una)) {
    connection.window.begin_train(now);
    connection.train_end = connection.next;
  }
  const std::int64_t window = std::int64_t{connection.window.segments()} * config_.mtu;
  const Instant bunch = connection.srtt * 4 * config_.train_bunch / window * 100 / config_.pacing_slow_start;
  connection.window.see_train(config_, now, connection.least_rtt, std::min(bunch, config_.train_bunch_most.count()));
}

void Tcp::end_round(Connection& connection) {
  TcpWindow& window = connection.window;
  const bool congested = window.round_acked > 0 && 2 * window.round_marked >= window.round_acked;
  connection.congested_rounds = congested ? static_cast<std::uint16_t>(connection.congested_rounds + 1) : 0;
  if (config_.plb_rounds > 0 && connection.congested_rounds >= config_.plb_rounds) repath(connection);
  window.end_round(config_);
  connection.round_end = connection.next;
  connection.last_peak = connection.peak;
  connection.peak = connection.flying;
  connection.widened = false;
}

void Tcp::judge_window(Instant now, Connection& connection, const News& news) {
  TcpWindow& window = connection.window;
  if (connection.state == State::recovery) {
    if (news.delivered > 0 || news.lost > 0) meter(connection, news);
    return;
  }
  const bool heeds_marks = config_.control == TcpConfig::Control::dctcp || config_.ecn;
  if (news.marked > 0 && heeds_marks && connection.state == State::open && !connection.cutting) {
    window.mark(config_);
    window.cwnd = std::min(window.cwnd, window.ssthresh);
    connection.cutting = true;
    connection.cut_end = connection.next;
  }
  if (!news.advanced || connection.cutting) return;
  const std::uint32_t peak = std::max(connection.peak, connection.last_peak);
  const bool limit = window.slow_start() ? window.segments() < 2 * peak : window.segments() <= peak;
  if (limit) window.grow(config_, now, news.delivered, connection.srtt);
}

}  // namespace weft::transport
