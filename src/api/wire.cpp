#include "api/wire.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "endpoint/wire.hpp"
#include "net/control.hpp"

namespace weft::wire {
namespace {

using net::Node;
using transport::Instant;

constexpr Instant kTakesOver = 200'000'000;  // ps without a call
constexpr Instant kLongestSleep = net::kSecond;

timespec time_of(Instant left) {
  left = std::clamp<Instant>(left, 0, kLongestSleep);
  return {static_cast<time_t>(left / net::kSecond), static_cast<long>(left % net::kSecond / 1000)};
}

net::Address parsed(const std::string& text) {
  const auto address = net::Address::parse(text, 0);
  if (!address) throw std::runtime_error(address.error());
  return *address;
}

Status status_of(transport::rdm::Error error) {
  using transport::rdm::Error;
  switch (error) {
    case Error::none:
      return Status::fine;
    case Error::truncated:
      return Status::truncated;
    case Error::peer_lost:
      return Status::lost;
    default:
      return Status::failed;
  }
}

}  // namespace

struct Endpoint::Inside {
  std::unique_ptr<endpoint::Wire> wire;
  mutable std::mutex lock;
  std::deque<Done> done;
  std::thread helper;
  std::atomic<bool> stopping = false;
  std::atomic<Instant> called = 0;  // when somebody last moved things
  std::atomic<int> waiting = 0;     // who sleeps until something comes, and needs no help
  std::atomic<bool> napping = false;
  int bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

  ~Inside() {
    stopping = true;
    ring();
    if (helper.joinable()) helper.join();
    wire.reset();
    close(bell);
  }
  void ring() const { static_cast<void>(eventfd_write(bell, 1)); }

  // With the lock held.
  void move() {
    wire->progress();
    auto& completions = wire->rdm().completions();
    for (const transport::rdm::Completion& each : completions) {
      using Kind = transport::rdm::Completion::Kind;
      if (each.kind == Kind::sent || each.kind == Kind::received)
        done.push_back(
            {each.kind == Kind::received, status_of(each.error), each.peer, each.tag, each.bytes, each.context});
    }
    completions.clear();
  }
  void call() {
    move();
    called.store(Node::now(), std::memory_order_relaxed);
  }

  void help() {
    while (!stopping) {
      Instant wake = 0;
      {
        const std::lock_guard guard(lock);
        wake = wire->node().next_wake();
      }
      const Instant now = Node::now();
      const bool looked_after = waiting > 0;
      const bool called_lately = now - called.load(std::memory_order_relaxed) < kTakesOver;
      pollfd polls[2] = {{bell, POLLIN, 0}, {wire->node().fd(), POLLIN, 0}};
      // Who calls needs no help: looking at the socket would wake this thread for each packet.
      napping = looked_after;
      const timespec time = time_of(looked_after ? kLongestSleep : called_lately ? kTakesOver : wake - now);
      ppoll(polls, looked_after || called_lately ? 1 : 2, &time, nullptr);
      napping = false;
      eventfd_t rung = 0;
      static_cast<void>(eventfd_read(bell, &rung));
      if (waiting > 0 || Node::now() - called.load(std::memory_order_relaxed) < kTakesOver) continue;
      const std::lock_guard guard(lock);
      move();
    }
  }

  bool take(Done& out) {
    if (done.empty()) return false;
    out = done.front();
    done.pop_front();
    return true;
  }
};

Endpoint::Endpoint(const std::string& listen, const std::string& key) : inside_(std::make_unique<Inside>()) {
  transport::rdm::RdmConfig config;
  config.seed = net::random_number();
  net::NodeConfig sockets;
  sockets.local = parsed(listen.substr(0, listen.find(',')));
  for (std::size_t at = listen.find(','); at != std::string::npos;) {
    const std::size_t end = listen.find(',', at + 1);
    sockets.more.push_back(parsed(listen.substr(at + 1, end == std::string::npos ? end : end - at - 1)));
    at = end;
  }
  if (!key.empty()) {
    const auto read = net::read_key(key);
    if (!read) throw std::runtime_error(read.error());
    sockets.key = *read;
  }
  auto wire = endpoint::Wire::open(sockets, config, endpoint::Sharing::none);
  if (!wire) throw std::runtime_error(wire.error());
  inside_->wire = std::move(*wire);
  inside_->helper = std::thread([inside = inside_.get()] { inside->help(); });
}

Endpoint::~Endpoint() = default;

std::string Endpoint::address() const { return inside_->wire->address().text(); }

std::uint32_t Endpoint::peer(const std::string& address) {
  const net::Address parsed_address = parsed(address);
  if (parsed_address.port() == 0) throw std::runtime_error("'" + address + "' lacks a port");
  const std::lock_guard guard(inside_->lock);
  return inside_->wire->peer_at(parsed_address);
}

std::string Endpoint::address_of(std::uint32_t peer) const {
  const std::lock_guard guard(inside_->lock);
  return inside_->wire->node().address_of(peer).text();
}

std::string Endpoint::why_lost(std::uint32_t peer) const {
  const std::lock_guard guard(inside_->lock);
  return inside_->wire->node().why_failed(peer);
}

bool Endpoint::send(std::uint32_t peer, std::uint64_t tag, const void* bytes, std::size_t size, std::uint64_t context) {
  const std::lock_guard guard(inside_->lock);
  transport::rdm::Send send;
  send.peer = peer;
  send.tagged = true;
  send.tag = tag;
  send.from = endpoint::place_of(bytes);
  send.bytes = size;
  send.context = context;
  const bool taken = inside_->wire->rdm().send(send);
  inside_->call();
  return taken;
}

void Endpoint::receive(std::uint32_t peer, std::uint64_t tag, std::uint64_t ignore, void* room, std::size_t size,
                       std::uint64_t context) {
  const std::lock_guard guard(inside_->lock);
  transport::rdm::Receive receive;
  receive.peer = peer == kAnyPeer ? transport::rdm::kAnyPeer : peer;
  receive.tagged = true;
  receive.tag = tag;
  receive.ignore = ignore;
  receive.to = endpoint::place_of(room);
  receive.bytes = size;
  receive.context = context;
  inside_->wire->rdm().receive(receive);
  inside_->call();
}

bool Endpoint::wait(Done& done, std::chrono::nanoseconds timeout) {
  Inside& inside = *inside_;
  const Instant most = net::kSecond * 86'400;
  const Instant until = Node::now() + std::clamp<Instant>(timeout.count(), 0, most / 1000) * 1000;
  ++inside.waiting;
  bool found = false;
  for (;;) {
    Instant wake = until;
    {
      const std::lock_guard guard(inside.lock);
      inside.call();
      found = inside.take(done);
      wake = std::min(wake, inside.wire->node().next_wake());
    }
    if (found || Node::now() >= until) break;
    pollfd poll{inside.wire->node().fd(), POLLIN, 0};
    // Another thread's call may complete what this one waits for: look again from time to time.
    const timespec time = time_of(std::min(wake - Node::now(), 10 * net::kMillisecond));
    ppoll(&poll, 1, &time, nullptr);
  }
  inside.called.store(Node::now(), std::memory_order_relaxed);
  --inside.waiting;
  if (inside.napping.load(std::memory_order_relaxed)) inside.ring();
  return found;
}

}  // namespace weft::wire
