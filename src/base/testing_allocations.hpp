#pragma once
// Counts what a test program allocates, and how many bytes of it are in use. It replaces the global operators, so one
// source of a program may include it.

#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace weft {
inline std::atomic<std::uint64_t> allocations = 0;
inline std::atomic<std::uint64_t> bytes_in_use = 0;

inline void* note_allocation(void* memory) {
  ++allocations;
  bytes_in_use += malloc_usable_size(memory);
  return memory;
}
inline void note_release(void* memory) { bytes_in_use -= malloc_usable_size(memory); }
}  // namespace weft

// Not inlined: g++ 12 then takes the pairs of new and delete for mismatched.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return weft::note_allocation(std::malloc(size));
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step)) return weft::note_allocation(memory);
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  weft::note_release(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  weft::note_release(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  weft::note_release(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  weft::note_release(memory);
  std::free(memory);
}
