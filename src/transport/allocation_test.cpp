// Nothing is allocated per packet: once the slabs have their size, a transfer leaves the heap alone.

#include <gtest/gtest.h>

#include "base/testing_allocations.hpp"
#include "transport/testing_times.hpp"
#include "transport/transports.hpp"

namespace weft::transport {
namespace {

constexpr std::uint32_t kMessages = 8;

bool has_payload(PacketType type) { return data_of(protocol_of(type)) == type; }

// Two endpoints of one object, back to back: what one sends the other handles. One data packet in 50 is trimmed or,
// where that is nobody's news, lost.
template <class Transport>
std::uint64_t transfer(Transport& transport, Instant& now, bool reads) {
  std::uint64_t packets = 0;
  std::uint32_t open = 0;
  for (std::uint32_t i = 0; i < kMessages / 2; ++i) {
    EXPECT_TRUE(transport.post(now, 0, {Op::send, 1, 300'000, i, i}));
    EXPECT_TRUE(transport.post(now, 1, {Op::write, 0, 300'000, i, i}));
    open += 2;
    if (reads) open += transport.post(now, 0, {Op::read, 1, 300'000, i, i});
  }
  Transmit out;
  const auto pass = [&](std::uint32_t side, const Transmit& packet) {
    const bool hurt = has_payload(packet.type) && ++packets % 50 == 0;
    if (hurt && !can_be_trimmed(packet.type)) return;
    transport.handle(now, 1 - side, packet.type, static_cast<std::uint8_t>(packet.flags | (hurt ? kTrimmed : 0)),
                     packet.header);
  };
  for (int step = 0; open > 0; ++step) {
    if (step > 1'000'000) {
      ADD_FAILURE() << "it goes on and on";
      return packets;
    }
    now += kMicrosecond;
    for (const std::uint32_t side : {0u, 1u}) {
      while (transport.poll(now, side, out)) {
        pass(side, out);
        for (const std::uint32_t answering : {0u, 1u})
          while (transport.poll_ack(answering, out)) pass(answering, out);
      }
    }
    for (const Completion& each : transport.completions()) open -= each.kind != Completion::Kind::received;
    transport.completions().clear();
  }
  return packets;
}

template <class Transport, class Config>
void expect_none(const Config& config, bool reads = false) {
  Transport transport(config);
  Instant now = 0;
  for (int i = 0; i < 3; ++i) transfer(transport, now, reads);  // slabs get their size
  const std::uint64_t before = allocations;
  const std::uint64_t packets = transfer(transport, now, reads);
  EXPECT_EQ(allocations, before);
  EXPECT_GT(before, 0u);
  EXPECT_GT(packets, kMessages * 300u);
}

SrdConfig srd_config() {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = nanoseconds(100);
  config.base_rtt = microseconds(1);
  return config;
}

TEST(Allocation, ASteadyTransferOfSrdHasNone) { expect_none<Srd>(srd_config(), true); }

TEST(Allocation, ASteadyTransferOfTcpOverSrdHasNone) { expect_none<TcpOverSrd>(srd_config()); }

TEST(Allocation, ASteadyTransferOfRoceHasNone) {
  for (const auto recovery : {RoceConfig::Recovery::go_back_n, RoceConfig::Recovery::selective}) {
    RoceConfig config;
    config.mtu = 1000;
    config.packet_time = nanoseconds(100);
    config.base_rtt = microseconds(1);
    config.ack_timeout = microseconds(100);
    config.recovery = recovery;
    expect_none<Roce>(config);
  }
}

TEST(Allocation, ASteadyTransferOfTcpHasNone) {
  for (const auto control : {TcpConfig::Control::cubic, TcpConfig::Control::dctcp}) {
    TcpConfig config;
    config.mtu = 1000 + config.headers;
    config.base_rtt = microseconds(1);
    config.rto_min = microseconds(1000);
    config.timer_least = microseconds(100);
    config.control = control;
    expect_none<Tcp>(config);
  }
}

TEST(Allocation, ASteadyTransferOfUetHasNone) {
  UetConfig config;
  config.payload = 1000;
  config.packet_time = nanoseconds(100);
  config.base_rtt = microseconds(1);
  expect_none<Uet>(config);
}

}  // namespace
}  // namespace weft::transport
