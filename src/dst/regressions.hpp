#pragma once
// Seeds that once failed, with what they found. A change of what seeds draw makes them ordinary ones.

#include <array>
#include <cstdint>

#include "dst/scenario.hpp"

namespace weft::dst {

struct Regression {
  Protocol transport;
  std::uint64_t seed;
};

inline constexpr std::array<Regression, 5> kRegressions = {{
    {Protocol::srd, 24},    // a late copy meant for a former life failed the stream that had begun since
    {Protocol::srd, 1010},  // the only room for messages went to one behind a closed window
    {Protocol::srd, 1506},  // a packet that vanished among others that were refused was never missed
    {Protocol::srd, 2461},  // as 1010
    {Protocol::srd, 4916},  // two peers' answers waited behind each other's reads
}};

}  // namespace weft::dst
