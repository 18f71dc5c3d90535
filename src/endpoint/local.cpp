#include "endpoint/local.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "net/control.hpp"

namespace weft::endpoint {

using net::Descriptor;
using transport::Instant;
using transport::kNone;
using transport::rdm::Outgoing;
using transport::rdm::Sink;

// In the ring, before the envelope and what follows it; each is a multiple of 8 bytes long.
struct Local::Record {
  enum class Kind : std::uint32_t { whole = 1, direct, begins, part } kind;
  std::uint32_t envelope;  // bytes of it
  std::uint64_t bytes;     // of the message; part: of this part
};

namespace {

constexpr std::uint32_t kMagic = 0x77666c32;   // of a greeting, with its version
constexpr std::uint64_t kCopied = 8192;        // bytes of payload that go through the ring by themselves
constexpr std::uint64_t kPart = 32768;         // of a part, at most
static_assert(kPart + 1024 < kRingBytes / 2);  // so that who waits for room leaves more than half unread
constexpr Instant kLookEvery = 50'000'000;     // ps: at sockets, while something is asked of us all the time
constexpr int kAtOnce = 64;                    // records of one ring before the next one's turn
constexpr int kLast = 1 << 14;                 // turns of a ring whose writer has gone: more than it can hold

struct Greeting {
  std::uint32_t magic;
  std::uint32_t length;  // of the address
  std::uint64_t probe_at;
  std::uint64_t probe;
  std::uint8_t address[sizeof(sockaddr_in6)];
};

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

// Abstract, and so of the network namespace: an address there is nobody else's.
socklen_t name_of(const net::Address& address, sockaddr_un& out) {
  out = {};
  out.sun_family = AF_UNIX;
  const std::string text = "weft/" + address.text();
  const std::size_t length = std::min(text.size(), sizeof out.sun_path - 1);
  std::memcpy(out.sun_path + 1, text.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool stands_for_all(const net::Address& address) {
  return std::ranges::all_of(address.ip(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::unique_ptr<Local> Local::open(const net::Address& own, transport::rdm::Layer& layer, Owner& owner, bool direct) {
  if (stands_for_all(own)) return nullptr;
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un name;
  const socklen_t length = name_of(own, name);
  if (listener.get() < 0 || bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
      listen(listener.get(), 4096) != 0)
    return nullptr;
  return std::unique_ptr<Local>(new Local(layer, owner, std::move(listener), own, direct));
}

Local::Local(transport::rdm::Layer& layer, Owner& owner, Descriptor listener, const net::Address& own, bool direct)
    : layer_(layer),
      owner_(owner),
      own_(own),
      listener_(std::move(listener)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      direct_(direct),
      probe_(net::random_number()) {
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event);
}

Local::~Local() = default;

// ---- links

bool Local::reaches(std::uint32_t peer, const net::Address& address) {
  if (peer >= ways_.size()) ways_.resize(peer + 1, Way::unknown);
  if (ways_[peer] == Way::unknown) ways_[peer] = connect(peer, address) ? Way::local : Way::other;
  return ways_[peer] == Way::local;
}

bool Local::connect(std::uint32_t peer, const net::Address& address) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un name;
  const socklen_t length = name_of(address, name);
  if (socket.get() < 0 || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0) return false;
  ucred other{};
  socklen_t size = sizeof other;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) != 0 || other.uid != geteuid()) return false;
  const Descriptor memory(make_ring_memory());
  auto ring = memory.get() >= 0 ? Ring::map(memory.get()) : std::nullopt;
  if (!ring) return false;
  Greeting greeting{
      kMagic, static_cast<std::uint32_t>(own_.length()), reinterpret_cast<std::uintptr_t>(&probe_), probe_, {}};
  std::memcpy(greeting.address, own_.get(), own_.length());
  iovec part{&greeting, sizeof greeting};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = memory.get();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  if (sendmsg(socket.get(), &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof greeting)) return false;
  auto out = std::make_unique<Out>();
  out->socket = std::move(socket);
  out->ring = std::move(*ring);
  out->peer = peer;
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, out->socket.get(), &event);
  out_[peer] = std::move(out);
  return true;
}

void Local::accept() {
  while (true) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) return;
    ucred other{};
    socklen_t size = sizeof other;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) != 0 || other.uid != geteuid()) continue;
    auto in = std::make_unique<In>();
    in->process = other.pid;
    in->socket = std::move(socket);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, in->socket.get(), &event);
    in_.push_back(std::move(in));
  }
}

