#pragma once
// Things of one type in one array, named by 32-bit numbers, taken and given back without allocation once
// the array is as large as it gets. A reference does not survive take().

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::transport {

inline constexpr std::uint32_t kNone = 0xFFFFFFFFu;  // the number of nothing

template <class T>
class Slab {
 public:
  std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    items_.emplace_back();
    return static_cast<std::uint32_t>(items_.size() - 1);
  }
  void give_back(std::uint32_t index) { free_.push_back(index); }
  // Nobody needs any of it for now.
  void release_if_unused() {
    if (used() > 0) return;
    items_ = std::vector<T>();
    free_ = std::vector<std::uint32_t>();
  }
  std::size_t used() const { return items_.size() - free_.size(); }
  std::size_t size() const { return items_.size(); }
  std::size_t bytes() const { return items_.capacity() * sizeof(T); }
  T& operator[](std::uint32_t index) { return items_[index]; }
  const T& operator[](std::uint32_t index) const { return items_[index]; }

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::transport
