#pragma once
// An array that starts as zeros and costs only the pages that are touched: state of every part of a
// large fabric of which a run uses a few.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace weft {

template <class T>
class Zeroed {
  static_assert(std::is_trivially_copyable_v<T>, "all bits zero must be its initial state");

 public:
  Zeroed() = default;
  explicit Zeroed(std::size_t size) : size_(size) {
    if (size == 0) return;
    // Room to align the first element; calloc hands out fresh pages without touching them.
    std::size_t space = (size + 1) * sizeof(T) + alignof(T);
    memory_.reset(std::calloc(space, 1));
    if (!memory_) throw std::bad_alloc();
    void* at = memory_.get();
    data_ = static_cast<T*>(std::align(alignof(T), size * sizeof(T), at, space));
  }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft
