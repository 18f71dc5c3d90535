// Hostile networks in user space, processes that die, and peers with keys: without privilege, on loopback.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "traffic/testing_relay.hpp"
#include "traffic/testing_server.hpp"

namespace weft::traffic {
namespace {

using net::Address;
using net::kMillisecond;
using net::kSecond;
using net::Node;

net::Key key_of(std::uint8_t byte) {
  net::Key key;
  key.fill(byte);
  return key;
}

ClientOptions messages_to(const Address& server, std::uint64_t size, std::uint64_t messages) {
  ClientOptions options;
  options.server = server;
  options.local = *Address::parse("127.0.0.1", 0);
  options.size = size;
  options.messages = messages;
  return options;
}

Fate hostile(Random& random, std::uint16_t, bool) {
  Fate fate;
  fate.dropped = random.below(50) == 0;
  fate.twice = random.below(30) == 0;
  fate.damaged = random.below(50) == 0;
  fate.held = random.below(10) == 0 ? random.below(2000) * 1'000'000LL : random.below(100) * 1'000'000LL;
  return fate;
}

// Dropped, repeated, damaged and reordered by seed, with a key and without: every message comes once, as it was sent.
TEST(Relay, NothingIsLostTwiceOrWrong) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    net::NodeConfig config = Serving::config_of("127.0.0.1", seed % 2 == 0 ? 1472 : 8972);
    if (seed > 2) config.key = key_of(7);
    const Serving serving(config);
    const Relay relay(serving.address(), seed, hostile);
    ClientOptions options = messages_to(relay.address(), 20'000, 100);
    options.window = 400'000;
    options.key = config.key;
    const ClientResult result = run_client(options, go_on);
    EXPECT_EQ(result.failure, "") << seed;
    EXPECT_EQ(result.received.messages, 100u) << seed;
    EXPECT_EQ(result.received.bytes, 2'000'000u) << seed;
    EXPECT_EQ(result.received.wrong + result.received.repeated, 0u) << seed;
    EXPECT_GT(relay.dropped(), 0u) << seed;
    EXPECT_GT(result.srd.data_resent, 0u) << seed;
  }
}

// A quarter of the source ports leads nowhere from some time on: they are named, with the time, and no others.
TEST(Relay, PathsThatDieAreNamed) {
  const Serving serving("127.0.0.1");
  std::atomic<bool> dies = false;
  const Relay relay(serving.address(), 1, [&](Random& random, std::uint16_t port, bool to_server) {
    Fate fate;
    fate.dropped = dies && to_server && port % 4 == 1;
    fate.held = (50 + random.below(50)) * 1'000'000LL;
    return fate;
  });
  ClientOptions options = messages_to(relay.address(), 20'000, 0);
  options.rate = 80'000'000;
  options.duration = microseconds(60'000'000);
  // SRD uses few paths at a time and fewer where its threads rarely run, so how soon it has met three is the machine's.
  constexpr std::ptrdiff_t kEnough = 3;
  const auto dead = [](const PathRow& row) { return row.health.state == net::PathState::dead; };
  Instant died = 0;
  const ClientResult result = run_client(options, [&](const Progress& progress) {
    if (died == 0) died = progress.now.count();
    dies = true;
    return std::ranges::count_if(progress.paths, dead) < kEnough;
  });
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
  EXPECT_GE(std::ranges::count_if(result.paths, dead), kEnough);
  for (const PathRow& row : result.paths) {
    if (!dead(row)) continue;
    EXPECT_EQ(row.port % 4, 1) << row.port;
    EXPECT_GE(row.health.since, died - 500 * kMillisecond);
  }
}

// Longer than SRD waits for a word, nothing but pings and their answers gets through, and then all does.
void expect_not_given_up(const Relay::Decide& decide) {
  const Serving serving("127.0.0.1");
  Relay relay(serving.address(), 1, decide);
  relay.let_pass_only_control(true);
  const Instant until = Node::now() + 6500 * kMillisecond;
  const ClientResult result = run_client(messages_to(relay.address(), 20'000, 20), [&](const Progress&) {
    if (Node::now() > until) relay.let_pass_only_control(false);
    return true;
  });
  EXPECT_GT(Node::now(), until);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.received.messages, 20u);
  EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
}

// Whoever answers pings lives, and what waits for it is not failed.
TEST(Relay, APeerThatAnswersPingsIsNotGivenUp) {
  expect_not_given_up([](Random&, std::uint16_t, bool) { return Fate{}; });
}

// What the server says is late at first, so that later it asks before it would be asked. Its pings are no answers.
TEST(Relay, APeerThatAsksFirstIsAskedAllTheSame) {
  const Instant late_until = Node::now() + kSecond;
  expect_not_given_up([=](Random&, std::uint16_t, bool to_server) {
    Fate fate;
    fate.held = to_server || Node::now() > late_until ? 0 : 300 * kMillisecond;
    return fate;
  });
}

// A way that takes shorter packets than it did: pings alone get through, and what is under way fails instead of waiting
// for ever. The next connection finds what there is.
TEST(Relay, AWayThatBecomesNarrowEndsTheConnectionAndTheNextFindsIt) {
  const Serving serving("127.0.0.1", 8972);
  Relay relay(serving.address(), 1, [](Random&, std::uint16_t, bool) { return Fate{}; });
  ClientOptions options = messages_to(relay.address(), 20'000, 0);
  options.duration = microseconds(60'000'000);
  options.datagram = 8952;
  const ClientResult first = run_client(options, [&](const Progress&) {
    relay.let_pass_up_to(5000);
    return true;
  });
  EXPECT_EQ(first.failure, "it did not answer");
  EXPECT_GT(first.acknowledged, 0u);
  options.messages = 20;
  const ClientResult second = run_client(options, go_on);
  EXPECT_EQ(second.failure, "");
  EXPECT_EQ(second.received.messages, 20u);
}

// ---- keys

std::string refusal(std::optional<net::Key> server, std::optional<net::Key> client) {
  net::NodeConfig config = Serving::config_of("127.0.0.1");
  config.key = server;
  const Serving serving(config);
  ClientOptions options = messages_to(serving.address(), 10'000, 20);
  options.key = client;
  const ClientResult result = run_client(options, go_on);
  EXPECT_EQ(result.received.messages, result.failure.empty() ? 20u : 0u);
  return result.failure;
}

TEST(JobKey, WhoHasTheSameIsLetInAndOthersAreToldWhy) {
  EXPECT_EQ(refusal(key_of(1), key_of(1)), "");
  EXPECT_EQ(refusal(key_of(1), key_of(2)), "its job has another key");
  EXPECT_EQ(refusal(key_of(1), std::nullopt), "its job has a key, and it was greeted without");
  EXPECT_EQ(refusal(std::nullopt, key_of(1)), "it has no key of a job, and was greeted with one");
}

// Who reads everything and repeats it later, changed or not, changes nothing. The relay repeats each packet, too.
TEST(JobKey, WhatIsRepeatedOrChangedByTheNetworkDoesNotCount) {
  net::NodeConfig config = Serving::config_of("127.0.0.1");
  config.key = key_of(3);
  Serving serving(config);
  {
    const Relay relay(serving.address(), 5, [](Random& random, std::uint16_t, bool) {
      Fate fate;
      fate.twice = true;
      fate.damaged = random.below(20) == 0;
      fate.held = random.below(300) * 1'000'000LL;
      return fate;
    });
    ClientOptions options = messages_to(relay.address(), 20'000, 100);
    options.window = 400'000;
    options.key = config.key;
    const ClientResult result = run_client(options, go_on);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.received.messages, 100u);
    EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
  }
  serving.end();
  EXPECT_GT(serving.counters().damaged, 100u);
}

// ---- processes that die

// A server in a process of its own. It says at which port once it has it: one that was chosen before could be taken by
// anybody until then, the 64 source ports of the client included.
class Process {
 public:
  explicit Process(const Address& local) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    id_ = fork();
    if (id_ == 0) serve(local, ends[1]);
    close(ends[1]);
    std::uint16_t port = 0;
    const bool told = read(ends[0], &port, sizeof port) == sizeof port;
    close(ends[0]);
    if (!told) throw std::runtime_error("the server's process got no socket at " + local.text());
    address_ = *Address::parse("127.0.0.1", port);
  }
  ~Process() { kill_it(); }
  const Address& address() const { return address_; }
  void kill_it() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  [[noreturn]] static void serve(const Address& local, int told) {
    Pool pool(kLongestMessage);
    Server server(pool);
    net::NodeConfig config;
    config.local = local;
    auto node = Node::open(config, server, server);
    if (!node) _exit(1);
    const std::uint16_t port = (*node)->address().port();
    if (write(told, &port, sizeof port) != sizeof port) _exit(1);
    const Instant until = Node::now() + 60 * kSecond;
    while (Node::now() < until) {
      (*node)->progress();
      (*node)->wait(Node::now() + 20 * kMillisecond);
    }
    _exit(0);
  }

  pid_t id_ = 0;
  Address address_;
};

const Address kAnyPort = *Address::parse("127.0.0.1", 0);

TEST(Processes, OneThatIsKilledIsAnErrorWithinTenSeconds) {
  Process server(kAnyPort);
  ClientOptions options = messages_to(server.address(), 20'000, 0);
  options.duration = microseconds(30'000'000);
  // At any time, once bytes are on their way.
  Random random(static_cast<std::uint64_t>(Node::now()), 0, 0);
  const auto wait = std::chrono::milliseconds(random.below(1000));
  Instant killed = 0;
  std::thread killer;
  const ClientResult result = run_client(options, [&](const Progress& progress) {
    if (progress.bytes == 0 || killer.joinable()) return true;
    killer = std::thread([&] {
      std::this_thread::sleep_for(wait);
      server.kill_it();
      killed = Node::now();
    });
    return true;
  });
  const Instant noticed = Node::now();
  ASSERT_TRUE(killer.joinable()) << result.failure;
  killer.join();
  EXPECT_NE(result.failure, "");
  EXPECT_GT(result.acknowledged, 0u);
  EXPECT_LT(noticed - killed, 10 * kSecond + kSecond / 2) << result.failure;
}

// Whoever is there next is somebody else: what was under way fails, and what is sent from then on arrives.
TEST(Processes, ARestartedOneIsANewConnection) {
  auto server = std::make_unique<Process>(kAnyPort);
  const Address address = server->address();
  ClientOptions options = messages_to(address, 20'000, 50);
  EXPECT_EQ(run_client(options, go_on).received.messages, 50u);
  server.reset();
  server = std::make_unique<Process>(address);
  const ClientResult after = run_client(options, go_on);
  EXPECT_EQ(after.failure, "");
  EXPECT_EQ(after.received.messages, 50u);
  EXPECT_EQ(after.received.repeated, 0u);
}

}  // namespace
}  // namespace weft::traffic
