#pragma once
// RoCEv2 in captures: UDP from 49152 plus the queue pair to 4791, then BTH and AETH as InfiniBand specifies (volume 1,
// 9.2). Queue pairs are numbered from 2 on: 0 and 1 are for management. Wireshark takes RoCE without its payload for
// malformed, so that is there, as zeros, and the ICRC behind it.

#include <span>

#include "transport/frame.hpp"
#include "transport/roce/config.hpp"

namespace weft::transport {

inline constexpr std::uint8_t kDscpRoce = 26;  // as guides for RoCE choose it
inline constexpr std::uint8_t kDscpCnp = 48;   // likewise

class RoceFrames {
 public:
  RoceFrames(const RoceConfig& config, std::span<const Captured>) : config_(config) {}
  void add(Frame& frame, const Captured& packet) const;

 private:
  RoceConfig config_;
};

}  // namespace weft::transport
