#include "cli/cli.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

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

TEST(Completion, EveryShellOffersTheFirstWordsOfAVerb) {
  const std::string bash = weft({"completion", "bash"}).out;
  const std::string fish = weft({"completion", "fish"}).out;
  EXPECT_TRUE(contains(fish, "complete -c weft -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"));
  EXPECT_TRUE(contains(fish, "complete -c weft -n '__fish_seen_subcommand_from run' -a 'server client'\n"));
  EXPECT_TRUE(contains(fish, "-n '__fish_seen_subcommand_from catalog' -a \"("));
  EXPECT_FALSE(contains(fish, " -a ''")) << "a verb that takes no word offers none";
  EXPECT_TRUE(contains(bash, " bash zsh fish\" ;;\n"));
  EXPECT_TRUE(contains(weft({"completion", "zsh"}).out, "bash zsh fish"));
}

}  // namespace
}  // namespace weft::cli
