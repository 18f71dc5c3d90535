// How a node's connections begin, stay alive and end.

#include <fmt/format.h>

#include <algorithm>

#include "base/big_endian.hpp"
#include "net/node.hpp"

namespace weft::net {
namespace {

using transport::kNever;
using transport::kNone;

constexpr Instant kFirstWait = 25 * kMillisecond;      // for an answer to a greeting
constexpr Instant kConfirmEvery = 100 * kMillisecond;  // until the other side has shown that it knows us, too
// Of 200 endpoints that all know each other every pair asks: what has been quiet for less is not asked. Who does not
// answer is asked often, by another way each time, for half of them may be dead.
constexpr Instant kQuiet = 3 * kSecond;
constexpr Instant kAskEvery = kSecond / 2;
constexpr std::size_t kMostPongs = 4096;            // that wait for somebody to look at them
constexpr std::uint32_t kMostWait = 1'000'000'000;  // ns that a probe says to have waited
constexpr std::uint32_t kTriesPerSize = 8;          // of the ways there and back, half may be dead
// Shorter and shorter until a path takes it: jumbo frames, FDDI's 4352, Ethernet's 1500, tunnels, IPv6's least.
constexpr std::array<std::size_t, 5> kSizes = {8952, 4324, 1472, 1400, 1232};

std::size_t shorter_than(std::size_t datagram) {
  for (const std::size_t size : kSizes)
    if (size < datagram) return size;
  return datagram;
}

}  // namespace

std::uint32_t Node::peer_at(const Address& address) {
  const auto [found, added] = by_address_.try_emplace(address, static_cast<std::uint32_t>(peers_.size()));
  if (added) peers_.push_back({address, kNone, {}, nullptr});
  return found->second;
}

bool Node::connected(std::uint32_t peer) const {
  const std::uint32_t number = peers_[peer].connection;
  return number != kNone && connections_[number].state == State::up;
}

void Node::connect(std::uint32_t peer) {
  if (peers_[peer].connection != kNone) return;
  const std::uint32_t number = open_connection(peer, State::greeting);
  Connection& connection = connections_[number];
  if (peers_[peer].address == address()) {  // what is sent to oneself comes back by the same number
    know(connection, connection.ours);
    return come_up(number, connection.datagram);
  }
  greet(number);
}

std::uint32_t Node::open_connection(std::uint32_t peer, State state) {
  const auto number = static_cast<std::uint32_t>(connections_.size());
  Connection& connection = connections_.emplace_back();
  connection.peer = peer;
  connection.state = state;
  do connection.ours = random_number();
  while (by_number_.contains(connection.ours));
  connection.nonce = random_number();
  connection.began = connection.heard = connection.answered = now_;
  connection.datagram = longest_towards(peers_[peer].address);
  by_number_.emplace(connection.ours, number);
  peers_[peer].connection = number;
  peers_[peer].failure.clear();
  return number;
}

std::size_t Node::longest_towards(const Address& address) const {
  return config_.datagram > 0 ? config_.datagram : datagram_towards(address);
}

void Node::greet(std::uint32_t number) {
  Connection& connection = connections_[number];
  if (now_ - connection.began > config_.connect_within.count())
    return fail(number, fmt::format("nobody answered at {}", peers_[connection.peer].address.text()));
  say(connection, Control::hello, connection.tries++);
  set_due(number, now_ + (kFirstWait << std::min(connection.tries / 4, 5u)));
}

void Node::say(const Connection& connection, Control type, std::uint32_t path) {
  ControlPacket packet;
  packet.type = type;
  packet.connection = connection.theirs;
  packet.own_connection = connection.ours;
  packet.nonce = connection.nonce;
  packet.cookie = connection.cookie;
  packet.port = address().port();
  packet.largest = static_cast<std::uint16_t>(connection.datagram);
  if (type == Control::hello || type == Control::accept) {
    packet.datagram = static_cast<std::uint16_t>(connection.datagram);
    packet.features = features();
  }
  // Who answers shows that what is under way can get there, too: the way may take less than it did.
  if (type == Control::ping && connection.under_way > 0) packet.datagram = packet.largest;
  path = way(connection, path);
  send_control(path, towards(connection, path), packet);
}

void Node::send_control(std::uint32_t path, const Address& to, const ControlPacket& packet) {
  send_raw(path, to, encode(packet, config_.key ? &*config_.key : nullptr));
}

// From now on packets can be sealed.
void Node::know(Connection& connection, std::uint64_t theirs) {
  if (config_.key && (!connection.seal || connection.theirs != theirs))
    connection.seal = std::make_unique<Seal>(*config_.key, connection.ours, theirs);
  connection.theirs = theirs;
}

void Node::take_control(const Inbox::Datagram& datagram) {
  const auto packet = decode_control(datagram.bytes);
  if (!packet) {
    ++counters_.not_ours;
    // Greetings are long in every version; whoever sends a short one from somebody else's address gains nothing.
    if (const auto refusal = refusal_of(datagram.bytes); refusal && datagram.bytes.size() >= kLeastDatagram)
      send_raw(nics_ * greeted_++, datagram.from, encode(*refusal));
    return;
  }
  if (packet->type == Control::hello) return take_hello(datagram, *packet);
  const auto known = by_number_.find(packet->connection);
  if (known == by_number_.end()) {
    ++counters_.not_ours;
    return;
  }
  const std::uint32_t number = known->second;
  Connection& connection = connections_[number];
  if (packet->type == Control::retry || packet->type == Control::refused) {
    // Nobody has shown yet who speaks: it counts only while somebody is greeted, and only by the number we gave.
    if (connection.state != State::greeting || packet->nonce != connection.nonce) return;
    if (packet->type == Control::refused) return fail(number, packet->text);
    if (connection.cookie == packet->cookie) return;
    connection.cookie = packet->cookie;
    return greet(number);
  }
  // What counts beyond that has to come from somebody of the same job.
  if (config_.key && !is_tagged(datagram.bytes, *config_.key)) {
    ++counters_.damaged;
    return;
  }
  if (packet->type == Control::accept) {
    if (connection.state == State::over || packet->nonce != connection.nonce) return;
    if (connection.theirs != 0 && connection.theirs != packet->own_connection) return;
    if (connection.state == State::greeting) {
      if (packet->datagram < kLeastDatagram || packet->datagram > connection.datagram) return;
      know(connection, packet->own_connection);
      connection.takes_both = packet->features & kTakesBoth;
      connection.their_nics = nics_in(packet->features);
      come_up(number, packet->datagram);
    }
    return say(connection, Control::ping, connection.tries);
  }
  if (packet->own_connection != connection.theirs) return;
  connection.heard = now_;
  if (packet->type != Control::ping) connection.answered = now_;
  // What waits for a peer that answers is not failed for silence.
  if (packet->type == Control::pong) srd_.hear(now_, 0, number);
  if (connection.state == State::accepted && packet->largest >= kLeastDatagram &&
      packet->largest <= connection.datagram)
    come_up(number, packet->largest);
  if (packet->type >= Control::nic) return take_nic(connection, datagram, *packet);
  if (packet->type == Control::ping) answer(connection, *packet, datagram);
  if (packet->type == Control::pong && packet->features != 0 && pongs_.size() < kMostPongs)
    pongs_.push_back(
        {packet->nonce, datagram.at - Instant{std::min(packet->features - 1, kMostWait)} * 1000, datagram.from.port()});
  if (packet->type == Control::bye) fail(number, "it has ended");
}

// A probe names the path of its answer, and is told how long it waited here.
void Node::answer(Connection& connection, const ControlPacket& ping, const Inbox::Datagram& datagram) {
  if (ping.features == 0) return say(connection, Control::pong, connection.tries++);
  ControlPacket pong;
  pong.type = Control::pong;
  pong.connection = connection.theirs;
  pong.own_connection = connection.ours;
  pong.nonce = ping.nonce;
  pong.largest = static_cast<std::uint16_t>(connection.datagram);
  pong.features = 1 + static_cast<std::uint32_t>(std::clamp<Instant>((now() - datagram.at) / 1000, 0, kMostWait));
  const std::uint32_t path = way(connection, ping.features - 1);
  send_control(path, towards(connection, path), pong);
}

void Node::probe(std::uint32_t peer, std::uint32_t path, std::uint32_t back, std::uint64_t nonce, bool whole,
                 std::uint8_t hops) {
  if (!connected(peer)) return;
  const Connection& connection = connections_[peers_[peer].connection];
  ControlPacket ping;
  ping.type = Control::ping;
  ping.connection = connection.theirs;
  ping.own_connection = connection.ours;
  ping.nonce = nonce;
  ping.largest = static_cast<std::uint16_t>(connection.datagram);
  if (whole) ping.datagram = ping.largest;
  ping.features = back + 1;
  if (hops > 0) sockets_[path].set_hops(hops);
  send_control(path, towards(connection, path), ping);
  if (hops > 0) sockets_[path].set_hops(0);
}

std::optional<Address> Node::turned_back(std::uint32_t path) {
  if (!hears_routers_)
    for (UdpSocket& socket : std::span(sockets_).subspan(nics_)) socket.hear_routers();
  hears_routers_ = true;
  return path < nics_ ? std::nullopt : sockets_[path].turned_back();
}

std::vector<PathHealth> Node::path_health(std::uint32_t peer) {
  return peers_[peer].watch ? peers_[peer].watch->look(now()) : std::vector<PathHealth>();
}

void Node::take_hello(const Inbox::Datagram& datagram, const ControlPacket& hello) {
  Address address = datagram.from;
  address.set_port(hello.port);
  const std::int64_t seconds = now_ / kSecond;
  if (hello.datagram < kLeastDatagram) return;
  if (!cookies_.check(hello.cookie, address, hello.own_connection, seconds)) {
    ControlPacket retry;
    retry.type = Control::retry;
    retry.connection = hello.own_connection;
    retry.nonce = hello.nonce;
    retry.cookie = cookies_.make(address, hello.own_connection, seconds);
    return send_control(nics_ * greeted_++, address, retry);
  }
  const bool wants_key = get<std::uint16_t>(datagram.bytes, 54) == kTagBytes;
  if (wants_key != config_.key.has_value() || (config_.key && !is_tagged(datagram.bytes, *config_.key))) {
    ControlPacket refusal;
    refusal.type = Control::refused;
    refusal.connection = hello.own_connection;
    refusal.nonce = hello.nonce;
    refusal.text = !config_.key ? "it has no key of a job, and was greeted with one"
                   : wants_key  ? "its job has another key"
                                : "its job has a key, and it was greeted without";
    ++counters_.not_ours;
    return send_control(nics_ * greeted_++, address, refusal);
  }
  const std::uint32_t peer = peer_at(address);
  std::uint32_t number = peers_[peer].connection;
  // Another number than before: whoever had it is gone, and this is the next one there.
  if (number != kNone && connections_[number].theirs != 0 && connections_[number].theirs != hello.own_connection) {
    fail(number, "it was started anew");
    number = kNone;
  }
  if (number == kNone) number = open_connection(peer, State::accepted);
  Connection& connection = connections_[number];
  if (connection.state == State::greeting) {
    // Both greet each other: the smaller number's greeting counts.
    if (connection.ours < hello.own_connection) return;
    connection.state = State::accepted;
  }
  know(connection, hello.own_connection);
  connection.takes_both = hello.features & kTakesBoth;
  connection.their_nics = nics_in(hello.features);
  connection.heard = now_;
  if (connection.state == State::accepted)
    connection.datagram = std::min<std::size_t>(hello.datagram, longest_towards(address));
  ControlPacket accept;
  accept.type = Control::accept;
  accept.connection = connection.theirs;
  accept.own_connection = connection.ours;
  accept.nonce = hello.nonce;
  accept.port = this->address().port();
  accept.datagram = static_cast<std::uint16_t>(connection.datagram);
  accept.features = features();
  send_control(nics_ * connection.tries++, address, accept);
  if (connection.state == State::accepted) set_due(number, now_ + kConfirmEvery);
}

void Node::come_up(std::uint32_t number, std::size_t datagram) {
  Connection& connection = connections_[number];
  connection.state = State::up;
  connection.datagram = datagram;
  connection.fragment = static_cast<std::uint16_t>(datagram - around_payload());
  srd_.set_payload(0, number, connection.fragment);
  connection.heard = connection.answered = now_;
  if (config_.watches_paths) peers_[connection.peer].watch = std::make_unique<PathWatch>(sockets_.size());
  lay_lanes(connection);
  set_due(number, now_ + (introduce(connection) ? kConfirmEvery : kQuiet));
  const std::vector<std::uint32_t> waiting = std::exchange(connection.waiting, {});
  for (const std::uint32_t slot : waiting) post(slot);
}

void Node::fail(std::uint32_t number, std::string why) {
  Connection& connection = connections_[number];
  if (connection.state == State::over) return;
  if (connection.theirs != 0) say(connection, Control::bye, connection.tries);
  connection.state = State::over;
  set_due(number, kNever);
  by_number_.erase(connection.ours);
  for (const std::uint32_t first : connection.arriving) arriving_.erase(std::uint64_t{number} << 32 | first);
  connection.arriving.clear();
  for (const std::uint32_t slot : std::exchange(connection.waiting, {})) outgoing_.give_back(slot);
  Peer& peer = peers_[connection.peer];
  peer.connection = kNone;
  peer.failure = std::move(why);
  layer_.peer_failed(now_, connection.peer);
}

void Node::drop(std::uint32_t peer, std::string why) {
  if (peers_[peer].connection != kNone) fail(peers_[peer].connection, std::move(why));
}

void Node::set_due(std::uint32_t number, Instant due) {
  Connection& connection = connections_[number];
  if (connection.due != kNever) timers_.erase({connection.due, number});
  connection.due = due;
  if (due != kNever) timers_.insert({due, number});
}

void Node::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    const std::uint32_t number = timers_.begin()->second;
    Connection& connection = connections_[number];
    if (connection.state == State::greeting) {
      if (connection.tries % kTriesPerSize == 0) connection.datagram = shorter_than(connection.datagram);
      greet(number);
      continue;
    }
    const Instant quiet = now_ - connection.heard;
    if (quiet > config_.dead_after.count()) {
      fail(number, fmt::format("nothing came from it for {} s", quiet / kSecond));
      continue;
    }
    if (connection.state == State::up && introduce(connection)) {
      set_due(number, now_ + kConfirmEvery);
      continue;
    }
    // SRD gives up what nobody answers: a peer that asks us must not keep us from asking it.
    const Instant since = connection.under_way > 0 ? connection.answered : connection.heard;
    if (connection.state == State::up && now_ - since < kQuiet) {
      set_due(number, since + kQuiet);
      continue;
    }
    if (peers_[connection.peer].address != address()) say(connection, Control::ping, connection.tries++);
    set_due(number, now_ + (connection.state == State::up ? kAskEvery : kConfirmEvery));
  }
}

}  // namespace weft::net
