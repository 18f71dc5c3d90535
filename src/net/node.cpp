#include "net/node.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace weft::net {
namespace {

using transport::kNone;

constexpr std::size_t kMostOutgoing = 4096;  // messages handed to the transport and not yet over
// Only to begin with: round trips and rates are measured.
constexpr Instant kGuessedRoundTrip = 100'000'000;     // 100 us
constexpr std::int64_t kGuessedRate = 10'000'000'000;  // bit/s
constexpr std::size_t kGuessedDatagram = 8972;         // MTU 9000

transport::SrdConfig srd_config(std::size_t datagram) {
  transport::SrdConfig srd;
  srd.payload = static_cast<std::uint32_t>(datagram - kAroundPayload);
  srd.header = transport::kWireHeader;
  srd.drops = true;
  srd.base_rtt = kGuessedRoundTrip;
  srd.packet_time = static_cast<std::int64_t>(datagram) * 8 * 1000 * 1'000'000'000 / kGuessedRate;
  srd.burst = kMostSegments;
  return srd;
}

}  // namespace

Result<std::unique_ptr<Node>, std::string> Node::open(const NodeConfig& config, transport::rdm::Layer& layer,
                                                      Pointers& pointers) {
  std::vector<UdpSocket> sockets;
  Address local = config.local;
  for (std::uint32_t i = 0; i < std::clamp(config.paths, 1u, 64u); ++i) {
    auto socket = UdpSocket::open(local, i == 0);
    if (!socket) return Failure<std::string>(socket.error());
    sockets.push_back(std::move(*socket));
    local.set_port(0);
  }
  return std::unique_ptr<Node>(new Node(config, layer, pointers, std::move(sockets), srd_config(kGuessedDatagram)));
}

Node::Node(const NodeConfig& config, transport::rdm::Layer& layer, Pointers& pointers, std::vector<UdpSocket> sockets,
           const transport::SrdConfig& srd)
    : config_(config), layer_(layer), pointers_(pointers), sockets_(std::move(sockets)), srd_(srd) {
  for (const UdpSocket& socket : sockets_) paths_.push_back({socket.local().port(), 0, 0});
  train_.parts.reserve(2 * kMostSegments + kMostSegments);
  now_ = now();
}

Node::~Node() {
  send_acks();
  for (const Connection& connection : connections_)
    if (connection.state == State::up) say(connection, Control::bye, 0);
}

Instant Node::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (time.tv_sec * 1'000'000'000LL + time.tv_nsec) * 1000;
}

std::byte* Node::bytes_at(transport::rdm::Place place) {
  if (!(place.memory & transport::rdm::kOwnMemory)) return pointers_.at(place);
  return layer_.own(place.memory).data() + place.offset;
}

void Node::progress(Instant now) {
  now_ = std::max(now_, now);
  layer_.tick(now_);
  push(false);  // what the program has handed in since
  bool more = true;
  while (more) {
    more = receive();
    if (more) send_acks();
  }
  run_timers();
  push(true);
}

void Node::push() { push(false); }

void Node::push(bool may_keep) {
  pull();
  if (connections_.empty()) return;
  send_data();
  if (owes_now_ || !may_keep || !answers_.empty()) send_acks();
  finish();
}

Instant Node::next_wake() const {
  if (owes_) return 0;
  Instant wake = std::min(layer_.next_wake(), srd_.next_wake(0));
  if (!timers_.empty()) wake = std::min(wake, timers_.begin()->first);
  return wake;
}

void Node::wait(Instant until) {
  const Instant wake = std::min(until, next_wake());
  const Instant left = wake - now();
  if (left <= 0) return;
  pollfd poll{fd(), POLLIN, 0};
  if (blocked_) poll = {sockets_[train_.path].fd(), POLLOUT, 0};
  timespec time{};
  time.tv_sec = static_cast<time_t>(std::min(left, 3600 * kSecond) / kSecond);
  time.tv_nsec = left % kSecond / 1000;
  ++counters_.system_calls;
  ppoll(&poll, 1, &time, nullptr);
}

// ---- what the layer sends

// Everything that it has: it holds back by itself what should share packets, or wait for the peer.
void Node::pull() {
  transport::rdm::Outgoing message;
  while (outgoing_.used() < kMostOutgoing && layer_.next_outgoing(message)) {
    const std::uint32_t slot = outgoing_.take();
    connect(message.peer);
    outgoing_[slot] = {message, peers_[message.peer].connection};
    Connection& connection = connections_[outgoing_[slot].connection];
    if (connection.state == State::up) {
      post(slot);
    } else {
      connection.waiting.push_back(slot);
    }
  }
}

void Node::post(std::uint32_t slot) {
  const Outgoing& outgoing = outgoing_[slot];
  transport::Operation operation;
  operation.peer = outgoing.connection;
  operation.bytes = outgoing.message.bytes;
  operation.tag = slot;
  if (!srd_.post(now_, 0, operation)) fail(outgoing.connection, "too much is waiting for it");
}

// What has become of it.
void Node::finish() {
  for (std::size_t i = 0; i < srd_.completions().size(); ++i) {
    const transport::Completion done = srd_.completions()[i];
    if (done.kind == transport::Completion::Kind::received) continue;
    const Outgoing outgoing = outgoing_[done.tag];
    outgoing_.give_back(done.tag);
    if (connections_[outgoing.connection].state == State::over) continue;
    if (done.kind == transport::Completion::Kind::sent) {
      layer_.sent(now_, outgoing.message.context);
    } else {
      fail(outgoing.connection, "it did not answer");
    }
  }
  srd_.completions().clear();
}

}  // namespace weft::net
