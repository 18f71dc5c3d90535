#include "traffic/tcp.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>  // tcp_info with all it has; netinet/tcp.h's ends early
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/big_endian.hpp"
#include "traffic/messages.hpp"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

namespace weft::traffic {
namespace {

using net::Address;
using net::Descriptor;
using net::kMillisecond;
using net::kSecond;
using net::Node;

constexpr std::size_t kHeader = 24;
constexpr std::size_t kChunk = 256 << 10;
constexpr std::size_t kMostFlows = 1024;
constexpr std::uint64_t kMostReport = 1 << 20;
constexpr int kOn = 1;

std::string trouble(const char* what, const Address& address) {
  return fmt::format("cannot {} {}: {}", what, address.text(), std::strerror(errno));
}

// One end of a connection: messages out of the pool, or a text; messages in, compared as they come.
class Flow {
 public:
  Flow(Descriptor fd, const Pool& pool) : fd_(std::move(fd)), pool_(pool), room_(kChunk) {
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  }
  int fd() const { return fd_.get(); }
  bool over() const { return over_; }
  bool wants_out() const { return !out_.empty(); }
  std::uint64_t written() const { return written_; }

  void send(Kind kind, std::uint64_t number, std::uint64_t bytes, std::string text = {}) {
    Out out;
    put(std::span<std::uint8_t>(out.header), 0, static_cast<std::uint8_t>(kind));
    put(std::span<std::uint8_t>(out.header), 8, number);
    out.bytes = text.empty() ? bytes : text.size();
    put(std::span<std::uint8_t>(out.header), 16, out.bytes);
    out.number = number;
    out.text = std::move(text);
    out_.push_back(std::move(out));
  }

  void write() {
    while (!out_.empty() && !over_) {
      Out& out = out_.front();
      const char* const bytes =
          out.text.empty() ? reinterpret_cast<const char*>(pool_.view(out.number, out.bytes).data()) : out.text.data();
      std::array<iovec, 2> parts{};
      int count = 0;
      if (out.done < kHeader)
        parts[static_cast<std::size_t>(count++)] = {out.header.data() + out.done, kHeader - out.done};
      const std::size_t from = out.done < kHeader ? 0 : out.done - kHeader;
      if (from < out.bytes)
        parts[static_cast<std::size_t>(count++)] = {const_cast<char*>(bytes) + from,
                                                    static_cast<std::size_t>(out.bytes) - from};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = static_cast<std::size_t>(count);
      const ssize_t sent = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        if (errno == EINTR) continue;
        over_ = errno != EAGAIN && errno != EWOULDBLOCK;
        return;
      }
      out.done += static_cast<std::size_t>(sent);
      written_ += static_cast<std::uint64_t>(sent);
      if (out.done == kHeader + out.bytes) out_.pop_front();
    }
  }

  struct Came {
    Kind kind;
    std::uint64_t number;
    std::uint64_t bytes;
    bool right;
    std::string text;  // of a report
  };
  template <class Each>
  void read(Each each) {
    for (int i = 0; i < 8 && !over_; ++i) {
      const ssize_t got = recv(fd(), room_.data(), room_.size(), MSG_DONTWAIT);
      if (got < 0) {
        if (errno == EINTR) continue;
        over_ = errno != EAGAIN && errno != EWOULDBLOCK;
        return;
      }
      if (got == 0) over_ = true;
      take(std::span(room_).first(static_cast<std::size_t>(got)), each);
    }
  }

 private:
  struct Out {
    std::array<std::uint8_t, kHeader> header{};
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::string text;
    std::size_t done = 0;
  };

