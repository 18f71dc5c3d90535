#pragma once
// A network in user space, for tests without privilege: packets between a client and a server on loopback pass through
// a relay that drops, repeats, damages and holds them back, by seed.
//
//   client 127.0.0.1:C ──► 127.0.0.2:S  relay  127.0.0.3:C ──► 127.0.0.1:S server
//                      ◄── 127.0.0.2     ...   127.0.0.3:C ◄──
//
// The server takes 127.0.0.3 for the client; C is learnt from the client's hello, as the server does.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <queue>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/big_endian.hpp"
#include "base/random.hpp"
#include "net/node.hpp"

namespace weft::traffic {

struct Fate {
  bool dropped = false;
  bool twice = false;
  bool damaged = false;
  std::int64_t held = 0;  // ps
};

class Relay {
 public:
  // Of a packet from this source port, to the server or back.
  using Decide = std::function<Fate(Random&, std::uint16_t port, bool to_server)>;

  Relay(const net::Address& server, std::uint64_t seed, Decide decide)
      : server_(server), random_(seed, 0, 0), decide_(std::move(decide)) {
    front_ = open(at("127.0.0.2", server.port()));
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    stop_ = true;
    thread_.join();
    close(front_);
    for (const auto& [port, fd] : backs_) close(fd);
  }
  net::Address address() const { return at("127.0.0.2", server_.port()); }
  // From now on, or no longer, packets of data and their acknowledgements vanish, and nothing else does.
  void let_pass_only_control(bool only) { only_control_ = only; }
  // From now on nothing that is longer gets through.
  void let_pass_up_to(std::size_t bytes) { longest_ = bytes; }
  std::uint64_t passed() const { return passed_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Held {
    std::int64_t due;
    std::uint64_t order;
    int fd;
    net::Address to;
    std::vector<std::uint8_t> bytes;
    bool operator>(const Held& other) const { return std::pair(due, order) > std::pair(other.due, other.order); }
  };

  static net::Address at(const char* host, std::uint16_t port) { return *net::Address::parse(host, port); }
  static int open(const net::Address& local) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    constexpr int kBuffer = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
    if (fd < 0 || bind(fd, local.get(), local.length()) != 0) throw std::runtime_error("no relay at " + local.text());
    return fd;
  }

  void run() {
    while (!stop_) {
      std::vector<pollfd> polls = {{front_, POLLIN, 0}};
      for (const auto& [port, fd] : backs_) polls.push_back({fd, POLLIN, 0});
      const std::int64_t left = held_.empty() ? 20 * net::kMillisecond : held_.top().due - net::Node::now();
      const timespec time{0, std::clamp<std::int64_t>(left, 0, 20 * net::kMillisecond) / 1000};
      ppoll(polls.data(), polls.size(), &time, nullptr);
      take(front_, true, 0);
      for (const auto& [port, fd] : backs_) take(fd, false, port);
      let_go();
    }
  }

  void take(int fd, bool to_server, std::uint16_t client) {
    std::vector<std::uint8_t> bytes(65536);
    for (int i = 0; i < 64; ++i) {
      sockaddr_storage from{};
      socklen_t length = sizeof from;
      const ssize_t got = recvfrom(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (got <= 0) return;
      const std::span<const std::uint8_t> packet(bytes.data(), static_cast<std::size_t>(got));
      const std::uint16_t port = net::Address(reinterpret_cast<const sockaddr*>(&from), length).port();
      if (to_server) {
        if (packet.size() >= net::kControlBytes && packet[1] == static_cast<std::uint8_t>(net::Control::hello))
          learn(port, get<std::uint16_t>(packet, 48));
        const auto known = clients_.find(port);
        // Whose first packet is no hello: by another path of somebody who has greeted.
        client = known != clients_.end() ? known->second : last_;
        if (!backs_.contains(client)) continue;
        pass(packet, backs_[client], server_, port, true);
      } else {
        pass(packet, front_, at("127.0.0.1", client), port, false);
      }
    }
  }
  void learn(std::uint16_t source, std::uint16_t client) {
    clients_[source] = last_ = client;
    if (!backs_.contains(client)) backs_[client] = open(at("127.0.0.3", client));
  }

  void pass(std::span<const std::uint8_t> packet, int fd, const net::Address& to, std::uint16_t port, bool to_server) {
    const Fate fate = decide_(random_, port, to_server);
    const bool control = packet.size() > 1 && packet[1] > static_cast<std::uint8_t>(transport::PacketType::ack);
    if (fate.dropped || (only_control_ && !control) || packet.size() > longest_) {
      ++dropped_;
      return;
    }
    for (int copy = 0; copy < (fate.twice ? 2 : 1); ++copy) {
      Held held{net::Node::now() + fate.held * (copy + 1), order_++, fd, to, {packet.begin(), packet.end()}};
      if (fate.damaged)
        held.bytes[random_.below(static_cast<std::uint32_t>(packet.size()))] ^=
            static_cast<std::uint8_t>(1u << random_.below(8));
      held_.push(std::move(held));
    }
  }

  void let_go() {
    while (!held_.empty() && held_.top().due <= net::Node::now()) {
      const Held& held = held_.top();
      passed_ += sendto(held.fd, held.bytes.data(), held.bytes.size(), 0, held.to.get(), held.to.length()) > 0;
      held_.pop();
    }
  }

  net::Address server_;
  Random random_;
  Decide decide_;
  int front_ = -1;
  std::map<std::uint16_t, int> backs_;              // by the client's port
  std::map<std::uint16_t, std::uint16_t> clients_;  // by source port
  std::uint16_t last_ = 0;
  std::priority_queue<Held, std::vector<Held>, std::greater<>> held_;
  std::uint64_t order_ = 0;
  std::atomic<std::uint64_t> passed_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> only_control_ = false;
  std::atomic<std::size_t> longest_ = 65536;
  std::thread thread_;
};

}  // namespace weft::traffic
