#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <vector>

namespace weft {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(Crc32c, IsTheChecksumOfRfc3720) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0)), 0x8a9136aau);     // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0xFF)), 0x62a8ab43u);  // the same
}

TEST(Crc32c, GoesOnWhereItStopped) {
  EXPECT_EQ(crc32c(bytes_of("56789"), crc32c(bytes_of("1234"))), crc32c(bytes_of("123456789")));
}

TEST(Crc32c, TheProcessorsIsEqualToTheTables) {
  std::vector<std::uint8_t> bytes(5000);
  std::uint32_t seed = 1;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t length = 0; from + length <= bytes.size(); length = length < 40 ? length + 1 : length * 9 / 8) {
      const auto part = std::span<const std::uint8_t>(bytes).subspan(from, length);
      ASSERT_EQ(crc32c(part, 77), crc32c_by_table(part, 77)) << from << " " << length;
    }
}

}  // namespace
}  // namespace weft
