#include "cli/cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/values.hpp"

namespace weft::cli {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome weft(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  app::Console console{out, err, false, false, 0, 0};
  const int code = run(arguments, console);
  return {code, out.str(), err.str()};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Cli : public ::testing::Test {
 protected:
  Cli() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-cli-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    file_ = (directory_ / "test.weft.yaml").string();
    std::ofstream(file_) << "version: 1\nservers: {kind: hgx-h100, count: 2}\n"
                            "fabric: {kind: single-chassis, switch: tomahawk-4}\n";
  }
  ~Cli() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
  std::string file_;
};

TEST_F(Cli, CallsTheVerb) {
  EXPECT_EQ(weft({"check", file_}).code, app::kFine);
  EXPECT_TRUE(contains(weft({"check", file_, "--json"}).out, "\"gpus\":16"));
  EXPECT_EQ(weft({"show", "gpus", file_}).code, app::kFine);
  EXPECT_TRUE(contains(weft({"version"}).out, "weft"));
}

TEST_F(Cli, SaysWhatIsWrongOnStderrAlone) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"chek", file_},
                                                {"check", file_, "--jsonn"},
                                                {"sim", file_, "--threads", "0"},
                                                {"sim", file_, "--fidelity", "packets"},
                                                {"check", "nowhere.weft.yaml"}}) {
    const Outcome outcome = weft(wrong);
    EXPECT_EQ(outcome.code, app::kYourInput) << wrong[0];
    EXPECT_EQ(outcome.out, "") << wrong[0];
    EXPECT_NE(outcome.err, "") << wrong[0];
  }
}

// An option that may stand several times takes one word each time: the next is the file.
TEST_F(Cli, OptionsThatAreListsDoNotTakeTheFile) {
  const auto runs = [&](const std::vector<std::string>& words) {
    const Outcome outcome = weft(words);
    EXPECT_EQ(outcome.code, app::kFine) << words[1] << outcome.err;
    return outcome.out;
  };
  const std::string plain = runs({"sim", file_, "--pattern", "one", "--size", "10kB", "--json"});
  EXPECT_TRUE(contains(plain, "\"record\":\"sim\""));
  const std::string fault = "s0/nic0,kind=slow,share=50%";
  EXPECT_NE(runs({"sim", "--pattern", "one", "--size", "10kB", "--json", "--fault", fault, file_}), plain);
  EXPECT_NE(runs({"sim", "--pattern", "one", "--size", "10kB", "--json", "--set", "servers.nics=4", file_}), plain);
  EXPECT_NE(runs({"sim", "--stream", "a,pattern=one,size=20kB", "--json", file_}), plain);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Completion, KeysAreOfferedBehindOptionsThatTakeThem) {
  std::set<std::string> takers;
  for (const std::string& line : lines_of(weft({"completion", "bash"}).out))
    if (const std::size_t end = line.find(") _weft_keys; return"); end != std::string::npos)
      takers.insert(line.substr(0, end).substr(line.find('-')));
  EXPECT_EQ(takers, (std::set<std::string>{"--set", "--vary", "--over"}));
}

// What may stand behind an option, where that is one of a few words.
TEST(Completion, WordsAreOfferedBehindOptionsThatTakeThem) {
  const auto words_of = [](const std::string& name) {
    CLI::App verb("", "sim");
    std::string taken;
    return values_of(verb, *verb.add_option("--" + name, taken));
  };
  const std::pair<std::string, std::string> offered[] = {
      {"with", "mptcp"},       {"as", "nccl-xml"},    {"kind", "rail-optimized"},   {"pattern", "permutation"},
      {"arrivals", "at-once"}, {"verb", "write"},     {"collective", "all_reduce"}, {"stack", "ib"},
      {"fidelity", "message"}, {"protocol", "LL128"}, {"algorithms", "Tree"},       {"refit", "fitted"}};
  for (const auto& [name, word] : offered) {
    const Values values = words_of(name);
    EXPECT_EQ(values.what, Follows::words) << name;
    EXPECT_NE(std::find(values.words.begin(), values.words.end(), word), values.words.end())
        << name << ": " << fmt::format("{}", fmt::join(values.words, " "));
    for (const auto& [other, its] : offered) {
      const bool here = std::find(values.words.begin(), values.words.end(), its) != values.words.end();
      EXPECT_EQ(here, other == name) << name << " " << its;
    }
  }
  EXPECT_EQ(words_of("size").what, Follows::anything);
  EXPECT_EQ(words_of("output").what, Follows::file);
  EXPECT_EQ(words_of("catalog").what, Follows::directory);
  EXPECT_EQ(words_of("set").what, Follows::key_and_value);
}

// What is offered is what is taken.
TEST(Completion, OffersTheWordsThatAVerbBeginsWith) {
  for (const char* verb : {"show", "run", "render", "completion"}) {
    const std::string refused = weft({verb, "nosuchword"}).err;
    EXPECT_TRUE(contains(refused, fmt::format("not in {{{}}}", fmt::join(first_words(verb), ",")))) << refused;
  }
}

// Each verb of a lab has its own options: it looks for the lab that it was given.
TEST(Lab, EveryVerbIsCalledWithItsOwnOptions) {
  const std::string name = "no-such-lab-of-a-test";
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"status"},
                                               {"exec", "s0"},
                                               {"traffic", "s0", "s1"},
                                               {"fail", "switch", "spine0"},
                                               {"heal"},
                                               {"metrics"},
                                               {"pod", "del", "a0"},
                                               {"capture", "leaf0", "-o", "/dev/null"},
                                               {"down"}}) {
    std::vector<std::string> words = {"lab", verb[0], "--lab", name};
    words.insert(words.end(), verb.begin() + 1, verb.end());
    if (verb[0] == "exec") words.insert(words.end(), {"--", "true"});
    const Outcome outcome = weft(words);
    EXPECT_NE(outcome.code, app::kFine) << verb[0];
    EXPECT_TRUE(contains(outcome.err, name) || outcome.code == app::kThisMachine) << verb[0] << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "") << verb[0];
  }
}

TEST(Completion, EveryShellOffersTheFirstWordsOfAVerb) {
  const std::string bash = weft({"completion", "bash"}).out;
  const std::string fish = weft({"completion", "fish"}).out;
  EXPECT_TRUE(contains(fish, "complete -c weft -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"));
  EXPECT_TRUE(contains(fish, "complete -c weft -n '__fish_seen_subcommand_from run' -a 'server client all-reduce'\n"));
  EXPECT_TRUE(contains(fish, "-n '__fish_seen_subcommand_from catalog' -a \"("));
  EXPECT_FALSE(contains(fish, " -a ''")) << "a verb that takes no word offers none";
  EXPECT_TRUE(contains(bash, " bash zsh fish\" ;;\n"));
  EXPECT_TRUE(contains(weft({"completion", "zsh"}).out, "bash zsh fish"));
}

}  // namespace
}  // namespace weft::cli
