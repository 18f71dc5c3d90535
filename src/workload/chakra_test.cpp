#include "workload/chakra.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workload/protobuf.hpp"

namespace weft::workload {
namespace {

// Protobuf's wire format, written by hand.
std::string varint(std::uint64_t value) {
  std::string made;
  for (; value >= 0x80; value >>= 7) made.push_back(static_cast<char>(0x80 | (value & 0x7F)));
  made.push_back(static_cast<char>(value));
  return made;
}
std::string number(std::uint32_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(std::uint32_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string message(const std::string& value) { return varint(value.size()) + value; }
std::string attribute(const std::string& name, std::uint64_t value, std::uint32_t as = 9) {
  return bytes(10, bytes(1, name) + number(as, value));
}
std::string text_attribute(const std::string& name, const std::string& value) {
  return bytes(10, bytes(1, name) + bytes(29, value));
}
std::string node(std::uint64_t id, std::uint32_t type, const std::string& rest) {
  return message(number(1, id) + bytes(2, "n" + std::to_string(id)) + number(3, type) + rest);
}
const std::string kHead = message(bytes(1, "1.0.0"));

struct Read {
  Graph graph;
  std::vector<spec::Diagnostic> errors;
};
Read read(const std::vector<std::string>& files, const ChakraGroups& groups = {}, const ChakraRates& rates = {}) {
  spec::Diagnostics diagnostics;
  std::vector<std::uint32_t> sources;
  for (const std::string& file : files)
    sources.push_back(diagnostics.sources().add("t." + std::to_string(sources.size()) + ".et", file));
  Graph graph = read_chakra(sources, groups, rates, diagnostics);
  return {std::move(graph), diagnostics.sorted()};
}

std::string all_reduce(std::uint64_t id, std::uint64_t size, const std::string& group = "") {
  return node(id, 7,
              attribute("comm_type", 0) + attribute("comm_size", size) +
                  (group.empty() ? "" : text_attribute("pg_name", group)));
}

TEST(Chakra, NodesBecomeTasks) {
  const std::string first = kHead + node(5, 1, "") +                                    // metadata
                            node(7, 4, number(7, 12) + bytes(5, varint(5))) +           // 12 us, packed
                            node(9, 4, number(4, 7) + attribute("is_cpu_op", 1, 27)) +  // control, not packed
                            node(2, 5,
                                 number(5, 9) + attribute("comm_dst", 1, 7) + attribute("comm_src", 0, 7) +
                                     attribute("comm_tag", 3, 7) + attribute("comm_size", 4096)) +
                            node(3, 2, attribute("tensor_size", 1 << 20, 13));
  const std::string second =
      kHead + node(1, 6, attribute("comm_src", 0, 7) + attribute("comm_tag", 3, 7) + attribute("comm_size", 4096));
  const Read made = read({first, second});
  ASSERT_TRUE(made.errors.empty()) << made.errors[0].message;
  const std::vector<Task>& tasks = made.graph.tasks;
  ASSERT_EQ(tasks.size(), 6u);
  EXPECT_EQ(tasks[1].amount, 12'000'000u);
  EXPECT_EQ(tasks[1].processor, 0);
  EXPECT_EQ(tasks[2].processor, 1);
  EXPECT_EQ(tasks[3].kind, Task::Kind::send);
  EXPECT_EQ(tasks[3].peer, 1u);
  EXPECT_EQ(tasks[3].tag, 3u);
  EXPECT_EQ(tasks[4].kind, Task::Kind::copy);
  EXPECT_EQ(tasks[5].kind, Task::Kind::recv);
  ASSERT_EQ(made.graph.needs.size(), 3u);
  EXPECT_EQ(made.graph.needs[0].task, 0u);
  EXPECT_EQ(made.graph.needs[1].task, 1u);
  EXPECT_EQ(made.graph.needs[2].task, 2u);
}

TEST(Chakra, GroupsAreThoseOfTheFileElseOfWhoNamesThem) {
  const std::string both = kHead + all_reduce(1, 1024) + all_reduce(2, 2048, "tp") + all_reduce(3, 1024);
  const std::string one = kHead + all_reduce(1, 1024) + all_reduce(3, 1024);
  const Read made = read({both, one, both});
  ASSERT_TRUE(made.errors.empty()) << made.errors[0].message;
  ASSERT_EQ(made.graph.shared.size(), 2u);  // the same one twice is one
  EXPECT_EQ(made.graph.groups[made.graph.shared[0].group], (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(made.graph.groups[made.graph.shared[1].group], (std::vector<std::uint32_t>{0, 2}));
  const Read given = read({both, one, both}, {{"tp", {0, 1, 2}}});
  ASSERT_FALSE(given.errors.empty());  // rank 1 is in the group and does not take part
  EXPECT_NE(given.errors[0].message.find("do not do the same"), std::string::npos) << given.errors[0].message;
}

TEST(Chakra, AnAllGatherCountsWhatARankPutsIn) {
  const auto gather = [](std::uint32_t type) {
    return kHead + node(1, 7, attribute("comm_type", type) + attribute("comm_size", 1000));
  };
  EXPECT_EQ(read({gather(2), gather(2), gather(2), gather(2)}).graph.shared[0].bytes, 4000u);
  EXPECT_EQ(read({gather(7), gather(7), gather(7), gather(7)}).graph.shared[0].bytes, 1000u);
}

TEST(Chakra, AloneThereIsNothingToDoTogether) {
  const Read made = read({kHead + all_reduce(1, 1024)});
  ASSERT_TRUE(made.errors.empty());
  EXPECT_TRUE(made.graph.shared.empty());
  EXPECT_EQ(made.graph.tasks[0].kind, Task::Kind::compute);
}

TEST(Chakra, WithoutADurationTheRooflineSays) {
  const std::string file =
      kHead + node(1, 4, attribute("num_ops", 2'000'000) + attribute("tensor_size", 8'000'000, 13));
  const Read made = read({file}, {}, {1e12, 1e12});
  ASSERT_TRUE(made.errors.empty());
  EXPECT_EQ(made.graph.tasks[0].amount, 8'000'000u);  // ps: the bytes take longer than the operations
  EXPECT_FALSE(read({file}).errors.empty());          // nothing is known of the GPU
}

TEST(Chakra, ErrorsNameTheNode) {
  const struct {
    const char* name;
    std::string file;
    const char* says;
  } wrong[] = {
      {"Empty", "", "empty"},
      {"Text", "num_ranks 2\n", "no whole message"},
      {"NoType", kHead + node(4, 0, ""), "node 4 (n4): 0 is no type"},
      {"Unknown", kHead + node(4, 9, ""), "9 is no type"},
      {"TwoIds", kHead + node(4, 1, "") + node(4, 1, ""), "another node has this id"},
      {"Missing", kHead + node(4, 1, number(5, 77)), "needs node 77"},
      {"Circle", kHead + node(4, 1, number(5, 5)) + node(5, 1, number(5, 4)), "needs it in turn"},
      {"NoPeer", kHead + node(4, 5, attribute("comm_size", 8)), "comm_dst is missing"},
      {"FarPeer", kHead + node(4, 5, attribute("comm_size", 8) + attribute("comm_dst", 9, 7)), "comm_dst is 9"},
      {"NoSize", kHead + node(4, 7, attribute("comm_type", 0)), "no comm_size"},
      {"Gather", kHead + node(4, 7, attribute("comm_type", 3) + attribute("comm_size", 8)), "comm_type is 3"},
      {"Day", kHead + node(4, 4, number(7, 100'000'000'000)), "more than a day"},
  };
  for (const auto& each : wrong) {
    const Read made = read({each.file});
    ASSERT_FALSE(made.errors.empty()) << each.name;
    EXPECT_NE(made.errors[0].message.find(each.says), std::string::npos) << each.name << ": " << made.errors[0].message;
    EXPECT_FALSE(made.errors[0].help.empty()) << each.name;
    EXPECT_EQ(made.errors[0].place.line, 0u) << each.name << ": a trace has no lines";
  }
}

TEST(Chakra, ErrorsNameTheFileAndTheByte) {
  const std::string good = kHead + node(1, 1, "");
  const std::string before = kHead + node(1, 1, "") + node(2, 1, "");
  for (const auto& [rest, says] :
       {std::pair<std::string, std::string>{message("\x08"), "no node of et_def.proto"},  // a field without its value
        {message(bytes(1, "id")), "no node of et_def.proto"},                             // an id that is a text
        {message(number(1, 9) + number(2, 7)), "no node of et_def.proto"},                // a name that is a number
        {message(number(1, 9) + bytes(3, "x")), "no node of et_def.proto"},               // a type that is a text
        {message(number(1, 9) + bytes(7, "x")), "no node of et_def.proto"},               // a duration
        {message(number(1, 9) + number(10, 1)), "no node of et_def.proto"},               // an attribute
        {message(number(1, 9) + bytes(10, bytes(9, "x"))), "no node of et_def.proto"},    // its value
        {message(number(1, 9) + bytes(5, "\xFF")), "no node of et_def.proto"},            // needs that are cut off
        {"\x7F"
         "abc",
         "no whole message"}}) {
    spec::Diagnostics diagnostics;
    const std::uint32_t first = diagnostics.sources().add("t.0.et", good);
    const std::uint32_t second = diagnostics.sources().add("t.1.et", before + rest);
    read_chakra({first, second}, {}, {}, diagnostics);
    const auto errors = diagnostics.sorted();
    ASSERT_EQ(errors.size(), 1u) << says;
    EXPECT_EQ(errors[0].place.source, second);
    EXPECT_EQ(errors[0].place.line, 0u);
    EXPECT_EQ(errors[0].message.find("at byte " + std::to_string(before.size()) + ": "), 0u) << errors[0].message;
    EXPECT_NE(errors[0].message.find(says), std::string::npos) << errors[0].message;
  }
}

TEST(Chakra, NoCutAndNoChangedByteBreaksTheReader) {
  const std::string whole = kHead + all_reduce(1, 1024) + node(2, 4, number(7, 3) + bytes(5, varint(1) + varint(1)));
  for (std::size_t length = 0; length < whole.size(); ++length) read({whole.substr(0, length)});
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int byte = 0; byte < 256; byte += 5) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      read({changed, whole});
    }
}

TEST(Chakra, GroupsOfAFile) {
  const auto groups = [](std::string text) {
    spec::Diagnostics diagnostics;
    const std::uint32_t source = diagnostics.sources().add("groups.json", std::move(text));
    return read_chakra_groups(source, diagnostics);
  };
  const auto made = groups("{\"0\": [0, 1, 2, 3], \"7\": [2, 0]}");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->at("7"), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_FALSE(groups("[1, 2]"));
  EXPECT_FALSE(groups("{\"0\": 3}"));
  EXPECT_FALSE(groups("{\"0\": [-1]}"));
  EXPECT_FALSE(groups("{\"0\": [1, 1]}"));
}

TEST(Protobuf, ReadsEveryKindAndNothingBehindTheEnd) {
  const std::string text = number(1, 300) + bytes(2, "ab") + varint(3 << 3 | 5) + std::string("\1\0\0\0", 4) +
                           varint(4 << 3 | 1) + std::string("\2\0\0\0\0\0\0\0", 8);
  Protobuf in(text);
  EXPECT_EQ(in.next()->value, 300u);
  EXPECT_EQ(in.next()->bytes, "ab");
  EXPECT_EQ(in.next()->value, 1u);
  EXPECT_EQ(in.next()->value, 2u);
  EXPECT_TRUE(in.done());
  EXPECT_FALSE(in.next());
  EXPECT_FALSE(Protobuf(std::string(10, '\xFF') + "\x01").next());  // more than 64 bits
  EXPECT_FALSE(Protobuf(bytes(2, "abc").substr(0, 4)).next());      // cut off
  EXPECT_FALSE(Protobuf(varint(1 << 3 | 3)).next());                // a group
  EXPECT_FALSE(Protobuf(varint(2)).next());                         // field 0
}

}  // namespace
}  // namespace weft::workload
