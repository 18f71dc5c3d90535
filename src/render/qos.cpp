#include "render/qos.hpp"

#include <algorithm>

#include "base/wide.hpp"
#include "fabric/summary.hpp"

namespace weft::render {

Duration longest_round_trip(const fabric::Fabric& fabric) {
  const auto longest = fabric::summarise(fabric).longest;
  return longest ? longest->latency * 2 : Duration{};
}

Marking marking(const model::SwitchingSpec& switching, Bandwidth rate, Duration round_trip) {
  constexpr Wide kBitPicoseconds = Wide{8} * 1'000'000'000'000;
  const auto held = static_cast<std::int64_t>(static_cast<Wide>(rate.count()) * round_trip.count() / kBitPicoseconds);
  const std::int64_t queue = switching.queue ? switching.queue->count() : held;
  const auto part = [&](Share share) {
    return Bytes(static_cast<std::int64_t>(static_cast<Wide>(queue) * share.count() / 1'000'000));
  };
  return {part(switching.mark_from), part(switching.mark_to),
          std::clamp<std::int64_t>(switching.mark_most.count() / 10'000, 1, 100)};
}

}  // namespace weft::render
