#pragma once
// SRD in captures: UDP to port 7791, then its header (codec.hpp). So is TCP over SRD, and raw.

#include <span>

#include "transport/frame.hpp"

namespace weft::transport {

class SrdFrames {
 public:
  template <class Config>
  SrdFrames(const Config&, std::span<const Captured>) {}
  void add(Frame& frame, const Captured& packet) const;
};

}  // namespace weft::transport
