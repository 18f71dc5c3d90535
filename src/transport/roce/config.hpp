#pragma once
// Every number of RoCEv2 and DCQCN in one place, with its default and where that comes from. Zero where a
// time, a rate or a count is asked means: derived, as said beside it.
//   [IBTA]   InfiniBand Architecture Specification, volume 1, chapter 9 (reliable connection), annex A17 (RoCEv2)
//   [DCQCN]  Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015
//   [NVIDIA] "DCQCN CC Parameters", DOCA documentation, and what mlxconfig shows: defaults of ConnectX-4 and later
//   [IRN]    Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018
//   [NCCL]   NCCL user guide, environment variables

#include <cstdint>

#include "base/units.hpp"

namespace weft::transport {

struct RoceConfig {
  enum class Recovery : std::uint8_t {
    go_back_n,  // the receiver keeps nothing out of order; all behind a gap is sent again ([IBTA])
    selective,  // the receiver keeps what overtakes, and only what is missing is sent again ([IRN])
  };
  enum class Control : std::uint8_t { none, dcqcn };

  // ---- packets
  std::uint32_t mtu = 4096;      // bytes of a message in one packet: 256 to 4096 ([IBTA]); 1024 fits Ethernet's 1500
  std::uint32_t header = 62;     // beside it: Ethernet 14 + 4, IPv4 20, UDP 8, BTH 12, ICRC 4 ([IBTA]); RETH left out
  std::uint32_t ack_bytes = 66;  // the same and AETH 4
  std::uint32_t cnp_bytes = 78;  // the same and 16 reserved
  std::uint32_t ack_every = 8;   // packets per acknowledgement; [IBTA] leaves it to the responder, no vendor says
  std::uint32_t first_psn = 0;   // 24 bits; both ends must agree; other than 0 only in tests of the wrap

  std::uint16_t generation = 1;  // of this process, greater than that of the one it replaces; not 0. Stands for the
                                 // queue pair numbers that connection management would agree on

  // ---- queue pairs: both ends must agree
  std::uint32_t qps = 1;          // to each peer, 1 to 16, messages in turn (NCCL_IB_QPS_PER_CONNECTION, default 1)
  bool split = false;             // each message over all of them (NCCL_IB_SPLIT_DATA_ON_QPS, now 0 by default)
  std::uint64_t split_above = 0;  // bytes up to which a message stays whole; NCCL has no such limit, RCCL 128

  // ---- what the network is like: given by the driver
  Duration packet_time;  // that a full packet takes on the sender's wire
  Duration base_rtt;     // unloaded, longest path

  // ---- loss and silence
  Recovery recovery = Recovery::go_back_n;
  // Packets of one queue pair not yet acknowledged. Hardware has no such window but what is posted and [IBTA]'s
  // 2^23; without one, what go-back-N sends again has no bound. 0: 8 base round trips' worth, more than queues
  // below DCQCN's thresholds hold. At most 1023 with selective repeat: its bitmap.
  std::uint32_t window = 0;
  // Local ACK timeout. 0: with go-back-N 4.096 us x 2^14 = 67 ms (NCCL_IB_TIMEOUT before 2.14; 18, or 1.1 s, since
  // then, and 20, or 4.3 s, since 2.23); with selective repeat [IRN]'s RTO_high of 320 us, at least 4 base_rtt.
  Duration ack_timeout;
  std::uint32_t retries = 7;  // after silence (NCCL_IB_RETRY_CNT; the most that [IBTA]'s 3 bits can say)
  // Time without a word before all messages to the peer fail. 0: 1 + retries timeouts of at least 67 ms. Shorter
  // timeouts double after each until they are 67 ms.
  Duration give_up;

  // ---- DCQCN: the receiver
  Control control = Control::dcqcn;
  Duration cnp_interval = microseconds(50);  // between CNPs of one queue pair at least ([DCQCN] N; [NVIDIA] 4 us)

  // ---- DCQCN: the sender
  std::uint32_t alpha_gain = 4;                // g in 1/1024 ([DCQCN] 1/256; [NVIDIA] dce_tcp_g 1019: 5)
  Duration alpha_timer = microseconds(55);     // without a CNP before alpha shrinks ([DCQCN] K; [NVIDIA] 1 us)
  Duration increase_timer = microseconds(55);  // between rate increases ([DCQCN] T; [NVIDIA] rpg_time_reset 300 us)
  std::uint64_t increase_bytes = 10'000'000;   // between rate increases ([DCQCN] B; [NVIDIA] rpg_byte_reset 32767)
  std::uint32_t fast_recovery = 5;             // increases that only go half way to the target ([DCQCN] F; [NVIDIA] 1)
  // Steps of the target. [DCQCN] has 40 Mb/s on a link of 40 Gb/s and ten times as much in hyper increase ([NVIDIA]: 5
  // and 50 Mb/s); both grow with the link here, for a queue pair shall need as many steps on any.
  std::uint64_t additive_rate = 0;         // bits/s; 0: 1/1000 of line rate
  std::uint64_t hyper_rate = 0;            // bits/s; 0: 1/100 of line rate
  std::uint64_t least_rate = 100'000'000;  // bits/s (HPCC's ns-3 model, SIGCOMM 2019; [NVIDIA] rpg_min_rate 1 Mb/s)
  // Between cuts at least ([NVIDIA] rate_reduce_monitor_period): a switch may send more CNPs than receivers do.
  Duration cut_interval = microseconds(4);
};

}  // namespace weft::transport
