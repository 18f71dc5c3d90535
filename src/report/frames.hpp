#pragma once
// A simulated packet as the bytes that a network would see of it, payload left out where a dissector does not miss it.
//
//   Ethernet  02:00 and the endpoint's number, from source to destination
//   IPv4      10.0.0.0 plus the endpoint's number; ECN says marked; DSCP tells classes apart (kDscp...)
//   SRD       UDP from port 49152 plus the path to 7791, then transport/srd/codec.hpp. So is TCP over SRD
//   RoCEv2    UDP from 49152 plus the queue pair to 4791, then BTH and AETH as InfiniBand specifies (volume 1, 9.2).
//             Queue pairs are numbered from 2 on: 0 and 1 are for management
//   TCP       from 49152 plus the connection to 7791, acknowledgements back; RFC 9293 with timestamps (whole
//             milliseconds, no echo), SACK and D-SACK. Where marks are echoed their count stands in ACE (AccECN)
//   UET       UDP from 49152 plus the entropy to 4793, then the header of its packet delivery sublayer
//             (Ultra Ethernet 1.0, 3.5: RUD_REQ, ACK_CC, NACK, a probe as CP); no semantic header above it
//
// A frame has no FCS, as in captures of real ones, nor UET's check, which stands behind the payload. TCP's checksum is
// right for a payload of zeros. Wireshark takes RoCE without its payload for malformed, so that is there, as zeros, and
// the ICRC behind it.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "transport/capture.hpp"
#include "transport/roce/config.hpp"

namespace weft::report {

// Code points for the classes of a switch (RFC 2474 leaves their use to the operator).
inline constexpr std::uint8_t kDscpData = 0;
inline constexpr std::uint8_t kDscpTrimmed = 45;
inline constexpr std::uint8_t kDscpAck = 46;
inline constexpr std::uint8_t kDscpRoce = 26;             // as guides for RoCE choose it
inline constexpr std::uint8_t kDscpCnp = 48;              // likewise
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
  std::array<std::uint8_t, 96> bytes_{};
  std::size_t size_ = 0;
};

// What headers depend on and no packet says of itself.
struct WireNumbers {
  transport::RoceConfig roce;
  std::uint32_t tcp_segment = 8948;  // bytes of payload
};

class FrameMaker {
 public:
  // All packets of the capture: TCP counts bytes where the simulator counts segments, so what is short has to be known.
  FrameMaker(const WireNumbers& numbers, std::span<const transport::Captured> packets);
  Frame make(const transport::Captured& packet) const;

 private:
  using Connection = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;  // who sends to whom, stream
  void add_roce(Frame& frame, const transport::Captured& packet) const;
  void add_tcp(Frame& frame, const transport::Captured& packet) const;
  std::uint64_t byte_of(const Connection& connection, std::uint32_t segment) const;

  WireNumbers numbers_;
  // By the segment behind a message: by how many bytes all messages up to it are shorter than their segments.
  std::map<Connection, std::map<std::uint32_t, std::uint64_t>> missing_;
};

}  // namespace weft::report
