// A node's packets on their way out: trains of those that go by one path.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/crc32c.hpp"
#include "net/node.hpp"

namespace weft::net {
namespace {

constexpr std::size_t kMostTrains = 64;  // before what has come in meanwhile is looked at
// An acknowledgement may leave behind so many short trains for other peers, or one that is not short.
constexpr std::size_t kMostAhead = 4;
constexpr std::size_t kShortTrain = 16384;
constexpr Instant kPrompt = 100 * (kMillisecond / 1000);  // after data came, an answer to it: half of what SRD waits

}  // namespace

void Node::send_raw(std::uint32_t path, const Address& to, std::span<iovec> parts, std::size_t segment) {
  path %= static_cast<std::uint32_t>(sockets_.size());
  ++counters_.system_calls;
  if (sockets_[path].send(to, parts, segment) != 0) {
    counters_.refused_by_kernel += parts.size();
    return;
  }
  ++counters_.trains_out;
  counters_.datagrams_out += parts.size();
  counters_.bytes_out += parts.size() * segment;
}

void Node::send_raw(std::uint32_t path, const Address& to, std::span<const std::uint8_t> bytes) {
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  send_raw(path, to, {&part, 1}, bytes.size());
}

// Those that are due, to leave one way or another.
void Node::take_acks() {
  if (!owes_) return;
  owes_ = owes_now_ = false;
  transport::Transmit out;
  while (srd_.poll_ack(0, out)) {
    Connection& connection = connections_[out.header.destination];
    if (connection.state == State::over || connection.theirs == 0) continue;
    connection.unsaid = 0;
    Answer& answer = answers_.emplace_back();
    answer.connection = out.header.destination;
    answer.arrived = connection.arrived;
    answer.packet.type = out.type;
    answer.packet.flags = out.flags;
    answer.packet.header = out.header;
    answer.packet.header.path = static_cast<std::uint16_t>(way(connection, out.header.path));
  }
}

// Its bytes, as they leave by this path now.
std::span<std::uint8_t> Node::write(Answer& answer, std::uint32_t path) {
  const Connection& connection = connections_[answer.connection];
  transport::Encoded packet = answer.packet;
  packet.header.path = static_cast<std::uint16_t>(path);
  packet.waited = static_cast<std::uint32_t>(std::clamp<Instant>((now() - answer.arrived) / 1000, 0, 1'000'000'000));
  transport::set_connection(packet.header, connection.theirs);
  transport::encode(packet, answer.bytes);
  if (!connection.seal) return std::span(answer.bytes).first(transport::kWireHeader);
  const iovec part{answer.bytes.data(), transport::kWireHeader};
  std::ranges::copy(connection.seal->close({&part, 1}), answer.bytes.begin() + transport::kWireHeader);
  return answer.bytes;
}

// Those for one peer by one path together.
void Node::send_acks() {
  take_acks();
  std::array<iovec, kMostSegments> parts;
  for (std::size_t i = 0; i < answers_.size();) {
    const std::uint32_t to = answers_[i].connection;
    const std::uint32_t path = answers_[i].packet.header.path;
    const std::size_t most = sockets_[path].segments() ? kMostSegments : 1;
    std::size_t count = 0;
    std::size_t length = 0;
    for (;
         i < answers_.size() && count < most && answers_[i].connection == to && answers_[i].packet.header.path == path;
         ++i) {
      const std::span<std::uint8_t> bytes = write(answers_[i], path);
      length = bytes.size();
      parts[count++] = {bytes.data(), length};
    }
    send_raw(path, towards(connections_[to], path), std::span(parts).first(count), length);
  }
  answers_.clear();
  ahead_ = 0;
}

// What is owed to the peer whose data leaves now: before a single packet, in one datagram with it, or as the last and
// shorter part of a train. The peer hears of both by one system call of ours and one of its own.
Node::Company Node::take_along() {
  take_acks();
  const Connection& connection = connections_[train_.connection];
  if (connection.certain_way) return Company::none;
  const auto found = std::ranges::find(answers_, train_.connection, &Answer::connection);
  if (found == answers_.end()) return Company::none;
  const std::size_t length = ack_bytes();
  const bool before = connection.takes_both && train_.count == 1 && train_.bytes + length <= connection.datagram;
  if (!before && (train_.ended || train_.count == kMostSegments || !sockets_[train_.path].segments() ||
                  length > train_.segment || train_.bytes + length > kMostDatagram))
    return Company::none;
  std::swap(*found, answers_.back());
  const std::span<std::uint8_t> bytes = write(answers_.back(), train_.path);
  train_.parts.insert(before ? train_.parts.begin() : train_.parts.end(), {bytes.data(), bytes.size()});
  return before ? Company::before : Company::behind;
}

void Node::send_data() {
  if (blocked_ && !flush()) return;
  transport::Transmit out;
  const std::uint64_t most = counters_.system_calls + kMostTrains;
  while (counters_.system_calls < most) {
    // What the next train waited here for the last one is no part of its round trip.
    if (std::exchange(stale_, false)) now_ = std::max(now_, now());
    if (!srd_.poll(now_, 0, out)) break;
    if (connections_[out.header.destination].state != State::over) add_to_train(out);
    if (blocked_) return;
  }
  flush();
}

void Node::add_to_train(const transport::Transmit& out) {
  const std::uint32_t number = out.header.destination;
  const Connection& connection = connections_[number];
  const transport::rdm::Outgoing& message = outgoing_[out.header.data.tag].message;
  const std::uint32_t path = way(connection, out.header.path);
  const std::size_t envelope = message.envelope.size;
  const std::size_t payload = out.wire_bytes - srd_.config().header;
  const std::size_t segment = transport::kWireHeader + envelope + payload + (connection.seal ? kSealBytes : 0);
  const bool joins = train_.count > 0 && !train_.ended && train_.connection == number && train_.path == path &&
                     segment <= train_.segment && train_.count < kMostSegments && sockets_[path].segments() &&
                     train_.bytes + segment <= kMostDatagram;
  // A packet that the kernel has no room for is one that vanishes.
  if (!joins && !flush()) return;
  if (train_.count == 0) {
    train_.connection = number;
    train_.path = path;
    train_.segment = segment;
    train_.ended = false;
  }
  train_.ended = segment < train_.segment;
  if (PathWatch* const watch = peers_[connection.peer].watch.get())
    watch->sent(now_, out.header.sequence, path, segment, out.flags & transport::kResent);
  auto& header = train_.headers[train_.count];
  auto& trailer = train_.trailers[train_.count++];
  train_.bytes += segment;

  transport::Encoded packet;
  packet.type = out.type;
  packet.flags = out.flags;
  packet.header = out.header;
  packet.header.path = static_cast<std::uint16_t>(path);
  transport::set_connection(packet.header, connection.theirs);
  packet.fragment = connection.fragment;
  packet.envelope = message.envelope.size;
  const auto* const name = reinterpret_cast<const std::uint8_t*>(message.envelope.bytes.data());
  std::copy_n(name, envelope, header.begin() + transport::kWireHeader);
  if (!connection.seal) packet.payload_checksum = crc32c({name, envelope});
  std::uint8_t* bytes = nullptr;
  if (payload > 0) {
    const std::uint64_t offset = std::uint64_t{out.header.sequence - out.header.data.first} * connection.fragment;
    bytes = reinterpret_cast<std::uint8_t*>(bytes_at({message.payload.memory, message.payload.offset + offset}));
    if (!connection.seal) packet.payload_checksum = crc32c({bytes, payload}, packet.payload_checksum);
  }
  transport::encode(packet, header);
  train_.parts.push_back({header.data(), transport::kWireHeader + envelope});
  if (payload > 0) train_.parts.push_back({bytes, payload});
  if (!connection.seal) return;
  trailer = connection.seal->close(std::span(train_.parts).last(payload > 0 ? 2 : 1));
  train_.parts.push_back({trailer.data(), trailer.size()});
}

// False: the kernel has no room now.
bool Node::flush() {
  if (train_.count == 0) return true;
  ++counters_.system_calls;
  Connection& connection = connections_[train_.connection];
  int error = 0;
  Company company = Company::none;
  if (connection.state != State::over) {
    company = take_along();
    const std::size_t segment = train_.segment + (company == Company::before ? ack_bytes() : 0);
    error = sockets_[train_.path].send(towards(connection, train_.path), train_.parts, segment);
  }
  const Instant waited = now_ - connection.arrived;
  stale_ = true;
  blocked_ = error == EAGAIN || error == EWOULDBLOCK;
  if (company != Company::none) {
    // Where there is no room now, it leaves by itself.
    if (blocked_) {
      train_.parts.erase(company == Company::before ? train_.parts.begin() : train_.parts.end() - 1);
    } else {
      counters_.datagrams_out += company == Company::behind;
      counters_.bytes_out += ack_bytes();
      answers_.pop_back();
    }
  }
  if (blocked_) return false;
  if (error != 0) counters_.refused_by_kernel += train_.count;
  ++counters_.trains_out;
  counters_.datagrams_out += train_.count;
  counters_.bytes_out += train_.bytes;
  paths_[train_.path].packets += train_.count;
  paths_[train_.path].bytes += train_.bytes;
  if (connection.asked != 0) {
    connection.prompt = waited < kPrompt ? static_cast<std::uint8_t>(std::min(connection.prompt + 1, 255)) : 0;
    connection.asked = 0;
  }
  const bool was_short = train_.bytes <= kShortTrain;
  train_.parts.clear();
  train_.count = train_.bytes = 0;
  if (!answers_.empty() && (++ahead_ == kMostAhead || !was_short)) send_acks();
  return true;
}

}  // namespace weft::net
