// Real sockets on loopback: a server in one thread, clients, strangers and liars in another.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/random.hpp"
#include "traffic/client.hpp"
#include "traffic/messages.hpp"
#include "traffic/sweep.hpp"
#include "traffic/tcp.hpp"
#include "traffic/testing_server.hpp"
#include "transport/srd/codec.hpp"

namespace weft::traffic {
namespace {

using net::Address;
using net::kMillisecond;
using net::Node;

ClientResult send_to(const Address& address, std::uint64_t size, std::uint64_t messages, std::size_t datagram = 0) {
  ClientOptions options;
  options.server = address;
  options.size = size;
  options.messages = messages;
  options.datagram = datagram;
  return run_client(options, go_on);
}

TEST(Loopback, EveryByteArrivesOnce) {
  const Serving serving("127.0.0.1");
  for (const std::uint64_t size : {0u, 1u, 1000u, 65536u, 1'000'003u}) {
    const ClientResult result = send_to(serving.address(), size, 50);
    EXPECT_EQ(result.failure, "") << size;
    EXPECT_EQ(result.received.messages, 50u) << size;
    EXPECT_EQ(result.received.bytes, 50 * size);
    EXPECT_EQ(result.received.wrong + result.received.repeated, 0u) << size;
    EXPECT_EQ(result.paths.size(), 64u);
  }
}

TEST(Loopback, AlsoOverIpv6) {
  const Serving serving("[::1]");
  EXPECT_EQ(send_to(serving.address(), 100'000, 20).received.bytes, 2'000'000u);
}

TEST(Loopback, PeersOfDifferentMtuAgree) {
  const Serving serving("127.0.0.1", 1472);
  const ClientResult large = send_to(serving.address(), 100'000, 20);
  EXPECT_EQ(large.received.bytes, 2'000'000u);
  EXPECT_GT(large.srd.data_sent, 20u * 70);  // 1,368 bytes in each packet
  EXPECT_EQ(large.received.wrong, 0u);
  const Serving jumbo("127.0.0.1", 8972);
  EXPECT_EQ(send_to(jumbo.address(), 100'000, 20, 1232).received.bytes, 2'000'000u);
}

TEST(Loopback, RequestsAreAnswered) {
  const Serving serving("127.0.0.1");
  ClientOptions options;
  options.server = serving.address();
  options.pattern = Pattern::requests;
  options.size = 64;
  options.messages = 200;
  const ClientResult result = run_client(options, go_on);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.round_trips.size(), 200u);
}

TEST(Loopback, ManyClientsAtOnce) {
  const Serving serving("127.0.0.1");
  ClientOptions options;
  options.server = serving.address();
  options.endpoints = 12;
  options.paths = 4;
  options.messages = 8;
  const ClientResult result = run_client(options, go_on);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.received.messages, 96u);
  EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
}

TEST(Loopback, WhereNobodyListensItSaysSo) {
  const ClientResult result = send_to(*Address::parse("127.0.0.1:9", 9), 10, 1);
  EXPECT_NE(result.failure.find("nobody answered at 127.0.0.1:9"), std::string::npos) << result.failure;
}

TEST(Loopback, AServerThatEndsIsNoticed) {
  auto serving = std::make_unique<Serving>("127.0.0.1");
  ClientOptions options;
  options.server = serving->address();
  options.duration = 60 * net::kSecond;
  int seconds = 0;
  const ClientResult result = run_client(options, [&](const Progress&) {
    if (++seconds == 1) serving.reset();
    return true;
  });
  EXPECT_EQ(result.failure, "it has ended");
  EXPECT_LT(seconds, 12);
}

TEST(Loopback, PathsAreCountedEach) {
  const Serving serving("127.0.0.1");
  const ClientResult result = send_to(serving.address(), 65536, 200);
  std::uint64_t packets = 0;
  std::uint64_t arrived = 0;
  for (const PathRow& row : result.paths) {
    EXPECT_NE(row.port, 0);
    packets += row.health.packets;
    arrived += row.health.arrived;
  }
  EXPECT_EQ(packets, result.srd.data_sent + result.srd.data_resent);
  EXPECT_EQ(arrived, result.srd.data_sent);
}

TEST(Loopback, ASweepOfHealthyPathsHearsAll) {
  const Serving serving("127.0.0.1");
  SweepOptions options;
  options.server = serving.address();
  options.paths = 8;
  options.duration = 200 * kMillisecond;
  const SweepResult result = sweep_paths(options, [] { return true; });
  EXPECT_EQ(result.failure, "");
  ASSERT_EQ(result.there.size(), 8u);
  for (const auto* paths : {&result.there, &result.back}) {
    for (const SweptPath& path : *paths) {
      EXPECT_NE(path.port, 0);
      EXPECT_GT(path.probes, 0u);
      EXPECT_EQ(path.lost, 0u);
      EXPECT_GT(path.median, 1);
    }
  }
}

TEST(Loopback, TcpCarriesTheSame) {
  const Pool pool(kLongestMessage);
  const auto server = TcpServer::open(*Address::parse("127.0.0.1", 0), pool);
  ASSERT_TRUE(server.has_value()) << server.error();
  for (const Pattern pattern : {Pattern::stream, Pattern::requests}) {
    ClientOptions options;
    options.server = (*server)->address();
    options.transport = Transport::tcp;
    options.pattern = pattern;
    options.size = 100'003;
    options.messages = 30;
    options.endpoints = 3;
    const ClientResult result = run_client(options, go_on);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.received.messages, 90u);
    EXPECT_EQ(result.received.bytes, 90u * 100'003);
    EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
    EXPECT_EQ(result.round_trips.size(), pattern == Pattern::requests ? 90u : 0u);
    EXPECT_EQ(result.paths.size(), 3u);
  }
}

TEST(Loopback, TcpSaysWhereNobodyListens) {
  ClientOptions options;
  options.server = *Address::parse("127.0.0.1:9", 9);
  options.transport = Transport::tcp;
  EXPECT_EQ(run_client(options, go_on).failure, "Connection refused");
}

// Who knows addresses and ports, and nothing else, says whatever it likes: nothing of it counts.
TEST(Loopback, NothingForgedCounts) {
  Serving serving("127.0.0.1");
  ClientOptions options;
  options.server = serving.address();
  options.duration = 2 * net::kSecond;
  ClientResult result;
  std::thread client([&] { result = run_client(options, go_on); });
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Random random(1, 2, 3);
  std::uint64_t forged = 0;
  const Instant until = Node::now() + 1500 * kMillisecond;
  while (Node::now() < until) {
    std::array<std::uint8_t, transport::kWireHeader + 100> bytes{};
    transport::Encoded packet;
    packet.type = random.below(2) == 0 ? transport::PacketType::data : transport::PacketType::ack;
    packet.flags = static_cast<std::uint8_t>(random.below(16));
    packet.header.generation = packet.header.peer_generation = packet.header.stream = 1;
    packet.header.sequence = random.below(100'000);
    transport::set_connection(packet.header, random.next());
    if (packet.type == transport::PacketType::data) packet.header.data = {packet.header.sequence, 0, 100};
    transport::encode(packet, bytes);
    if (random.below(8) == 0) bytes[1] = static_cast<std::uint8_t>(16 + random.below(8));
    forged += sendto(fd, bytes.data(), bytes.size(), 0, options.server.get(), options.server.length()) > 0;
  }
  close(fd);
  client.join();
  serving.end();
  EXPECT_GT(forged, 1000u);
  EXPECT_GT(serving.counters().not_ours, 0u);
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.received.messages, 0u);
  EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
}

}  // namespace
}  // namespace weft::traffic
