#pragma once
// SRD on the wire: a header of fixed size in front of the payload, inside UDP to port 7791. All numbers
// are big-endian. The UDP source port repeats the path, so that switches hash it (ECMP); marks (ECN) and
// trimming are said by the IP header, so a data packet is encoded without kMarked and kTrimmed and the
// driver adds what IP said to the flags it decoded.
//
//   offset size field             data and raw            ack
//        0    1 version           1
//        1    1 type              0, 2                    1
//        2    1 flags             4 ack now, 8 resent     2 trimmed, 4 not ready, 8 stale
//        3    1 op                0 send, 1 write,        0
//                                 2 read, 3 response
//        4    4 header checksum   CRC-32C of the 52 bytes with this field zero
//        8    4 source            endpoint
//       12    4 destination       endpoint
//       16    2 path
//       18    2 generation        of the source
//       20    2 peer generation   of the destination as known, 0: not
//       22    2 stream
//       24    4 sequence          its number              all below have arrived
//       28    2 echo              from its path to that   low 16 bits of the packet answered
//                                 of its ack; raw: 0
//       30    2 fan-in            0                       senders the receiver listens to
//       32    8                   first (4), tag (4)      arrived: bit i is from + i
//       40    8                   size of the message     marked: bit i is echo - i
//       48    4 payload checksum  CRC-32C of the payload  0
//
// An ack's `from` is its sequence, or echo - 63 where the echo is at least 64 above the sequence.
// The two checksums are separate because a switch may cut the payload and the header must still count.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/packet.hpp"

namespace weft::transport {

inline constexpr std::uint16_t kSrdPort = 7791;
inline constexpr std::uint8_t kWireVersion = 1;
inline constexpr std::size_t kWireHeader = 52;

struct Decoded {
  PacketType type = PacketType::data;
  std::uint8_t flags = 0;
  Header header;
  std::uint32_t payload_checksum = 0;
};

// The number of bytes written; 0 when `out` is too short.
std::size_t encode(PacketType type, std::uint8_t flags, const Header& header, std::span<std::uint8_t> out,
                   std::uint32_t payload_checksum = 0);

// Nothing when the bytes are not a whole, intact header of this version. What follows it is payload.
std::optional<Decoded> decode(std::span<const std::uint8_t> in);

}  // namespace weft::transport
