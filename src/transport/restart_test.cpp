// A process that is replaced by another: what its peers learn of it, and how.
#include <gtest/gtest.h>

#include "transport/roce/roce.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/testing_times.hpp"
#include "transport/testing_wire.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {
namespace {

using Kind = Completion::Kind;

constexpr Instant kMillisecond = 1000 * kMicrosecond;

TcpConfig tcp_config(std::uint16_t generation = 1) {
  TcpConfig config;
  config.mtu = 1052;  // segments of 1000 bytes
  config.base_rtt = nanoseconds(4'400);
  config.connections = 2;
  config.generation = generation;
  return config;
}

RoceConfig roce_with_retries(std::uint16_t generation = 1) {
  RoceConfig config;
  config.mtu = 1024;
  config.packet_time = Duration(80 * 1086);
  config.base_rtt = nanoseconds(4'400);
  config.ack_timeout = microseconds(1'000);
  config.give_up = microseconds(8'000);
  config.generation = generation;
  return config;
}

UetConfig uet_config(std::uint16_t generation = 1) {
  UetConfig config;
  config.payload = 1024;
  config.packet_time = Duration(80 * 1088);
  config.base_rtt = nanoseconds(4'400);
  config.generation = generation;
  return config;
}

template <class Transport>
std::vector<std::uint32_t> tags(const TestingWire<Transport>& net, Kind kind) {
  std::vector<std::uint32_t> tags;
  for (const Completion& each : net.done())
    if (each.kind == kind) tags.push_back(each.tag);
  return tags;
}

using Tags = std::vector<std::uint32_t>;

TEST(Restart, OfTheReceiverTcpLearnsByAReset) {
  TestingWire<Tcp> net({}, tcp_config());
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  ASSERT_TRUE(net.post(0, {Op::send, 1, 3'000'000, 1, 1}));
  net.run(net.now() + 50 * kMicrosecond);
  net.restart(1, tcp_config(2));
  const Instant restarted = net.now();
  net.run(restarted + 20 * kMicrosecond);  // a round trip, long before any timer
  EXPECT_EQ(tags(net, Kind::failed), (Tags{1}));
  // The next begins a new connection; so does one on the other connection, which heard of it too.
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 2, 2}));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 3, 3}));
  net.run();
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 2, 3}));
  EXPECT_EQ(tags(net, Kind::received), (Tags{0, 2, 3}));
}

TEST(Restart, OfTheReceiverUetLearnsByTheNextAnswer) {
  TestingWire<Uet> net({}, uet_config());
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  ASSERT_TRUE(net.post(0, {Op::send, 1, 3'000'000, 1, 1}));
  net.run(net.now() + 50 * kMicrosecond);
  net.restart(1, uet_config(2));
  net.run(net.now() + 20 * kMicrosecond);  // a round trip, long before give_up
  EXPECT_EQ(tags(net, Kind::failed), (Tags{1}));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 2, 2}));
  net.run();
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 2}));
  EXPECT_EQ(tags(net, Kind::received), (Tags{0, 2}));
}

TEST(Restart, OfTheReceiverRoceLearnsWhenItsRetriesRunOut) {
  TestingWire<Roce> net({}, roce_with_retries());
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  ASSERT_TRUE(net.post(0, {Op::send, 1, 3'000'000, 1, 1}));
  net.run(net.now() + 50 * kMicrosecond);
  net.restart(1, roce_with_retries(2));
  net.run(net.now() + 2 * kMillisecond);
  EXPECT_EQ(tags(net, Kind::failed), Tags{});  // a NIC answers nothing for a queue pair that it does not know
  net.run(net.now() + 20 * kMillisecond);
  EXPECT_EQ(tags(net, Kind::failed), (Tags{1}));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 2, 2}));
  net.run();
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 2}));
  EXPECT_EQ(tags(net, Kind::received), (Tags{0, 2}));
}

// ---- the next connection: a handshake would meet whichever process is there

