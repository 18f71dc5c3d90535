#include "transport/roce/roce.hpp"

#include <algorithm>
#include <bit>

#include "transport/roce/numbers.hpp"

namespace weft::transport {
namespace {

constexpr std::int64_t kUsualTimeout = 4'096'000ll << 14;  // [IBTA]'s unit, 2^14 of them
constexpr std::int64_t kIrnTimeout = 320'000'000;
constexpr std::int64_t kLongest = 1'000'000'000'000'000;  // any time in the configuration: 1000 s

RoceConfig derived(RoceConfig config) {
  config.mtu = std::bit_floor(std::clamp(config.mtu, 256u, 4096u));
  config.header = std::clamp(config.header, 1u, 1024u);
  config.ack_every = std::clamp(config.ack_every, 1u, 256u);
  config.first_psn &= kPsnMask;
  config.qps = std::clamp(config.qps, 1u, Roce::kMostQps);
  config.packet_time = Duration(std::clamp<std::int64_t>(config.packet_time.count(), 1, kLongest));
  config.base_rtt = Duration(std::clamp<std::int64_t>(config.base_rtt.count(), 1, kLongest));
  config.retries = std::min(config.retries, 1000u);
  const bool selective = config.recovery == RoceConfig::Recovery::selective;
  const auto derive = [](Duration& time, std::int64_t otherwise) {
    time = Duration(std::min(time.count() > 0 ? time.count() : otherwise, kLongest));
  };
  derive(config.ack_timeout, selective ? std::max(kIrnTimeout, 4 * config.base_rtt.count()) : kUsualTimeout);
  derive(config.give_up, (config.retries + 1) * std::max(kUsualTimeout, config.ack_timeout.count()));
  return config;
}

}  // namespace

Roce::Roce(const RoceConfig& config) : config_(derived(config)), law_(config_) {
  mtu_shift_ = std::countr_zero(config_.mtu);
  longest_timeout_ = std::max(config_.ack_timeout.count(), kUsualTimeout);
  if (config_.window == 0) {
    const std::int64_t round_trips =
        8 * config_.base_rtt.count() / config_.packet_time.count() + 1 + 2 * config_.ack_every;
    config_.window = static_cast<std::uint32_t>(std::min<std::int64_t>(round_trips, kMostWindow));
  }
  const bool selective = config_.recovery == RoceConfig::Recovery::selective;
  config_.window = std::min(config_.window, selective ? kBitmap - 1 : kMostWindow);
}

// ---- endpoints and peers

std::uint32_t Roce::send_peer_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = send_peers_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t index = send_peers_.add(endpoint, peer);
  // Queue pairs are never given back, so that those of a peer follow one another.
  const auto first = static_cast<std::uint32_t>(send_qps_.size());
  send_peers_[index] = {endpoint, peer, first, 0, 0, 0, 0};
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    SendQp& qp = send_qps_[send_qps_.take()];
    qp.next_active = qp.first_part = kNone;
    qp.peer = index;
    qp.number = static_cast<std::uint8_t>(i);
  }
  connect(send_peers_[index]);
  return index;
}

std::uint32_t Roce::receive_peer_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = receive_peers_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t index = receive_peers_.add(endpoint, peer);
  const auto first = static_cast<std::uint32_t>(receive_qps_.size());
  receive_peers_[index] = {endpoint, peer, first, kNone, 0, 0, 0};
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    ReceiveQp& qp = receive_qps_[receive_qps_.take()];
    qp = ReceiveQp{};
    qp.next_owing = qp.next_owing_cnp = qp.ends = kNone;
    qp.expected = qp.begin = qp.echo = config_.first_psn;
    qp.peer = index;
    qp.number = static_cast<std::uint8_t>(i);
  }
  return index;
}

// A connection begins: numbers, rates and all that depends on them.
void Roce::connect(SendPeer& peer) {
  if (++peer.stream == 0) peer.stream = 1;
  peer.peer_generation = 0;
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    SendQp& qp = send_qps_[peer.qps + i];
    qp.una = qp.scan = qp.lost = qp.sent = qp.end = config_.first_psn;
    qp.sending = qp.resending = qp.first_part = qp.last_part = kNone;
    qp.paced_until = 0;
    qp.deadline = kNever;
    qp.silent = 0;
    qp.limited = false;
    qp.control.reset(law_);
    qp.arrived.clear_all();
  }
}

void Roce::fail(SendPeer& peer) {
  ++counters_.connections_failed;
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    for (std::uint32_t part = send_qps_[peer.qps + i].first_part; part != kNone;) {
      const std::uint32_t index = parts_[part].message;
      Message& message = messages_[index];
      if (--message.parts_left == 0) {
        completions_.push_back(
            {peer.endpoint, peer.peer, message.tag, message.context, message.bytes, Completion::Kind::failed});
        messages_.give_back(index);
      }
      const std::uint32_t next = parts_[part].next;
      parts_.give_back(part);
      part = next;
    }
  }
  connect(peer);
}

