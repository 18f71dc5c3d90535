#pragma once
// Captured packets as a pcapng file that Wireshark and tshark open, with share/wireshark/weft_srd.lua for SRD.
//
// Every captured link is an interface named "from to to". A packet gets the headers it would have on the wire:
//
//   Ethernet  02:00 and the endpoint's number, from source to destination
//   IPv4      10.0.0.0 plus the endpoint's number; ECN says marked; DSCP tells data, trimmed data and
//             acknowledgements apart (kDscp...)
//   UDP       source port 49152 plus the path, destination port 7791; no checksum, as IPv4 allows
//   SRD       transport/codec.hpp
//
// Payload bytes do not exist in the simulator: they are missing from the capture, and the packet's original length
// says how long it was there. Where that is shorter than these headers the headers count.
//
// Times are whole nanoseconds, and the picoseconds left over stand in the packet's comment: the format could
// count picoseconds, but Wireshark 4.0 multiplies them by 10^9 and overflows after 18 ms.

#include <cstdint>
#include <ostream>
#include <span>
#include <string>

#include "transport/capture.hpp"

namespace weft::report {

// Code points for the classes of a switch (RFC 2474 leaves their use to the operator).
inline constexpr std::uint8_t kDscpData = 0;
inline constexpr std::uint8_t kDscpTrimmed = 45;
inline constexpr std::uint8_t kDscpAck = 46;
inline constexpr std::uint16_t kFirstSourcePort = 49152;  // dynamic ports begin here (RFC 6335)

class PcapngWriter {
 public:
  // `links`: the name of each captured link; a packet's `link` is a place in it.
  PcapngWriter(std::ostream& out, std::span<const std::string> links);
  void add(const transport::Captured& packet);

 private:
  std::ostream& out_;
};

}  // namespace weft::report
