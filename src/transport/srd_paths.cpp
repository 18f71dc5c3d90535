// Which path SRD's next packet takes, and what is learnt of paths from what comes back.

#include <algorithm>
#include <bit>
#include <cstring>

#include "transport/srd.hpp"
#include "transport/srd_numbers.hpp"

namespace weft::transport {
namespace {

// The first zero from `at` on, around the end; the size when there is none. Eight bytes at a time: in a word, the
// lowest byte that this finds is a zero, whatever the bytes above it are.
template <std::size_t kSize>
std::uint32_t first_zero(const std::uint8_t (&bytes)[kSize], std::uint32_t at) {
  static_assert(std::endian::native == std::endian::little && kSize % 8 == 0);
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  std::uint64_t skipped = (std::uint64_t{1} << at % 8 * 8) - 1;
  for (std::uint32_t i = 0; i <= kSize / 8; ++i, skipped = 0) {
    const std::uint32_t from = (at / 8 + i) * 8 % kSize;
    std::uint64_t word;
    std::memcpy(&word, bytes + from, sizeof word);
    word |= skipped;
    if (const std::uint64_t found = (word - kOnes) & ~word & (kOnes << 7); found != 0)
      return from + static_cast<std::uint32_t>(std::countr_zero(found)) / 8;
  }
  return kSize;
}

}  // namespace

// ---- what comes back

// Of a path whose packets take as many times the mean.
std::uint16_t Srd::price_of(std::uint32_t rtt, std::uint32_t mean) {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(rtt * kPar / mean, kMostPrice));  // times have 23 bits
}

// A path that is late is taken for slow at once; otherwise its price moves by a quarter of what it is behind or before
// the mean, for all senders do the same and queues must not swing. Marks do not condemn a path, for at full load every
// second packet bears one, but a marked packet does not redeem it.
void Srd::judge(Sender& sender, std::uint32_t path, bool marked, std::uint32_t rtt) {
  const std::uint32_t mean = mean_of(sender);
  sender.mean_rtt += rtt - mean;
  const std::uint64_t bit = std::uint64_t{1} << path;
  std::uint16_t& price = sender.paths.price[path];
  if (sender.unheard & bit) price = kPar;
  sender.unheard &= ~bit;
  const std::uint16_t times = price_of(rtt, mean);
  if (times > kLate) {
    price = std::max(price, times);
  } else if (times > kPar || !marked) {
    const int change = (times - kPar) * price / (4 * kPar);
    price = static_cast<std::uint16_t>(std::clamp<int>(price + change, kLeastPrice, kMostPrice));
  }
  if (price > kLate && sender.paths.flying[path] == 0 && sender.paths.out[path] == 0 && !sender.buried)
    rest(sender, path, times);
  set_cost(sender, path);
}

// A slow path is to hold less than one packet on average, which only pauses can do: it is left alone for half of its
// packet's round trip, times what it costs more than others. Whoever else has filled its queue does the same.
void Srd::rest(Sender& sender, std::uint32_t path, std::uint32_t times) {
  const std::uint32_t dearer = sender.allowed * (sender.paths.price[path] - kPar) / kPar;  // `allowed` turns a round trip
  const std::uint32_t turns = dearer * std::min(times, 4u * kPar) / (2 * kPar);
  if (turns <= kMaxPaths / 2) return;  // each path is looked at once in kMaxPaths turns
  sender.paths.out[path] = kResting;
  sender.paths.ready[path] = static_cast<std::uint16_t>(sender.turn + turns - kMaxPaths / 2);
}

// A packet was trimmed. The path of many is given up for another entropy, of which is not known whether it is any
// better: there are more ways than paths in use.
void Srd::raise_price(Sender& sender, std::uint32_t path) {
  std::uint16_t& price = sender.paths.price[path];
  price = std::min<std::uint16_t>(kMostPrice, static_cast<std::uint16_t>(price + price / 4));
  if (price >= leave_price_ && !sender.buried) {
    ++counters_.paths_left;
    sender.paths.entropy[path] = sender.fresh_entropy++;
    sender.unheard |= std::uint64_t{1} << path;
    price = kUnheardPrice;
  }
  set_cost(sender, path);
}

// Something came through.
void Srd::prove(Sender& sender, std::uint32_t path) {
  const std::uint64_t bit = std::uint64_t{1} << path;
  if (!(sender.unproven & bit)) return;
  sender.paths.out[path] = 0;
  sender.paths.price[path] = kPar;
  set_cost(sender, path);
  sender.unproven &= ~bit;
  sender.trying &= ~bit;
}

