#include "transport/roce/dcqcn.hpp"

#include <algorithm>

namespace weft::transport {
namespace {

constexpr std::uint64_t kFastest = 10'000'000'000'000;  // bits/s: products with times stay below 2^63
constexpr std::uint16_t kManyEvents = 0xFFFF;           // counted no further

}  // namespace

DcqcnLaw::DcqcnLaw(const RoceConfig& config) {
  const std::uint64_t bits = 8 * (std::uint64_t{config.mtu} + config.header);
  const std::uint64_t time = static_cast<std::uint64_t>(std::max<std::int64_t>(1, config.packet_time.count()));
  line_rate = std::clamp<std::uint64_t>(bits * 1'000'000'000'000 / time, 1000, kFastest);
  const auto derive = [&](std::uint64_t rate, std::uint64_t otherwise) {
    return std::clamp<std::uint64_t>(rate > 0 ? rate : otherwise, 1, line_rate);
  };
  additive_rate = derive(config.additive_rate, line_rate / 1000);
  hyper_rate = derive(config.hyper_rate, line_rate / 100);
  least_rate = derive(config.least_rate, 1);
  increase_bytes = std::max<std::uint64_t>(1, config.increase_bytes);
  alpha_timer = std::max<std::int64_t>(1, config.alpha_timer.count());
  increase_timer = std::max<std::int64_t>(1, config.increase_timer.count());
  cut_interval = std::max<std::int64_t>(0, config.cut_interval.count());
  alpha_gain = std::min(config.alpha_gain, 1024u);
  fast_recovery = config.fast_recovery;
}

void Dcqcn::reset(const DcqcnLaw& law) {
  *this = Dcqcn{};
  rate_ = target_ = law.line_rate;
}

bool Dcqcn::on_cnp(const DcqcnLaw& law, Instant now) {
  if (now < next_cut_) return false;
  catch_up(law, now);
  shrink_alpha(law, now);
  target_ = rate_;
  rate_ = std::max(law.least_rate, rate_ - (rate_ * (alpha_ >> 10) >> 21));
  alpha_ += static_cast<std::uint32_t>(std::uint64_t{kOne - alpha_} * law.alpha_gain >> 10);
  next_cut_ = now + law.cut_interval;
  alpha_due_ = now + law.alpha_timer;
  increase_due_ = now + law.increase_timer;
  bytes_ = 0;
  timer_events_ = byte_events_ = 0;
  return true;
}

void Dcqcn::on_sent(const DcqcnLaw& law, std::uint32_t bytes) {
  bytes_ += bytes;
  if (bytes_ < law.increase_bytes) return;
  bytes_ -= law.increase_bytes;
  if (byte_events_ < kManyEvents) ++byte_events_;
  increase(law);
}

void Dcqcn::catch_up(const DcqcnLaw& law, Instant now) {
  // It ends: the target grows with every step, and at line rate there is nothing left to do.
  while (limited(law) && now >= increase_due_) {
    increase_due_ += law.increase_timer;
    if (timer_events_ < kManyEvents) ++timer_events_;
    increase(law);
  }
}

void Dcqcn::increase(const DcqcnLaw& law) {
  const auto [fewer, more] = std::minmax({timer_events_, byte_events_});
  if (fewer > law.fast_recovery) {
    target_ += law.hyper_rate;
  } else if (more >= law.fast_recovery) {
    target_ += law.additive_rate;
  }
  target_ = std::min(target_, law.line_rate);
  rate_ = (rate_ + target_ + 1) / 2;
}

void Dcqcn::shrink_alpha(const DcqcnLaw& law, Instant now) {
  for (; now >= alpha_due_ && alpha_due_ > 0; alpha_due_ += law.alpha_timer) {
    const auto part = static_cast<std::uint32_t>(std::uint64_t{alpha_} * law.alpha_gain >> 10);
    if (part == 0) return;  // as small as it gets
    alpha_ -= part;
  }
}

}  // namespace weft::transport
