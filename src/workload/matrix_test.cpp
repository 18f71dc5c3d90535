#include "workload/matrix.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(matrix.flows[0].start.count(), 7'000'000) << "microseconds, as htsim_uec takes them";
  EXPECT_EQ(matrix.flows[0].when_sent, 0u);
  EXPECT_EQ(matrix.flows[1].started_by, 0u);
  EXPECT_EQ(matrix.triggers[0].starts, std::vector<std::uint32_t>{1});
}

TEST(Matrix, AStartSaysItsUnitOrIsInMicroseconds) {
  const auto read_start = [](const std::string& start, spec::Diagnostics& diagnostics) {
    return read("Nodes 2\n0->1 id 1 start " + start + " size 1\n", diagnostics);
  };
  for (const auto& [text, picoseconds] :
       {std::pair("0", 0L), {"16", 16'000'000L}, {"16us", 16'000'000L}, {"2500ps", 2500L}, {"1.5us", 1'500'000L}}) {
    spec::Diagnostics diagnostics;
    const Matrix matrix = read_start(text, diagnostics);
    ASSERT_EQ(matrix.flows.size(), 1u) << text;
    EXPECT_EQ(matrix.flows[0].start.count(), picoseconds) << text;
    EXPECT_EQ(matrix.bare_start.line, std::string_view(text) == "16" ? 2u : 0u) << text;
  }
  EXPECT_NE(errors("Nodes 2\n0->1 id 1 start 3600000001 size 1\n").find("3600000001ps"), std::string::npos);
  EXPECT_NE(errors("Nodes 2\n0->1 id 1 start 2h size 1\n"), "");
  EXPECT_NE(errors("Nodes 2\n0->1 id 1 start 5m size 1\n"), "");
}

// htsim's conn_reuse: messages of one connection have its id; the message's own number may be there or not.
TEST(Matrix, MessagesOfAConnectionShareItsId) {
  spec::Diagnostics diagnostics;
  const Matrix matrix = read("Nodes 3\n0->1 id 1 msg start 0 size 10\n0->1 id 1 msg 7 start 0 size 20\n", diagnostics);
  EXPECT_EQ(spec::render_text(diagnostics, false), "");
  ASSERT_EQ(matrix.flows.size(), 2u);
  EXPECT_EQ(matrix.flows[1].bytes, 20u);
  const auto says = [](const std::string& text, const std::string& what) {
    return errors("Nodes 3\n" + text).find(what) != std::string::npos;
  };
  EXPECT_TRUE(says("0->1 id 1 msg start 0 size 1\n0->2 id 1 msg start 0 size 1\n", "connection 1, which is 0->1"));
  EXPECT_TRUE(says("0->1 id 1 start 0 size 1\n0->1 id 1 msg start 0 size 1\n", "two flows have the id 1"));
}

// As htsim's own reader takes them.
TEST(Matrix, WordsOfATriggerComeInAnyOrderAndAStartMayHaveAFraction) {
  spec::Diagnostics diagnostics;
  const Matrix matrix = read(
      "Nodes 3\n0->1 id 1 start 2.5 size 10 send_done_trigger 3\n1->2 id 2 trigger 3 size 20\n"
      "trigger barrier count 4 id 3\n",
      diagnostics);
  EXPECT_EQ(spec::render_text(diagnostics, false), "");
  ASSERT_EQ(matrix.flows.size(), 2u);
  EXPECT_EQ(matrix.flows[0].start.count(), 2'500'000);
  EXPECT_EQ(matrix.bare_start.line, 2u);
  ASSERT_EQ(matrix.triggers.size(), 1u);
  EXPECT_EQ(matrix.triggers[0].kind, MatrixTrigger::Kind::barrier);
  EXPECT_EQ(matrix.triggers[0].count, 4u);
  EXPECT_NE(errors("Nodes 2\nmsg 1 start 0 size 1\n").find("msg stands behind the pair"), std::string::npos);
  for (const std::string wrong :
       {"trigger id 3", "trigger oneshot", "trigger id 3 barrier", "trigger id 3 oneshot multishot",
        "trigger id 3 oneshot count 4", "trigger oneshot id"})
    EXPECT_NE(errors("Nodes 2\n0->1 id 1 trigger 3 size 1\n" + wrong + "\n"), "") << wrong;
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
        "Nodes 2\n0->1 id 1 start x size 1\n", "Nodes 2\n0->1 id 1 start\n",
        "Nodes 2\nConnections 5\n0->1 id 1 start 0 size 1\n", "Nodes 2\n0->1 id 1 trigger 3 size 1\n",
        "Nodes 2\ntrigger id 3 sometimes\n", "Nodes 2\nfailure link 1\n", "hello\n", "",
        "Nodes 2\nTriggers 2\ntrigger id 3 oneshot\n", "Nodes 2\nFailures 1\n", "Nodes 99999999999999999999\n",
        "Nodes 2\n0->1 id 1 start 0 size 99999999999999999\n"})
    EXPECT_NE(errors(text), "") << text;
}

