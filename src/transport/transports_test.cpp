#include "transport/transports.hpp"

#include <gtest/gtest.h>

#include <set>

#include "transport/stack.hpp"

namespace weft::transport {
namespace {

TEST(Transports, ANameIsOneOfTheListOrNothing) {
  std::set<std::string_view> names;
  for (const Description& each : kDescriptions) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_EQ(protocol_named(each.name), each.protocol) << each.name;
    EXPECT_EQ(describe(each.protocol).name, each.name);
  }
  for (const std::string_view unknown : {"", "SRD", "srd ", "quic"}) EXPECT_EQ(protocol_named(unknown), std::nullopt);
}

TEST(Transports, APacketsTypeSaysWhoseItIsAndHowSwitchesTreatIt) {
  std::set<PacketType> first;
  std::set<PacketType> trimmed;
  std::set<PacketType> renewed;
  for (std::uint32_t i = 0; i < kPacketTypes; ++i) {
    const auto type = static_cast<PacketType>(i);
    EXPECT_TRUE(describe(protocol_of(type)).packets.has(type)) << i;
    if (goes_first(type)) first.insert(type);
    if (can_be_trimmed(type)) trimmed.insert(type);
    if (renews_paths(type)) renewed.insert(type);
  }
  using enum PacketType;
  EXPECT_EQ(first, (std::set{ack, roce_cnp, uet_ack, ordered_ack}));  // RoCE's and TCP's share the class of their data
  EXPECT_EQ(trimmed, (std::set{data, uet_data, ordered_data}));
  EXPECT_EQ(renewed, (std::set{data, ack, ordered_data, ordered_ack}));
}

TEST(Transports, ConnectionsAreThoseOfTheConfiguration) {
  Transports::Settings settings;
  settings.tcp.connections = 5;
  settings.roce.qps = 4;
  EXPECT_EQ(connections_of(Protocol::tcp, settings).count, 5u);
  EXPECT_EQ(connections_of(Protocol::rocev2, settings).count, 4u);
  EXPECT_FALSE(connections_of(Protocol::rocev2, settings).split_above);
  settings.roce.split = true;
  settings.roce.split_above = 1000;
  EXPECT_EQ(connections_of(Protocol::rocev2, settings).split_above, 1000u);
  EXPECT_EQ(connections_of(Protocol::srd, settings).count, 1u);
  EXPECT_EQ(connections_of(Protocol::srd, settings).path, nullptr);
}

// What a run is told of the network and of lanes reaches whoever has a use for it.
TEST(Transports, TheStackTellsAllOfThem) {
  StackConfig config;
  config.set_network(microseconds(7), nanoseconds(100), 1000);  // 100 ps a byte
  EXPECT_EQ(config.srd.base_rtt.count(), 7'000'000);
  EXPECT_EQ(config.srd.packet_time.count(), 100 * config.packet_of(Protocol::srd));
  EXPECT_EQ(config.srd.rto.count(), 5 * 7'000'000);
  EXPECT_EQ(config.tcp_over_srd.base_rtt.count(), 7'000'000);
  EXPECT_EQ(config.roce.packet_time.count(), 100 * config.packet_of(Protocol::rocev2));
  EXPECT_EQ(config.tcp.base_rtt.count(), 7'000'000);
  EXPECT_EQ(config.uet.packet_time.count(), 100 * config.packet_of(Protocol::uet));
  const StackConfig lane = config.in_lane(3, 1 << static_cast<int>(Protocol::tcp));
  EXPECT_TRUE(lane.uses(Protocol::tcp));
  EXPECT_FALSE(lane.uses(Protocol::srd));
  for (const std::uint16_t generation : {lane.srd.generation, lane.roce.generation, lane.tcp.generation,
                                         lane.uet.generation, lane.tcp_over_srd.generation})
    EXPECT_EQ(generation, 3u << kLaneShift | 1u);
}

TEST(Transports, TheStackHasTheOnesInUse) {
  StackConfig config;
  config.used = 0;
  for (const Description& each : kDescriptions) config.use(each.protocol);
  config.set_network(microseconds(7), nanoseconds(100), 1000);
  Stack stack(config);
  for (const Description& each : kDescriptions) {
    ASSERT_TRUE(stack.post(0, 0, {.peer = 1, .bytes = 100, .protocol = each.protocol})) << each.name;
    Transmit out;
    ASSERT_TRUE(stack.poll(each.protocol, 0, 0, out)) << each.name;
    EXPECT_EQ(out.type, each.data) << each.name;
    EXPECT_EQ(stack.counters(each.protocol).data_sent, 1u) << each.name;
  }
  EXPECT_EQ(stack.counters().data_sent, kDescriptions.size());
  config.used = 0;
  config.use(Protocol::tcp);
  EXPECT_FALSE(Stack(config).post(0, 0, {.peer = 1, .bytes = 100, .protocol = Protocol::srd}));
}

}  // namespace
}  // namespace weft::transport
