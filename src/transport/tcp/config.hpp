#pragma once
// Every number of TCP in one place, with its default and where that comes from. "Linux" is include/net/tcp.h,
// net/ipv4 and Documentation/networking/ip-sysctl.rst of 6.x.

#include <cstdint>

#include "base/hash.hpp"
#include "base/units.hpp"

namespace weft::transport {

// What switches hash of a connection beside its ends, as they would its ports.
inline std::uint16_t tcp_path(std::uint32_t endpoint, std::uint32_t peer, std::uint32_t connection) {
  return static_cast<std::uint16_t>(mix64(mix64(std::uint64_t{endpoint} << 32 | peer) + connection));
}

struct TcpConfig {
  enum class Control : std::uint8_t { cubic, dctcp };

  // ---- segments
  std::uint32_t mtu = 9000;          // bytes of an IP packet: jumbo frames, as data centres have them
  std::uint32_t headers = 52;        // of those, not payload: IPv4 20, TCP 20, timestamps 12 (RFC 7323; Linux: on)
  std::uint32_t framing = 38;        // bytes on the wire beside the IP packet: Ethernet 14 + 4, preamble 8, gap 12
  std::uint32_t connections = 1;     // per peer, 1 to 8, messages in turn; NCCL opens several where asked
                                     // (NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD)
  std::uint32_t first_sequence = 0;  // both ends must agree; other than 0 only in tests of the wrap

  std::uint16_t generation = 1;  // of this process, greater than that of the one it replaces; not 0. Stands for the
                                 // ports and first numbers that a handshake would agree on

  // ---- what the network is like: given by the driver
  Duration base_rtt;  // unloaded: what the handshake would have measured

  // ---- the window
  Control control = Control::cubic;        // Linux's default; dctcp is what data centres choose (RFC 8257)
  std::uint32_t initial_window = 10;       // segments (RFC 6928)
  std::uint32_t receive_window = 6291456;  // bytes: the last of Linux's tcp_rmem, where autotuning ends. At most
                                           // 4032 segments
  bool idle_restart = false;  // start anew after an idle RTO (RFC 2861). Linux's default is true; data centres
                              // turn it off (tcp_slow_start_after_idle), for jobs are bursts and pauses
  bool pacing = false;        // spread the window over the round trip, as the fq qdisc does
  std::uint32_t pacing_slow_start = 200;  // percent of window / round trip (Linux tcp_pacing_ss_ratio)
  std::uint32_t pacing_avoidance = 120;   // likewise after slow start (tcp_pacing_ca_ratio)

  // ---- HyStart++ (RFC 9406, 4.3). Where round trips take microseconds 4 ms are never reached, and slow start
  // ends by a train of acknowledgements, a mark or a loss, as it does in Linux
  bool hystart = true;
  Duration hystart_least = microseconds(4'000);  // by which a round's least RTT must grow: MIN_RTT_THRESH
  Duration hystart_most = microseconds(16'000);  // MAX_RTT_THRESH
  std::uint32_t hystart_divisor = 8;             // MIN_RTT_DIVISOR: between these, an eighth of the RTT
  std::uint32_t hystart_samples = 8;             // N_RTT_SAMPLE
  std::uint32_t css_divisor = 4;                 // CSS_GROWTH_DIVISOR: conservative slow start grows by a quarter
  std::uint32_t css_rounds = 5;                  // CSS_ROUNDS

  // ---- trains of acknowledgements (Ha and Rhee, Computer Networks 2011; Linux tcp_cubic.c, HYSTART_ACK_TRAIN): with
  // CUBIC they end slow start where one is longer than half the least round trip
  std::uint32_t train_window = 16;           // segments from which on they are looked at (hystart_low_window)
  Duration train_gap = microseconds(2'000);  // what comes later than that is no train (hystart_ack_delta_us)
  std::uint32_t train_bunch = 65536;         // bytes that a host sends as one (gso_max_size); of four of them the
  Duration train_bunch_most =
      microseconds(1'000);  // time counts besides the round trip, at most 1 ms (hystart_ack_delay)

  // ---- CUBIC (RFC 9438)
  std::uint32_t cubic_c = 4;      // tenths of a segment per s^3 (5.1: C = 0.4)
  std::uint32_t cubic_beta = 70;  // percent of the window kept after a loss (4.6)
  bool fast_convergence = true;   // 4.7
  bool ecn = false;               // a mark counts as a loss (RFC 3168). Linux does not ask for it (tcp_ecn = 2)

  // ---- DCTCP (RFC 8257)
  std::uint32_t dctcp_gain_shift = 4;  // g = 1/16 (4.2)

  // ---- acknowledgements
  std::uint32_t ack_every = 2;                  // segments (RFC 5681, 4.2); at most half of the receive window
  Duration delayed_ack = microseconds(40'000);  // Linux TCP_DELACK_MIN
  std::uint32_t quick_acks = 16;                // segments acknowledged one by one at the start and after silence
                                                // (Linux TCP_MAX_QUICKACKS)

  // ---- loss and silence
  Duration rto_min = microseconds(200'000);      // (Linux TCP_RTO_MIN; RFC 6298 asks for a second)
  Duration rto_max = microseconds(120'000'000);  // Linux TCP_RTO_MAX
  Duration timer_least = microseconds(2'000);    // that probes and reordering wait at least beyond what their
                                                 // formulas say (Linux TCP_TIMEOUT_MIN_US)
  std::uint32_t dup_thresh = 3;        // segments beyond a gap make it a loss, until reordering is seen (RFC 8985, 6.2)
  std::uint32_t reorder_persist = 16;  // recoveries before a widened reordering window is forgotten (RFC 8985, 6.2)
  bool tail_probe = true;              // RFC 8985, 7
  // Without progress. Linux's TCP_USER_TIMEOUT, where unset, comes to 15 minutes (tcp_retries2); the same five
  // seconds as the other transports have, so that they can be compared.
  Duration give_up = microseconds(5'000'000);

  // ---- another path (PLB: Qureshi et al., SIGCOMM 2022); both are off, as in Linux for IPv4
  std::uint32_t plb_rounds = 0;    // rounds in a row with half the segments marked, then another entropy (Linux: 12)
  bool repath_on_timeout = false;  // another entropy after each RTO (Linux txrehash, IPv6 flow labels)
};

}  // namespace weft::transport
