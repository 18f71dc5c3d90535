// What UET does about packets that vanish without a trace, and about silence.

#include <algorithm>

#include "transport/uet/uet.hpp"

namespace weft::transport {

void Uet::lose(Sender& sender, std::uint32_t sequence) {
  note_lost(sender, slots_of(sender), sequence);
  --sender.flying;
}

void Uet::vanish(Sender& sender, std::uint32_t sequence) {
  lose(sender, sequence);
  sender.paths.bad(config_, sender.slot[sequence % kWindow].path, config_.lost_penalty);
  sender.window.on_loss(rules_);
}

// Each packet is judged once: when it was sent again, those behind it have overtaken it already.
void Uet::judge_order(Sender& sender) {
  if (config_.trimming) return;
  constexpr std::uint32_t kMost = kWindow * 3 / 4;  // or a window could be full before it is judged
  const auto share = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(sender.window.most, std::uint64_t{sender.window.bytes} * config_.overtaken / 100));
  const std::uint32_t enough = std::min(kMost, std::max(config_.least_overtaken, share / rules_.packet));
  if (before(sender.order_scan, sender.una)) sender.order_scan = sender.una;
  for (; before(sender.order_scan + enough, sender.highest); ++sender.order_scan) {
    if (!sender.slot[sender.order_scan % kWindow].is(State::flying)) continue;
    vanish(sender, sender.order_scan);
    ++counters_.overtaken;
  }
}

// A probe that came back sooner than packets may queue says that those sent well before it are gone. The answer tells
// of 64 packets; of others it says nothing.
void Uet::judge_probe(Instant now, Sender& sender, const Header& header) {
  if (header.fan_in == 0 || header.fan_in != sender.probe || sender.probed == 0) return;
  const Instant took = now - sender.probed;
  const std::uint32_t sent = stamp(sender.probed);
  sender.probed = 0;
  if (took >= sender.window.least_rtt + config_.target_delay.count()) return;
  const Instant earlier = config_.base_rtt.count() + config_.target_delay.count();
  const std::uint32_t from = header.arrived_from();
  for (std::uint32_t s = from; s != from + 64 && before(s, sender.next); ++s) {
    if (before(s, sender.una)) continue;
    const Slot& slot = sender.slot[s % kWindow];
    if (slot.is(State::flying) && Instant{since(sent, slot.sent)} << kTimeShift >= earlier) vanish(sender, s);
  }
  sender.probe_at = now + config_.probe.count();
}

// Ever longer without news, and never so long that times of sending wrap.
Instant Uet::patience(Instant wait, const Sender& sender) const {
  return std::min(wait << std::min<int>(6, sender.silent), kLongestFlight);
}

void Uet::time_out(Instant now, Sender& sender) {
  if (now - sender.heard >= config_.give_up.count()) {
    fail(sender);
    return;
  }
  if (now >= sender.expire_at) expire(now, sender);
  if (now < sender.probe_at) return;
  // Without a packet in flight there is nothing to ask about.
  sender.probe_due = sender.flying > 0;
  sender.only_asks = false;
  sender.probe_at = sender.flying > 0 ? now + patience(config_.probe_again.count(), sender) : kNever;
}

// Packets that have been without an answer for too long.
void Uet::expire(Instant now, Sender& sender) {
  const Instant wait = patience(config_.rto.count(), sender);
  Instant oldest = 0;  // age of the oldest that is not yet lost
  bool any = false;
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const Slot& slot = sender.slot[s % kWindow];
    if (!slot.is(State::flying)) continue;
    const Instant age = Instant{since(stamp(now), slot.sent)} << kTimeShift;
    if (age >= 0 && age < wait) {  // below 0: so old that times have wrapped
      oldest = std::max(oldest, age);
    } else {
      vanish(sender, s);
      any = true;
    }
  }
  if (any) {
    ++counters_.timeouts;
    if (sender.silent < 255) ++sender.silent;
    set_allowed(sender);
  }
  sender.expire_at = std::min(now + wait - oldest, sender.heard + config_.give_up.count());
}

}  // namespace weft::transport
