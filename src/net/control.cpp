#include "net/control.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "base/big_endian.hpp"
#include "base/crc32c.hpp"

namespace weft::net {
namespace {

constexpr std::size_t kChecksum = 4;
constexpr std::int64_t kEpochSeconds = 30;  // a cookie is good for one to two of them

std::uint32_t control_checksum(std::span<const std::uint8_t> packet) {
  constexpr std::array<std::uint8_t, 4> kZero{};
  return crc32c(packet.subspan(kChecksum + 4), crc32c(kZero, crc32c(packet.first(kChecksum))));
}

bool is_control(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(Control::hello) && type <= static_cast<std::uint8_t>(Control::seen);
}

}  // namespace

std::vector<std::uint8_t> encode(const ControlPacket& packet, const Key* key) {
  const bool tagged = key != nullptr && packet.type != Control::refused;
  const std::size_t text = tagged ? kTagBytes : std::min(packet.text.size(), kMostText);
  std::vector<std::uint8_t> out(kControlBytes + text);
  put(out, 0, packet.version);
  put(out, 1, static_cast<std::uint8_t>(packet.type));
  put(out, 8, packet.connection);
  put(out, 16, packet.own_connection);
  put(out, 24, packet.nonce);
  std::ranges::copy(packet.cookie, out.begin() + 32);
  put(out, 48, packet.port);
  put(out, 50, packet.datagram);
  put(out, 52, packet.largest);
  put(out, 54, static_cast<std::uint16_t>(text));
  put(out, 56, packet.features);
  if (tagged) {
    std::ranges::copy(tag_of(*key, std::span(out).first(kControlBytes)), out.begin() + kControlBytes);
  } else {
    std::copy_n(packet.text.begin(), text, out.begin() + kControlBytes);
  }
  put(out, kChecksum, control_checksum(out));
  if (packet.datagram > out.size()) out.resize(packet.datagram);
  return out;
}

std::optional<ControlPacket> decode_control(std::span<const std::uint8_t> in) {
  if (in.size() < kControlBytes || in[0] != transport::kWireVersion || !is_control(in[1])) return std::nullopt;
  const std::size_t text = get<std::uint16_t>(in, 54);
  if (text > kMostText || in.size() < kControlBytes + text) return std::nullopt;
  if (get<std::uint32_t>(in, kChecksum) != control_checksum(in.first(kControlBytes + text))) return std::nullopt;
  ControlPacket out;
  out.type = static_cast<Control>(in[1]);
  out.connection = get<std::uint64_t>(in, 8);
  out.own_connection = get<std::uint64_t>(in, 16);
  out.nonce = get<std::uint64_t>(in, 24);
  std::copy_n(in.begin() + 32, out.cookie.size(), out.cookie.begin());
  out.port = get<std::uint16_t>(in, 48);
  out.datagram = get<std::uint16_t>(in, 50);
  out.largest = get<std::uint16_t>(in, 52);
  out.features = get<std::uint32_t>(in, 56);
  out.text.assign(in.begin() + kControlBytes, in.begin() + static_cast<std::ptrdiff_t>(kControlBytes + text));
  // A packet shorter than it says to be was cut, or lies about what the path takes.
  if (out.datagram != 0 && out.datagram != in.size()) return std::nullopt;
  return out;
}

bool is_tagged(std::span<const std::uint8_t> in, const Key& key) {
  if (in.size() < kControlBytes + kTagBytes || get<std::uint16_t>(in, 54) != kTagBytes) return false;
  std::array<std::uint8_t, kControlBytes> said;
  std::copy_n(in.begin(), kControlBytes, said.begin());
  put(std::span<std::uint8_t>(said), kChecksum, std::uint32_t{0});
  return same(tag_of(key, said), in.subspan(kControlBytes, kTagBytes));
}

std::optional<ControlPacket> refusal_of(std::span<const std::uint8_t> hello) {
  if (hello.size() < kControlBytes || hello[0] == transport::kWireVersion ||
      hello[1] != static_cast<std::uint8_t>(Control::hello))
    return std::nullopt;
  ControlPacket out;
  out.version = hello[0];
  out.type = Control::refused;
  out.connection = get<std::uint64_t>(hello, 16);
  out.nonce = get<std::uint64_t>(hello, 24);
  out.text = fmt::format("this peer speaks version {} of SRD's wire format, the greeting was of version {}",
                         transport::kWireVersion, hello[0]);
  return out;
}

Cookies::Cookies() {
  if (sodium_init() < 0) std::abort();  // no source of random numbers: nothing here would be safe
  randombytes_buf(secret_.data(), secret_.size());
}

Cookie Cookies::at(const Address& from, std::uint64_t connection, std::int64_t epoch) const {
  std::array<std::uint8_t, 34> said{};
  const auto ip = from.ip();
  std::ranges::copy(ip, said.begin());
  put(said, 16, from.port());
  put(said, 18, connection);
  put(said, 26, static_cast<std::uint64_t>(epoch));
  Cookie cookie{};
  crypto_generichash(cookie.data(), cookie.size(), said.data(), said.size(), secret_.data(), secret_.size());
  return cookie;
}

Cookie Cookies::make(const Address& from, std::uint64_t connection, std::int64_t seconds) const {
  return at(from, connection, seconds / kEpochSeconds);
}

bool Cookies::check(const Cookie& cookie, const Address& from, std::uint64_t connection, std::int64_t seconds) const {
  for (const std::int64_t back : {0, 1}) {
    const Cookie right = at(from, connection, seconds / kEpochSeconds - back);
    if (sodium_memcmp(right.data(), cookie.data(), cookie.size()) == 0) return true;
  }
  return false;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) randombytes_buf(&number, sizeof number);
  return number;
}

}  // namespace weft::net
