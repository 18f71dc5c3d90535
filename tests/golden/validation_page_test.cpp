// docs/validation.md and its pictures are what `weft validate` says today.
#include <unistd.h>

#include "golden.hpp"

namespace weft::golden {
namespace {

TEST(Validate, ThePageIsUpToDate) {
  const auto scratch = std::filesystem::temp_directory_path() / ("weft-page-" + std::to_string(::getpid()));
  const Outcome outcome = weft({"validate", (kSource / "truth").string(), "--page", "--plots", scratch.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_file(kSource / "docs/validation.md", outcome.out);
  std::size_t pictures = 0;
  for (const auto& each : std::filesystem::directory_iterator(scratch)) {
    expect_file(kSource / "docs/pictures/validation" / each.path().filename(), read(each.path()));
    ++pictures;
  }
  std::filesystem::remove_all(scratch);
  EXPECT_GT(pictures, 20u);
}

}  // namespace
}  // namespace weft::golden
