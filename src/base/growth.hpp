#pragma once
// What a list takes when it grows: until all is moved, the old and the new one are there.

#include <cstdint>
#include <vector>

namespace weft {

// Bytes that come on top soon; 0 while there is room for an eighth more.
template <class T>
std::uint64_t growth_of(const std::vector<T>& list) {
  return list.size() > list.capacity() / 8 * 7 ? list.size() * sizeof(T) : 0;
}

}  // namespace weft
