#include "transport/srd/codec.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/crc32c.hpp"

namespace weft::transport {
namespace {

using Bytes = std::array<std::uint8_t, kWireHeader>;

Encoded some_packet() {
  Encoded x;
  x.type = *rc::gen::element(PacketType::data, PacketType::ack, PacketType::raw);
  x.flags = *rc::gen::inRange<std::uint8_t>(0, 16);
  Header& header = x.header;
  header.source = *rc::gen::arbitrary<std::uint32_t>();
  header.destination = *rc::gen::arbitrary<std::uint32_t>();
  header.path = *rc::gen::arbitrary<std::uint16_t>();
  header.sequence = *rc::gen::arbitrary<std::uint32_t>();
  header.stream = *rc::gen::arbitrary<std::uint16_t>();
  header.generation = *rc::gen::arbitrary<std::uint16_t>();
  header.peer_generation = *rc::gen::arbitrary<std::uint16_t>();
  if (x.type == PacketType::ack) {
    x.waited = *rc::gen::arbitrary<std::uint32_t>();
    header.fan_in = *rc::gen::arbitrary<std::uint16_t>();
    header.echo = *rc::gen::arbitrary<std::uint16_t>();
    header.ack = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>()};
  } else {
    if (x.type == PacketType::data) header.echo = *rc::gen::arbitrary<std::uint16_t>();
    x.payload_checksum = *rc::gen::arbitrary<std::uint32_t>();
    x.fragment = *rc::gen::arbitrary<std::uint16_t>();
    x.envelope = *rc::gen::inRange<std::uint8_t>(0, kMostEnvelope + 1);
    header.op = *rc::gen::element(Op::send, Op::write, Op::read, Op::response);
    header.data = {*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint32_t>(),
                   *rc::gen::arbitrary<std::uint64_t>()};
  }
  return x;
}

Bytes encoded(const Encoded& x) {
  Bytes out{};
  EXPECT_EQ(encode(x, out), kWireHeader);
  return out;
}

RC_GTEST_PROP(Codec, WhatGoesInComesOut, ()) {
  const Encoded x = some_packet();
  const auto back = decode(encoded(x));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->type == x.type);
  RC_ASSERT(back->flags == x.flags);
  RC_ASSERT(back->payload_checksum == x.payload_checksum);
  RC_ASSERT(back->fragment == x.fragment);
  RC_ASSERT(back->envelope == x.envelope);
  RC_ASSERT(back->waited == x.waited);
  RC_ASSERT(back->header.source == x.header.source);
  RC_ASSERT(back->header.destination == x.header.destination);
  RC_ASSERT(back->header.path == x.header.path);
  RC_ASSERT(back->header.sequence == x.header.sequence);
  RC_ASSERT(back->header.stream == x.header.stream);
  RC_ASSERT(back->header.generation == x.header.generation);
  RC_ASSERT(back->header.peer_generation == x.header.peer_generation);
  RC_ASSERT(back->header.echo == x.header.echo);
  if (x.type == PacketType::ack) {
    RC_ASSERT(back->header.fan_in == x.header.fan_in);
    RC_ASSERT(back->header.ack.arrived == x.header.ack.arrived);
    RC_ASSERT(back->header.ack.marked == x.header.ack.marked);
  } else {
    RC_ASSERT(back->header.op == x.header.op);
    RC_ASSERT(back->header.data.first == x.header.data.first);
    RC_ASSERT(back->header.data.tag == x.header.data.tag);
    RC_ASSERT(back->header.data.size == x.header.data.size);
  }
}

RC_GTEST_PROP(Codec, AnyWrongBitIsFound, ()) {
  Bytes bytes = encoded(some_packet());
  for (std::size_t bit = 0; bit < 8 * kWireHeader; ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    RC_ASSERT(!decode(bytes).has_value());
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
  }
  RC_ASSERT(decode(bytes).has_value());
}

RC_GTEST_PROP(Codec, ShortAndRandomBytesAreRefused, (const std::vector<std::uint8_t>& noise)) {
  RC_ASSERT(!decode(noise).has_value());
  const Bytes bytes = encoded(some_packet());
  const auto length = *rc::gen::inRange<std::size_t>(0, kWireHeader);
  RC_ASSERT(!decode(std::span(bytes).first(length)).has_value());
  Bytes out{};
  RC_ASSERT(encode({}, std::span(out).first(length)) == 0);
}

// What nobody sends is refused even when its checksum is right: the table in codec.hpp, field by field.
TEST(Codec, FieldsWithoutMeaningAreRefused) {
  const auto resealed = [](Bytes bytes, std::size_t at, std::uint8_t value) {
    bytes[at] = value;
    std::fill_n(bytes.begin() + 4, 4, std::uint8_t{0});
    const std::uint32_t sum = crc32c(bytes);
    for (std::size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    return decode(bytes).has_value();
  };
  Bytes data{};
  encode({.flags = kAckNow}, data);
  Bytes raw{};
  encode({.type = PacketType::raw}, raw);
  Bytes ack{};
  encode({.type = PacketType::ack}, ack);
  EXPECT_TRUE(resealed(data, 3, 3));
  EXPECT_FALSE(resealed(data, 0, 1));     // version
  EXPECT_FALSE(resealed(data, 1, 3));     // type
  EXPECT_FALSE(resealed(data, 2, 0x10));  // flags
  EXPECT_FALSE(resealed(data, 3, 4));     // op
  EXPECT_TRUE(resealed(data, 29, 1));
  EXPECT_FALSE(resealed(raw, 29, 1));   // echo of what nobody answers
  EXPECT_FALSE(resealed(data, 31, 1));  // fan-in of data
  EXPECT_FALSE(resealed(ack, 3, 1));    // op of an ack
  EXPECT_TRUE(resealed(ack, 31, 1));
  EXPECT_TRUE(resealed(data, 54, kMostEnvelope));
  EXPECT_FALSE(resealed(data, 54, kMostEnvelope + 1));
  EXPECT_FALSE(resealed(data, 55, 1));
  EXPECT_FALSE(resealed(ack, 51, 1));  // payload's checksum of an ack
  EXPECT_TRUE(resealed(ack, 55, 1));
}

// A capture someone may have kept: the layout is a promise.
TEST(Codec, TheLayoutIsTheDocumentedOne) {
  Header header;
  header.source = 0x01020304;
  header.destination = 0x05060708;
  header.path = 0x090a;
  header.generation = 0x0b0c;
  header.peer_generation = 0x0d0e;
  header.stream = 0x0f10;
  header.sequence = 0x11121314;
  header.op = Op::write;
  header.data = {0x21222324, 0x25262728, 0x292a2b2c2d2e2f30};
  Bytes bytes{};
  encode({PacketType::data, kAckNow, header, 0x31323334, 0x3536, 0x20, 0}, bytes);
  const std::array<std::uint8_t, 4> start = {2, 0, 4, 1};
  EXPECT_TRUE(std::equal(start.begin(), start.end(), bytes.begin()));
  for (std::size_t i = 8; i < 28; ++i) EXPECT_EQ(bytes[i], i - 7) << i;
  for (std::size_t i = 28; i < 32; ++i) EXPECT_EQ(bytes[i], 0) << i;
  for (std::size_t i = 32; i < 54; ++i) EXPECT_EQ(bytes[i], i + 1) << i;
  EXPECT_EQ(bytes[54], 0x20);
  EXPECT_EQ(bytes[55], 0);
}

}  // namespace
}  // namespace weft::transport
