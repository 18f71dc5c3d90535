#include "base/crc32c.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace weft {
namespace {

// The instruction takes three cycles and another may begin in each: three lanes of this many bytes, of which the first
// two are then moved past what follows them. Long lanes for long packets, short ones for those of 1500 bytes.
constexpr std::size_t kLongLane = 512;
constexpr std::size_t kShortLane = 128;

// What a checksum becomes when `kLane` zeros follow it: it is linear, so that a table for each of its bytes does.
using Moved = std::array<std::array<std::uint32_t, 256>, 4>;
template <std::size_t kLane>
constexpr Moved kMoved = [] {
  std::array<std::uint32_t, 32> bit{};
  for (std::uint32_t i = 0; i < 32; ++i) {
    std::uint32_t rest = 1u << i;
    for (std::size_t n = 0; n < kLane; ++n) rest = (rest >> 8) ^ detail::kCrc32cTable[rest & 0xFF];
    bit[i] = rest;
  }
  Moved moved{};
  for (std::uint32_t byte = 0; byte < 4; ++byte)
    for (std::uint32_t value = 0; value < 256; ++value)
      for (std::uint32_t i = 0; i < 8; ++i)
        if (value >> i & 1) moved[byte][value] ^= bit[8 * byte + i];
  return moved;
}();

template <std::size_t kLane>
std::uint32_t move(std::uint32_t rest) {
  constexpr const Moved& kBy = kMoved<kLane>;
  return kBy[0][rest & 0xFF] ^ kBy[1][rest >> 8 & 0xFF] ^ kBy[2][rest >> 16 & 0xFF] ^ kBy[3][rest >> 24];
}

template <class Word = std::uint64_t>
Word word_at(const std::uint8_t* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

template <std::size_t kLane>
[[gnu::target("sse4.2")]] std::uint64_t by_lanes(std::uint64_t rest, const std::uint8_t*& at, const std::uint8_t* end) {
  for (; end - at >= static_cast<std::ptrdiff_t>(3 * kLane); at += 3 * kLane) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      rest = _mm_crc32_u64(rest, word_at(at + i));
      second = _mm_crc32_u64(second, word_at(at + kLane + i));
      third = _mm_crc32_u64(third, word_at(at + 2 * kLane + i));
    }
    rest = move<kLane>(move<kLane>(static_cast<std::uint32_t>(rest)) ^ static_cast<std::uint32_t>(second)) ^ third;
  }
  return rest;
}

// Headers, say: nothing is won by lanes.
[[gnu::target("sse4.2")]] std::uint32_t of_few(std::span<const std::uint8_t> bytes, std::uint32_t before) {
  std::uint64_t rest = ~before;
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  for (; end - at >= 8; at += 8) rest = _mm_crc32_u64(rest, word_at(at));
  auto last = static_cast<std::uint32_t>(rest);
  if (end - at >= 4) last = _mm_crc32_u32(last, word_at<std::uint32_t>(at)), at += 4;
  if (end - at >= 2) last = _mm_crc32_u16(last, word_at<std::uint16_t>(at)), at += 2;
  if (end != at) last = _mm_crc32_u8(last, *at);
  return ~last;
}

[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::span<const std::uint8_t> bytes, std::uint32_t before) {
  std::uint64_t rest = ~before;
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  rest = by_lanes<kLongLane>(rest, at, end);
  rest = by_lanes<kShortLane>(rest, at, end);
  return of_few({at, end}, ~static_cast<std::uint32_t>(rest));
}

// Without carries, 64 bytes can be multiplied at once by what moves them past those that follow: what is left of any
// number of blocks is one block with the same checksum (Gopal et al., Intel, 2009). Three times as fast as lanes.
constexpr std::size_t kBlock = 64;
constexpr std::size_t kBlocks = 4;  // under way at once, to hide how long a multiplication takes

// x^bits, in the order of bits that the checksum has, as the multiplication wants it.
constexpr std::uint64_t power(std::size_t bits) {
  std::uint32_t rest = 0x80000000u;
  for (std::size_t i = 0; i < bits; ++i) rest = (rest >> 1) ^ ((rest & 1) ? 0x82f63b78u : 0u);
  return std::uint64_t{rest} << 1;
}

template <std::size_t kBytes>
[[gnu::target("avx512f,vpclmulqdq")]] inline __m512i past(__m512i block, __m512i next) {
  constexpr auto kLow = static_cast<long long>(power(kBytes * 8 + 32));
  constexpr auto kHigh = static_cast<long long>(power(kBytes * 8 - 32));
  const __m512i by = _mm512_set_epi64(kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow);
  return _mm512_xor_si512(
      next, _mm512_xor_si512(_mm512_clmulepi64_epi128(block, by, 0x00), _mm512_clmulepi64_epi128(block, by, 0x11)));
}

[[gnu::target("avx512f")]] inline __m512i block_at(const std::uint8_t* at, std::size_t i) {
  return _mm512_loadu_si512(at + i * kBlock);
}

// At least kBlocks blocks.
[[gnu::target("avx512f,vpclmulqdq,sse4.2")]] std::uint32_t by_folding(std::span<const std::uint8_t> bytes,
                                                                      std::uint32_t before) {
  constexpr std::size_t kAll = kBlocks * kBlock;
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  const __m512i begin = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~before)));
  __m512i first = _mm512_xor_si512(block_at(at, 0), begin);
  __m512i second = block_at(at, 1);
  __m512i third = block_at(at, 2);
  __m512i fourth = block_at(at, 3);
  for (at += kAll; end - at >= static_cast<std::ptrdiff_t>(kAll); at += kAll) {
    first = past<kAll>(first, block_at(at, 0));
    second = past<kAll>(second, block_at(at, 1));
    third = past<kAll>(third, block_at(at, 2));
    fourth = past<kAll>(fourth, block_at(at, 3));
  }
  fourth = past<kBlock>(past<kBlock>(past<kBlock>(first, second), third), fourth);
  for (; end - at >= static_cast<std::ptrdiff_t>(kBlock); at += kBlock) fourth = past<kBlock>(fourth, block_at(at, 0));
  std::array<std::uint8_t, kBlock> left;
  std::memcpy(left.data(), &fourth, kBlock);
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < kBlock; i += 8) rest = _mm_crc32_u64(rest, word_at(left.data() + i));
  return of_few({at, end}, ~static_cast<std::uint32_t>(rest));
}

// Who asks before these are set is answered by the table.
const bool kHas = __builtin_cpu_supports("sse4.2");
const bool kFolds = kHas && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");

}  // namespace

std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t before) {
  if (!kHas) return crc32c_by_table(bytes, before);
  if (bytes.size() < kBlocks * kBlock) return of_few(bytes, before);
  return kFolds ? by_folding(bytes, before) : by_instruction(bytes, before);
}

}  // namespace weft
#else
namespace weft {

std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t before) {
  return crc32c_by_table(bytes, before);
}

}  // namespace weft
#endif
