// Real sockets on loopback: a server in one thread, clients, strangers and liars in another.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <thread>

#include "base/crc32c.hpp"
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

// Clients on several machines begin together, at a time by the clock.
TEST(Loopback, BeginsAtTheTimeThatIsGiven) {
  const Serving serving("127.0.0.1");
  const auto clock = [] {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  for (const std::int64_t ahead : {INT64_C(300'000'000), INT64_C(-5'000'000'000)}) {
    ClientOptions options;
    options.server = serving.address();
    options.messages = 1;
    const std::int64_t called = clock();
    options.start_at = called + ahead;
    const ClientResult result = run_client(options, go_on);
    EXPECT_EQ(result.failure, "");
    EXPECT_GE(result.began, std::max(called, options.start_at));
    EXPECT_LT(result.began, called + 60'000'000'000) << "what has passed is not waited for";
    EXPECT_GE(result.ended, result.began);
  }
}

TEST(Loopback, AServerThatEndsIsNoticed) {
  auto serving = std::make_unique<Serving>("127.0.0.1");
  ClientOptions options;
  options.server = serving->address();
  options.duration = microseconds(60'000'000);
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
  // The last one asks for the receiver's figures, and its acknowledgement travels behind the answer, with which the run
  // ends.
  EXPECT_LE(arrived, result.srd.data_sent);
  EXPECT_GE(arrived + 1, result.srd.data_sent);
}

TEST(Loopback, ASweepOfHealthyPathsHearsAll) {
  const Serving serving("127.0.0.1");
  SweepOptions options;
  options.server = serving.address();
  options.paths = 8;
  options.duration = microseconds(200'000);
  const SweepResult result = sweep_paths(options, [] { return true; });
  EXPECT_EQ(result.failure, "");
  ASSERT_EQ(result.there.size(), 8u);
  for (const auto* paths : {&result.there, &result.back}) {
    for (const SweptPath& path : *paths) {
      EXPECT_NE(path.port, 0);
      EXPECT_GT(path.probes, 0u);
      EXPECT_EQ(path.lost, 0u);
      EXPECT_GT(path.median, Duration(1));
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

// A flow that has filled the kernel's buffer goes on when there is room, and not a second later.
TEST(Loopback, OneTcpFlowDoesNotStall) {
  const Pool pool(kLongestMessage);
  const auto server = TcpServer::open(*Address::parse("127.0.0.1", 0), pool);
  ASSERT_TRUE(server.has_value()) << server.error();
  ClientOptions options;
  options.server = (*server)->address();
  options.transport = Transport::tcp;
  options.size = 4 << 20;
  options.messages = 60;
  const ClientResult result = run_client(options, go_on);
  EXPECT_EQ(result.received.messages, 60u);
  EXPECT_LT(result.received.longest_gap, microseconds(900'000));
}

TEST(Loopback, TcpSaysWhereNobodyListens) {
  ClientOptions options;
  options.server = *Address::parse("127.0.0.1:9", 9);
  options.transport = Transport::tcp;
  EXPECT_EQ(run_client(options, go_on).failure, "Connection refused");
}

// ---- who knows addresses and ports, and nothing else

// Anything that has the shape of a packet, with checksums that are right and numbers that are guessed.
std::vector<std::uint8_t> forged(Random& random) {
  const std::uint32_t kind = random.below(10);
  if (kind < 3) {
    net::ControlPacket packet;
    packet.type = static_cast<net::Control>(16 + random.below(7));
    packet.connection = random.next();
    packet.own_connection = random.next();
    packet.nonce = random.next();
    packet.port = static_cast<std::uint16_t>(random.next());
    packet.largest = 1472;
    if (packet.type == net::Control::hello || packet.type == net::Control::accept) packet.datagram = 1232;
    if (packet.type == net::Control::refused) packet.text = "go away";
    return net::encode(packet);
  }
  std::vector<std::uint8_t> bytes(transport::kWireHeader + (kind < 7 ? 100 : 0));
  transport::Encoded packet;
  packet.type = kind < 7 ? transport::PacketType::data : transport::PacketType::ack;
  packet.flags = static_cast<std::uint8_t>(random.below(16) & (kind < 7 ? 12 : 14));
  packet.header.generation = packet.header.peer_generation = packet.header.stream = 1;
  packet.header.sequence = random.below(100'000);
  packet.header.echo = static_cast<std::uint16_t>(packet.header.sequence);
  transport::set_connection(packet.header, random.next());
  if (kind < 7) {
    packet.header.data = {packet.header.sequence, 0, 100};
    packet.fragment = 1368;
    packet.payload_checksum = crc32c(std::span<const std::uint8_t>(bytes).subspan(transport::kWireHeader));
  } else {
    packet.header.ack = {~std::uint64_t{0}, 0};
  }
  transport::encode(packet, bytes);
  return bytes;
}

// Sends that many to both ends of a stream; nothing of it completes, fails, resets or delivers anything.
void forge(std::uint64_t count) {
  Serving serving("127.0.0.1");
  const Address client_address = net::UdpSocket::open(*Address::parse("127.0.0.1", 0), false)->local();
  ClientOptions options;
  options.server = serving.address();
  options.local = client_address;
  options.duration = microseconds(3'600'000'000);
  std::atomic<bool> done = false;
  ClientResult result;
  std::thread client([&] { result = run_client(options, [&](const Progress&) { return !done; }); });
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Random random(1, 2, 3);
  std::vector<std::vector<std::uint8_t>> packets;
  for (int i = 0; i < 20'000; ++i) packets.push_back(forged(random));
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& bytes = packets[i % packets.size()];
    const Address& to = i % 2 == 0 ? options.server : client_address;
    sendto(fd, bytes.data(), bytes.size(), 0, to.get(), to.length());
    // Other numbers the next time: with the checksum of the old ones a packet is only noise.
    if (i % packets.size() == 0 && i > 0)
      for (auto& each : packets) each = forged(random);
  }
  close(fd);
  done = true;
  client.join();
  serving.end();
  EXPECT_GT(serving.counters().not_ours + result.node.not_ours, count / 100);
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.received.messages, 0u);
  EXPECT_EQ(result.received.wrong + result.received.repeated, 0u);
  EXPECT_EQ(result.received.bytes, result.received.messages * options.size);
}

TEST(Loopback, NothingForgedCounts) { forge(100'000); }

// A minute or two: --gtest_also_run_disabled_tests --gtest_filter='*TenMillion*'
TEST(Loopback, DISABLED_OfTenMillionForgedNothingCounts) { forge(10'000'000); }

}  // namespace
}  // namespace weft::traffic
