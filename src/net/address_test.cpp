#include "net/address.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::net {
namespace {

Address at(const char* text, std::uint16_t port = 1) {
  const auto address = Address::parse(text, port);
  EXPECT_TRUE(address.has_value()) << text;
  return address ? *address : Address();
}
std::string why_not(const char* text) {
  const auto address = Address::parse(text, 1);
  return address ? "it is " + address->text() : address.error();
}

TEST(Address, APortStandsBehindAColon) {
  EXPECT_EQ(at("10.0.0.1").port(), 1);
  EXPECT_EQ(at("10.0.0.1:0").port(), 0);
  EXPECT_EQ(at("10.0.0.1:65535").port(), 65535);
  EXPECT_EQ(at("[::1]").port(), 1);
  EXPECT_EQ(at("[::1]:7791").port(), 7791);
  EXPECT_EQ(at("fe80::1").host(), "fe80::1") << "without brackets all of it is the address";
}

TEST(Address, WhatIsNoPortIsNotTakenForNone) {
  EXPECT_EQ(why_not("10.0.0.1:65536"), "'65536' is no port: a number from 0 to 65535");
  EXPECT_EQ(why_not("10.0.0.1:-1"), "'-1' is no port: a number from 0 to 65535");
  EXPECT_EQ(why_not("10.0.0.1:80x"), "'80x' is no port: a number from 0 to 65535");
  EXPECT_EQ(why_not("10.0.0.1:"), "'' is no port: a number from 0 to 65535");
  EXPECT_EQ(why_not("[::1]:"), "'' is no port: a number from 0 to 65535");
  EXPECT_EQ(why_not("[::1]7791"), "'[::1]7791': behind the ']' stands ':' and a port, or nothing");
  EXPECT_EQ(why_not("[::1"), "'[::1' lacks a ']'");
}

TEST(Address, IsItsFamilyItsBytesAndItsPort) {
  const Address v4 = at("10.1.2.3:7791");
  EXPECT_EQ(v4.family(), AF_INET);
  EXPECT_EQ(v4.length(), sizeof(sockaddr_in));
  EXPECT_EQ(std::vector<std::uint8_t>(v4.ip().begin(), v4.ip().end()), (std::vector<std::uint8_t>{10, 1, 2, 3}));
  EXPECT_EQ(v4.text(), "10.1.2.3:7791");
  const Address v6 = at("[2001:db8::7]:80");
  EXPECT_EQ(v6.family(), AF_INET6);
  EXPECT_EQ(v6.ip().size(), 16u);
  EXPECT_EQ(v6.ip()[15], 7);
  EXPECT_EQ(v6.text(), "[2001:db8::7]:80");
}

TEST(Address, OfEveryInterfaceIsZero) {
  const Address v4 = Address::any(AF_INET, 80);
  EXPECT_EQ(v4.text(), "0.0.0.0:80");
  EXPECT_EQ(v4.length(), sizeof(sockaddr_in));
  const Address v6 = Address::any(AF_INET6, 81);
  EXPECT_EQ(v6.text(), "[::]:81");
  EXPECT_EQ(v6.length(), sizeof(sockaddr_in6));
}

TEST(Address, AnyPartTellsTwoApart) {
  EXPECT_EQ(at("10.0.0.1:7"), at("10.0.0.1", 7));
  EXPECT_NE(at("10.0.0.1:7"), at("10.0.0.1:8"));
  EXPECT_NE(at("10.0.0.1:7"), at("10.0.0.2:7"));
  EXPECT_NE(at("0.0.0.0:7"), at("[::]:7"));
  EXPECT_NE(at("[fe80::1%lo]:7"), at("[fe80::1]:7")) << "a link-local address is of an interface";
  Address moved = at("[::1]:7");
  moved.set_port(8);
  EXPECT_EQ(moved, at("[::1]:8"));
  const AddressHash hash;
  EXPECT_EQ(hash(at("10.0.0.1:7")), hash(at("10.0.0.1", 7)));
  EXPECT_NE(hash(at("10.0.0.1:7")), hash(at("10.0.0.1:8")));
  EXPECT_NE(hash(at("10.0.0.1:7")), hash(at("10.0.0.2:7")));
}

}  // namespace
}  // namespace weft::net
