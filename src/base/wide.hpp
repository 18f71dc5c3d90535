#pragma once

namespace weft {

// 128 bits, for products of two 64-bit counts. g++ and clang have it on every target weft runs on.
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

}  // namespace weft
