#include "model/host_memory.hpp"

#include <gtest/gtest.h>

namespace weft::model {
namespace {

double gigabytes_beside(std::int64_t gigabits) {
  return static_cast<double>(memory_of_socket(gigabits_per_second(gigabits)).count()) / 8e9;
}

// What two-socket servers measure with copies: about 100 GB/s a socket in 2018, 330 in 2024.
TEST(HostMemory, GrowsWithTheGenerationOfPcie) {
  EXPECT_NEAR(gigabytes_beside(126), 102, 1);   // PCIe 3.0 x16
  EXPECT_NEAR(gigabytes_beside(252), 164, 1);   // 4.0
  EXPECT_NEAR(gigabytes_beside(504), 245, 1);   // 5.0
  EXPECT_NEAR(gigabytes_beside(1008), 328, 1);  // 6.0
}

}  // namespace
}  // namespace weft::model