  template <class Each>
  void take(std::span<const std::uint8_t> rest, Each each) {
    while (!rest.empty()) {
      if (in_header_ < kHeader) {
        const std::size_t some = std::min(kHeader - in_header_, rest.size());
        std::copy_n(rest.begin(), some, header_.begin() + static_cast<std::ptrdiff_t>(in_header_));
        in_header_ += some;
        rest = rest.subspan(some);
        if (in_header_ < kHeader) return;
        in_ = {
            static_cast<Kind>(header_[0]), get<std::uint64_t>(header_, 8), get<std::uint64_t>(header_, 16), true, {}};
        in_done_ = 0;
        const bool report = in_.kind == Kind::report;
        if (header_[0] > static_cast<std::uint8_t>(Kind::report) ||
            in_.bytes > (report ? kMostReport : kLongestMessage)) {
          over_ = true;  // nonsense
          return;
        }
      }
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(in_.bytes - in_done_, rest.size()));
      const auto part = std::as_bytes(rest.first(some));
      if (in_.kind == Kind::report) {
        in_.text.append(reinterpret_cast<const char*>(part.data()), part.size());
      } else {
        in_.right = in_.right && pool_.is(in_.number, part, static_cast<std::size_t>(in_done_));
      }
      in_done_ += some;
      rest = rest.subspan(some);
      if (in_done_ < in_.bytes) return;
      in_header_ = 0;
      each(in_);
    }
  }

  Descriptor fd_;
  const Pool& pool_;
  std::vector<std::uint8_t> room_;
  std::deque<Out> out_;
  std::uint64_t written_ = 0;
  std::array<std::uint8_t, kHeader> header_{};
  std::size_t in_header_ = 0;
  Came in_{};
  std::uint64_t in_done_ = 0;
  bool over_ = false;
};

Descriptor tcp_socket(int family, bool several) {
  return Descriptor(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, several ? IPPROTO_MPTCP : IPPROTO_TCP));
}

// ---- the server's side

struct Served {
  Flow flow;
  Measured measured;
  std::uint64_t next = 0;

  void take(const Flow::Came& came) {
    if (came.kind == Kind::data || came.kind == Kind::request) {
      // Nothing comes twice or too early: that is what TCP is for.
      measured.repeated += came.number != next;
      next = came.number + 1;
      measured.wrong += !came.right;
      measured.add(Node::now(), came.bytes);
    }
    if (came.kind == Kind::request) flow.send(Kind::response, came.number, came.bytes);
    if (came.kind == Kind::ask) flow.send(Kind::report, 0, 0, to_json(measured));
  }
};

}  // namespace

Result<std::unique_ptr<TcpServer>, std::string> TcpServer::open(const Address& local, const Pool& pool) {
  Descriptor listener = tcp_socket(local.family(), true);
  if (listener.get() < 0) listener = tcp_socket(local.family(), false);  // a kernel without MPTCP
  if (listener.get() < 0) return Failure<std::string>(trouble("open a TCP socket for", local));
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  if (local.family() == AF_INET6) setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kOn, sizeof kOn);
  if (bind(listener.get(), local.get(), local.length()) != 0 || listen(listener.get(), 128) != 0)
    return Failure<std::string>(trouble("listen by TCP at", local));
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  return std::unique_ptr<TcpServer>(
      new TcpServer(std::move(listener), Address(reinterpret_cast<const sockaddr*>(&bound), length), pool));
}

TcpServer::TcpServer(Descriptor listener, const Address& local, const Pool& pool)
    : listener_(std::move(listener)), local_(local), pool_(pool), thread_([this] { serve(); }) {}

TcpServer::~TcpServer() {
  stop_ = true;
  thread_.join();
}

void TcpServer::serve() {
  std::vector<std::unique_ptr<Served>> served;
  std::vector<pollfd> polls;
  while (!stop_) {
    polls.assign(1, {listener_.get(), static_cast<short>(served.size() < kMostFlows ? POLLIN : 0), 0});
    for (const auto& each : served)
      polls.push_back({each->flow.fd(), static_cast<short>(POLLIN | (each->flow.wants_out() ? POLLOUT : 0)), 0});
    poll(polls.data(), polls.size(), 100);
    for (std::size_t i = 0; i < served.size(); ++i) {
      Served& each = *served[i];
      if (polls[i + 1].revents == 0) continue;
      each.flow.read([&](const Flow::Came& came) { each.take(came); });
      each.flow.write();
    }
    std::erase_if(served, [](const auto& each) { return each->flow.over(); });
    if (polls[0].revents == 0) continue;
    Descriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() >= 0) served.push_back(std::make_unique<Served>(Served{Flow(std::move(fd), pool_), {}, 0}));
  }
}