TcpConfig impatient_tcp(std::uint16_t generation = 1, std::uint32_t connections = 1) {
  TcpConfig config = tcp_config(generation);
  config.connections = connections;
  config.give_up = microseconds(1'000);
  return config;
}

bool lose(Transmit&) { return false; }
bool pass(Transmit&) { return true; }
bool is_of(const Transmit& packet, std::uint32_t connection) { return packet.header.stream % 8 == connection; }

template <class Transport, class Config>
void silence(const Config& before, const Config& after, PacketType ack) {
  TestingWire<Transport> net({}, before);
  std::vector<Transmit> answers;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == ack) answers.push_back(packet);
    return true;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  net.deliver = lose;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 1, 1}));
  net.restart(1, after);
  net.run();
  ASSERT_EQ(tags(net, Kind::failed), (Tags{1}));
  net.deliver = pass;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 2, 2}));
  // What the old process said of the old connection comes before the new one's first word, and is not that.
  ASSERT_FALSE(answers.empty());
  for (const Transmit& answer : answers) net.inject(answer);
  net.run();
  EXPECT_EQ(tags(net, Kind::failed), (Tags{1}));
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 2}));
  EXPECT_EQ(tags(net, Kind::received), (Tags{0, 2}));
}

TEST(Restart, DuringASilenceIsNoReasonForTheNextConnectionToFail) {
  silence<Tcp>(impatient_tcp(), impatient_tcp(2), PacketType::tcp_ack);
  silence<Roce>(roce_with_retries(), roce_with_retries(2), PacketType::roce_ack);
  silence<Uet>(uet_config(), uet_config(2), PacketType::uet_ack);
}

TEST(Restart, OfAReceiverThatHasJustSentAResetIsNoReasonForTcpsNextConnectionToFail) {
  TestingWire<Tcp> net({}, impatient_tcp());
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  net.restart(1, impatient_tcp(2));
  std::vector<Transmit> resets;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_ack) resets.push_back(packet);
    return packet.type == PacketType::tcp_data;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000, 1, 1}));
  net.run(net.now() + 20 * kMicrosecond);
  ASSERT_FALSE(resets.empty());
  net.restart(1, impatient_tcp(3));
  net.deliver = pass;
  net.inject(resets.front());
  net.run(net.now() + 20 * kMicrosecond);
  ASSERT_EQ(tags(net, Kind::failed), (Tags{1}));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 2, 2}));
  net.run();
  EXPECT_EQ(tags(net, Kind::failed), (Tags{1}));
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 2}));
}

// Of two connections one was silent for too long.
TEST(Restart, DuringASilenceIsNoReasonForTcpsIdleConnectionToFail) {
  TestingWire<Tcp> net({}, impatient_tcp(1, 2));
  for (std::uint32_t tag : {0u, 1u}) ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, tag, tag}));
  net.run();
  net.deliver = lose;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 2, 2}));
  net.restart(1, impatient_tcp(2, 2));
  net.run();
  ASSERT_EQ(tags(net, Kind::failed), (Tags{2}));
  net.deliver = pass;
  for (std::uint32_t tag : {3u, 4u}) {
    ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, tag, tag}));
    net.run();
  }
  EXPECT_EQ(tags(net, Kind::failed), (Tags{2}));
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 1, 3, 4}));
}

TEST(Restart, WithoutOneTcpsBusyConnectionOutlivesASilentOne) {
  TestingWire<Tcp> net({}, impatient_tcp(1, 2));
  net.deliver = [](Transmit& packet) { return !is_of(packet, 0); };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 25'000'000, 1, 1}));  // two milliseconds
  net.run();
  EXPECT_EQ(tags(net, Kind::failed), (Tags{0}));
  EXPECT_EQ(tags(net, Kind::sent), (Tags{1}));
}

