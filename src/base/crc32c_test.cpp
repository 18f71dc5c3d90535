#include "base/crc32c.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft
