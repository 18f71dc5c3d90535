#include "traffic/messages.hpp"

#include <algorithm>

#include "base/big_endian.hpp"

namespace weft::traffic {
namespace {

using transport::rdm::Sink;

constexpr std::size_t kEnvelope = 9;                        // kind (1), number (8)
constexpr std::uint64_t kMostHeld = std::uint64_t{1} << 30;  // bytes that others can make us hold
constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 28;

std::span<std::uint8_t> bytes_of(transport::rdm::Envelope& envelope) {
  return {reinterpret_cast<std::uint8_t*>(envelope.bytes.data()), envelope.bytes.size()};
}

}  // namespace

bool Exchange::next_outgoing(transport::rdm::Outgoing& out) {
  if (outgoing_.empty()) return false;
  Message message = std::move(outgoing_.front());
  outgoing_.pop_front();
  out = {};
  out.peer = message.peer;
  out.context = next_context_++;
  out.envelope.size = kEnvelope;
  put(bytes_of(out.envelope), 0, static_cast<std::uint8_t>(message.kind));
  put(bytes_of(out.envelope), 1, message.number);
  out.bytes = message.text.empty() ? message.bytes : message.text.size();
  // A handle is the number of the message in flight whose own text it is, or nothing for the pool.
  if (message.text.empty()) {
    out.payload = {0, Pool::offset_of(message.number)};
  } else {
    out.payload = {std::uint64_t{out.context} + 1, 0};
  }
  flying_.emplace(out.context, std::move(message));
  return true;
}

void Exchange::sent(Instant now, std::uint32_t context) {
  const auto found = flying_.find(context);
  const Message message = std::move(found->second);
  flying_.erase(found);
  on_sent(now, message);
}

std::byte* Exchange::at(transport::rdm::Place place) {
  if (place.memory == 0) return pool_.message(0, 0).data() + place.offset;
  std::string& text = flying_.at(static_cast<std::uint32_t>(place.memory - 1)).text;
  return reinterpret_cast<std::byte*>(text.data()) + place.offset;
}

Sink Exchange::arrived(Instant, std::uint32_t peer, std::span<const std::byte> envelope, std::uint64_t bytes) {
  const std::span<const std::uint8_t> said(reinterpret_cast<const std::uint8_t*>(envelope.data()), envelope.size());
  if (said.size() != kEnvelope || said[0] > static_cast<std::uint8_t>(Kind::report) || bytes > kLongestMessage ||
      held_ + bytes > kMostHeld)
    return {};
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(arriving_.size());
    arriving_.push_back(std::make_unique<Arriving>());
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Arriving& arriving = *arriving_[slot];
  arriving.used = true;
  arriving.message = {static_cast<Kind>(said[0]), peer, get<std::uint64_t>(said, 1), bytes, {}};
  arriving.bytes.resize(bytes);
  held_ += bytes;
  return {Sink::Kind::place, slot, {transport::rdm::kOwnMemory | slot, 0}, bytes};
}

std::span<std::byte> Exchange::own(std::uint64_t memory) {
  return arriving_[memory & ~transport::rdm::kOwnMemory]->bytes;
}

void Exchange::landed(Instant now, std::uint32_t, std::uint32_t context) {
  Arriving& arriving = *arriving_[context];
  on_message(now, arriving.message, arriving.bytes);
  held_ -= arriving.bytes.size();
  arriving.used = false;
  free_.push_back(context);
}

void Exchange::peer_failed(Instant now, std::uint32_t peer) {
  std::erase_if(flying_, [&](const auto& each) { return each.second.peer == peer; });
  std::erase_if(outgoing_, [&](const Message& each) { return each.peer == peer; });
  for (std::uint32_t slot = 0; slot < arriving_.size(); ++slot) {
    Arriving& arriving = *arriving_[slot];
    if (!arriving.used || arriving.message.peer != peer) continue;
    held_ -= arriving.bytes.size();
    arriving.used = false;
    free_.push_back(slot);
  }
  on_failed(now, peer);
}

void Server::on_message(Instant now, const Message& message, std::span<const std::byte> payload) {
  Client& client = by_peer_[message.peer];
  switch (message.kind) {
    case Kind::data: {
      if (message.number >= kMostMessages) return;
      if (message.number >= client.seen.size()) client.seen.resize(std::max<std::size_t>(1024, message.number * 2));
      client.measured.repeated += client.seen[message.number];
      client.seen[message.number] = true;
      client.measured.wrong += !pool_.is(message.number, payload);
      client.measured.add(now, payload.size());
      break;
    }
    case Kind::request:
      client.measured.wrong += !pool_.is(message.number, payload);
      client.measured.add(now, payload.size());
      send({Kind::response, message.peer, message.number, message.bytes, {}});
      break;
    case Kind::ask:
      send({Kind::report, message.peer, 0, 0, to_json(client.measured)});
      client = {};
      break;
    case Kind::response:
    case Kind::report:
      break;  // nobody has asked
  }
}

void Server::on_failed(Instant, std::uint32_t peer) { by_peer_.erase(peer); }

}  // namespace weft::traffic
