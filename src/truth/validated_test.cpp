// What counts as validated follows from the tables: every row of theirs is, and no range reaches beyond them.

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/testing_source_dir.hpp"
#include "collective/validated.hpp"
#include "truth/tables.hpp"

namespace weft::truth {
namespace {

TEST(Validated, IsWhatTheTablesAreOf) {
  struct Range {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    std::uint32_t domains = 0;
  };
  std::map<std::tuple<std::string_view, collective::Operation, bool>, Range> known;
  for (const char* folder : {"/truth", "/truth/held-out"}) {
    const LoadedTables loaded = load_tables(std::string(base::kSourceDir) + folder);
    EXPECT_TRUE(loaded.wrong.empty());
    for (const TruthTable& table : loaded.tables) {
      const std::string_view generation = collective::generation_of(table.team->group(0).spec.gpu.kind).name;
      // Four GPUs of a rack say nothing of its switches.
      if (generation == "Blackwell in racks" && table.team->ranks() < 8) continue;
      auto& range = known[{generation, table.job.operation, table.team->nodes() > 1}];
      range.domains = std::max(range.domains, table.team->nodes());
      for (const Measurement& row : table.rows) {
        range.least = range.most == 0 ? row.bytes : std::min(range.least, row.bytes);
        range.most = std::max(range.most, row.bytes);
        EXPECT_EQ(collective::not_validated(*table.team, table.job.operation, row.bytes), "") << table.name;
      }
    }
  }
  EXPECT_EQ(collective::validated().size(), known.size());
  for (const collective::Validated& each : collective::validated()) {
    const auto found = known.find({each.generation, each.operation, each.several_domains()});
    ASSERT_NE(found, known.end()) << each.generation;
    EXPECT_EQ(each.least, found->second.least) << each.generation << collective::name(each.operation);
    EXPECT_EQ(each.most, found->second.most) << each.generation << collective::name(each.operation);
    EXPECT_EQ(each.domains, found->second.domains) << each.generation << collective::name(each.operation);
  }
}

}  // namespace
}  // namespace weft::truth
