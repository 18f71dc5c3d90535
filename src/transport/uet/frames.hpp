#pragma once
// UET in captures: UDP from 49152 plus the entropy to 4793, then the header of its packet delivery sublayer (Ultra
// Ethernet 1.0, 3.5: RUD_REQ, ACK_CC, NACK, a probe as CP); no semantic header above it, nor its check, which stands
// behind the payload.

#include <span>

#include "transport/frame.hpp"
#include "transport/uet/config.hpp"

namespace weft::transport {

class UetFrames {
 public:
  UetFrames(const UetConfig&, std::span<const Captured>) {}
  void add(Frame& frame, const Captured& packet) const;
};

}  // namespace weft::transport
