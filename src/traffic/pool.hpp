#pragma once
// What messages contain: random bytes that both ends know, so that the receiver can tell whether each byte is the one
// that was sent, at the price of a comparison.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace weft::traffic {

class Pool {
 public:
  static constexpr std::size_t kStep = 64;     // by how much a message begins later than the one before it
  static constexpr std::size_t kSteps = 4096;  // that are different

  explicit Pool(std::size_t longest) : bytes_((longest + kStep * kSteps + 7) / 8 * 8) {
    Random random(20261116, 0, 0);
    for (std::size_t i = 0; i < bytes_.size(); i += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(bytes_.data() + i, &word, sizeof word);
    }
  }
  // Where the message of this number begins.
  static std::size_t offset_of(std::uint64_t number) { return number % kSteps * kStep; }
  std::span<std::byte> message(std::uint64_t number, std::size_t size) {
    return std::span(bytes_).subspan(offset_of(number), size);
  }
  std::span<const std::byte> view(std::uint64_t number, std::size_t size) const {
    return std::span(bytes_).subspan(offset_of(number), size);
  }
  // Whether these are the bytes of a message, `from` some place in it on.
  bool is(std::uint64_t number, std::span<const std::byte> bytes, std::size_t from = 0) const {
    const std::size_t at = offset_of(number) + from;
    return at + bytes.size() <= bytes_.size() &&
           (bytes.empty() || std::memcmp(bytes.data(), bytes_.data() + at, bytes.size()) == 0);
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace weft::traffic
