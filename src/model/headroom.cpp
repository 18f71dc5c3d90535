#include "model/headroom.hpp"

#include "base/wide.hpp"

namespace weft::model {

Bytes pfc_headroom(Bandwidth rate, Duration cable, Bytes frame, Duration interface_delay) {
  constexpr Wide kPerSecond = 1'000'000'000'000;
  const Wide time = static_cast<Wide>(cable.count()) * 2 + interface_delay.count();
  const Wide bits = (time * rate.count() + kPerSecond - 1) / kPerSecond + kPfcReactionBits;
  return Bytes(static_cast<std::int64_t>((bits + 7) / 8)) + frame * 2;
}

}  // namespace weft::model