// The first thing that a link brings: who it is from, and its ring. False: it brings something else.
bool Local::greet(In& in) {
  Greeting greeting{};
  iovec part{&greeting, sizeof greeting};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(in.socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  std::vector<Descriptor> given;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + CMSG_LEN(sizeof(int)) <= each->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(each) + at, sizeof fd);
      given.emplace_back(fd);
    }
  }
  if (got != static_cast<ssize_t>(sizeof greeting) || greeting.magic != kMagic || given.size() != 1) return false;
  if (greeting.length != sizeof(sockaddr_in) && greeting.length != sizeof(sockaddr_in6)) return false;
  auto ring = Ring::map(given.front().get());
  if (!ring) return false;
  sockaddr_storage storage{};
  std::memcpy(&storage, greeting.address, greeting.length);
  const std::uint32_t peer = owner_.peer_at(net::Address(reinterpret_cast<const sockaddr*>(&storage), greeting.length));
  if (peer >= ways_.size()) ways_.resize(peer + 1, Way::unknown);
  // A link of before is another life of the peer's: it ends first. Ours to it has ended if the peer has closed it.
  const bool again = std::ranges::any_of(in_, [&](const auto& each) { return each->peer == peer; });
  const auto ours = out_.find(peer);
  if (again || (ours != out_.end() && hung_up(ours->second->socket.get()))) fail(peer);
  owner_.local_begins(peer);
  if (ways_[peer] == Way::other) ways_[peer] = Way::unknown;
  in.ring = std::move(*ring);
  in.peer = peer;
  std::uint64_t found = 0;
  iovec here{&found, sizeof found};
  iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(greeting.probe_at)), sizeof found};
  in.direct =
      direct_ && process_vm_readv(in.process, &here, 1, &there, 1, 0) == sizeof found && found == greeting.probe;
  in.ring.head().direct.store(in.direct ? 1 : 2, std::memory_order_release);
  ring_bell(in.ring.head().writer_sleeps, in.socket.get());
  return true;
}

bool Local::hung_up(int fd) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLHUP | POLLERR)) != 0;
}

// At the sockets: who came, who is gone, who rang.
void Local::look() {
  std::array<epoll_event, 64> events;
  if (epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0) <= 0) return;
  accept();
  std::array<char, 64> rung;
  const auto closed = [&](int fd) {
    ssize_t got = 0;
    while ((got = recv(fd, rung.data(), rung.size(), MSG_DONTWAIT)) > 0) {
    }
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  };
  for (std::size_t i = 0; i < in_.size(); ++i) {  // which may grow meanwhile
    In& in = *in_[i];
    if (in.ended) continue;
    if (in.peer == kNone && !greet(in)) in.ended = true;
    if (!in.ended && in.peer != kNone) in.ended = closed(in.socket.get());
    if (in.ended) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, in.socket.get(), nullptr);
  }
  std::erase_if(in_, [](const auto& each) { return each->ended && each->peer == kNone; });
  for (const auto& [peer, out] : out_)
    if (closed(out->socket.get())) failed_.push_back(peer);
}

bool Local::has(std::uint32_t peer) const {
  return out_.contains(peer) || std::ranges::any_of(in_, [&](const auto& each) { return each->peer == peer; });
}

void Local::drop(std::uint32_t peer) {
  out_.erase(peer);
  std::erase_if(in_, [&](const auto& each) { return each->peer == peer; });
  forget(peer);
}

void Local::forget(std::uint32_t peer) {
  if (peer < ways_.size()) ways_[peer] = Way::unknown;
}

void Local::fail(std::uint32_t peer) {
  drop(peer);
  owner_.local_failed(peer);
}

// ---- what goes out

void Local::ring_bell(std::atomic<std::uint32_t>& sleeps, int fd) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sleeps.load(std::memory_order_relaxed) == 0 || sleeps.exchange(0) == 0) return;
  (void)!::send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Local::send(const Outgoing& message) {
  Out& out = *out_[message.peer];
  ++counters_.messages_out;
  counters_.bytes_out += message.bytes;
  Waiting what{message};
  const bool alone = out.waiting.empty();
  const bool put_one = alone && put(out, what);
  if (put_one && !(what.begun && what.done < message.bytes))
    return ring_bell(out.ring.head().reader_sleeps, out.socket.get());
  out.waiting.push_back(what);
  give(out);
}

// False: nothing could be given.
bool Local::give(Out& out) {
  bool given = false;
  while (!out.waiting.empty() && put(out, out.waiting.front())) {
    given = true;
    const Waiting& first = out.waiting.front();
    if (first.begun && first.done < first.message.bytes) continue;
    out.waiting.pop_front();
  }
  if (given) ring_bell(out.ring.head().reader_sleeps, out.socket.get());
  return given;
}

