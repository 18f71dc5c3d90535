#include "app/sim/collective_options.hpp"

#include <gtest/gtest.h>

namespace weft::app {
namespace {

TEST(CollectiveOptions, SizesWithoutAUnitAreBytes) {
  EXPECT_EQ(with_units("8..4GiB"), "8B..4GiB");
  EXPECT_EQ(with_units("8..1024"), "8B..1024B");
  EXPECT_EQ(with_units("[1024, 1.5MiB, 2kB]"), "[1024B, 1.5MiB, 2kB]");
  EXPECT_EQ(with_units("8B..8GiB,16"), "8B..8GiB,16B");
  EXPECT_EQ(with_units("8..8G"), "8B..8GiB") << "as nccl-tests' -b 8 -e 8G";
  EXPECT_EQ(with_units("64k,1M,2MB"), "64KiB,1MiB,2MB");
  EXPECT_EQ(with_units("web-search"), "web-search");
  EXPECT_EQ(with_units(""), "");
}

}  // namespace
}  // namespace weft::app
