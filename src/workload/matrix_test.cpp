#include "workload/matrix.hpp"

#include <gtest/gtest.h>

#include <set>

#include "workload/patterns.hpp"

namespace weft::workload {
namespace {

Matrix read(const std::string& text, spec::Diagnostics& diagnostics) {
  return read_matrix(diagnostics.sources().add("m.cm", text), diagnostics);
}

std::string errors(const std::string& text) {
  spec::Diagnostics diagnostics;
  read(text, diagnostics);
  return spec::render_text(diagnostics, false);
}

TEST(Matrix, FlowsAndTriggersAreRead) {
  spec::Diagnostics diagnostics;
  const Matrix matrix = read(
      "Nodes 4\nConnections 2\nTriggers 1\n"
      "0->1 id 1 start 7 size 100 send_done_trigger 9\n1->2 id 2 trigger 9 size 200\ntrigger id 9 oneshot\n",
      diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(matrix.flows.size(), 2u);
  EXPECT_EQ(matrix.flows[0].start, 7);
  EXPECT_EQ(matrix.flows[0].when_sent, 0u);
  EXPECT_EQ(matrix.flows[1].started_by, 0u);
  EXPECT_EQ(matrix.triggers[0].starts, std::vector<std::uint32_t>{1});
}

TEST(Matrix, FaultsAreNamedWithTheirPlace) {
  EXPECT_EQ(errors("Nodes 4\n0->1 id 1 start 0 siez 5\n"),
            "m.cm:2:19: error E0411: a flow has no 'siez'\n"
            "  2 | 0->1 id 1 start 0 siez 5\n"
            "    |                   ^^^^\n"
            "  = did you mean 'size'?\n"
            "1 error; `weft explain E0411` says more\n");
  for (const std::string text :
       {"Nodes 2\n0->5 id 1 start 0 size 1\n", "Nodes 2\n0->0 id 1 start 0 size 1\n", "Nodes 2\n0->1 id 1 size 1\n",
        "Nodes 2\n0->1 id 1 start x size 1\n", "Nodes 2\n0->1 id 1 start\n", "Nodes 2\nConnections 5\n0->1 id 1 start 0 size 1\n",
        "Nodes 2\n0->1 id 1 trigger 3 size 1\n", "Nodes 2\ntrigger id 3 sometimes\n", "Nodes 2\nfailure link 1\n", "hello\n", "",
        "Nodes 99999999999999999999\n", "Nodes 2\n0->1 id 1 start 0 size 99999999999999999\n"})
    EXPECT_NE(errors(text), "") << text;
}

TEST(Triggers, FireByTheirKind) {
  Matrix matrix;
  matrix.triggers = {{MatrixTrigger::Kind::oneshot, 1, {4, 5}},
                     {MatrixTrigger::Kind::multishot, 1, {6, 7}},
                     {MatrixTrigger::Kind::barrier, 2, {8, 9}}};
  Triggers triggers(matrix);
  using List = std::vector<std::uint32_t>;
  EXPECT_EQ(triggers.fire(0), (List{4, 5}));
  EXPECT_EQ(triggers.fire(0), List{});
  EXPECT_EQ(triggers.fire(1), List{6});
  EXPECT_EQ(triggers.fire(1), List{7});
  EXPECT_EQ(triggers.fire(1), List{});
  EXPECT_EQ(triggers.fire(2), List{});
  EXPECT_EQ(triggers.fire(2), (List{8, 9}));
  EXPECT_EQ(triggers.fire(kNoTrigger), List{});
}

TEST(Patterns, APermutationGivesEverybodyOneOther) {
  for (const std::uint32_t nodes : {2u, 3u, 64u, 1000u}) {
    const Matrix matrix = make_pattern("permutation", nodes, 1, 7);
    std::set<std::uint32_t> to;
    for (const MatrixFlow& flow : matrix.flows) {
      EXPECT_NE(flow.source, flow.destination);
      to.insert(flow.destination);
    }
    EXPECT_EQ(to.size(), nodes);
  }
}

}  // namespace
}  // namespace weft::workload