// One record of a message. What was copied has been sent, as far as its memory goes.
bool Local::put(Out& out, Waiting& what) {
  const Outgoing& message = what.message;
  Record record{Record::Kind::whole, message.envelope.size, message.bytes};
  std::size_t size = sizeof record + padded(message.envelope.size);
  const std::uint32_t direct = message.bytes <= kCopied ? 0 : out.ring.head().direct.load(std::memory_order_acquire);
  if (message.bytes <= kCopied) {
    std::byte* to = out.ring.room(size + padded(message.bytes));
    if (to == nullptr) return false;
    std::memcpy(to, &record, sizeof record);
    std::memcpy(to + sizeof record, message.envelope.bytes.data(), message.envelope.size);
    if (message.bytes > 0) std::memcpy(to + size, owner_.bytes_at(message.payload), message.bytes);
    out.ring.produce(size + padded(message.bytes));
    // Behind those that the reader has to fetch: ends are told in any order.
    layer_.sent(now_, message.context);
    return true;
  }
  if (direct == 0) return false;  // the reader has not said yet
  if (direct == 1) {
    record.kind = Record::Kind::direct;
    std::byte* to = out.ring.room(size + 8);
    if (to == nullptr) return false;
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(owner_.bytes_at(message.payload));
    std::memcpy(to, &record, sizeof record);
    std::memcpy(to + sizeof record, message.envelope.bytes.data(), message.envelope.size);
    std::memcpy(to + size, &address, sizeof address);
    out.ring.produce(size + 8);
    out.held.push_back({out.ring.produced(), message.context, message.bytes});
    return true;
  }
  if (!what.begun) {
    record.kind = Record::Kind::begins;
    std::byte* to = out.ring.room(size);
    if (to == nullptr) return false;
    std::memcpy(to, &record, sizeof record);
    std::memcpy(to + sizeof record, message.envelope.bytes.data(), message.envelope.size);
    out.ring.produce(size);
    what.begun = true;
    return true;
  }
  const std::uint64_t bytes = std::min(kPart, message.bytes - what.done);
  record = {Record::Kind::part, 0, bytes};
  std::byte* to = out.ring.room(sizeof record + padded(bytes));
  if (to == nullptr) return false;
  std::memcpy(to, &record, sizeof record);
  std::memcpy(to + sizeof record, owner_.bytes_at(message.payload) + what.done, bytes);
  out.ring.produce(sizeof record + padded(bytes));
  what.done += bytes;
  if (what.done == message.bytes) layer_.sent(now_, message.context);
  return true;
}

// The reader has fetched what lies before its place.
void Local::passed(Out& out) {
  const std::uint64_t consumed = out.ring.consumed();
  while (!out.held.empty() && out.held.front().end <= consumed) {
    const Held held = out.held.front();
    out.held.pop_front();
    layer_.sent(now_, held.context);
  }
}

// ---- what comes in

// False: there was nothing.
bool Local::take(In& in) {
  bool taken = false;
  for (int i = 0; i < kAtOnce; ++i) {
    const std::size_t available = in.ring.available();
    if (available == 0) break;
    taken = true;
    if (!take_one(in, available)) {
      failed_.push_back(in.peer);
      return true;
    }
  }
  if (in.ring.broken()) failed_.push_back(in.peer);
  // Whoever found no room for the longest record left more than half of the ring unread: at a quarter is soon enough.
  if (taken && (in.awaited || in.ring.place() - in.looked_after >= kRingBytes / 4)) {
    in.awaited = false;
    in.looked_after = in.ring.place();
    ring_bell(in.ring.head().writer_sleeps, in.socket.get());
  }
  return taken;
}

