#pragma once
// DCQCN's reaction point: the rate of one queue pair (Zhu et al., SIGCOMM 2015, section 3 and figure 7).
//
// A CNP cuts the rate by alpha / 2, remembers what it was as the target, and raises alpha, the estimate of how
// congested the way is; without CNPs alpha shrinks. A timer and a byte counter then raise the rate: for `fast_recovery`
// events of either half way to the target, then with a target that grows by a step, and by the great step
// once both have had so many events.
//
// Plain state and integers: bits per second, alpha in 2^-30. Nothing here needs a wake-up of its own: both
// timers are caught up with whenever somebody looks. A rate at its line rate is not limited and looked at no more.

#include <cstdint>

#include "transport/operation.hpp"
#include "transport/roce/config.hpp"

namespace weft::transport {

// What does not change.
struct DcqcnLaw {
  explicit DcqcnLaw(const RoceConfig& config);  // with packet_time

  std::uint64_t line_rate;  // bits/s
  std::uint64_t additive_rate;
  std::uint64_t hyper_rate;
  std::uint64_t least_rate;
  std::uint64_t increase_bytes;
  Instant alpha_timer;
  Instant increase_timer;
  Instant cut_interval;
  std::uint32_t alpha_gain;
  std::uint32_t fast_recovery;
};

class Dcqcn {
 public:
  void reset(const DcqcnLaw& law);
  // False when it came too soon behind the last one to count.
  bool on_cnp(const DcqcnLaw& law, Instant now);
  void on_sent(const DcqcnLaw& law, std::uint32_t bytes);  // while limited
  void catch_up(const DcqcnLaw& law, Instant now);         // with the increase timer

  bool limited(const DcqcnLaw& law) const { return rate_ < law.line_rate; }
  std::uint64_t rate() const { return rate_; }
  std::uint64_t target() const { return target_; }
  std::uint32_t alpha() const { return alpha_; }
  Instant increase_due() const { return increase_due_; }
  // ps that so many bytes take.
  Instant time_of(std::uint32_t bytes) const {
    return static_cast<Instant>(std::uint64_t{bytes} * 8'000'000'000'000 / rate_);
  }

  static constexpr std::uint32_t kOne = 1u << 30;  // of alpha

 private:
  void increase(const DcqcnLaw& law);
  void shrink_alpha(const DcqcnLaw& law, Instant now);

  std::uint64_t rate_ = 1;
  std::uint64_t target_ = 1;
  Instant alpha_due_ = 0;
  Instant increase_due_ = 0;
  Instant next_cut_ = 0;
  std::uint64_t bytes_ = 0;  // since the byte counter's last event
  std::uint32_t alpha_ = kOne;
  std::uint16_t timer_events_ = 0;  // since the last cut
  std::uint16_t byte_events_ = 0;
};

}  // namespace weft::transport
