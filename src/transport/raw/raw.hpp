#pragma once
// Raw: packets without acknowledgement, sent when the clock says so whatever the network does. The honest
// open-loop source: with it a queue can be compared with what queueing theory says.
//
// Driven like SRD: poll() gives the packets due, next_wake() says when the next one is, handle() counts
// what arrives. A stream is paced (every interval one packet) or Poisson (intervals are exponential with
// that mean, drawn in fixed point, so equal seeds give equal packets everywhere).

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "transport/operation.hpp"

namespace weft::transport {

struct RawStream {
  std::uint32_t peer = 0;
  std::uint64_t packets = 0;  // after so many it ends
  std::uint32_t bytes = 0;    // of payload, in each
  Duration interval;          // between packets, or its mean; at least 1
  bool poisson = false;
  std::uint16_t paths = 1;  // entropies taken in turn
};

struct RawCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t bytes_received = 0;
};

class Raw {
 public:
  Raw(std::uint32_t header, std::uint64_t seed) : header_(header), seed_(seed) {}

  bool used() const { return !streams_.empty(); }

  void start(Instant now, std::uint32_t endpoint, const RawStream& stream);
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  Instant next_wake(std::uint32_t endpoint) const;
  void handle(const Header& header);
  const RawCounters& counters() const { return counters_; }

 private:
  struct Running {
    RawStream stream;
    Instant due;
    std::uint32_t sequence;
    Random random;
  };
  std::int64_t gap(Running& running) const;

  std::uint32_t header_;
  std::uint64_t seed_;
  std::vector<std::vector<Running>> streams_;  // by endpoint
  RawCounters counters_;
};

}  // namespace weft::transport
