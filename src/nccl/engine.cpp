#include "nccl/engine.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "net/control.hpp"

namespace weft::nccl {

using endpoint::place_of;
using transport::Instant;
using transport::rdm::Completion;
using transport::rdm::Error;

namespace {

constexpr std::uint32_t kMagic = 0x77656e31;                // of a greeting, with its version
constexpr std::uint64_t kListens = std::uint64_t{1} << 63;  // in tags of greetings; those of messages have none
constexpr Instant kLongestSleep = 100 * net::kMillisecond;
constexpr Instant kLinger = net::kSecond;           // for what peers still wait for, at the end
constexpr Instant kQuiet = 50 * net::kMillisecond;  // and for questions of theirs whose answer was lost

transport::rdm::RdmConfig config() {
  transport::rdm::RdmConfig config;
  config.seed = net::random_number();
  config.ordered = false;  // tags say which is which
  // A receive waits for everything that is sent: there is nothing to ask.
  config.eager = std::uint64_t{32} << 20;
  config.unexpected = std::uint64_t{64} << 20;
  return config;
}

std::uint64_t tag_of(const Channel& channel) {
  return std::uint64_t{channel.number} << 32 | (channel.next & 0xFFFFFFFF);
}

std::uint64_t context_of(const void* what) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(what));
}

}  // namespace

Result<std::unique_ptr<Engine>, std::string> Engine::open(const net::Address& local, endpoint::Sharing sharing) {
  auto wire = endpoint::Wire::open({.local = local}, config(), sharing);
  if (!wire) return Failure<std::string>(wire.error());
  return std::unique_ptr<Engine>(new Engine(std::move(*wire)));
}

Engine::Engine(std::unique_ptr<endpoint::Wire> wire)
    : wire_(std::move(wire)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  helper_ = std::thread([this] { help(); });
}

// A peer may wait for the acknowledgement of what it sent last: answers go on until nobody asks.
Engine::~Engine() {
  stopping_ = true;
  (void)!write(wake_, "\1\0\0\0\0\0\0", 8);
  helper_.join();
  const Instant end = net::Node::now() + kLinger;
  Instant heard = net::Node::now();
  std::uint64_t datagrams = wire_->node().counters().datagrams_in;
  while (datagrams > 0 && net::Node::now() < end && (!wire_->idle() || net::Node::now() - heard < kQuiet)) {
    wire_->wait(net::Node::now() + net::kMillisecond);
    wire_->progress();
    if (std::exchange(datagrams, wire_->node().counters().datagrams_in) != datagrams) heard = net::Node::now();
  }
  for (Channel* each : channels_) delete each;
  for (Listener* each : listeners_) delete each;
  ::close(wake_);
}

// ---- channels

Listener* Engine::listen() {
  const std::lock_guard guard(lock_);
  auto* const listener = new Listener{.engine = this, .number = net::random_number() | kListens, .hello = {}};
  listeners_.insert(listener);
  post_hello(*listener);
  return listener;
}

void Engine::post_hello(Listener& listener) {
  wire_->rdm().receive({.tagged = true,
                        .tag = listener.number,
                        .to = place_of(&listener.hello),
                        .bytes = sizeof(Hello),
                        .context = context_of(&listener) | 1});
}

Channel* Engine::connect(const net::Address& to, std::uint64_t listener) {
  const std::lock_guard guard(lock_);
  auto channel = std::make_unique<Channel>();
  channel->engine = this;
  channel->sends = true;
  channel->peer = wire_->peer_at(to);
  channel->lost = wire_->lost(channel->peer);
  channel->number = ++drawn_ & 0x7FFFFFFF;
  do channel->key = net::random_number() >> 1;
  while (!wire_->rdm().add_region(
      channel->key,
      {.bytes = sizeof(channel->wanted), .place = place_of(&channel->wanted), .readable = true, .writable = true}));
  const Hello hello{kMagic, channel->number, channel->key};
  const bool sent = wire_->rdm().send({.peer = channel->peer,
                                       .tagged = true,
                                       .tag = listener,
                                       .from = place_of(&hello),
                                       .bytes = sizeof hello,
                                       .inject = true,
                                       .quiet = true});
  if (!sent) {
    wire_->rdm().remove_region(channel->key);
    return nullptr;
  }
  channels_.insert(channel.get());
  move();
  return channel.release();
}

Channel* Engine::accept(Listener& listener) {
  const std::lock_guard guard(lock_);
  move();
  if (!listener.came) return nullptr;
  listener.came = false;
  const Hello hello = listener.hello;
  post_hello(listener);
  if (hello.magic != kMagic || hello.number >> 31 != 0) return nullptr;  // nobody who speaks our language
  auto* const channel = new Channel;
  channel->engine = this;
  channel->peer = listener.peer;
  channel->lost = wire_->lost(listener.peer);
  channel->number = hello.number;
  channel->key = hello.key;
  channels_.insert(channel);
  return channel;
}

void Engine::close(Channel* channel) {
  const std::lock_guard guard(lock_);
  bool held = false;
  for (Request& each : channel->requests) {
    if (!each.used || each.done.load()) continue;
    if (channel->sends || !wire_->rdm().cancel(true, context_of(&each))) held = true;
  }
  move();  // the ends of those that were canceled name the channel
  // Bytes are under way from or to memory that is not ours from here on: that can only be ended with the connection.
  if (held) {
    wire_->drop(channel->peer, "its channel was closed in mid-transfer");
    move();
  }
  if (channel->sends)
    while (!wire_->rdm().remove_region(channel->key)) move();
  std::erase(owing_, channel);
  channels_.erase(channel);
  delete channel;
}

