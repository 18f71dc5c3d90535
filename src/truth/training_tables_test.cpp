#include "truth/training_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing_source_dir.hpp"

namespace weft::truth {
namespace {

// Every table can be read and timed, what the first run said stays beside it, and no row is computed so wrong that a
// choice between designs would be worthless.
TEST(TrainingTables, AreAllTimedAndKeepTheirBlindErrors) {
  const auto tables = time_training_tables(std::string(base::kSourceDir) + "/truth/training");
  ASSERT_GE(tables.size(), 5u);
  for (const TrainingTable& table : tables) {
    EXPECT_TRUE(table.wrong.empty()) << table.name << ": " << (table.wrong.empty() ? "" : table.wrong[0]);
    for (const TrainingRow& row : table.rows) {
      EXPECT_GT(row.simulated, 0) << table.name << " " << row.name;
      EXPECT_GT(row.blind, 0) << table.name << " " << row.name;
      EXPECT_TRUE(!row.counted || std::abs(row.error()) < 0.5) << table.name << " " << row.name;
    }
  }
}

TEST(TrainingTables, AFolderThatIsNotThereHasNone) { EXPECT_TRUE(time_training_tables("/nonexistent").empty()); }

}  // namespace
}  // namespace weft::truth