TEST(Matrix, CountsThatAreWrongAreNamedWhereTheyStand) {
  const auto first_line = [](const std::string& text) {
    const std::string all = errors(text);
    return all.substr(0, all.find('\n'));
  };
  const std::string flow = "0->1 id 1 start 0 size 1\n";
  EXPECT_EQ(first_line(""), "m.cm: error E0008: the file describes nothing");
  EXPECT_EQ(first_line("# nothing but a comment\n"), "m.cm: error E0008: the file describes nothing");
  EXPECT_EQ(first_line("Nodes 128\n"), "m.cm: error E0411: the file has no flows");
  EXPECT_EQ(first_line(flow), "m.cm: error E0411: the file does not say how many nodes there are");
  EXPECT_EQ(first_line("Nodes 2\n" + flow + "1->7 id 2 start 0 size 1\n"),
            "m.cm:3:1: error E0411: there is no node 7: Nodes is 2 (line 1), counted from 0");
  EXPECT_EQ(first_line("Nodes 2\nConnections 5\n" + flow),
            "m.cm:2:1: error E0411: Connections is 5, but there is 1 flow");
  EXPECT_EQ(first_line("Nodes 2\nTriggers 3\n" + flow),
            "m.cm:2:1: error E0411: Triggers is 3, but there are 0 triggers");
  EXPECT_EQ(first_line("Nodes 2\n" + flow + "Failures 1\n"),
            "m.cm:3:1: error E0411: Failures is 1, but there are 0 failures");
  EXPECT_EQ(first_line("Nodes 2\nNodes 3\n" + flow), "m.cm:2:1: error E0411: 'Nodes' stands here a second time");
}

TEST(Matrix, IdsAreOfOneFlowOrTrigger) {
  EXPECT_EQ(errors("Nodes 2\n0->1 id 7 start 0 size 1\n1->0 id 7 start 0 size 1\n"),
            "m.cm:3:9: error E0411: two flows have the id 7\n"
            "  3 | 1->0 id 7 start 0 size 1\n"
            "    |         ^\n"
            "  = the first is on line 2; give each its own\n"
            "1 error; `weft explain E0411` says more\n");
  EXPECT_EQ(errors("Nodes 2\n0->1 id 0 start 0 size 1\n1->0 id 0 start 0 size 1\n"), "") << "0 is none";
  EXPECT_NE(errors("Nodes 2\n0->1 id 1 trigger 3 size 1\ntrigger id 3 oneshot\ntrigger id 3 multishot\n")
                .find("m.cm:4:12: error E0411: trigger 3 is declared a second time"),
            std::string::npos);
}

TEST(Matrix, ATriggerThatNobodyDeclaresIsNamedWhereItIsUsed) {
  EXPECT_EQ(errors("Nodes 2\nConnections 1\n0->1 id 1 trigger 3 size 1\n"),
            "m.cm:3:19: error E0411: trigger 3 is used, but no line declares it\n"
            "  3 | 0->1 id 1 trigger 3 size 1\n"
            "    |                   ^\n"
            "  = add a line: trigger id 3 oneshot, multishot, or barrier count n\n"
            "1 error; `weft explain E0411` says more\n");
}

