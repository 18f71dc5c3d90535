#include "net/control.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/big_endian.hpp"
#include "transport/srd/codec.hpp"

namespace weft::net {
namespace {

Address at(const char* text) { return *Address::parse(text, 0); }

RC_GTEST_PROP(Control, WhatGoesInComesOut, ()) {
  ControlPacket packet;
  packet.type = *rc::gen::element(Control::hello, Control::retry, Control::accept, Control::refused, Control::ping,
                                  Control::pong, Control::bye, Control::nic, Control::look, Control::seen);
  packet.connection = *rc::gen::arbitrary<std::uint64_t>();
  packet.own_connection = *rc::gen::arbitrary<std::uint64_t>();
  packet.nonce = *rc::gen::arbitrary<std::uint64_t>();
  packet.port = *rc::gen::arbitrary<std::uint16_t>();
  packet.largest = *rc::gen::arbitrary<std::uint16_t>();
  packet.features = *rc::gen::arbitrary<std::uint32_t>();
  for (std::uint8_t& byte : packet.cookie) byte = *rc::gen::arbitrary<std::uint8_t>();
  packet.text = std::string(*rc::gen::inRange<std::size_t>(0, kMostText + 1), 'x');
  packet.datagram = *rc::gen::element<std::uint16_t>(0, 1232, 9000);
  const auto bytes = encode(packet);
  const auto back = decode_control(bytes);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->type == packet.type && back->connection == packet.connection && back->nonce == packet.nonce);
  RC_ASSERT(back->own_connection == packet.own_connection && back->cookie == packet.cookie);
  RC_ASSERT(back->port == packet.port && back->datagram == packet.datagram && back->largest == packet.largest);
  RC_ASSERT(back->features == packet.features && back->text == packet.text);
  RC_ASSERT(bytes.size() >= packet.datagram);
}

TEST(Control, AnyWrongBitIsFound) {
  ControlPacket packet;
  packet.nonce = 7;
  auto bytes = encode(packet);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_FALSE(decode_control(bytes).has_value()) << bit;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
}

RC_GTEST_PROP(Control, NoiseIsRefused, (const std::vector<std::uint8_t>& noise)) {
  RC_ASSERT(!decode_control(noise).has_value());
}

// What arrived shorter than it says to be has not shown that a path takes its length.
TEST(Control, AGreetingThatWasCutIsNone) {
  ControlPacket packet;
  packet.datagram = 9000;
  auto bytes = encode(packet);
  ASSERT_EQ(bytes.size(), 9000u);
  bytes.resize(1472);
  EXPECT_FALSE(decode_control(bytes).has_value());
}

TEST(Control, AnotherVersionIsToldSoInWords) {
  ControlPacket packet;
  packet.own_connection = 42;
  auto bytes = encode(packet);
  EXPECT_FALSE(refusal_of(bytes).has_value());
  bytes[0] = transport::kWireVersion + 1;
  const auto refusal = refusal_of(bytes);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->connection, 42u);
  EXPECT_NE(refusal->text.find("version"), std::string::npos);
  EXPECT_EQ(encode(*refusal)[0], bytes[0]) << "who is older reads nothing newer";
}

TEST(Cookies, AreOfAnAddressAConnectionAndATime) {
  const Cookies cookies;
  const Address here = at("10.0.0.1:7000");
  const Cookie cookie = cookies.make(here, 5, 1000);
  EXPECT_TRUE(cookies.check(cookie, here, 5, 1000));
  EXPECT_TRUE(cookies.check(cookie, here, 5, 1020));
  EXPECT_FALSE(cookies.check(cookie, here, 5, 1100));
  EXPECT_FALSE(cookies.check(cookie, here, 6, 1000));
  EXPECT_FALSE(cookies.check(cookie, at("10.0.0.1:7001"), 5, 1000));
  EXPECT_FALSE(cookies.check(cookie, at("10.0.0.2:7000"), 5, 1000));
  EXPECT_FALSE(Cookies().check(cookie, here, 5, 1000));
}

TEST(Address, IsReadAsItIsWritten) {
  for (const char* text : {"127.0.0.1:80", "[::1]:7791"}) EXPECT_EQ(Address::parse(text, 1)->text(), text);
  EXPECT_EQ(Address::parse("127.0.0.1", 7791)->text(), "127.0.0.1:7791");
  EXPECT_FALSE(Address::parse("127.0.0.1:99999", 1).has_value());
  EXPECT_FALSE(Address::parse("[::1", 1).has_value());
}

}  // namespace
}  // namespace weft::net