// ---- the client's

namespace {

struct Sending {
  Flow flow;
  std::uint64_t next = 0;
  std::uint64_t answered = 0;
  Instant asked_at = 0;
  bool reported = false;
  Measured received;
};

class TcpClients {
 public:
  explicit TcpClients(const ClientOptions& options) : options_(options), pool_(options.size) {}
  ClientResult run(const std::function<bool(const Progress&)>& each_second);

 private:
  bool open();
  bool connect_one();
  void offer(Sending& flow, Instant now, Instant& wake);
  bool turn(Instant until, bool offering, bool finished(const Sending&));
  bool done(const Sending& flow) const { return stopped_ || (options_.messages > 0 && flow.next >= options_.messages); }
  void take(Sending& flow, const Flow::Came& came);
  std::vector<PathRow> paths();
  std::uint64_t written() const;
  void collect();

  const ClientOptions& options_;
  Pool pool_;
  std::deque<Sending> flows_;
  Instant began_ = 0;
  bool stopped_ = false;
  std::uint64_t wrong_ = 0;
  ClientResult result_;
};

bool TcpClients::connect_one() {
  const bool several = options_.transport == Transport::mptcp;
  Descriptor fd = tcp_socket(options_.server.family(), several);
  if (fd.get() < 0) {
    result_.failure =
        several ? "this kernel has no MPTCP (sysctl net.mptcp.enabled)" : trouble("open a socket for", options_.server);
    return false;
  }
  if (connect(fd.get(), options_.server.get(), options_.server.length()) != 0 && errno != EINPROGRESS) {
    result_.failure = trouble("connect to", options_.server);
    return false;
  }
  pollfd poll{fd.get(), POLLOUT, 0};
  int error = 0;
  socklen_t length = sizeof error;
  const int ready = ::poll(&poll, 1, 10'000);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (ready <= 0 || error != 0) {
    result_.failure = ready <= 0 ? "nobody answered" : std::strerror(error);
    return false;
  }
  flows_.push_back({Flow(std::move(fd), pool_), 0, 0, 0, false, {}});
  return true;
}

bool TcpClients::open() {
  for (std::uint32_t i = 0; i < options_.endpoints; ++i)
    if (!connect_one()) return false;
  return true;
}

std::uint64_t TcpClients::written() const {
  std::uint64_t bytes = 0;
  for (const Sending& each : flows_) bytes += each.flow.written();
  return bytes;
}

void TcpClients::offer(Sending& sending, Instant now, Instant& wake) {
  if (options_.pattern == Pattern::requests) {
    if (sending.next > sending.answered || done(sending)) return;
    sending.asked_at = now;
    sending.flow.send(Kind::request, sending.next++, options_.size);
    sending.flow.write();
    return;
  }
  while (!sending.flow.wants_out() && !done(sending)) {
    if (options_.rate > 0) {
      const Instant due = due_at(began_, sending.next, options_);
      if (due > now) {
        wake = std::min(wake, due);
        return;
      }
    }
    sending.flow.send(Kind::data, sending.next++, options_.size);
    sending.flow.write();
  }
}

void TcpClients::take(Sending& sending, const Flow::Came& came) {
  if (came.kind == Kind::response && came.number + 1 == sending.next && sending.answered < sending.next) {
    wrong_ += !came.right;
    result_.round_trips.emplace_back(Node::now() - sending.asked_at);
    ++sending.answered;
  }
  if (came.kind == Kind::report) sending.reported = from_json(came.text, sending.received);
}

bool TcpClients::turn(Instant until, bool offering, bool finished(const Sending&)) {
  std::vector<pollfd> polls;
  for (;;) {
    const Instant now = Node::now();
    if (now >= until) return false;
    Instant wake = std::min(until, now + kSecond);
    bool all = true;
    polls.clear();
    for (Sending& each : flows_) {
      each.flow.write();
      each.flow.read([&](const Flow::Came& came) { take(each, came); });
      // Behind what was written: a flow with nothing to write is not looked at again when there is room.
      if (offering) offer(each, Node::now(), wake);
      if (each.flow.over()) {
        result_.failure = "it has ended";
        return false;
      }
      all = all && finished(each) && (!offering || done(each));
      polls.push_back({each.flow.fd(), static_cast<short>(POLLIN | (each.flow.wants_out() ? POLLOUT : 0)), 0});
    }
    if (all) return true;
    const Instant left = wake - Node::now();
    if (left <= 0) continue;
    const timespec time{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond / 1000)};
    ppoll(polls.data(), polls.size(), &time, nullptr);
  }
}

