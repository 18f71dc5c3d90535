// Nothing is allocated per packet: once the slabs have their size, a transfer leaves the heap alone.

#include <gtest/gtest.h>

#include "base/testing_allocations.hpp"
#include "transport/srd.hpp"

namespace weft::transport {
namespace {

// Two endpoints of one object, back to back: what one sends the other handles, one in 50 trimmed.
std::uint64_t transfer(Srd& srd, Instant& now) {
  std::uint64_t packets = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    srd.post(now, 0, {Op::send, 1, 300'000, i, i});
    srd.post(now, 1, {Op::write, 0, 300'000, i, i});
    srd.post(now, 0, {Op::read, 1, 300'000, i, i});
  }
  Transmit out;
  while (srd.next_wake(0) != kNever || srd.next_wake(1) != kNever) {
    now += 1'000'000;
    for (const std::uint32_t side : {0u, 1u}) {
      while (srd.poll(now, side, out)) {
        const auto flags = static_cast<std::uint8_t>(out.flags | (++packets % 50 == 0 ? kTrimmed : 0));
        srd.handle(now, 1 - side, out.type, flags, out.header);
        while (srd.poll_ack(1 - side, out)) srd.handle(now, side, out.type, out.flags, out.header);
      }
    }
    srd.completions().clear();
  }
  return packets;
}

TEST(SrdAllocation, ASteadyTransferAllocatesNothing) {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = 100'000;
  config.base_rtt = 1'000'000;
  Srd srd(config);
  Instant now = 0;
  transfer(srd, now);
  const std::uint64_t before = allocations;
  const std::uint64_t packets = transfer(srd, now);
  EXPECT_EQ(allocations, before);
  EXPECT_GT(before, 0u);
  EXPECT_GT(packets, 3600u);
}

}  // namespace
}  // namespace weft::transport
