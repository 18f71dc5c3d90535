#pragma once
// SRD on the wire: a header of fixed size, then the envelope, then the payload, inside UDP. All numbers are
// big-endian. The UDP source port follows from the path, so that switches hash it (ECMP); marks (ECN) and
// trimming are said by the IP header, so a data packet is encoded without kMarked and kTrimmed and the
// driver adds what IP said to the flags it decoded. docs/protocol.md is the page for readers; it also has the
// packets by which a connection is agreed on (net/control.hpp).
//
//   offset size field             data and raw            ack
//        0    1 version           2
//        1    1 type              0, 2                    1
//        2    1 flags             4 ack now, 8 resent     2 trimmed, 4 not ready, 8 stale
//        3    1 op                0 send, 1 write,        0
//                                 2 read, 3 response
//        4    4 header checksum   CRC-32C of the 56 bytes with this field zero
//        8    8 connection        the receiver's number for it; simulated: source (4), destination (4)
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
//       48    4 payload checksum  CRC-32C of envelope     0
//                                 and payload
//       52    2 fragment          payload of a full       waited (4): ns from when the packet answered arrived
//                                 packet; 0: simulated    until this left
//       54    1 envelope          its bytes
//       55    1                   0
//
// What an acknowledgement waited is a busy host's business and no queue in the network: the sender takes it off the
// round trip.
// The envelope is the layer above's: the same in every packet of a message, so that any of them may come first.
// A packet's place in its message is (sequence - first) * fragment.
// An ack's `from` is its sequence, or echo - 63 where the echo is at least 64 above the sequence.
// The two checksums are separate because a switch may cut the payload and the header must still count.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/packet.hpp"

namespace weft::transport {

inline constexpr std::uint16_t kSrdPort = 7791;
inline constexpr std::uint8_t kWireVersion = 2;
inline constexpr std::size_t kWireHeader = 56;
inline constexpr std::size_t kMostEnvelope = 48;
inline constexpr std::size_t kEnvelopeAt = 54;  // where a header says how long it is

// A packet without its payload.
struct Encoded {
  PacketType type = PacketType::data;
  std::uint8_t flags = 0;
  Header header{};
  std::uint32_t payload_checksum = 0;
  std::uint16_t fragment = 0;
  std::uint8_t envelope = 0;
  std::uint32_t waited = 0;
};

// The number of bytes written; 0 when `out` is too short.
std::size_t encode(const Encoded& packet, std::span<std::uint8_t> out);

// Nothing when the bytes are not a whole, intact header of this version. What follows it is envelope and payload.
std::optional<Encoded> decode(std::span<const std::uint8_t> in);

// Whether the bytes look like this packet of data, were they intact: to be asked before decode().
bool is_data(std::span<const std::uint8_t> in, std::uint64_t connection, std::uint32_t first, std::uint32_t sequence);

// Names the connection in the header, where endpoints are those of one process.
inline std::uint64_t connection_of(const Header& header) {
  return std::uint64_t{header.source} << 32 | header.destination;
}
inline void set_connection(Header& header, std::uint64_t connection) {
  header.source = static_cast<std::uint32_t>(connection >> 32);
  header.destination = static_cast<std::uint32_t>(connection);
}

}  // namespace weft::transport
