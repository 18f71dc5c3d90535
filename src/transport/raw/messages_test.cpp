#include "transport/raw/messages.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::transport {
namespace {

constexpr std::uint32_t kPayload = 1000;

RC_GTEST_PROP(RawMessages, EveryByteLeavesOnceAndIsToldOnceAtEachEnd, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 5000));
  RawMessages raw({.payload = kPayload, .header = 64, .paths = 4});
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    RC_ASSERT(raw.post(0, 3, {Op::send, 5, sizes[i], i, 100 + i, Protocol::raw}));
  std::vector<std::uint64_t> arrived(sizes.size());
  std::vector<std::uint64_t> packets(sizes.size());
  Transmit out;
  std::uint64_t sent = 0;
  while (raw.poll(0, 3, out)) {
    ++sent;
    RC_ASSERT(raw.completions().size() == 1u);
    const Completion left = raw.completions()[0];
    raw.completions().clear();
    RC_ASSERT(left.kind == Completion::Kind::sent);
    RC_ASSERT(left.context == 100 + left.tag);
    RC_ASSERT(out.wire_bytes == left.bytes + 64);
    RC_ASSERT(out.header.path < 4);
    raw.handle(0, 5, out.type, 0, out.header);
    RC_ASSERT(raw.completions().size() == 1u);
    const Completion came = raw.completions()[0];
    raw.completions().clear();
    RC_ASSERT(came.kind == Completion::Kind::received);
    RC_ASSERT(came.peer == 3u);
    RC_ASSERT(came.tag == left.tag);
    arrived[came.tag] += came.bytes;
    ++packets[came.tag];
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    RC_ASSERT(arrived[i] == sizes[i]);
    RC_ASSERT(packets[i] == RawMessages::packets_of(sizes[i], kPayload));
  }
  RC_ASSERT(raw.counters().data_sent == sent);
}

TEST(RawMessages, WhatIsTrimmedOrNonsenseCountsAsNothing) {
  RawMessages raw({.payload = kPayload, .header = 64, .paths = 1});
  ASSERT_TRUE(raw.post(0, 0, {Op::send, 1, 1500, 7, 7, Protocol::raw}));
  EXPECT_FALSE(raw.post(0, 0, {Op::read, 1, 1500, 7, 7, Protocol::raw})) << "nobody would answer";
  EXPECT_FALSE(raw.post(0, 0, {Op::send, 1, UINT64_MAX, 7, 7, Protocol::raw}));
  Transmit out;
  ASSERT_TRUE(raw.poll(0, 0, out));
  raw.completions().clear();
  raw.handle(0, 1, out.type, kTrimmed, out.header);
  out.header.data.first = out.header.sequence - 2;  // a third packet of a message of two
  raw.handle(0, 1, out.type, 0, out.header);
  EXPECT_TRUE(raw.completions().empty());
  EXPECT_EQ(raw.counters().ignored, 2u);
  EXPECT_EQ(raw.counters().payload_delivered, 0u);
}

}  // namespace
}  // namespace weft::transport
