// Several NICs of a host together: which pairs of NICs a connection's paths may take.
//
// Path p leaves by our NIC p mod ours and goes to theirs p mod of theirs, so that rails that are not joined stay apart.
// Greetings go by the first NICs; the others are told of there (`nic`). Nothing but a question (`look`) goes to an
// address before its answer (`seen`) has come from there: whoever names somebody else's sends nobody more than it sent
// itself. A pair that is not known to work has its packets go by the first NICs instead.

#include <algorithm>
#include <numeric>

#include "net/node.hpp"

namespace weft::net {
namespace {

constexpr std::uint32_t kIntroductions = 20;  // before a pair that gives no answer is left alone

}  // namespace

std::uint32_t Node::way(const Connection& connection, std::uint32_t path) const {
  path %= static_cast<std::uint32_t>(sockets_.size());
  const bool fine = connection.lanes.empty() ? nics_ == 1 : connection.lanes[path % connection.lanes.size()].up;
  return fine ? path : path - path % nics_;
}

const Address& Node::towards(const Connection& connection, std::uint32_t path) const {
  if (!connection.lanes.empty()) {
    const Lane& lane = connection.lanes[path % connection.lanes.size()];
    if (lane.up) return lane.to;
  }
  return peers_[connection.peer].address;
}

void Node::lay_lanes(Connection& connection) {
  const Address& first = peers_[connection.peer].address;
  const std::uint32_t count = std::lcm(nics_, connection.their_nics);
  if (count == 1 || first == address()) return;
  connection.lanes.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    Lane& lane = connection.lanes[i];
    lane.nonce = random_number();
    if (i % connection.their_nics == 0) lane.to = first;
  }
  connection.lanes[0].up = true;
}

// What is not settled yet is said and asked again; false: nothing is, or it was in vain often enough.
bool Node::introduce(Connection& connection) {
  const std::uint32_t all = (1u << nics_) - 1;
  const bool settled = std::ranges::all_of(connection.lanes, &Lane::up) && (connection.tried_nics | 1) == all;
  if (connection.lanes.empty() || settled || connection.introductions == kIntroductions) return false;
  ++connection.introductions;
  ControlPacket packet;
  packet.connection = connection.theirs;
  packet.own_connection = connection.ours;
  for (std::uint32_t i = 1; i < nics_; ++i) {
    if (connection.tried_nics >> i & 1) continue;
    packet.type = Control::nic;
    packet.features = i;
    const Address& mine = sockets_[i].local();
    packet.port = mine.port();
    std::ranges::copy(mine.ip(), packet.cookie.begin());
    const std::uint32_t path = way(connection, connection.tries++);
    send_control(path, towards(connection, path), packet);
  }
  for (std::uint32_t i = 1; i < connection.lanes.size(); ++i) look(connection, i);
  return true;
}

// As long as the longest packet: what comes back has shown that this pair takes it.
void Node::look(const Connection& connection, std::uint32_t lane) {
  const Lane& it = connection.lanes[lane];
  if (it.up || it.to.length() == 0) return;
  ControlPacket packet;
  packet.type = Control::look;
  packet.connection = connection.theirs;
  packet.own_connection = connection.ours;
  packet.nonce = it.nonce;
  packet.largest = packet.datagram = static_cast<std::uint16_t>(connection.datagram);
  send_control(lane % nics_, it.to, packet);
}

void Node::take_nic(Connection& connection, const Inbox::Datagram& datagram, const ControlPacket& packet) {
  if (packet.type == Control::look) {
    connection.tried_nics |= 1u << taking_;
    ControlPacket answer = packet;
    answer.type = Control::seen;
    answer.connection = connection.theirs;
    answer.own_connection = connection.ours;
    answer.datagram = 0;
    return send_control(taking_, datagram.from, answer);
  }
  for (std::uint32_t i = 0; i < connection.lanes.size(); ++i) {
    Lane& lane = connection.lanes[i];
    if (packet.type == Control::seen && packet.nonce == lane.nonce && datagram.from == lane.to) lane.up = true;
    if (packet.type == Control::nic && packet.features != 0 && i % connection.their_nics == packet.features &&
        !lane.up) {
      lane.to = peers_[connection.peer].address.with(packet.cookie, packet.port);
      look(connection, i);
    }
  }
}

}  // namespace weft::net
