#include "app/sim/collective_options.hpp"

#include <gtest/gtest.h>

namespace weft::app {
namespace {

TEST(CollectiveOptions, SizesWithoutAUnitAreBytes) {
  EXPECT_EQ(bare_as_bytes("8..4GiB"), "8B..4GiB");
  EXPECT_EQ(bare_as_bytes("8..1024"), "8B..1024B");
  EXPECT_EQ(bare_as_bytes("[1024, 1.5MiB, 2kB]"), "[1024B, 1.5MiB, 2kB]");
  EXPECT_EQ(bare_as_bytes("8B..8GiB,16"), "8B..8GiB,16B");
  EXPECT_EQ(bare_as_bytes("web-search"), "web-search");
  EXPECT_EQ(bare_as_bytes(""), "");
}

}  // namespace
}  // namespace weft::app
