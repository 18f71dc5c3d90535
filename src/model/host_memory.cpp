#include "model/host_memory.hpp"

namespace weft::model {

// By what came with its PCIe: six channels of DDR4-2666 (Skylake), eight of DDR4-3200 (Ice Lake, Milan), of DDR5-4800
// (Sapphire Rapids) and of DDR5-6400 (Granite Rapids); copies reach about four fifths.
Bandwidth memory_of_socket(Bandwidth pcie) {
  constexpr std::int64_t kGigabyte = 8'000'000'000;  // per second
  const std::int64_t gigabits = pcie.count() / 1'000'000'000;
  const std::int64_t whole = gigabits < 160 ? 128 : gigabits < 320 ? 205 : gigabits < 640 ? 307 : 410;
  return Bandwidth(whole * 4 / 5 * kGigabyte);
}

}  // namespace weft::model
