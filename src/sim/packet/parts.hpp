#pragma once
// Parts of stripes: how long they are, and, where links fail, their numbers.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/host/failover.hpp"
#include "sim/run/message_log.hpp"

namespace weft::sim {

// 1/16 of the stripe, at least eight packets and at most 64 KiB: so small that waiting for it hardly shows, so large
// that it costs little beside its packets and needs no acknowledgements of its own.
inline std::uint32_t part_size(std::uint64_t stripe, std::uint64_t payload) {
  constexpr std::uint64_t kPartsPerStripe = 16;
  constexpr std::uint64_t kFewestPackets = 8;
  constexpr std::uint64_t kLargestPart = 64 * 1024;
  const std::uint64_t wanted = std::min(kLargestPart, stripe / kPartsPerStripe);
  return static_cast<std::uint32_t>(std::max(kFewestPackets, (wanted + payload - 1) / payload) * payload);
}

// The parts that a rank has on its way, by number.
class NumberedParts {
 public:
  std::uint32_t add(const Part& part) {
    if (idle_.size() < kIdle) return parts_.add(part);
    const std::uint32_t number = idle_.front();
    idle_.pop_front();
    parts_[number] = part;
    return number;
  }
  Part& operator[](std::uint32_t number) const { return parts_[number]; }
  // It is there. Of what failed once, a copy may still come: that number stays its own.
  void arrived(std::uint32_t number) {
    if (parts_[number].since == Part::kNotFailed) idle_.push_back(number);
  }

 private:
  static constexpr std::size_t kIdle = 1024;  // numbers that nobody uses before the oldest is used again

  SentLog<Part> parts_;
  std::deque<std::uint32_t> idle_;
};

}  // namespace weft::sim