TEST(Matrix, AWrongLineIsNotMissedAgainByTheCounts) {
  const std::string text = errors("Nodes 2\nConnections 1\n0->1 id 1 start x size 1\n");
  EXPECT_EQ(text.find("Connections is"), std::string::npos) << text;
  EXPECT_NE(text.find("1 error;"), std::string::npos) << text;
}

TEST(Matrix, FailuresAreRead) {
  spec::Diagnostics diagnostics;
  const Matrix matrix = read(
      "Nodes 4\nConnections 1\nFailures 3\nfailure switch_type AGG switch_id 7 link_id 2\n0->1 start 0 size 1\n"
      "failure link_id 0 switch_id 1 switch_type TOR\nfailure switch_type CORE switch_id 0 link_id 5\n",
      diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(matrix.failures.size(), 3u);
  EXPECT_EQ(matrix.failures[0].type, MatrixFailure::Switch::agg);
  EXPECT_EQ(matrix.failures[0].switch_id, 7u);
  EXPECT_EQ(matrix.failures[0].link_id, 2u);
  EXPECT_EQ(matrix.failures[0].place.line, 4u);
  EXPECT_EQ(matrix.failures[1].type, MatrixFailure::Switch::tor);
  EXPECT_EQ(matrix.failures[1].switch_id, 1u);
  EXPECT_EQ(matrix.failures[1].link_id, 0u);
  EXPECT_EQ(matrix.failures[2].type, MatrixFailure::Switch::core);
}

TEST(Matrix, AFailureThatIsNotWholeIsRefused) {
  EXPECT_EQ(errors("Nodes 2\nfailure switch_type SPINE switch_id 0 link_id 0\n"),
            "m.cm:2:21: error E0411: 'SPINE' is not a type of switch\n"
            "  2 | failure switch_type SPINE switch_id 0 link_id 0\n"
            "    |                     ^^^^^\n"
            "  = TOR, AGG or CORE\n"
            "1 error; `weft explain E0411` says more\n");
  for (const std::string text :
       {"failure", "failure switch_type AGG", "failure switch_type AGG switch_id 1",
        "failure switch_type AGG link_id 1", "failure switch_id 1 link_id 1",
        "failure switch_type AGG switch_id 1 link_id", "failure switch_type AGG switch_id x link_id 1",
        "failure switch_type AGG switch_id 1 link_id 1 port 2",
        "failure switch_type AGG switch_id 1 link_id 1 link_id 1",
        "failure switch_type AGG switch_id 1 link_id 99999999999"})
    EXPECT_NE(errors("Nodes 2\n" + text + "\n"), "") << text;
}

TEST(Triggers, FireByTheirKind) {
  Matrix matrix;
  matrix.triggers = {{MatrixTrigger::Kind::oneshot, 1, {4, 5}},
                     {MatrixTrigger::Kind::multishot, 1, {6, 7}},
                     {MatrixTrigger::Kind::barrier, 2, {8, 9}}};
  Triggers triggers(matrix);
  using List = std::vector<std::uint32_t>;
  const auto fire = [&](std::uint32_t trigger) {
    const auto started = triggers.fire(trigger);
    return List(started.begin(), started.end());
  };
  EXPECT_EQ(fire(0), (List{4, 5}));
  EXPECT_EQ(fire(0), List{});
  EXPECT_EQ(fire(1), List{6});
  EXPECT_EQ(fire(1), List{7});
  EXPECT_EQ(fire(1), List{});
  EXPECT_EQ(fire(2), List{});
  EXPECT_EQ(fire(2), (List{8, 9}));
  EXPECT_EQ(fire(2), List{});
  EXPECT_EQ(fire(kNoTrigger), List{});
}

}  // namespace
}  // namespace weft::workload