// The first word of a new process to one connection says as much of the others as a reset.
TEST(Restart, IsToldByTcpsNewConnectionToTheOthers) {
  TestingWire<Tcp> net({}, impatient_tcp(1, 2));
  for (std::uint32_t tag : {0u, 1u}) ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, tag, tag}));
  net.run();
  net.deliver = [](Transmit& packet) { return !is_of(packet, 0); };
  const Instant begin = net.now();
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 2, 2}));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 25'000'000, 3, 3}));
  net.run(begin + 900 * kMicrosecond);
  net.deliver = lose;
  net.restart(1, impatient_tcp(2, 2));
  net.run(begin + 1100 * kMicrosecond);
  ASSERT_EQ(tags(net, Kind::failed), (Tags{2}));
  net.deliver = [](Transmit& packet) { return !is_of(packet, 1); };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000, 4, 4}));
  net.run(net.now() + 20 * kMicrosecond);
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 1, 4}));
  EXPECT_EQ(tags(net, Kind::failed), (Tags{2, 3}));
}

// A word of the old process to one connection that comes when another has met the new one.
TEST(Restart, LeavesTcpNoConnectionToTheOldProcess) {
  TestingWire<Tcp> net({}, impatient_tcp(1, 2));
  std::vector<Transmit> answers;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_ack) answers.push_back(packet);
    return packet.type == PacketType::tcp_data;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000, 0, 0}));
  net.run(net.now() + 20 * kMicrosecond);
  ASSERT_EQ(answers.size(), 1u);
  net.restart(1, impatient_tcp(2, 2));
  net.deliver = pass;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000, 1, 1}));
  net.run(net.now() + 20 * kMicrosecond);
  ASSERT_EQ(tags(net, Kind::sent), (Tags{1}));
  net.inject(answers.front());
  net.run(net.now() + 20 * kMicrosecond);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000, 2, 2}));
  net.run();
  EXPECT_EQ(tags(net, Kind::failed), Tags{});
  EXPECT_EQ(tags(net, Kind::sent), (Tags{1, 0, 2}));
}

// The new process begins with the same numbers as the old one did.
template <class Transport, class Config>
void sender_restarts(const Config& before, const Config& after) {
  TestingWire<Transport> net({}, before);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  net.restart(0, after);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 20'000, 1, 1}));
  net.run(net.now() + 100 * kMicrosecond);
  EXPECT_EQ(tags(net, Kind::received), (Tags{0, 1}));
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 1}));
}

TEST(Restart, OfTheSenderMakesTheReceiverBeginAnew) {
  sender_restarts<Tcp>(tcp_config(), tcp_config(2));
  sender_restarts<Roce>(roce_with_retries(), roce_with_retries(2));
  sender_restarts<Uet>(uet_config(), uet_config(2));
}

// What an earlier life sent, and what was said to it, comes too late.
template <class Transport, class Config>
void late_packets(const Config& before, const Config& after, PacketType data, PacketType ack) {
  TestingWire<Transport> net({}, before);
  std::vector<Transmit> seen;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == data || packet.type == ack) seen.push_back(packet);
    return true;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  net.deliver = [](Transmit&) { return true; };
  net.restart(0, after);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 500'000, 1, 1}));
  net.run(net.now() + 20 * kMicrosecond);
  for (const Transmit& packet : seen) net.inject(packet);
  net.run();
  EXPECT_EQ(tags(net, Kind::received), (Tags{0, 1}));
  EXPECT_EQ(tags(net, Kind::sent), (Tags{0, 1}));
  EXPECT_GT(net[0].counters().ignored, 0u);
  EXPECT_GT(net[1].counters().ignored, 0u);
}

TEST(Restart, PacketsOfAnEarlierLifeAreIgnored) {
  late_packets<Tcp>(tcp_config(), tcp_config(2), PacketType::tcp_data, PacketType::tcp_ack);
  late_packets<Roce>(roce_with_retries(), roce_with_retries(2), PacketType::roce_data, PacketType::roce_ack);
  late_packets<Uet>(uet_config(), uet_config(2), PacketType::uet_data, PacketType::uet_ack);
}

}  // namespace
}  // namespace weft::transport
