#pragma once
// TCP in captures: from port 49152 plus the connection to 7791, acknowledgements back; RFC 9293 with timestamps (whole
// milliseconds, no echo), SACK and D-SACK. Where marks are echoed their count stands in ACE (AccECN). The checksum is
// right for a payload of zeros.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "transport/frame.hpp"
#include "transport/tcp/config.hpp"

namespace weft::transport {

class TcpFrames {
 public:
  // All packets of the capture: TCP counts bytes where the simulator counts segments, so what is short has to be known.
  TcpFrames(const TcpConfig& config, std::span<const Captured> packets);
  void add(Frame& frame, const Captured& packet) const;

 private:
  using Connection = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;  // who sends to whom, stream
  std::uint64_t byte_of(const Connection& connection, std::uint32_t segment) const;

  std::uint32_t segment_;  // bytes of payload
  // By the segment behind a message: by how many bytes all messages up to it are shorter than their segments.
  std::map<Connection, std::map<std::uint32_t, std::uint64_t>> missing_;
};

}  // namespace weft::transport
