// One endpoint with much to send to several peers: what leaves its NIC is shared between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "transport/roce/roce.hpp"
#include "transport/srd/srd.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/testing_times.hpp"
#include "transport/testing_wire.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {
namespace {

template <class Transport, class Config>
void expect_turns(Config config) {
  config.base_rtt = nanoseconds(4'400);
  WireConfig wire;
  wire.endpoints = 4;
  TestingWire<Transport> net(wire, config);
  std::map<std::uint32_t, std::uint64_t> bytes;  // on the wire, by peer
  net.deliver = [&](Transmit& packet) {
    if (packet.header.source == 0) bytes[packet.header.destination] += packet.wire_bytes;
    return true;
  };
  for (const std::uint32_t peer : {1u, 2u, 3u}) ASSERT_TRUE(net.post(0, {Op::send, peer, 20'000'000, peer, peer}));
  net.run(400 * kMicrosecond);  // 5 MB of 60
  const auto [least, most] = std::minmax({bytes[1], bytes[2], bytes[3]});
  EXPECT_GT(least, 1'000'000u);
  EXPECT_LT(most, least + least / 10) << "all have work: nobody gets a tenth more than another";
}

TEST(Peers, TakeTurnsWithSrd) { expect_turns<Srd>(SrdConfig{}); }
TEST(Peers, TakeTurnsWithRoce) { expect_turns<Roce>(RoceConfig{}); }
TEST(Peers, TakeTurnsWithTcp) { expect_turns<Tcp>(TcpConfig{}); }
TEST(Peers, TakeTurnsWithUet) { expect_turns<Uet>(UetConfig{}); }

// Marks of several peers may be seen before anybody asks what goes back.
TEST(Peers, AreEachToldThatTheirPacketsWereMarked) {
  RoceConfig config;
  config.base_rtt = nanoseconds(4'400);
  Roce receiver(config);
  Transmit out{};
  for (const std::uint32_t peer : {1u, 2u, 3u}) {
    Roce sender(config);
    ASSERT_TRUE(sender.post(0, peer, {Op::send, 0, 100'000, peer, peer}));
    ASSERT_TRUE(sender.poll(0, peer, out));
    receiver.handle(0, 0, out.type, static_cast<std::uint8_t>(out.flags | kMarked), out.header);
  }
  std::set<std::uint32_t> told;
  for (out = {}; receiver.poll_ack(0, out); out = {}) {
    if (out.type != PacketType::roce_cnp) continue;
    EXPECT_EQ(out.wire_bytes, config.cnp_bytes);
    told.insert(out.header.destination);
  }
  EXPECT_EQ(told, (std::set<std::uint32_t>{1, 2, 3}));
}

}  // namespace
}  // namespace weft::transport
