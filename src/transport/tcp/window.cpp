#include "transport/tcp/window.hpp"

#include <algorithm>
#include <bit>

namespace weft::transport {
namespace {

constexpr Instant kCubicUnit = 15'258'789;           // 2^-16 s in ps: windows of 4032 segments fit 64 bits when cubed
constexpr std::int64_t kCubicReach = (1 << 21) - 1;  // 32 s either side of w_max; its cube fits too
constexpr std::uint32_t kCeiling = TcpWindow::kMost * TcpWindow::kSegment;

}  // namespace

std::uint32_t cube_root(std::uint64_t x) {
  if (x == 0) return 0;
  // Newton from above comes down to the root and stops there.
  std::uint64_t root = std::uint64_t{1} << ((std::bit_width(x) + 2) / 3);
  for (;;) {
    const std::uint64_t next = (2 * root + x / (root * root)) / 3;
    if (next >= root) return static_cast<std::uint32_t>(root);
    root = next;
  }
}

void TcpWindow::begin(const TcpConfig& config) {
  *this = TcpWindow{};
  cwnd = config.initial_window * kSegment;
}

void TcpWindow::grow(const TcpConfig& config, Instant now, std::uint32_t acked, Instant rtt) {
  if (slow_start()) {
    const std::uint64_t more = std::uint64_t{acked} * kSegment / (css_round > 0 ? config.css_divisor : 1);
    cwnd = static_cast<std::uint32_t>(std::min<std::uint64_t>({cwnd + more, ssthresh, kCeiling}));
    return;
  }
  if (config.control == TcpConfig::Control::cubic) {
    grow_cubic(config, now, acked, rtt);
  } else {
    cwnd += static_cast<std::uint32_t>(std::uint64_t{acked} * kSegment * kSegment / cwnd);
  }
  cwnd = std::min(cwnd, kCeiling);
}

void TcpWindow::grow_cubic(const TcpConfig& config, Instant now, std::uint32_t acked, Instant rtt) {
  if (epoch == kNoEpoch) {
    epoch = now;
    w_est = cwnd;
    k = 0;
    if (cwnd < w_max) {
      k = cube_root((std::uint64_t{w_max - cwnd} << 32) * 10 / config.cubic_c);
    } else {
      w_max = cwnd;
    }
  }
  // Reno with the same mean window as CUBIC's reduction gives it (4.3), and the real one above what it had.
  const std::uint64_t step = std::uint64_t{acked} * kSegment * kSegment / cwnd;
  const std::uint32_t beta = config.cubic_beta;
  w_est += static_cast<std::uint32_t>(w_est < w_prior ? step * 3 * (100 - beta) / (100 + beta) : step);
  w_est = std::min(w_est, kCeiling);
  if (cubic_at(config, now - epoch) < w_est) {
    cwnd = std::max(cwnd, w_est);
    return;
  }
  const std::uint32_t target = std::clamp(cubic_at(config, now - epoch + rtt), cwnd, cwnd + cwnd / 2);
  cwnd += static_cast<std::uint32_t>(std::uint64_t{target - cwnd} * acked * kSegment / cwnd);
}

std::uint32_t TcpWindow::cubic_at(const TcpConfig& config, Instant since) const {
  const std::int64_t from_top = std::clamp<std::int64_t>(since / kCubicUnit - k, -kCubicReach, kCubicReach);
  const std::int64_t cube = from_top * from_top * from_top;  // 2^-48 s^3
  const std::int64_t window = w_max + (cube >> 32) * config.cubic_c / 10;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(window, kSegment, kCeiling));
}

// ---- rounds

void TcpWindow::sample(const TcpConfig& config, Instant rtt) {
  // Only the first slow start knows nothing of the path (RFC 9406, 4.3).
  if (!config.hystart || ssthresh != kInfinite) return;
  round_least = std::min(round_least, rtt);
  if (round_samples < 255) ++round_samples;
  if (round_samples < config.hystart_samples || last_least == kNever) return;
  if (css_round > 0) {
    if (round_least >= css_baseline) return;
    css_round = 0;  // the delay was a passing one
    css_baseline = kNever;
    return;
  }
  const Instant enough =
      std::clamp(last_least / config.hystart_divisor, config.hystart_least.count(), config.hystart_most.count());
  if (round_least < last_least + enough) return;
  css_baseline = round_least;
  css_round = 1;
}

void TcpWindow::end_round(const TcpConfig& config) {
  if (round_acked > 0) {
    const std::uint64_t part = std::uint64_t{std::min(round_marked, round_acked)} * kOne / round_acked;
    alpha -= alpha >> config.dctcp_gain_shift;
    alpha += static_cast<std::uint32_t>(part >> config.dctcp_gain_shift);
  }
  round_acked = round_marked = 0;
  if (css_round > 0 && css_round++ == config.css_rounds) {
    css_round = 0;
    if (ssthresh == kInfinite) ssthresh = cwnd;
  }
  if (round_least != kNever) last_least = round_least;
  round_least = kNever;
  round_samples = 0;
}

// What was sent back to back comes back as a train. Once it takes as long as half the round trip, the window fills the
// pipe, and twice as much would fill the queue; of several that share a link as fast as their NICs, whoever overfills
// it last would lose nothing and the others all.
void TcpWindow::see_train(const TcpConfig& config, Instant now, Instant rtt, Instant bunch) {
  if (!config.hystart || config.control != TcpConfig::Control::cubic || !slow_start()) return;
  if (segments() < config.train_window || now - train_seen > config.train_gap.count()) return;
  train_seen = now;
  const Instant enough = config.pacing ? rtt + bunch : (rtt + bunch) / 2;
  if (now - train_began <= enough) return;
  css_round = 0;
  ssthresh = cwnd;
}

// ---- reductions

void TcpWindow::lose(const TcpConfig& config) {
  css_round = 0;
  if (config.control == TcpConfig::Control::dctcp) {
    ssthresh = std::max(kLeast, cwnd / 2);
    return;
  }
  w_prior = cwnd;
  // One that had to give way before it was back leaves room for others.
  const auto percent = [&](std::uint32_t part) { return static_cast<std::uint32_t>(std::uint64_t{cwnd} * part / 100); };
  w_max = config.fast_convergence && cwnd < w_max ? percent((100 + config.cubic_beta) / 2) : cwnd;
  ssthresh = std::max(kLeast, percent(config.cubic_beta));
  epoch = kNoEpoch;
}

void TcpWindow::mark(const TcpConfig& config) {
  if (config.control == TcpConfig::Control::cubic) return lose(config);
  css_round = 0;
  ssthresh = std::max(kLeast, cwnd - static_cast<std::uint32_t>(std::uint64_t{cwnd} * alpha / kOne / 2));
}

void TcpWindow::time_out(const TcpConfig& config) {
  lose(config);
  w_max = 0;  // the curve begins flat wherever slow start ends (RFC 9438, 4.8)
}

void TcpWindow::pause(const TcpConfig& config, Instant idle, Instant rto) {
  if (epoch != kNoEpoch) epoch += idle;
  if (!config.idle_restart || idle <= rto) return;
  // A half for every RTO, but no less than a new connection has.
  const std::uint32_t restart = std::min(cwnd, config.initial_window * kSegment);
  if (ssthresh != kInfinite) ssthresh = std::max(ssthresh, cwnd / 4 * 3);
  for (; idle > rto && cwnd > restart; idle -= rto) cwnd = std::max(restart, cwnd / 2);
}

}  // namespace weft::transport
