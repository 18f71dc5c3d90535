#include "workload/goal.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::workload {
namespace {

struct Read {
  Graph graph;
  std::vector<spec::Diagnostic> errors;
};

Read read(std::string text) {
  spec::Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.sources().add("a.goal", std::move(text));
  Graph graph = read_goal(source, diagnostics);
  return {std::move(graph), diagnostics.sorted()};
}

// The binary form, as LogGOPSim's Parser.hpp describes it, written number by number.
class BinaryFile {
 public:
  template <class Number>
  BinaryFile& add(Number value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      text_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

BinaryFile node(std::uint32_t needs, std::uint8_t type, std::uint32_t peer, std::uint64_t size, std::uint32_t tag,
                std::uint8_t cpu, std::uint32_t over, std::uint32_t over_at, std::uint32_t begun,
                std::uint32_t begun_at) {
  BinaryFile made;
  made.add(needs).add(type).add(peer).add(size).add(tag).add(cpu).add(std::uint8_t{0});
  made.add(over).add(over_at).add(begun).add(begun_at);
  return made;
}

// Two ranks: one computes, then sends while it computes again; the other receives.
const std::string kText =
    "num_ranks 2\n"
    "rank 0 {\n"
    "  l1: calc 100 cpu 1\n"
    "  l2: send 4096b to 1 tag 7\n"
    "  l2 requires l1\n"
    "  l3: calc 5\n"
    "  l3 irequires l2\n"
    "}\n"
    "rank 1 {\n"
    "  recv 4096b from 0 tag 7 cpu 0 nic 1\n"
    "}\n";

std::string binary() {
  const std::string first = BinaryFile().add(std::uint32_t{3}).add(std::uint32_t{1}).add(std::uint32_t{0}).text() +
                            node(0, 3, 0, 100, 0, 1, 1, 0, 0, 1).text() + node(1, 1, 1, 4096, 7, 0, 0, 1, 1, 1).text() +
                            node(1, 3, 0, 5, 0, 0, 0, 2, 0, 2).text() +
                            BinaryFile().add(std::uint32_t{1}).add(std::uint32_t{2}).text();
  const std::string second = BinaryFile().add(std::uint32_t{1}).add(std::uint32_t{1}).add(std::uint32_t{0}).text() +
                             node(0, 2, 0, 4096, 7, 0, 0, 0, 0, 0).text();
  const std::uint64_t behind = 6 + 2 * 16;  // counted from behind the cookie
  BinaryFile head;
  head.add(std::uint64_t{4223}).add(std::uint32_t{2}).add(std::uint8_t{1}).add(std::uint8_t{0});
  head.add(behind).add(behind + first.size());
  head.add(behind + first.size()).add(behind + first.size() + second.size());
  return head.text() + first + second;
}

void expect_the_two_ranks(const Read& read) {
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  const Graph& graph = read.graph;
  ASSERT_EQ(graph.ranks.size(), 2u);
  ASSERT_EQ(graph.tasks.size(), 4u);
  EXPECT_EQ(graph.tasks[0].amount, 100'000u);  // ps
  EXPECT_EQ(graph.tasks[0].processor, 1);
  EXPECT_EQ(graph.tasks[1].kind, Task::Kind::send);
  EXPECT_EQ(graph.tasks[1].peer, 1u);
  EXPECT_EQ(graph.tasks[1].tag, 7u);
  EXPECT_EQ(graph.tasks[1].amount, 4096u);
  ASSERT_EQ(graph.needs.size(), 2u);
  EXPECT_EQ(graph.tasks[1].first_need, 0u);
  EXPECT_EQ(graph.needs[0].task, 0u);
  EXPECT_EQ(graph.needs[0].begun, 0u);
  EXPECT_EQ(graph.needs[1].task, 1u);
  EXPECT_EQ(graph.needs[1].begun, 1u);
  EXPECT_EQ(graph.tasks[3].kind, Task::Kind::recv);
}

TEST(Goal, TextAndBinaryAreTheSameGraph) {
  expect_the_two_ranks(read(kText));
  expect_the_two_ranks(read(binary()));
}

TEST(Goal, CommentsAndBlanksMayStandAnywhere) {
  expect_the_two_ranks(read(
      "// made by hand\nnum_ranks 2\n/* two\n ranks */ rank 0 {\r\n\tl1 : calc 100 cpu 1\nl2:send 4096 b to 1 tag 7 // "
      "there\nl2  requires l1\nl3: calc 5\nl3 irequires l2 }\nrank 1 { recv 4096b from 0 tag 7 }"));
}

struct Wrong {
  const char* name;
  const char* text;
  std::uint32_t line;
  const char* says;
};
const Wrong kWrong[] = {
    {"NoRanks", "", 0, "does not say how many ranks"},
    {"NoneAtAll", "num_ranks 0\n", 1, "no ranks"},
    {"TooMany", "num_ranks 4000000000\n", 1, "cannot be a number of ranks"},
    {"RankFirst", "rank 0 {\n}\n", 1, "before num_ranks"},
    {"NoSuchRank", "num_ranks 2\nrank 2 {\n}\n", 2, "cannot be a rank"},
    {"Twice", "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", 4, "a second time"},
    {"Open", "num_ranks 1\nrank 0 {\ncalc 1\n", 4, "not closed"},
    {"NotAnOperation", "num_ranks 1\nrank 0 {\nl1: sleep 5\n}\n", 3, "there is an operation"},
    {"NoUnit", "num_ranks 2\nrank 0 {\nsend 8 to 1\n}\n", 3, "there should be 'b'"},
    {"Anybody", "num_ranks 1\nrank 0 {\nrecv 8b from -1 tag 0\n}\n", 3, "from anybody"},
    {"AnyTag", "num_ranks 1\nrank 0 {\nrecv 8b from 0 tag -1\n}\n", 3, "any tag"},
    {"Label", "num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l2\n}\n", 4, "no operation 'l2'"},
    {"TwoLabels", "num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 2\n}\n", 4, "two operations 'l1'"},
    {"Circle", "num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}\n", 0,
     "needs it in turn"},
    {"Itself", "num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l1\n}\n", 0, "needs it in turn"},
    {"NobodySends", "num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 8b from 0 tag 3\n}\n", 0, "which sends 0"},
    {"TooLong", "num_ranks 1\nrank 0 {\ncalc 99999999999999999999\n}\n", 3, "cannot be a time"},
    {"Rest", "num_ranks 1\nrank 0 {\ncalc 1 2\n}\n", 3, "cannot stand here"},
};

TEST(Goal, ErrorsSayWhere) {
  for (const Wrong& each : kWrong) {
    const Read made = read(each.text);
    ASSERT_FALSE(made.errors.empty()) << each.name;
    EXPECT_EQ(made.errors[0].place.line, each.line) << each.name;
    EXPECT_NE(made.errors[0].message.find(each.says), std::string::npos) << each.name << ": " << made.errors[0].message;
    EXPECT_FALSE(made.errors[0].help.empty()) << each.name;
  }
}

TEST(Goal, EveryCutOfABinaryScheduleIsRefused) {
  const std::string whole = binary();
  for (std::size_t length = 14; length < whole.size(); ++length)
    EXPECT_FALSE(read(whole.substr(0, length)).errors.empty()) << length;
}

// Each error of a binary schedule names the byte where the wrong number stands.
TEST(Goal, ErrorsOfABinaryScheduleNameTheByte) {
  const std::string whole = binary();
  // Where parts begin: behind the table of ranks the operations of rank 0, behind 2 numbers and one of its roots.
  constexpr std::size_t kRanks = 14, kFirst = kRanks + 2 * 16, kNodes = kFirst + 12, kNode = 39;
  constexpr std::size_t kSend = kNodes + kNode, kAppendix = kNodes + 3 * kNode;
  struct Case {
    const char* says;
    std::size_t at;  // changed there,
    std::uint64_t value;
    std::size_t bytes;
    std::size_t named;  // and said of there
  };
  for (const Case& each : {
           Case{"schedule of 0 ranks", 8, 0, 4, 8},
           Case{"schedule of 1,048,577 ranks", 8, 1'048'577, 4, 8},
           Case{"table of ranks is cut off", 8, 100'000, 4, kRanks},
           Case{"rank 0 is not in the file", kRanks, 1'000'000, 8, kRanks},
           Case{"rank 1 is not in the file", kRanks + 24, 1'000'000, 8, kRanks + 16},
           Case{"rank 0 has 99 operations", kFirst, 99, 4, kFirst},
           Case{"4 is no kind of operation", kSend + 4, 4, 1, kSend + 4},
           Case{"0 is no kind of operation", kSend + 4, 0, 1, kSend + 4},
           Case{"2 is no rank of this schedule", kSend + 5, 2, 4, kSend + 5},
           Case{"from anybody", kSend + 5, 0xFFFFFFFFu, 4, kSend + 5},
           Case{"under any tag", kSend + 17, 0xFFFFFFFFu, 4, kSend + 5},
           Case{"more than 1 TiB", kSend + 9, (std::uint64_t{1} << 40) + 1, 8, kSend + 9},
           Case{"more than a day", kNodes + 9, 86'400'000'000'001, 8, kNodes + 9},
           Case{"2 operations that wait", kSend + 31, 2, 4, kSend + 31},
           Case{"3 is no operation of this rank", kAppendix + 4, 3, 4, kAppendix + 4},
           Case{"operation 2 of rank 0 says that it needs 2 others, and 1 say", kNodes + 2 * kNode, 2, 4,
                kNodes + 2 * kNode},
       }) {
    std::string changed = whole;
    for (std::size_t i = 0; i < each.bytes; ++i) changed[each.at + i] = static_cast<char>(each.value >> (8 * i));
    const Read made = read(changed);
    ASSERT_EQ(made.errors.size(), 1u) << each.says;
    const std::string& said = made.errors[0].message;
    EXPECT_NE(said.find(each.says), std::string::npos) << each.says << ": " << said;
    EXPECT_EQ(said.find("at byte " + std::to_string(each.named) + ":"), 0u) << each.says << ": " << said;
  }
  // As much as is allowed is.
  for (const auto& [at, value] :
       {std::pair<std::size_t, std::uint64_t>{kSend + 9, std::uint64_t{1} << 40}, {kNodes + 9, 86'400'000'000'000}}) {
    std::string changed = whole;
    for (std::size_t i = 0; i < 8; ++i) changed[at + i] = static_cast<char>(value >> (8 * i));
    EXPECT_TRUE(read(changed).errors.empty()) << at;
  }
}

TEST(Goal, NoByteOfABinaryScheduleLeadsOutOfIt) {
  const std::string whole = binary();
  for (std::size_t at = 8; at < whole.size(); ++at)
    for (const char byte : {'\0', '\1', '\x7F', '\xFF'}) {
      std::string changed = whole;
      changed[at] = byte;
      const Read made = read(changed);  // an error, or a graph that holds together
      if (!made.errors.empty()) continue;
      for (const Need& need : made.graph.needs) EXPECT_LT(need.task, made.graph.tasks.size());
    }
}

TEST(Goal, ASchedulesOwnerIsToldThatItIsUsedUp) {
  std::string used = binary();
  used[0] = '\x26';
  used[1] = '\x09';  // 2342
  ASSERT_FALSE(read(used).errors.empty());
  EXPECT_NE(read(used).errors[0].message.find("written into"), std::string::npos);
}

TEST(Graph, OrderFollowsNeedsAndElseTheFile) {
  const Read made = read("num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 2\nl3: calc 3\nl1 requires l3\n}\n");
  ASSERT_TRUE(made.errors.empty());
  EXPECT_EQ(order_of(made.graph, 0), (std::vector<std::uint32_t>{1, 2, 0}));
}

}  // namespace
}  // namespace weft::workload