// A packet vanished: perhaps the way is dead. Another entropy is tried, first soon, then ever more rarely.
void Srd::bury(Sender& sender, std::uint32_t path) {
  const std::uint64_t bit = std::uint64_t{1} << path;
  Paths& paths = sender.paths;
  const std::uint32_t failed = sender.unproven & bit ? std::min(7u, (paths.out[path] & ~kUnproven) + 1u) : 0;
  ++counters_.paths_left;
  sender.buried = true;
  paths.entropy[path] = sender.fresh_entropy++;
  paths.out[path] = static_cast<std::uint8_t>(kUnproven | failed);
  paths.ready[path] = static_cast<std::uint16_t>(sender.turn + ((2u << failed) - 2) * config_.paths);
  set_cost(sender, path);
  sender.unproven |= bit;
  sender.trying &= ~bit;
}

// ---- where to send

// Of equal ones the first from `start` on; kNoPath when all are out.
std::uint32_t Srd::cheapest(const std::uint8_t (&cost)[kMaxPaths], std::uint32_t start) {
  std::uint8_t least = kOut;
  for (const std::uint8_t each : cost) least = std::min(least, each);
  if (least == kOut) return kNoPath;
  std::uint8_t above[kMaxPaths];
  for (std::uint32_t i = 0; i < kMaxPaths; ++i) above[i] = cost[i] ^ least;
  return first_zero(above, start);
}

std::uint32_t Srd::choose_path(Sender& sender, bool resend, std::uint32_t avoid) {
  if (sender.burst_left > 0 && !resend) {
    --sender.burst_left;
    return sender.path;
  }
  ++sender.turn;
  // In each round every path is looked at once: one that has rested is in use again, one that is left alone is forgiven
  // a part of its price, and one on which nothing came through yet is tried when it is due. All at once, the trials
  // would fill the window.
  const std::uint32_t look = sender.turn % kMaxPaths;
  const std::uint64_t bit = std::uint64_t{1} << look;
  const auto due = [&] { return !newer(sender.paths.ready[look], sender.turn); };
  std::uint32_t at = kNoPath;
  if (std::uint8_t& out = sender.paths.out[look]; out == kResting) {
    if (due()) out = 0;
    set_cost(sender, look);
  } else if (out == 0) {
    std::uint16_t& price = sender.paths.price[look];
    if (price > kPar && sender.paths.flying[look] == 0 && !(sender.unheard & bit)) {
      price = static_cast<std::uint16_t>(price - (price - kPar) / 16);
      set_cost(sender, look);
    }
  } else if ((sender.unproven & ~sender.trying & bit) && !resend && due()) {
    sender.trying |= bit;
    at = look;
  }
  sender.burst_left = static_cast<std::uint8_t>(at == kNoPath ? config_.burst - 1 : 0);
  if (at == kNoPath) {
    // What is sent last must not arrive last by far. Of an entropy that nothing was heard of, the price does not say
    // that it is slow.
    const std::uint32_t left = std::min(resend ? kMaxPackets : sender.end - sender.next, 8 * kWindow);
    const std::uint32_t most_price = kPar + left * kPar / sender.allowed;
    at = cheapest(sender.paths.cost, (sender.path + 1u) % kMaxPaths);
    if (at == kNoPath || at == avoid || (sender.paths.price[at] > most_price && !(sender.unheard >> at & 1))) {
      at = take_cheapest(sender, most_price, avoid);
      if (at == kNoPath) at = take_cheapest(sender, kMostPrice, avoid);
      if (at == kNoPath) at = take_any(sender, avoid);
    }
  }
  sender.path = static_cast<std::uint8_t>(at);
  return at;
}

std::uint32_t Srd::take_cheapest(const Sender& sender, std::uint32_t most_price, std::uint32_t avoid) const {
  const Paths& paths = sender.paths;
  std::uint8_t cost[kMaxPaths];
  for (std::uint32_t i = 0; i < kMaxPaths; ++i) cost[i] = paths.price[i] > most_price ? kOut : paths.cost[i];
  if (avoid != kNoPath) cost[avoid] = kOut;
  return cheapest(cost, (sender.path + 1u) % kMaxPaths);
}

// When there is no other: nothing came through on any of them, or all rest.
std::uint32_t Srd::take_any(const Sender& sender, std::uint32_t avoid) const {
  std::uint32_t best = kNoPath;
  std::uint32_t least = kNone;
  for (std::uint32_t i = 1; i <= config_.paths; ++i) {
    const std::uint32_t at = (sender.path + i) % config_.paths;
    const std::uint32_t cost =
        sender.paths.out[at] * kWindow + sender.paths.flying[at] + (at == avoid ? kWindow * kWindow : 0);
    if (cost < least) {
      least = cost;
      best = at;
    }
  }
  return best;
}

}  // namespace weft::transport