void Engine::close(Listener* listener) {
  const std::lock_guard guard(lock_);
  wire_->rdm().cancel(true, context_of(listener) | 1);
  move();  // what was told of it names it
  listeners_.erase(listener);
  delete listener;
}

// ---- messages

Request* Engine::free_request(Channel& channel) {
  for (Request& each : channel.requests) {
    if (each.used) continue;
    each.channel = &channel;
    each.used = true;
    each.done.store(false, std::memory_order_relaxed);
    each.error = Error::none;
    each.bytes = 0;
    return &each;
  }
  return nullptr;
}

Request* Engine::send(Channel& channel, const void* from, std::uint64_t bytes) {
  const std::lock_guard guard(lock_);
  if (channel.wanted <= channel.next) {
    move();
    if (channel.wanted <= channel.next) return nullptr;
  }
  Request* const request = free_request(channel);
  if (request == nullptr) return nullptr;
  const bool taken = wire_->rdm().send({.peer = channel.peer,
                                        .tagged = true,
                                        .tag = tag_of(channel),
                                        .from = place_of(from),
                                        .bytes = bytes,
                                        .context = context_of(request)});
  if (!taken) {
    request->used = false;
    return nullptr;
  }
  ++channel.next;
  wire_->push();
  return request;
}

Request* Engine::receive(Channel& channel, void* to, std::uint64_t bytes) {
  const std::lock_guard guard(lock_);
  Request* const request = free_request(channel);
  if (request == nullptr) return nullptr;
  wire_->rdm().receive({.peer = channel.peer,
                        .tagged = true,
                        .tag = tag_of(channel),
                        .to = place_of(to),
                        .bytes = bytes,
                        .context = context_of(request)});
  ++channel.next;
  if (!std::exchange(channel.owes, true)) owing_.push_back(&channel);
  pay();
  wire_->push();
  return request;
}

// Tells senders how many messages may come.
void Engine::pay() {
  std::erase_if(owing_, [&](Channel* channel) {
    if (!lost_it(*channel) && !wire_->rdm().atomic({.peer = channel->peer,
                                                    .op = transport::rdm::AtomicOp::max,
                                                    .type = transport::rdm::AtomicType::u64,
                                                    .operand = place_of(&channel->next),
                                                    .target = {0, channel->key},
                                                    .quiet = true}))
      return false;
    channel->owes = false;
    return true;
  });
}

bool Engine::test(Request& request) {
  if (!request.done.load(std::memory_order_acquire)) {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock()) return false;  // the helper is at it
    move();
    if (!request.done.load(std::memory_order_acquire)) return false;
  }
  return true;
}

std::string Engine::why_lost(const Channel& channel) {
  const std::lock_guard guard(lock_);
  return wire_->node().address_of(channel.peer).text() + ": " + wire_->why_lost(channel.peer);
}

std::string Engine::summary() {
  const std::lock_guard guard(lock_);
  if (!channels_.empty()) return {};
  const net::NodeCounters& udp = wire_->node().counters();
  return fmt::format(
      "at {}: {} messages of {} bytes sent, {} of {} received; {} datagrams of {} bytes sent by "
      "UDP, {} bytes by shared memory",
      wire_->address().text(), counts_.sent, counts_.bytes_sent, counts_.received, counts_.bytes_received,
      udp.datagrams_out, udp.bytes_out, wire_->shared_counters().bytes_out);
}

// ---- progress

void Engine::move() {
  if (!owing_.empty()) pay();
  wire_->progress();
  if (std::exchange(losses_, wire_->losses()) != losses_)
    for (Channel* each : channels_) each->gone = lost_it(*each);
  std::vector<Completion>& ends = wire_->rdm().completions();
  for (std::size_t i = 0; i < ends.size(); ++i) tell(ends[i]);
  ends.clear();
}

void Engine::tell(const Completion& completion) {
  if (completion.context == 0) return;  // what was said of a channel did not arrive: it is lost with its peer
  if (completion.context & 1) {
    auto* const listener =
        reinterpret_cast<Listener*>(static_cast<std::uintptr_t>(completion.context & ~std::uint64_t{1}));
    if (completion.error == Error::canceled) return;
    listener->came = true;
    listener->peer = completion.peer;
    if (completion.bytes != sizeof(Hello) || completion.error != Error::none) listener->hello = {};
    return;
  }
  auto* const request = reinterpret_cast<Request*>(static_cast<std::uintptr_t>(completion.context));
  request->error = completion.error;
  request->bytes = completion.bytes;
  request->done.store(true, std::memory_order_release);
  if (completion.error != Error::none) return;
  const bool sent = completion.kind == Completion::Kind::sent;
  ++(sent ? counts_.sent : counts_.received);
  (sent ? counts_.bytes_sent : counts_.bytes_received) += completion.bytes;
}

// Also for peers, while NCCL calls nothing: a process whose GPU computes is alive.
void Engine::help() {
  while (!stopping_) {
    Instant wake = 0;
    {
      const std::lock_guard guard(lock_);
      move();
      if (wire_->rest()) wake = wire_->timer();
    }
    const Instant left = std::clamp<Instant>(wake - net::Node::now(), 0, kLongestSleep);
    pollfd wait[2] = {{wake_, POLLIN, 0}, {wire_->fd(), POLLIN, 0}};
    timespec time{};
    time.tv_nsec = left / 1000;
    ppoll(wait, 2, &time, nullptr);
  }
}

}  // namespace weft::nccl
