#include "transport/uet/window.hpp"

#include <algorithm>

namespace weft::transport {
namespace {

constexpr std::uint32_t kFixed = 256;

std::uint32_t less(std::uint32_t a, std::uint32_t b) { return a - std::min(a, b); }

}  // namespace

UetWindowRules::UetWindowRules(const UetConfig& config, std::uint32_t most_packets)
    : packet(config.payload + config.header),
      most_bytes(packet * most_packets),
      most_window(config.most_window),
      packet_time(config.packet_time.count()),
      base_rtt(config.base_rtt.count()),
      target(config.target_delay.count()),
      quick_delay(config.target_delay.count() * config.quick_delay),
      fast_delay(config.fast_delay.count()),
      decrease(config.decrease),
      most_cut(config.most_cut),
      delay_weight(config.delay_weight),
      quick_gate(config.quick_gate),
      adjust_bytes(config.adjust_packets * packet) {
  // How much greater than the reference the network is, in 1/kFixed; at most what a window can use anyway.
  const std::uint64_t filling = static_cast<std::uint64_t>(base_rtt / packet_time) * packet;
  const std::uint64_t scale = std::clamp<std::uint64_t>(filling * kFixed / config.reference_bytes, 1, 1u << 16);
  const std::uint64_t packets = config.payload * scale;
  // Its share of the reference round trip, in 1/kFixed.
  const auto share =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, target * kFixed / config.reference_rtt.count()));
  proportional = config.proportional * packets / kFixed * share / kFixed;
  fair = config.fair * packets / kFixed;
  constant = static_cast<std::uint32_t>(config.constant * packets / kFixed / 100);
  fast = static_cast<std::uint32_t>(config.fast * scale / 100);
}

std::uint32_t UetWindowRules::most_of(Instant rtt) const {
  const std::int64_t filling = rtt * packet / packet_time * most_window / 100;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(filling, packet, most_bytes));
}

void UetWindow::begin(const UetWindowRules& rules) {
  *this = UetWindow{};
  least_rtt = rules.base_rtt;
  bytes = most = rules.most_of(least_rtt);
}

void UetWindow::resume() {
  quick_end = 0;
  gain = 0;
  received = achieved = undelayed = 0;
  fast = trimmed = false;
}

void UetWindow::clamp(const UetWindowRules& rules) {
  bytes = std::clamp(bytes, rules.packet, std::max(rules.packet, most));
}

Instant UetWindow::sample(const UetWindowRules& rules, Instant rtt, bool marked) {
  if (rtt < least_rtt) {
    least_rtt = rtt;
    most = rules.most_of(rtt);
  }
  average(rules, rtt - least_rtt, marked);
  return rtt - least_rtt;
}

// A packet that queued long and yet met no queue worth a mark was unlucky, not early news: it counts as a short wait.
void UetWindow::average(const UetWindowRules& rules, Instant delay, bool marked) {
  if (!marked && delay > rules.target) delay = least_rtt / 4;
  mean_delay += (delay - mean_delay) / static_cast<Instant>(rules.delay_weight);
}

void UetWindow::on_ack(const UetWindowRules& rules, Instant now, bool marked, Instant delay, std::uint32_t acked,
                       std::uint32_t flying) {
  achieved += acked;
  received += acked;
  to_ignore = less(to_ignore, acked);
  if (quick_adapt(rules, now, false, marked, delay, flying)) return;
  if (marked) {
    if (delay >= rules.target) decrease(rules, now);
  } else if (delay >= rules.target) {
    gain += rules.fair * acked;
  } else {
    increase_proportionally(rules, delay, acked);
  }
  clamp(rules);
  if (received > rules.adjust_bytes || now - last_adjust > rules.base_rtt) take_effect(rules, now);
}

void UetWindow::on_trim(const UetWindowRules& rules, Instant now, std::uint32_t flying) {
  to_ignore = less(to_ignore, rules.packet);
  average(rules, rules.base_rtt, true);  // about what a queue holds that trims
  trimmed = true;
  if (!quick_adapt(rules, now, true, true, 0, flying)) on_loss(rules);
}

void UetWindow::on_loss(const UetWindowRules& rules) {
  bytes = less(bytes, rules.packet);
  clamp(rules);
}

// True: it acted, or this answers a packet sent before it did.
bool UetWindow::quick_adapt(const UetWindowRules& rules, Instant now, bool lost, bool marked, Instant delay,
                            std::uint32_t flying) {
  bool done = false;
  if (to_ignore > 0 && marked) {
    done = true;
  } else if (now > quick_end) {
    const bool bad = trimmed || lost || delay > rules.quick_delay;
    if (quick_end != 0 && bad && achieved < most >> rules.quick_gate) {
      bytes = std::max(achieved, rules.packet);
      to_ignore = flying;
      trimmed = false;
      done = true;
    }
    achieved = 0;
    quick_end = now + least_rtt + rules.target;
  }
  if (done) {
    gain = 0;
    received = 0;
  }
  return done;
}

void UetWindow::increase_proportionally(const UetWindowRules& rules, Instant delay, std::uint32_t acked) {
  if (delay < rules.fast_delay) {
    if (!fast) undelayed += acked;
    fast = fast || undelayed > bytes;
  } else {
    undelayed = 0;
    fast = false;
  }
  if (fast) {
    bytes += static_cast<std::uint32_t>(std::uint64_t{acked} * rules.fast / kFixed);
    return;
  }
  const auto room = static_cast<std::uint64_t>((rules.target - delay) * kFixed / rules.target);
  gain += rules.proportional * acked / kFixed * room;
}

void UetWindow::decrease(const UetWindowRules& rules, Instant now) {
  fast = false;
  undelayed = 0;
  if (mean_delay <= rules.target || now - last_cut <= least_rtt) return;
  const auto excess = static_cast<std::uint64_t>((mean_delay - rules.target) * kFixed / mean_delay);
  const std::uint64_t cut = bytes * excess / kFixed * rules.decrease / 100;
  bytes -= static_cast<std::uint32_t>(std::min<std::uint64_t>(cut, std::uint64_t{bytes} * rules.most_cut / 100));
  last_cut = now;
}

void UetWindow::take_effect(const UetWindowRules& rules, Instant now) {
  bytes += static_cast<std::uint32_t>(std::min<std::uint64_t>(gain / bytes, most));
  if (now - last_adjust >= rules.base_rtt) {
    bytes += rules.constant;
    last_adjust = now;
  }
  gain = 0;
  received = 0;
  clamp(rules);
}

}  // namespace weft::transport
