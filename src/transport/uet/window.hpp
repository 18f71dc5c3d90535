#pragma once
// NSCC, the network-signalled congestion control of Ultra Ethernet: a window in bytes, moved by whether a packet
// was marked and by how long it queued.
//
//                     queued less than the target          more
//     not marked      proportional increase                fair increase
//     marked          nothing: the path is left            multiplicative decrease
//
// Increases add up and take effect every few packets. A trimmed packet costs its size. Where little arrived in a
// whole round trip, as in an incast, quick adapt sets the window to just that, and what was in flight then says
// nothing new.

#include <cstdint>

#include "transport/operation.hpp"
#include "transport/uet/config.hpp"

namespace weft::transport {

// What follows from the configuration, once for all windows.
struct UetWindowRules {
  UetWindowRules() = default;
  // `config` with times derived; no window is greater than `most_packets`.
  UetWindowRules(const UetConfig& config, std::uint32_t most_packets);

  std::uint32_t most_of(Instant rtt) const;  // bytes: the greatest window of a peer so far away

  std::uint32_t packet = 1;  // bytes of a full one on the wire
  std::uint32_t most_bytes = 1;
  std::uint32_t most_window = 0;  // percent
  Instant packet_time = 1;
  Instant base_rtt = 1;
  Instant target = 1;
  Instant quick_delay = 1;
  Instant fast_delay = 1;
  std::uint64_t proportional = 0;  // bytes per round trip, likewise the next two
  std::uint64_t fair = 0;
  std::uint32_t constant = 0;
  std::uint32_t fast = 0;  // 1/256 of acknowledged bytes
  std::uint32_t decrease = 0;
  std::uint32_t most_cut = 0;
  std::uint32_t delay_weight = 1;
  std::uint32_t quick_gate = 0;
  std::uint32_t adjust_bytes = 0;
};

struct UetWindow {
  Instant least_rtt;   // seen of a full packet; at first the configured one
  Instant mean_delay;  // of queueing
  Instant last_cut;
  Instant last_adjust;
  Instant quick_end;    // of the round trip that quick adapt judges; 0: none
  std::uint64_t gain;   // increases to come, bytes times bytes: divided by the window when they take effect
  std::uint32_t bytes;  // the window
  std::uint32_t most;
  std::uint32_t received;   // bytes acknowledged since increases took effect
  std::uint32_t achieved;   // since quick adapt last judged
  std::uint32_t to_ignore;  // bytes in flight when it last acted that have not been answered
  std::uint32_t undelayed;  // acknowledged in a row without delay
  bool fast;                // the increase after a round trip of those
  bool trimmed;             // a packet was, since quick adapt last acted

  void begin(const UetWindowRules& rules);
  void resume();  // after a pause, which says nothing about the network
  // A full packet took `rtt`; gives its time of queueing.
  Instant sample(const UetWindowRules& rules, Instant rtt, bool marked);
  void on_ack(const UetWindowRules& rules, Instant now, bool marked, Instant delay, std::uint32_t acked,
              std::uint32_t flying);
  void on_trim(const UetWindowRules& rules, Instant now, std::uint32_t flying);
  void on_loss(const UetWindowRules& rules);

 private:
  bool quick_adapt(const UetWindowRules& rules, Instant now, bool lost, bool marked, Instant delay,
                   std::uint32_t flying);
  void average(const UetWindowRules& rules, Instant delay, bool marked);
  void increase_proportionally(const UetWindowRules& rules, Instant delay, std::uint32_t acked);
  void decrease(const UetWindowRules& rules, Instant now);
  void take_effect(const UetWindowRules& rules, Instant now);
  void clamp(const UetWindowRules& rules);
};

}  // namespace weft::transport
