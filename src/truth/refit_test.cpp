#include "truth/refit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "truth/validation.hpp"
#include "truth/validation_text.hpp"

namespace weft::truth {
namespace {

using collective::Constants;
using collective::Knob;
using collective::Origin;

std::int64_t& knob_of(Constants& constants, std::string_view owner, std::string_view name) {
  for (const Knob& knob : collective::knobs(constants, Origin::fitted))
    if (knob.number.owner == owner && knob.number.name == name) return *knob.value;
  throw std::runtime_error("no such knob");
}

// A folder with tables of one server each, in which the simulator is right under other constants.
class Tables : public ::testing::Test {
 protected:
  Tables() : folder_(std::filesystem::temp_directory_path() / fmt::format("weft-refit-{}", ::getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~Tables() override { std::filesystem::remove_all(folder_); }

  void add(const std::string& name, const std::string& stack, const std::vector<std::pair<std::uint64_t, double>>& rows,
           int servers = 1) {
    std::ofstream csv(folder_ / (name + ".csv"));
    csv << "size_bytes,time_us\n";
    for (const auto& [bytes, time] : rows) csv << fmt::format("{},{}\n", bytes, time);
    std::ofstream(folder_ / (name + ".weft.yaml")) << fmt::format(
        "# note: made up\nversion: 1\nservers: {{kind: hgx-h100, count: {}}}\n"
        "fabric: {{kind: single-chassis, switch: quantum-2}}\nrun:\n  - all_reduce: {{gpus: {}, stack: {}}}\n",
        servers, 8 * servers, stack);
  }
  std::vector<TruthTable> load() {
    LoadedTables loaded = load_tables(folder_.string());
    for (const spec::Diagnostics& each : loaded.wrong) ADD_FAILURE() << spec::render_text(each, false);
    return std::move(loaded.tables);
  }
  // What the simulator says of sizes where the launch mode and NVLS count.
  std::vector<std::pair<std::uint64_t, double>> simulated(const std::string& stack, const Constants& constants) {
    std::vector<std::pair<std::uint64_t, double>> rows;
    for (std::uint64_t bytes = 1 << 10; bytes <= (1 << 24); bytes *= 4) rows.emplace_back(bytes, 1.0);
    add("probe", stack, rows);
    const std::vector<TruthTable> tables = load();
    TruthClock clock;
    for (const TruthTable& table : tables)
      if (table.name == "probe")
        for (std::size_t i = 0; i < rows.size(); ++i)
          rows[i].second = static_cast<double>(clock.row(table, i, constants).time.count()) / 1e6;
    std::filesystem::remove(folder_ / "probe.csv");
    std::filesystem::remove(folder_ / "probe.weft.yaml");
    return rows;
  }

  std::filesystem::path folder_;
};

TEST_F(Tables, RefitComesNearerToWhatTheyWereMadeWith) {
  Constants other = collective::constants();
  knob_of(other, "pytorch", "delay") *= 2;
  add("one", "ib-pytorch", simulated("ib-pytorch", other));
  const std::vector<TruthTable> tables = load();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].notes, std::vector<std::string>{"made up"});
  TruthClock clock;
  const Constants found = refit(tables, collective::constants(), Origin::fitted, clock);
  const Errors before = judge(tables[0], collective::constants(), clock).errors.all();
  const Errors after = judge(tables[0], found, clock).errors.all();
  EXPECT_GT(before.worst(), 0.1);
  EXPECT_LT(after.median(), 0.05);
  EXPECT_LT(after.median(), before.median() / 2);
}

// What would have to move far to explain a table explains something else.
TEST_F(Tables, NumbersMoveByAFactorOfTwoAtMost) {
  Constants other = collective::constants();
  knob_of(other, "pytorch", "delay") *= 20;
  add("one", "ib-pytorch", simulated("ib-pytorch", other));
  const std::vector<TruthTable> tables = load();
  TruthClock clock;
  Constants found = refit(tables, collective::constants(), Origin::fitted, clock);
  const std::int64_t before = collective::stack_named("ib-pytorch")->launch.delay_ns;
  EXPECT_GT(knob_of(found, "pytorch", "delay"), before * 3 / 2);
  EXPECT_LE(knob_of(found, "pytorch", "delay"), before * 2);
}

// A table that differs from the others does not explain itself when it is left out.
TEST_F(Tables, WhatIsLeftOutDoesNotCount) {
  const auto as_is = simulated("ib-pytorch", collective::constants());
  auto slower = as_is;
  for (auto& row : slower) row.second *= 1.5;
  add("one", "ib-pytorch", as_is);
  add("two", "ib-pytorch", slower);
  const std::vector<TruthTable> tables = load();
  ASSERT_EQ(tables.size(), 2u);
  TruthClock clock;
  const LeftOut without = leave_out(tables, tables[1], clock);
  EXPECT_TRUE(without.lonely.empty());
  EXPECT_NEAR(judge(tables[1], without.constants, clock).errors.all().median(), 1.0 / 3, 0.02);
  const std::vector<Spread> apart = spreads(tables);
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_EQ(apart[0].sizes, as_is.size());
  EXPECT_NEAR(apart[0].median, 0.5, 0.01);
}

// Numbers that no other table has are those of their like: nothing, where there is none.
TEST_F(Tables, WhatNobodyElseKnowsIsSaid) {
  add("one", "ib-pytorch", simulated("ib-pytorch", collective::constants()));
  add("two", "ib", simulated("ib", collective::constants()));
  const std::vector<TruthTable> tables = load();
  ASSERT_EQ(tables.size(), 2u);
  TruthClock clock;
  LeftOut without = leave_out(tables, tables[0], clock);
  EXPECT_EQ(without.lonely, (std::vector<std::string>{"delay of pytorch", "least of pytorch"}));
  EXPECT_EQ(collective::make_stack(without.constants, "ib-pytorch").launch.delay_ns, 0);
  EXPECT_TRUE(leave_out(tables, tables[1], clock).lonely.empty());
}

// gIB runs over RoCE, whose messages are InfiniBand's.
TEST_F(Tables, NetworksDrawOnThoseTheyAreLike) {
  add("one", "gib1.0.5", {{1024, 50}}, 2);
  add("two", "ib", {{1024, 50}}, 2);
  add("within", "ib", {{1024, 50}});
  const std::vector<TruthTable> tables = load();
  ASSERT_EQ(tables.size(), 3u);
  for (const char* owner : {"gib1.0.5", "roce", "ib"}) EXPECT_TRUE(tables[0].uses(owner)) << owner;
  EXPECT_FALSE(tables[0].uses("efa"));
  EXPECT_TRUE(tables[1].uses("ib"));
  EXPECT_FALSE(tables[1].uses("gib1.0.5"));
  EXPECT_FALSE(tables[2].uses("ib")) << "a server alone uses no network";
}

TEST_F(Tables, ThePageHasEveryRowInMicroseconds) {
  add("one", "ib", {{1024, 12.25}, {1 << 24, 98'765.5}});
  const std::vector<TruthTable> tables = load();
  TruthClock clock;
  const std::vector<Verdict> verdicts = {judge(tables[0], collective::constants(), clock)};
  const std::string page = validation_page(verdicts, tables, {}, {}, {});
  for (std::size_t i = 0; i < 2; ++i) {
    const schedule::CollectiveRow& row = verdicts[0].simulated[i];
    const double measured = i == 0 ? 12.25 : 98'765.5;
    const double simulated = static_cast<double>(row.time.count()) * 1e-6;
    const std::string line =
        fmt::format("| {} | {:.2f} | {:.2f} | {:+.1f}% | {} {} {} |\n", i == 0 ? 1024 : 1 << 24, measured, simulated,
                    100 * (simulated - measured) / measured, row.algorithm, row.protocol, row.channels);
    EXPECT_NE(page.find(line), std::string::npos) << line << page.substr(page.find("\n### one"));
  }
}

}  // namespace
}  // namespace weft::truth
