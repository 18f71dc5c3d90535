#pragma once
// What switches hash, so that every executor sends a pair of endpoints over the same links.

#include <cstdint>

#include "base/hash.hpp"

namespace weft::sim {

constexpr std::uint32_t entropy_salt(std::uint64_t seed) { return static_cast<std::uint32_t>(mix64(seed)); }

// Who talks to whom.
constexpr std::uint32_t pair_entropy(std::uint32_t source, std::uint32_t destination, std::uint32_t salt) {
  return source * 0x9e3779b1u + destination * 0x85ebca77u + salt;
}

// And on which of its ways: different for every one of every pair.
constexpr std::uint32_t path_entropy(std::uint32_t pair, std::uint16_t path) { return pair + path * 0xc2b2ae3du; }

}  // namespace weft::sim
