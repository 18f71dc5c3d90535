#include "transport/srd/codec.hpp"

#include <array>

#include "base/big_endian.hpp"
#include "base/crc32c.hpp"

namespace weft::transport {
namespace {

constexpr std::size_t kChecksumAt = 4;
constexpr std::uint8_t kFlagBits = kMarked | kTrimmed | kAckNow | kResent;

std::uint32_t checksum_of(std::span<const std::uint8_t> header) {
  constexpr std::array<std::uint8_t, 4> kZero{};
  const std::uint32_t before = crc32c(kZero, crc32c(header.first(kChecksumAt)));
  return crc32c(header.subspan(kChecksumAt + 4, kWireHeader - kChecksumAt - 4), before);
}

}  // namespace

std::size_t encode(const Encoded& packet, std::span<std::uint8_t> out) {
  if (out.size() < kWireHeader) return 0;
  const bool ack = packet.type == PacketType::ack;
  const Header& header = packet.header;
  put(out, 0, kWireVersion);
  put(out, 1, static_cast<std::uint8_t>(packet.type));
  put(out, 2, packet.flags);
  put(out, 3, ack ? std::uint8_t{0} : static_cast<std::uint8_t>(header.op));
  put(out, 8, header.source);
  put(out, 12, header.destination);
  put(out, 16, header.path);
  put(out, 18, header.generation);
  put(out, 20, header.peer_generation);
  put(out, 22, header.stream);
  put(out, 24, header.sequence);
  put(out, 28, header.echo);
  put(out, 30, ack ? header.fan_in : std::uint16_t{0});
  if (ack) {
    put(out, 32, header.ack.arrived);
    put(out, 40, header.ack.marked);
  } else {
    put(out, 32, header.data.first);
    put(out, 36, header.data.tag);
    put(out, 40, header.data.size);
  }
  put(out, 48, ack ? 0u : packet.payload_checksum);
  if (ack) {
    put(out, 52, packet.waited);
  } else {
    put(out, 52, packet.fragment);
    put(out, kEnvelopeAt, packet.envelope);
    put(out, 55, std::uint8_t{0});
  }
  put(out, kChecksumAt, checksum_of(out));
  return kWireHeader;
}

std::optional<Encoded> decode(std::span<const std::uint8_t> in) {
  if (in.size() < kWireHeader || in[0] != kWireVersion) return std::nullopt;
  if (in[1] > static_cast<std::uint8_t>(PacketType::raw) || (in[2] & ~kFlagBits) != 0) return std::nullopt;
  if (get<std::uint32_t>(in, kChecksumAt) != checksum_of(in)) return std::nullopt;
  Encoded out;
  out.type = static_cast<PacketType>(in[1]);
  out.flags = in[2];
  out.payload_checksum = get<std::uint32_t>(in, 48);
  Header& header = out.header;
  header.source = get<std::uint32_t>(in, 8);
  header.destination = get<std::uint32_t>(in, 12);
  header.path = get<std::uint16_t>(in, 16);
  header.generation = get<std::uint16_t>(in, 18);
  header.peer_generation = get<std::uint16_t>(in, 20);
  header.stream = get<std::uint16_t>(in, 22);
  header.sequence = get<std::uint32_t>(in, 24);
  header.echo = get<std::uint16_t>(in, 28);
  if (out.type == PacketType::ack) {
    if (in[3] != 0 || out.payload_checksum != 0) return std::nullopt;
    out.waited = get<std::uint32_t>(in, 52);
    header.fan_in = get<std::uint16_t>(in, 30);
    header.ack = {get<std::uint64_t>(in, 32), get<std::uint64_t>(in, 40)};
  } else {
    if (in[3] > static_cast<std::uint8_t>(Op::response) || in[30] != 0 || in[31] != 0) return std::nullopt;
    if (out.type == PacketType::raw && header.echo != 0) return std::nullopt;  // nobody answers it
    if (in[kEnvelopeAt] > kMostEnvelope || in[55] != 0) return std::nullopt;
    out.fragment = get<std::uint16_t>(in, 52);
    out.envelope = in[kEnvelopeAt];
    header.op = static_cast<Op>(in[3]);
    header.data = {get<std::uint32_t>(in, 32), get<std::uint32_t>(in, 36), get<std::uint64_t>(in, 40)};
  }
  return out;
}

bool is_data(std::span<const std::uint8_t> in, std::uint64_t connection, std::uint32_t first, std::uint32_t sequence) {
  return in.size() >= kWireHeader && in[1] == static_cast<std::uint8_t>(PacketType::data) &&
         get<std::uint64_t>(in, 8) == connection && get<std::uint32_t>(in, 24) == sequence &&
         get<std::uint32_t>(in, 32) == first;
}

}  // namespace weft::transport
