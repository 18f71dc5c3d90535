#pragma once
// TCP's congestion window: slow start with HyStart++ (RFC 9406) and, with CUBIC, Linux's trains of acknowledgements,
// then CUBIC (RFC 9438) or DCTCP (RFC 8257). Plain state and arithmetic in fixed point; who calls it knows about
// segments, losses and rounds.

#include <cstdint>

#include "transport/operation.hpp"
#include "transport/tcp/config.hpp"

namespace weft::transport {

// The greatest integer whose cube is at most x.
std::uint32_t cube_root(std::uint64_t x);

struct TcpWindow {
  static constexpr std::uint32_t kSegment = 1u << 16;    // fixed point of windows
  static constexpr std::uint32_t kLeast = 2 * kSegment;  // what a loss leaves at least (RFC 5681)
  static constexpr std::uint32_t kMost = 4032;           // segments; see Tcp
  static constexpr std::uint32_t kInfinite = 0xFFFFFFFFu;
  static constexpr std::uint32_t kOne = 1u << 16;  // alpha's fixed point
  static constexpr Instant kNoEpoch = -1;

  std::uint32_t cwnd = 0;  // segments, times kSegment
  std::uint32_t ssthresh = kInfinite;

  // CUBIC: the curve began at `epoch` and reaches w_max after k (units of 2^-16 s).
  Instant epoch = kNoEpoch;
  std::uint32_t w_max = 0;
  std::uint32_t w_est = 0;    // what Reno would have by now
  std::uint32_t w_prior = 0;  // window before the last reduction
  std::uint32_t k = 0;

  // This round: from some segment sent to its acknowledgement.
  std::uint32_t round_acked = 0;
  std::uint32_t round_marked = 0;
  std::uint32_t alpha = kOne;  // DCTCP: how much is marked (Linux begins with all)
  std::uint8_t round_samples = 0;
  std::uint8_t css_round = 0;  // rounds of conservative slow start begun; 0: not in it
  Instant round_least = kNever;
  Instant last_least = kNever;
  Instant css_baseline = kNever;
  Instant train_began = 0;
  Instant train_seen = 0;  // its last acknowledgement

  void begin(const TcpConfig& config);
  bool slow_start() const { return cwnd < ssthresh; }
  std::uint32_t segments() const { return cwnd / kSegment; }

  // `acked` segments arrived while the window was the limit.
  void grow(const TcpConfig& config, Instant now, std::uint32_t acked, Instant rtt);
  void sample(const TcpConfig& config, Instant rtt);
  void end_round(const TcpConfig& config);
  // An acknowledgement, `rtt` being the shortest round trip so far and `bunch` how long a host's bunches take.
  void begin_train(Instant now) { train_began = train_seen = now; }
  void see_train(const TcpConfig& config, Instant now, Instant rtt, Instant bunch);
  // ssthresh for what happened; the caller decides how fast the window goes there.
  void lose(const TcpConfig& config);
  void mark(const TcpConfig& config);
  void time_out(const TcpConfig& config);
  // Nothing was sent for a while: the curve did not go on meanwhile.
  void pause(const TcpConfig& config, Instant idle, Instant rto);

  // CUBIC's curve at `since` the epoch.
  std::uint32_t cubic_at(const TcpConfig& config, Instant since) const;

 private:
  void grow_cubic(const TcpConfig& config, Instant now, std::uint32_t acked, Instant rtt);
};

}  // namespace weft::transport
