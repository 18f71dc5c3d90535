#include "endpoint/wire.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::endpoint {

using transport::Instant;
using transport::rdm::Outgoing;
using transport::rdm::Place;
using transport::rdm::Sink;

namespace {

// Where memory is shared, sockets that were silent for long are looked at only this often: a look costs more than a
// message through memory.
constexpr Instant kSilent = 100 * (net::kMillisecond / 1000);
constexpr Instant kLookEvery = 50 * (net::kMillisecond / 1000);

}  // namespace

Sharing sharing_of(const char* word) {
  if (word == nullptr) return Sharing::direct;
  const std::string_view text = word;
  return text == "0" ? Sharing::none : text == "copy" ? Sharing::copied : Sharing::direct;
}

Result<std::unique_ptr<Wire>, std::string> Wire::open(const net::NodeConfig& sockets,
                                                      const transport::rdm::RdmConfig& config, Sharing sharing) {
  std::unique_ptr<Wire> wire(new Wire(config));
  auto node = net::Node::open(sockets, *wire, *wire);
  if (!node) return Failure<std::string>(node.error());
  wire->node_ = std::move(*node);
  wire->self_ = wire->node_->peer_at(wire->node_->address());
  if (sharing != Sharing::none)
    wire->shared_ = Local::open(wire->node_->address(), wire->rdm_, *wire, sharing == Sharing::direct);
  if (!wire->shared_) return wire;
  wire->both_ = net::Descriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(wire->both_.get(), EPOLL_CTL_ADD, wire->node_->fd(), &event);
  epoll_ctl(wire->both_.get(), EPOLL_CTL_ADD, wire->shared_->fd(), &event);
  return wire;
}

bool Wire::next_outgoing(Outgoing& out) {
  while (rdm_.next_outgoing(out)) {
    if (out.peer == self_)
      bring_home(out);
    else if (shared_ && shared_->reaches(out.peer, node_->address_of(out.peer)))
      shared_->send(out);
    else
      return true;
  }
  return false;
}

void Wire::progress(Instant now) {
  if (!shared_) return node_->progress(now);
  shared_->progress(now);
  if (!shared_->any() || now - heard_ < kSilent || now - looked_ >= kLookEvery) {
    looked_ = now;
    node_->progress(now);
    if (std::exchange(datagrams_, node_->counters().datagrams_in) != datagrams_) heard_ = now;
  } else {
    node_->push();
  }
}

void Wire::wait(Instant until) {
  const Instant left = std::min(until, timer()) - net::Node::now();
  if (left <= 0 || !rest()) return;
  pollfd poll{fd(), POLLIN, 0};
  timespec time{};
  time.tv_sec = static_cast<time_t>(std::min(left, 3600 * net::kSecond) / net::kSecond);
  time.tv_nsec = left % net::kSecond / 1000;
  ppoll(&poll, 1, &time, nullptr);
}

void Wire::drop(std::uint32_t peer, const std::string& why) {
  if (shared_ && shared_->has(peer)) {
    shared_->drop(peer);
    local_failed(peer);
  }
  node_->drop(peer, why);
}

std::string Wire::why_lost(std::uint32_t peer) const {
  if (peer < lost_here_.size() && lost_here_[peer]) return "its process has ended";
  return node_->why_failed(peer);
}

void Wire::local_begins(std::uint32_t peer) { node_->drop(peer, "it has come by another way"); }

void Wire::local_failed(std::uint32_t peer) {
  peer_failed(net::Node::now(), peer);
  lost_here_[peer] = true;
}

void Wire::bring_home(const Outgoing& out) {
  const transport::Instant now = net::Node::now();
  const Sink sink = rdm_.arrived(now, self_, out.envelope.view(), out.bytes);
  if (sink.kind == Sink::Kind::refused) return rdm_.peer_failed(now, self_);
  if (const std::uint64_t bytes = std::min(out.bytes, sink.room); bytes > 0)
    std::memmove(bytes_at(sink.place), bytes_at(out.payload), bytes);
  rdm_.landed(now, self_, sink.context);
  rdm_.sent(now, out.context);
}

void Wire::peer_failed(transport::Instant now, std::uint32_t peer) {
  if (peer >= lost_.size()) {
    lost_.resize(peer + 1);
    lost_here_.resize(peer + 1);
  }
  ++lost_[peer];
  ++losses_;
  lost_here_[peer] = false;
  if (shared_) shared_->forget(peer);
  rdm_.peer_failed(now, peer);
}

std::byte* Wire::bytes_at(Place place) {
  if (place.memory & transport::rdm::kOwnMemory) return rdm_.own(place.memory).data() + place.offset;
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(place.offset));
}

void Wire::get(Place from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), bytes_at(from), to.size());
}

void Wire::put(Place to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(bytes_at(to), from.data(), from.size());
}

}  // namespace weft::endpoint
