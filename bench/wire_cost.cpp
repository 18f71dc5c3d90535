// What a stream of messages over loopback costs, in things that can be counted: packets, system calls, CPU seconds.
//
//   wire_cost [--datagram BYTES] [--size BYTES] [--messages N] [--alone]
//
// Two processes, or with --alone both ends in one thread that serves them in turn, on a clock that each look at it sets
// forward, so that callgrind counts the same instructions each time, however busy the machine is
// (tests/perf/wire_cost.sh).

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "net/node.hpp"
#include "traffic/messages.hpp"

namespace {

using namespace weft;
using traffic::Instant;
using traffic::Kind;
using traffic::Message;

struct Options {
  std::size_t datagram = 0;
  std::uint64_t size = 64 << 10;
  std::uint64_t messages = 2000;
  bool alone = false;
};

constexpr std::uint64_t kInFlight = 8 << 20;
constexpr std::int64_t kLook = 1000;  // ns of the clock that is looked at
std::int64_t looked_at = 0;           // 0: real time
volatile std::sig_atomic_t stopped = 0;

std::unique_ptr<net::Node> open(const Options& options, traffic::Exchange& layer) {
  net::NodeConfig config;
  config.local = *net::Address::parse("127.0.0.1", 0);
  config.datagram = options.datagram;
  auto node = net::Node::open(config, layer, layer);
  if (node) return std::move(*node);
  fmt::print(stderr, "{}\n", node.error());
  std::exit(1);
}

class Stream : public traffic::Exchange {
 public:
  Stream(traffic::Pool& pool, const Options& options) : Exchange(pool), options_(options) {}

  void offer(std::uint32_t peer) {
    while (next_ < options_.messages && (next_ - sent_) * options_.size < kInFlight)
      send({Kind::data, peer, next_++, options_.size, {}});
  }
  bool done() const { return failed_ || sent_ == options_.messages; }
  bool failed() const { return failed_; }

 private:
  void on_sent(Instant, const Message&) override { ++sent_; }
  void on_message(Instant, const Message&, std::span<const std::byte>) override {}
  void on_failed(Instant, std::uint32_t) override { failed_ = true; }

  const Options& options_;
  std::uint64_t next_ = 0;
  std::uint64_t sent_ = 0;
  bool failed_ = false;
};

double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print(std::string_view who, const Options& options, const net::Node& node) {
  const net::NodeCounters& it = node.counters();
  const transport::SrdCounters& srd = node.srd_counters();
  const double megabytes = static_cast<double>(options.messages * options.size) / 1e6;
  fmt::print("{:8} {:7.2f} system calls per MB; out {} packets, {} acks, {} again, {} timeouts; in {}\n", who,
             static_cast<double>(it.system_calls) / megabytes, srd.data_sent, srd.acks_sent, srd.data_resent,
             srd.timeouts, it.datagrams_in);
}

}  // namespace

// Instead of the C library's. By a time of day that stands still the kernel's stamps of arrivals are of the future,
// which count as now.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (looked_at == 0) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_MONOTONIC) looked_at += kLook;
  const std::int64_t now = clock == CLOCK_MONOTONIC ? looked_at : 0;
  *time = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--alone") {
      options.alone = true;
    } else if (i + 1 < argc && word == "--datagram") {
      options.datagram = std::strtoull(argv[++i], nullptr, 10);
    } else if (i + 1 < argc && word == "--size") {
      options.size = std::strtoull(argv[++i], nullptr, 10);
    } else if (i + 1 < argc && word == "--messages") {
      options.messages = std::strtoull(argv[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "wire_cost [--datagram BYTES] [--size BYTES] [--messages N] [--alone]\n");
      return 2;
    }
  }
  if (options.alone) looked_at = 1'000'000'000;
  traffic::Pool pool(options.size);
  traffic::Server server(pool);
  auto there = open(options, server);
  const net::Address address = there->address();
  const pid_t child = options.alone ? 0 : fork();
  if (child == 0 && !options.alone) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGTERM, [](int) { stopped = 1; });
    while (stopped == 0) {
      there->progress();
      there->wait(net::Node::now() + 50 * net::kMillisecond);
    }
    print("receiver", options, *there);
    return 0;
  }
  Stream stream(pool, options);
  auto here = open(options, stream);
  const std::uint32_t peer = here->peer_at(address);
  const Instant began = net::Node::now();
  while (!stream.done()) {
    stream.offer(peer);
    here->progress();
    if (options.alone)
      there->progress();
    else
      here->wait(net::Node::now() + 50 * net::kMillisecond);
  }
  const double took = static_cast<double>(net::Node::now() - began) * 1e-12;
  if (stream.failed()) fmt::print(stderr, "{}\n", here->why_failed(peer));
  print("sender", options, *here);
  rusage both{};
  getrusage(RUSAGE_SELF, &both);
  double cpu = seconds_of(both);
  if (options.alone) {
    print("receiver", options, *there);
  } else {
    kill(child, SIGTERM);
    waitpid(child, nullptr, 0);
    getrusage(RUSAGE_CHILDREN, &both);
    cpu += seconds_of(both);
  }
  const double gigabytes = static_cast<double>(options.messages * options.size) / 1e9;
  fmt::print("{:.0f} MB/s, {:.3f} CPU s per GB\n", gigabytes * 1e3 / took, cpu / gigabytes);
  return stream.failed() ? 1 : 0;
}