// A flow is a path here: the kernel knows what it went through.
std::vector<PathRow> TcpClients::paths() {
  std::vector<PathRow> rows;
  for (const Sending& each : flows_) {
    PathRow row;
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    getsockname(each.flow.fd(), reinterpret_cast<sockaddr*>(&bound), &length);
    row.port = Address(reinterpret_cast<const sockaddr*>(&bound), length).port();
    row.health.bytes = each.flow.written();
    tcp_info info{};
    length = sizeof info;
    if (getsockopt(each.flow.fd(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
      row.health.packets = info.tcpi_segs_out;
      row.health.lost = info.tcpi_total_retrans;
      row.health.arrived = row.health.packets - std::min<std::uint64_t>(row.health.packets, row.health.lost);
      row.health.smooth_rtt = microseconds(info.tcpi_rtt);
      row.health.least_rtt = microseconds(info.tcpi_min_rtt);
    }
    rows.push_back(row);
  }
  return rows;
}

ClientResult TcpClients::run(const std::function<bool(const Progress&)>& each_second) {
  if (!open()) return std::move(result_);
  wait_until(options_.start_at);
  result_.began = realtime_ns();
  began_ = Node::now();
  const Instant until = options_.messages > 0 ? transport::kNever : began_ + options_.duration.count();
  const auto quiet = [](const Sending& each) { return each.answered == each.next; };
  const auto written_all = [](const Sending& each) { return !each.flow.wants_out(); };
  const bool requests = options_.pattern == Pattern::requests;
  bool going = true;
  while (going && result_.failure.empty()) {
    const Instant slice = std::min(until, Node::now() + kSecond);
    going = !turn(slice, true, requests ? +quiet : +written_all) && Node::now() < until && result_.failure.empty() &&
            each_second({Duration(Node::now() - began_), written(), paths()});
  }
  stopped_ = true;
  for (Sending& each : flows_) each.flow.send(Kind::ask, 0, 0);
  if (result_.failure.empty() &&
      !turn(Node::now() + 60 * kSecond, false, [](const Sending& each) { return each.reported; }) &&
      result_.failure.empty())
    result_.failure = "the server did not say what it received";
  result_.ended = realtime_ns();
  collect();
  return std::move(result_);
}

void TcpClients::collect() {
  result_.acknowledged = written();
  for (const Sending& each : flows_) result_.received.merge(each.received, flows_.size() == 1);
  result_.received.wrong += wrong_;
  result_.paths = paths();
  for (const PathRow& row : result_.paths) {
    result_.srd.data_sent += row.health.packets;
    result_.srd.data_resent += row.health.lost;
  }
}

}  // namespace

ClientResult run_tcp_client(const ClientOptions& options, const std::function<bool(const Progress&)>& each_second) {
  return TcpClients(options).run(each_second);
}

}  // namespace weft::traffic
