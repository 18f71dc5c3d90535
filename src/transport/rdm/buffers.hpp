#pragma once
// The layer's own memory: bundles, injected messages, what waits for a receive. Who takes a buffer bounds how many.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/rdm/carrier.hpp"
#include "transport/slab.hpp"

namespace weft::transport::rdm {

class Buffers {
 public:
  // A handle with kOwnMemory.
  std::uint64_t take(std::size_t bytes) {
    const std::uint32_t index = slab_.take();
    Buffer& buffer = slab_[index];
    if (buffer.room < bytes) {
      buffer.room = bytes < kKept ? kKept : bytes;
      buffer.bytes = std::make_unique_for_overwrite<std::byte[]>(buffer.room);
    }
    buffer.size = bytes;
    buffer.used = true;
    return kOwnMemory | index;
  }
  void give_back(std::uint64_t handle) {
    const auto index = static_cast<std::uint32_t>(handle);
    Buffer& buffer = slab_[index];
    buffer.used = false;
    if (buffer.room > kKept) {
      buffer.bytes.reset();
      buffer.room = 0;
    }
    slab_.give_back(index);
  }
  std::span<std::byte> of(std::uint64_t handle) {
    const auto index = static_cast<std::uint32_t>(handle);
    if (!(handle & kOwnMemory) || index >= slab_.size() || !slab_[index].used) return {};
    return {slab_[index].bytes.get(), slab_[index].size};
  }
  std::size_t used() const { return slab_.used(); }

 private:
  static constexpr std::size_t kKept = 2048;  // bytes that a buffer keeps when it is given back: a bundle's

  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t room = 0;
    std::size_t size = 0;
    bool used = false;
  };
  Slab<Buffer> slab_;
};

}  // namespace weft::transport::rdm