// False: no honest peer writes that.
bool Local::take_one(In& in, std::size_t available) {
  Record record;
  if (available < sizeof record) return false;
  const std::byte* from = in.ring.front();
  std::memcpy(&record, from, sizeof record);
  from += sizeof record;
  if (record.envelope > transport::rdm::kMostEnvelope) return false;
  std::size_t size = sizeof record + padded(record.envelope);
  if (size > available) return false;
  std::array<std::byte, transport::rdm::kMostEnvelope> copy;
  std::memcpy(copy.data(), from, record.envelope);
  const std::span<const std::byte> envelope(copy.data(), record.envelope);
  from += padded(record.envelope);
  const std::size_t left = available - size;
  switch (record.kind) {
    case Record::Kind::whole: {
      if (in.open || record.bytes > left || padded(record.bytes) > left || !begin(in, record, envelope)) return false;
      const std::uint64_t bytes = std::min(record.bytes, in.sink.room);
      if (bytes > 0) std::memcpy(in.bytes, from, bytes);
      in.ring.consume();
      finish(in);
      return true;
    }
    case Record::Kind::direct: {
      std::uint64_t address = 0;
      if (in.open || !in.direct || left < sizeof address) return false;
      std::memcpy(&address, from, sizeof address);
      if (!begin(in, record, envelope)) return false;
      std::uint64_t bytes = std::min(record.bytes, in.sink.room);
      for (std::byte* to = in.bytes; bytes > 0;) {
        iovec here{to, bytes};
        iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};
        const ssize_t got = process_vm_readv(in.process, &here, 1, &there, 1, 0);
        if (got <= 0) return false;  // it has died, or said an address that is not its own
        to += got;
        address += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::uint64_t>(got);
      }
      ++counters_.direct;
      in.awaited = true;
      in.ring.consume();
      finish(in);
      return true;
    }
    case Record::Kind::begins:
      if (in.open || record.bytes == 0 || !begin(in, record, envelope)) return false;
      in.open = true;
      in.ring.consume();
      return true;
    case Record::Kind::part: {
      if (!in.open || record.bytes > kPart || record.bytes == 0 || padded(record.bytes) > left ||
          record.bytes > in.size - in.done)
        return false;
      if (in.done < in.sink.room) std::memcpy(in.bytes + in.done, from, std::min(record.bytes, in.sink.room - in.done));
      in.done += record.bytes;
      in.ring.consume();
      if (in.done == in.size) {
        in.open = false;
        finish(in);
      }
      return true;
    }
  }
  return false;
}

bool Local::begin(In& in, const Record& record, std::span<const std::byte> envelope) {
  in.sink = layer_.arrived(now_, in.peer, envelope, record.bytes);
  if (in.sink.kind == Sink::Kind::refused) return false;
  in.bytes = in.sink.room > 0 ? owner_.bytes_at(in.sink.place) : nullptr;
  in.size = record.bytes;
  in.done = 0;
  return true;
}

void Local::finish(In& in) {
  ++counters_.messages_in;
  counters_.bytes_in += in.size;
  layer_.landed(now_, in.peer, in.sink.context);
}

// ---- progress

bool Local::progress(Instant now) {
  now_ = now;
  if (resting_ || now - looked_ >= kLookEvery) {
    resting_ = false;
    looked_ = now;
    look();
  }
  bool moved = false;
  for (const auto& in : in_) {
    if (in->peer == kNone) continue;
    const bool taken = take(*in);
    moved |= taken;
    if (in->ended && !taken) failed_.push_back(in->peer);
  }
  for (const auto& [peer, out] : out_) {
    if (!out->held.empty()) passed(*out);
    if (!out->waiting.empty()) moved |= give(*out);
    if (out->ring.broken()) failed_.push_back(peer);
  }
  while (!failed_.empty()) {
    const std::uint32_t peer = failed_.back();
    failed_.pop_back();
    const bool there = has(peer);
    // What the peer wrote before it went still counts.
    for (const auto& in : in_)
      for (int i = 0; i < kLast && in->peer == peer && take(*in) && std::ranges::find(failed_, peer) == failed_.end();
           ++i) {
      }
    std::erase(failed_, peer);
    if (there) fail(peer);
  }
  return moved;
}

bool Local::rest() {
  for (const auto& in : in_)
    if (in->peer != kNone) in->ring.head().reader_sleeps.store(1, std::memory_order_relaxed);
  for (const auto& [peer, out] : out_) out->ring.head().writer_sleeps.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  resting_ = true;
  for (const auto& in : in_)
    if (in->peer != kNone && (in->ring.available() > 0 || in->ended)) return false;
  for (const auto& [peer, out] : out_) {
    if (!out->held.empty() && out->held.front().end <= out->ring.consumed()) return false;
    // Room may have come: asking costs little.
    if (!out->waiting.empty() && out->ring.room(kPart + 256) != nullptr &&
        (out->waiting.front().message.bytes <= kCopied || out->ring.head().direct.load() != 0))
      return false;
  }
  return true;
}

bool Local::idle() const {
  return std::ranges::all_of(
      out_, [](const auto& each) { return each.second->waiting.empty() && each.second->held.empty(); });
}

}  // namespace weft::endpoint
