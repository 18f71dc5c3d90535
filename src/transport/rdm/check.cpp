// What must hold at any time: for tests.

#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

std::string_view Rdm::check_invariants() const {
  std::size_t live = 0;
  std::size_t filling = 0;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) live += ops_[i].live;
  if (live != ops_.used()) return "operations are lost";
  for (std::uint32_t index = 0; index < peers_.size(); ++index) {
    const Peer& peer = peers_[index];
    std::uint32_t carried = 0;
    std::uint32_t landing = 0;
    std::uint32_t held = 0;
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < carried_.size(); ++i) carried += carried_[i].live && carried_[i].peer == index;
    for (std::uint32_t i = 0; i < landings_.size(); ++i) landing += landings_[i].live && landings_[i].peer == index;
    for (std::uint32_t i = 0; i < messages_.size(); ++i) {
      const Message& message = messages_[i];
      if (!message.live || message.peer != index) continue;
      filling += message.receive != kNone;
      if (message.run != peer.run || message.consumed) continue;
      ++held;
      if (message.state != Message::State::offered) bytes += message.bytes;
    }
    if (carried != peer.carried || carried > kMostCarried) return "messages in the carrier are miscounted";
    if (landing != peer.landing || landing > kMostCarried) return "messages that land are miscounted";
    if (held != peer.held_messages || held > config_.window) return "messages held are miscounted";
    if (bytes != peer.held_bytes || bytes > config_.unexpected) return "bytes held are miscounted";
    if (peer.open_reads > config_.reads || peer.open_requests > config_.requests) return "too much is open";
    if (peer.answering > 2 * config_.reads) return "too much is answered";
  }
  std::size_t filled = 0;
  for (std::uint32_t i = 0; i < posted_.size(); ++i) filled += posted_[i].live ? posted_[i].filling : 0;
  if (filled != filling) return "receives being filled are miscounted";
  return {};
}

}  // namespace weft::transport::rdm
