// Any bytes as packets of SRD: what decodes encodes to the same bytes, and a state machine that hears it all stays
// whole. An input is a run of packets, each a length and that many bytes; half of them get the checksum that they lack,
// for no fuzzer finds one.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/big_endian.hpp"
#include "base/crc32c.hpp"
#include "transport/srd/codec.hpp"
#include "transport/srd/srd.hpp"

namespace {

using namespace weft::transport;

constexpr std::uint32_t kPeers = 4;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

void complete(std::vector<std::uint8_t>& packet) {
  if (packet.size() < kWireHeader) packet.resize(kWireHeader);
  packet[0] = kWireVersion;
  weft::put(std::span(packet), 4, std::uint32_t{0});
  weft::put(std::span(packet), 4, weft::crc32c(std::span(packet).first(kWireHeader)));
}

SrdConfig config() {
  SrdConfig srd;
  srd.payload = 100;
  srd.drops = true;
  srd.base_rtt = weft::microseconds(100);
  srd.packet_time = weft::microseconds(1);
  srd.receive_messages = 16;
  return srd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Srd srd(config());
  Instant now = 1'000'000'000'000;
  for (std::uint32_t peer = 0; peer < kPeers; ++peer)
    srd.post(now, 0, {.op = Op::send, .peer = peer, .bytes = 1000, .tag = peer});
  std::span<const std::uint8_t> left(data, size);
  while (left.size() >= 2) {
    const std::uint8_t how = left[0];
    const std::size_t length = std::min<std::size_t>(left[1], left.size() - 2);
    std::vector<std::uint8_t> packet(left.begin() + 2, left.begin() + 2 + static_cast<std::ptrdiff_t>(length));
    left = left.subspan(2 + length);
    if (how & 1) complete(packet);
    now += Instant{how} * 1'000'000;
    Transmit out;
    while (srd.poll(now, 0, out)) {
    }
    const auto decoded = decode(packet);
    if (!decoded) continue;
    std::array<std::uint8_t, kWireHeader> again{};
    require(encode(*decoded, again) == kWireHeader && std::ranges::equal(again, std::span(packet).first(kWireHeader)),
            "what decodes encodes to the same bytes");
    if (decoded->type == PacketType::raw) continue;
    Header header = decoded->header;
    header.source %= kPeers;
    header.destination = 0;
    if (decoded->type == PacketType::data && !srd.has_length(0, header, packet.size() - kWireHeader)) continue;
    const Placement placement = srd.handle(now, 0, decoded->type, decoded->flags, header);
    if (placement.kind == Placement::Kind::place)
      require(placement.offset + placement.length <= header.data.size, "what is placed lies inside of its message");
    while (srd.poll_ack(0, out)) {
    }
    srd.completions().clear();
  }
  const auto wrong = srd.check_invariants();
  if (!wrong.empty()) std::fprintf(stderr, "%.*s\n", static_cast<int>(wrong.size()), wrong.data());
  require(wrong.empty(), "the state machine is whole");
  return 0;
}