std::uint64_t Roce::rate(std::uint32_t endpoint, std::uint32_t peer, std::uint32_t qp) const {
  const std::uint32_t index = send_peers_.find(endpoint, peer);
  if (index == kNone || qp >= config_.qps) return law_.line_rate;
  return send_qps_[send_peers_[index].qps + qp].control.rate();
}

// ---- posting

Roce::Shares Roce::shares_of(std::uint64_t bytes) const {
  const std::uint64_t count = (bytes >> mtu_shift_) + ((bytes & (config_.mtu - 1)) != 0);
  if (count > kMostPackets) return {0, 0, 0};
  const auto packets = std::max(1u, static_cast<std::uint32_t>(count));
  if (!config_.split || bytes <= config_.split_above) return {packets, packets, 1};
  const std::uint32_t each = (packets + config_.qps - 1) / config_.qps;
  return {packets, each, (packets + each - 1) / each};
}

bool Roce::post(Instant, std::uint32_t endpoint, const Operation& operation) {
  const Shares shares = shares_of(operation.bytes);
  if (shares.packets == 0 || (operation.op != Op::send && operation.op != Op::write)) return false;
  const std::uint32_t index = send_peer_for(endpoint, operation.peer);
  SendPeer& peer = send_peers_[index];
  const bool in_turn = operation.queue == 0;
  const std::uint32_t turn = shares.parts > 1 ? 0 : in_turn ? peer.next_qp : (operation.queue - 1) % config_.qps;
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    const SendQp& qp = send_qps_[peer.qps + i];
    const bool takes = i - turn < shares.parts;
    if (takes && qp.end - qp.una + shares.each > kMostPackets) return false;
  }
  const std::uint32_t message = messages_.take();
  messages_[message] = {
      operation.bytes, operation.tag, operation.context, peer.splits, static_cast<std::uint16_t>(shares.parts),
      operation.op};
  if (shares.parts > 1) {
    ++peer.splits;
  } else if (in_turn) {
    peer.next_qp = (peer.next_qp + 1) % config_.qps;
  }
  for (std::uint32_t i = 0; i < shares.parts; ++i) {
    const std::uint32_t begin = i * shares.each;
    enqueue(peer.qps + turn + i, message, begin, std::min(shares.each, shares.packets - begin));
  }
  return true;
}

void Roce::enqueue(std::uint32_t index, std::uint32_t message, std::uint32_t begin, std::uint32_t packets) {
  SendQp& qp = send_qps_[index];
  const std::uint32_t part = parts_.take();
  parts_[part] = {message, begin, qp.end, packets, kNone};
  if (qp.first_part == kNone) {
    qp.first_part = part;
  } else {
    parts_[qp.last_part].next = part;
  }
  qp.last_part = part;
  if (qp.sending == kNone) qp.sending = part;
  if (qp.resending == kNone) qp.resending = part;
  qp.end += packets;
  endpoints_.of(send_peers_[qp.peer].endpoint).active.join(send_qps_, index);
}

// ---- turns

Placement Roce::handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header) {
  if (type == PacketType::roce_data) return handle_data(now, endpoint, flags, header);
  if (type == PacketType::roce_ack) handle_ack(now, endpoint, flags, header);
  if (type == PacketType::roce_cnp) handle_cnp(now, endpoint, header);
  return {};
}

bool Roce::poll_ack(std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr) return false;
  if (state->owing_cnp.first != kNone) {
    fill_cnp(state->owing_cnp.take(receive_qps_), out);
    return true;
  }
  if (state->owing.first == kNone) return false;
  fill_ack(state->owing.take(receive_qps_), out);
  return true;
}

bool Roce::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  return state != nullptr && state->active.serve(send_qps_, [&](std::uint32_t index) {
    SendQp& qp = send_qps_[index];
    if (now >= qp.deadline) time_out(now, qp);
    if (qp.limited && now >= qp.control.increase_due()) follow_rate(now, qp);
    if (qp.first_part == kNone) return Turn::over;
    if (now < qp.paced_until || !can_send(qp)) return Turn::passed;
    fill_data(now, qp, out);
    return Turn::served;
  });
}

Instant Roce::next_wake(std::uint32_t endpoint) const {
  const EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr) return kNever;
  return state->active.earliest(send_qps_, [&](const SendQp& qp) {
    if (!can_send(qp)) return qp.deadline;
    const Instant wake = std::min(qp.deadline, qp.paced_until);
    return qp.limited ? std::min(wake, qp.control.increase_due()) : wake;  // after which it may be sooner
  });
}

}  // namespace weft::transport
