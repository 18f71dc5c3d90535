// What must always hold inside TCP, looked at from outside the hot path.

#include "transport/tcp/tcp.hpp"

#include <bit>

namespace weft::transport {

std::string_view Tcp::check_invariants() const {
  std::size_t messages = 0;
  std::size_t flights = 0;
  for (std::uint32_t index = 0; index < connections_.size(); ++index) {
    const Connection& connection = connections_[index];
    const std::uint32_t open = connection.next - connection.una;
    if (before(connection.next, connection.una) || before(connection.end, connection.next)) return "una <= next <= end";
    if (open > receive_segments_) return "no more is open than the receiver has room for";
    if (connection.flying + connection.sacked + connection.lost != open)
      return "what is open flies, has arrived or is lost";
    std::uint32_t sacked = 0;
    std::uint32_t lost = 0;
    for (std::uint32_t sequence = connection.una; sequence != connection.next; ++sequence) {
      const std::uint32_t slot = connection.flight[sequence / 64 % kWords];
      if (slot == kNone) return "what is open has a flight";
      const Flight& flight = flights_[slot];
      const std::uint64_t bit = std::uint64_t{1} << sequence % 64;
      sacked += (flight.sacked & bit) != 0;
      lost += (flight.lost & bit) != 0;
      if (flight.sacked & flight.lost & bit) return "what has arrived is not lost";
      if ((flight.lost & bit) && before(sequence, connection.lost_scan)) return "no lost segment is below the scan";
    }
    if (sacked != connection.sacked || lost != connection.lost) return "segments are counted";
    for (const std::uint32_t flight : connection.flight) flights += flight != kNone;
    const std::uint32_t first = connections_.find(connection.endpoint, connection.peer);
    if (connection.peer_generation != 0 && connection.peer_generation != connections_[first].newest_peer)
      return "no connection is with a process that has a successor";
    if (connection.window.cwnd < TcpWindow::kSegment) return "one segment may always fly";
    if (connection.window.segments() > TcpWindow::kMost + connection.flying) return "windows are bounded";
    if (open > 0 && (connection.deadline == kNever || connection.next_active == kNone))
      return "who waits has a deadline";
    std::uint32_t from = connection.una;
    std::uint32_t last = kNone;
    for (std::uint32_t slot = connection.first_message; slot != kNone; slot = send_messages_[slot].next) {
      const SendMessage& message = send_messages_[slot];
      if (last != kNone && message.first != from) return "messages follow one another";
      from = message.first + message.packets;
      if (!before(connection.una, from)) return "a message in the list has segments left";
      last = slot;
      ++messages;
    }
    if (last != connection.last_message || from != connection.end) return "messages cover what is open";
  }
  if (messages != send_messages_.used()) return "no message is lost to the slab";
  if (flights != flights_.used()) return "no flight is lost to the slab";

  std::size_t kept = 0;
  std::size_t gaps = 0;
  for (std::uint32_t index = 0; index < receivers_.size(); ++index) {
    const Receiver& receiver = receivers_[index];
    gaps += receiver.gap != kNone;
    if ((receiver.gap != kNone) != (receiver.beyond > 0)) return "a gap has arrivals beyond it";
    if (receiver.gap != kNone) {
      if (gaps_[receiver.gap].count() != receiver.beyond) return "arrivals beyond the gap are counted";
      if (gaps_[receiver.gap].has(receiver.expected)) return "expected has not arrived";
    }
    if (receiver.unacked > 0 && !receiver.owing && !receiver.delayed) return "what is not acknowledged will be";
    std::uint32_t here = 0;
    std::uint32_t last = kNone;
    for (std::uint32_t slot = receiver.messages; slot != kNone; slot = receive_messages_[slot].next) {
      if (!before(receiver.expected, receive_messages_[slot].end)) return "a message that is whole is handed over";
      if (last != kNone && before(receive_messages_[slot].end, receive_messages_[last].end))
        return "kept messages are in order";
      last = slot;
      if (++here > receiver.beyond) return "kept messages are bounded";
    }
    if (last != receiver.last_message) return "the last kept message is known";
    kept += here;
  }
  if (kept != receive_messages_.used()) return "no kept message is lost to the slab";
  if (gaps != gaps_.used()) return "no gap is lost to the slab";
  return {};
}

}  // namespace weft::transport
