#pragma once
// A simulated packet as the bytes that a network would see of it, payload left out where a dissector does not miss it.
// What all have in common; each transport's `Frames`, in its folder, says the rest.
//
//   Ethernet  02:00 and the endpoint's number, from source to destination
//   IPv4      10.0.0.0 plus the endpoint's number; ECN says marked; DSCP tells classes apart (kDscp...)
//   UDP       from port 49152 plus what tells flows apart, without a checksum
//
// A frame has no FCS, as in captures of real ones.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "transport/capture.hpp"

namespace weft::transport {

// Code points for the classes of a switch (RFC 2474 leaves their use to the operator).
inline constexpr std::uint8_t kDscpData = 0;
inline constexpr std::uint8_t kDscpTrimmed = 45;
inline constexpr std::uint8_t kDscpAck = 46;
inline constexpr std::uint16_t kFirstSourcePort = 49152;  // dynamic ports begin here (RFC 6335)

class Frame {
 public:
  void u8(unsigned n) { bytes_[size_++] = static_cast<std::uint8_t>(n & 0xFF); }
  void u16(std::size_t n) {
    u8(static_cast<unsigned>(n >> 8));
    u8(static_cast<unsigned>(n));
  }
  void u24(std::uint32_t n) {
    u8(n >> 16);
    u16(n & 0xFFFF);
  }
  void u32(std::uint64_t n) {
    u16(n >> 16 & 0xFFFF);
    u16(n & 0xFFFF);
  }
  void u64(std::uint64_t n) {
    u32(n >> 32);
    u32(n);
  }
  void set_u16(std::size_t at, std::size_t n) {
    bytes_[at] = static_cast<std::uint8_t>(n >> 8 & 0xFF);
    bytes_[at + 1] = static_cast<std::uint8_t>(n & 0xFF);
  }
  std::size_t size() const { return size_; }
  std::span<const std::uint8_t> from(std::size_t at) const { return std::span(bytes_).subspan(at, size_ - at); }
  std::span<std::uint8_t> rest() { return std::span(bytes_).subspan(size_); }
  void skip(std::size_t n) { size_ += n; }
  // All that is captured of it.
  std::string captured() const {
    std::string all(reinterpret_cast<const char*>(bytes_.data()), size_);
    if (!icrc) return all;
    all.append(original - size_ - sizeof *icrc, '\0');
    for (unsigned i = 0; i < sizeof *icrc; ++i) all.push_back(static_cast<char>(*icrc >> 8 * i & 0xFF));
    return all;
  }

  std::size_t original = 0;           // length of the whole frame, payload included
  std::optional<std::uint32_t> icrc;  // then the payload is captured, too: zeros, and this behind them

 private:
  std::array<std::uint8_t, 98> bytes_{};
  std::size_t size_ = 0;
};

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kIpBytes = 20;
enum IpProtocol : unsigned { kTcpOverIp = 6, kUdpOverIp = 17 };

// Lengths and checksums are filled in when the rest is known. `control`: what goes first and is not marked.
void add_ethernet_and_ip(Frame& frame, const Captured& packet, IpProtocol protocol, bool control,
                         std::optional<unsigned> dscp = std::nullopt);
void finish_ip(Frame& frame);
void add_udp(Frame& frame, std::uint16_t from, std::uint16_t to);
void finish_udp(Frame& frame, std::size_t original);

std::uint16_t dynamic_port(std::uint32_t number);
// The Internet's checksum: a sum of words, and what stands for it on the wire.
std::uint32_t sum_of(std::span<const std::uint8_t> words);
std::uint16_t folded(std::uint32_t sum);

}  // namespace weft::transport
