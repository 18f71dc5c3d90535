#pragma once
// A list through things of a slab, by their members `before` and `after`.

#include <cstdint>

#include "transport/slab.hpp"

namespace weft::transport::rdm {

struct List {
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t size = 0;

  bool empty() const { return first == kNone; }

  template <class T>
  void push_back(Slab<T>& slab, std::uint32_t index) {
    slab[index].before = last;
    slab[index].after = kNone;
    (last == kNone ? first : slab[last].after) = index;
    last = index;
    ++size;
  }

  template <class T>
  void push_front(Slab<T>& slab, std::uint32_t index) {
    slab[index].before = kNone;
    slab[index].after = first;
    (first == kNone ? last : slab[first].before) = index;
    first = index;
    ++size;
  }

  template <class T>
  void remove(Slab<T>& slab, std::uint32_t index) {
    const std::uint32_t before = slab[index].before;
    const std::uint32_t after = slab[index].after;
    (before == kNone ? first : slab[before].after) = after;
    (after == kNone ? last : slab[after].before) = before;
    --size;
  }
};

}  // namespace weft::transport::rdm
