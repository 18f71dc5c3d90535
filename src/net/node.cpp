#include "net/node.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace weft::net {
namespace {

using transport::kNone;

constexpr std::size_t kMostOutgoing = 4096;     // messages handed to the transport and not yet over
constexpr std::size_t kGuessedDatagram = 8972;  // MTU 9000, only to begin with

transport::SrdConfig srd_config(std::size_t datagram, std::size_t ports) {
  transport::SrdConfig srd;
  // A number beyond the ports would be one of them once more: a path given up for another would be one that is in use.
  srd.entropies = static_cast<std::uint32_t>(ports);
  srd.payload = static_cast<std::uint32_t>(datagram - kAroundPayload);
  srd.header = transport::kWireHeader;
  srd.drops = true;
  srd.guess_network();
  srd.burst = kMostSegments;
  return srd;
}

}  // namespace

Result<std::unique_ptr<Node>, std::string> Node::open(const NodeConfig& config, transport::rdm::Layer& layer,
                                                      Pointers& pointers) {
  std::vector<Address> nics = {config.local};
  nics.insert(nics.end(), config.more.begin(), config.more.end());
  if (nics.size() > kMostNics) return Failure<std::string>(fmt::format("at most {} NICs are used together", kMostNics));
  for (const Address& each : config.more)
    if (each.family() != config.local.family())
      return Failure<std::string>("NICs that are used together have addresses of one family");
  for (const Address& each : nics)
    if (nics.size() > 1 && std::ranges::all_of(each.ip(), [](std::uint8_t byte) { return byte == 0; }))
      return Failure<std::string>("several NICs are named by an address each");
  const auto count = static_cast<std::uint32_t>(nics.size());
  std::vector<UdpSocket> sockets;
  const std::uint32_t paths = std::max(count, std::clamp(config.paths, 1u, 64u));
  for (std::uint32_t i = 0; i < paths - paths % count; ++i) {
    auto socket = UdpSocket::open(nics[i % count], i < count);
    if (!socket) return Failure<std::string>(socket.error());
    sockets.push_back(std::move(*socket));
    nics[i % count].set_port(0);
  }
  Descriptor all(count > 1 ? epoll_create1(EPOLL_CLOEXEC) : -1);
  for (std::uint32_t i = 0; count > 1 && i < count; ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(all.get(), EPOLL_CTL_ADD, sockets[i].fd(), &event) != 0)
      return Failure<std::string>(fmt::format("cannot wait for several sockets: {}", std::strerror(errno)));
  }
  const transport::SrdConfig srd = srd_config(kGuessedDatagram, sockets.size());
  return std::unique_ptr<Node>(new Node(config, layer, pointers, std::move(sockets), srd, std::move(all)));
}

Node::Node(const NodeConfig& config, transport::rdm::Layer& layer, Pointers& pointers, std::vector<UdpSocket> sockets,
           const transport::SrdConfig& srd, Descriptor all)
    : config_(config),
      layer_(layer),
      pointers_(pointers),
      nics_(static_cast<std::uint32_t>(1 + config.more.size())),
      sockets_(std::move(sockets)),
      all_(std::move(all)),
      srd_(srd) {
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
  stale_ = false;
  layer_.tick(now_);
  // What the program has handed in since. Where SRD is about to miss an answer, what has come is looked at first: who
  // was away finds it in the socket.
  const Instant due = srd_.next_wake(0);
  const bool looks_first = due != 0 && due <= now_;
  if (!looks_first) push(false);
  const std::uint64_t before = counters_.datagrams_in;
  bool more = true;
  while (more) {
    more = receive();
    if (more) send_acks();
  }
  const bool rings = !timers_.empty() && timers_.begin()->first <= now_;
  if (rings) run_timers();
  // Where nothing came there is nothing more to send.
  if (looks_first || rings || counters_.datagrams_in != before) push(true);
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
  if (!srd_.post(now_, 0, operation)) return fail(outgoing.connection, "too much is waiting for it");
  ++connections_[outgoing.connection].under_way;
}

// What has become of it.
void Node::finish() {
  for (std::size_t i = 0; i < srd_.completions().size(); ++i) {
    const transport::Completion done = srd_.completions()[i];
    if (done.kind == transport::Completion::Kind::received) continue;
    const Outgoing outgoing = outgoing_[done.tag];
    outgoing_.give_back(done.tag);
    --connections_[outgoing.connection].under_way;
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
