#pragma once
// Captured packets as a pcapng file that Wireshark and tshark open. They know TCP and RoCEv2; for SRD and UET there are
// share/wireshark/weft_srd.lua and weft_uet.lua.
//
// Every captured link is an interface named "from to to". A packet gets the headers it would have on the wire
// (frames.hpp).
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

#include "report/frames.hpp"

namespace weft::report {

class PcapngWriter {
 public:
  // `links`: the name of each captured link; a packet's `link` is a place in it.
  PcapngWriter(std::ostream& out, std::span<const std::string> links, FrameMaker frames);
  void add(const transport::Captured& packet);

 private:
  std::ostream& out_;
  FrameMaker frames_;
};

}  // namespace weft::report
