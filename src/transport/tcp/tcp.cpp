#include "transport/tcp/tcp.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace weft::transport {

Tcp::Tcp(const TcpConfig& config) : config_(config) {
  config_.headers = std::clamp(config_.headers, 1u, 256u);
  config_.mtu = std::clamp(config_.mtu, config_.headers + 1, 65000u);
  config_.framing = std::min(config_.framing, 256u);
  config_.connections = std::clamp(config_.connections, 1u, 1u << kConnectionBits);
  config_.initial_window = std::clamp(config_.initial_window, 1u, TcpWindow::kMost);
  config_.hystart_divisor = std::max(1u, config_.hystart_divisor);
  config_.hystart_most = std::max(config_.hystart_least, config_.hystart_most);
  config_.css_divisor = std::max(1u, config_.css_divisor);
  config_.css_rounds = std::clamp(config_.css_rounds, 1u, 200u);
  config_.cubic_c = std::clamp(config_.cubic_c, 1u, 100u);
  config_.cubic_beta = std::clamp(config_.cubic_beta, 10u, 95u);
  config_.dctcp_gain_shift = std::clamp(config_.dctcp_gain_shift, 1u, 10u);
  config_.ack_every = std::clamp(config_.ack_every, 1u, 64u);
  config_.quick_acks = std::min(config_.quick_acks, 255u);
  config_.reorder_persist = std::clamp(config_.reorder_persist, 1u, 255u);
  config_.pacing_slow_start = std::clamp(config_.pacing_slow_start, 10u, 1000u);
  config_.pacing_avoidance = std::clamp(config_.pacing_avoidance, 10u, 1000u);
  // A day bounds every time, so that sums of a few and their doublings fit.
  static constexpr std::int64_t kDay = 86'400'000'000'000'000;
  const auto bound = [](Duration& time, std::int64_t least) { time = Duration(std::clamp(time.count(), least, kDay)); };
  bound(config_.base_rtt, 1);
  bound(config_.rto_min, 1);
  bound(config_.rto_max, config_.rto_min.count());
  bound(config_.timer_least, 0);
  bound(config_.delayed_ack, 1);
  bound(config_.give_up, 1);
  segment_ = config_.mtu - config_.headers;
  receive_segments_ = std::clamp(config_.receive_window / segment_, 2u, TcpWindow::kMost);
  // A reader that has emptied half of the buffer says so at once (RFC 1122, 4.2.3.3), or the sender would stand before
  // a closed window until the delayed acknowledgement.
  config_.ack_every = std::min(config_.ack_every, receive_segments_ / 2);
}

// ---- endpoints and connections

std::uint32_t Tcp::connections_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = connections_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t first = connections_.add(endpoint, peer, config_.connections);
  for (std::uint32_t i = 0; i < config_.connections; ++i) {
    Connection& connection = connections_[first + i];
    connection.endpoint = endpoint;
    connection.peer = peer;
    connection.next_active = kNone;
    connection.stream = static_cast<std::uint16_t>(i);
    connection.path = tcp_path(endpoint, peer, i);
    begin_life(connection);
  }
  return first;
}

std::uint32_t Tcp::receivers_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = receivers_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t first = receivers_.add(endpoint, peer, config_.connections);
  for (std::uint32_t i = 0; i < config_.connections; ++i) {
    Receiver& receiver = receivers_[first + i];
    receiver.endpoint = endpoint;
    receiver.peer = peer;
    receiver.gap = receiver.messages = receiver.last_message = kNone;
    receiver.next_owing = receiver.later = receiver.earlier = kNone;
    receiver.path = tcp_path(endpoint, peer, i);
  }
  return first;
}

// As after a handshake: numbers begin anew, one round trip has been measured. The predecessor's word on who the peer is
// counts for nothing, for a handshake meets whichever process is there by now.
void Tcp::begin_life(Connection& connection) {
  connection.stream = static_cast<std::uint16_t>(connection.stream + (1u << kConnectionBits));
  if (connection.stream >> kConnectionBits == 0) connection.stream |= 1u << kConnectionBits;
  connection.una = connection.next = connection.end = connection.lost_scan = config_.first_sequence;
  connection.highest = connection.round_end = connection.train_end = config_.first_sequence;
  connection.flying = connection.lost = connection.sacked = connection.peak = connection.last_peak = 0;
  connection.first_message = connection.last_message = connection.sending = kNone;
  connection.state = State::open;
  connection.timer = Timer::none;
  connection.deadline = kNever;
  connection.probe = connection.probing = connection.cutting = connection.reordering = connection.rack_resent = false;
  connection.backoff = 0;
  connection.paced_until = connection.rack_sent = connection.rack_rtt = connection.reorder_left = 0;
  connection.reorder_steps = 1;
  connection.reorder_persist = 0;
  connection.widened = false;
  connection.srtt = connection.least_rtt = config_.base_rtt.count();
  connection.rttvar = config_.base_rtt.count() / 2;
  connection.marks = connection.congested_rounds = connection.peer_generation = 0;
  connection.undo_cwnd = connection.undo_resent = connection.resent = 0;
  connection.window.begin(config_);
  for (std::uint32_t& flight : connection.flight) flight = kNone;
}

