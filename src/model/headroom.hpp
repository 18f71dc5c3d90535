#pragma once
// What a port with priority flow control must still hold after it has told its neighbour to pause.

#include "base/units.hpp"

namespace weft::model {

inline constexpr std::int64_t kPfcReactionBits = 3840;  // that the neighbour may still send: IEEE 802.1Qbb, 60 quanta

// Of one lossless class: what a round trip of the cable holds, a full frame that the pause has to wait for and one that
// the neighbour has begun, and what it sends until the pause takes effect. `cable`: one way, 5 ns for each metre.
// `interface_delay`: of the neighbour's interface, beside the standard's own allowance.
Bytes pfc_headroom(Bandwidth rate, Duration cable, Bytes frame, Duration interface_delay);

}  // namespace weft::model