void Tcp::repath(Connection& connection) {
  ++counters_.repaths;
  connection.congested_rounds = 0;
  connection.path = static_cast<std::uint16_t>(mix64(pair_key(connection.path, connection.stream)));
}

// ---- the driver's calls

bool Tcp::post(Instant now, std::uint32_t endpoint, const Operation& operation) {
  const std::uint32_t segments = packets_of(operation.bytes, segment_);
  if ((operation.op != Op::send && operation.op != Op::write) || segments == 0) return false;
  const std::uint32_t first = connections_for(endpoint, operation.peer);
  const bool in_turn = operation.queue == 0;
  const std::uint32_t index =
      first + (in_turn ? connections_[first].turn : (operation.queue - 1) % config_.connections);
  Connection& connection = connections_[index];
  if (connection.end - connection.una + segments > (1u << 31) - kRing) return false;
  if (in_turn) connections_[first].turn = (connections_[first].turn + 1) % config_.connections;
  if (idle(connection)) {
    connection.heard = now;
    connection.window.pause(config_, now - connection.last_sent, rto(connection));
  }
  append(send_messages_, connection,
         {.bytes = operation.bytes,
          .tag = operation.tag,
          .context = operation.context,
          .packets = segments,
          .op = operation.op});
  endpoints_.of(endpoint).active.join(connections_, index);
  return true;
}

Placement Tcp::handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header) {
  if (type == PacketType::tcp_data) return handle_data(now, endpoint, flags, header);
  if (type == PacketType::tcp_ack) {
    handle_ack(now, endpoint, flags, header);
  } else {
    ++counters_.ignored;
  }
  return {};
}

bool Tcp::poll_ack(std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr || state->owing.first == kNone) return false;
  fill_ack(state->owing.take(receivers_), out);
  return true;
}

bool Tcp::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr) return false;
  if (const std::uint32_t first = state->first_delayed; first != kNone && now >= receivers_[first].ack_due) {
    stop_delay(first);
    fill_ack(receivers_[first], out);
    return true;
  }
  return state->active.serve(connections_, [&](std::uint32_t index) {
    Connection& connection = connections_[index];
    if (now >= connection.deadline) time_out(now, connection);
    if (idle(connection)) return Turn::over;
    if (now < connection.paced_until || !can_send(connection)) return Turn::passed;
    fill_data(now, connection, out);
    return Turn::served;
  });
}

Instant Tcp::next_wake(std::uint32_t endpoint) const {
  const EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr) return kNever;
  const Instant wake = state->active.earliest(connections_, [&](const Connection& connection) {
    const bool ready = !idle(connection) && can_send(connection);
    return ready ? std::min(connection.deadline, connection.paced_until) : connection.deadline;
  });
  return state->first_delayed == kNone ? wake : std::min(wake, receivers_[state->first_delayed].ack_due);
}

const TcpWindow* Tcp::window_to(std::uint32_t endpoint, std::uint32_t peer) const {
  const std::uint32_t index = connections_.find(endpoint, peer);
  return index == kNone ? nullptr : &connections_[index].window;
}

// ---- the ends of messages

void Tcp::finish_messages(Connection& connection) {
  while (connection.first_message != kNone) {
    const std::uint32_t slot = connection.first_message;
    const SendMessage& message = send_messages_[slot];
    if (before(connection.una, message.first + message.packets)) return;
    completions_.push_back(end_of(connection, message, Completion::Kind::sent));
    connection.first_message = message.next;
    send_messages_.give_back(slot);
  }
  connection.last_message = connection.sending = kNone;
}

// The peer was silent for too long. Whether it is still the same process nobody knows, so idle connections to it are
// made anew, which costs nothing; busy ones find out by themselves.
void Tcp::give_up(Connection& silent) {
  const std::uint32_t first = connections_.find(silent.endpoint, silent.peer);
  for (std::uint32_t i = 0; i < config_.connections; ++i)
    if (Connection& each = connections_[first + i]; &each == &silent || idle(each)) fail(each);
}

// The connection is gone, and what waited for it has failed. What comes next is a new one.
void Tcp::fail(Connection& connection) {
  fail_all(send_messages_, connection, [&](const SendMessage& message) {
    completions_.push_back(end_of(connection, message, Completion::Kind::failed));
  });
  for (const std::uint32_t flight : connection.flight)
    if (flight != kNone) flights_.give_back(flight);
  begin_life(connection);
}

}  // namespace weft::transport
