#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "golden.hpp"

namespace weft::golden {
namespace {

TEST(Cli, HelpTextsAreAsReviewed) {
  std::string all;
  for (const std::string line : {"", "init", "check", "show", "catalog", "schema", "explain", "completion", "version"}) {
    auto arguments = words(line);
    arguments.push_back("--help");
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 0);
    all += "$ weft " + line + (line.empty() ? "" : " ") + "--help\n" + outcome.out + "\n";
  }
  expect_file(kSource / "tests/golden/help.txt", all);
}

TEST(Cli, GeneratedFilesAreFresh) {
  expect_file(kSource / "schemas/cluster-file.schema.json", weft({"schema"}).out);
  expect_file(kSource / "docs/reference/cluster-file.md", weft({"schema", "--reference"}).out);
  expect_file(kSource / "docs/reference/complaints.md", weft({"schema", "--errors"}).out);
}

TEST(Cli, TheReadmeShowsWhatIsPrinted) {
  const std::string readme = read(kSource / "README.md");
  const InDirectory here(kSource / "docs/readme");
  for (const std::string file : {"acp.weft.yaml", "typo.weft.yaml"}) {
    const Outcome outcome = weft({"check", file}, 100);
    EXPECT_NE(readme.find("$ weft check " + file + "\n" + outcome.out + outcome.err + "```"), std::string::npos)
        << "README.md should show:\n"
        << outcome.out << outcome.err;
  }
  EXPECT_NE(readme.find(read("acp.weft.yaml")), std::string::npos);
}

TEST(Cli, TheReadmesPicturesAreFresh) {
  const std::string file = (kSource / "docs/readme/acp.weft.yaml").string();
  for (const std::string what : {"server", "fabric"})
    expect_file(kSource / "docs/pictures" / ("acp-" + what + ".svg"), weft({"show", what, "--as", "svg", file}).out);
}

TEST(Cli, TheSchemaIsJson) {
  EXPECT_FALSE(nlohmann::json::parse(weft({"schema"}).out, nullptr, false).is_discarded());
}

TEST(Cli, EveryInitKindChecksWithoutErrors) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  for (const std::string& kind : app::init_kinds()) {
    const std::string file = kind + ".weft.yaml";
    EXPECT_EQ(weft({"init", "--kind", kind, file}).code, 0);
    const Outcome outcome = weft({"check", file});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

TEST(Cli, InitNeverOverwrites) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("mine.weft.yaml") << "precious";
  const Outcome outcome = weft({"init", "mine.weft.yaml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(read("mine.weft.yaml"), "precious");
  EXPECT_EQ(outcome.err, "mine.weft.yaml exists and is left as it is; give another name: weft init other.weft.yaml\n");
}

TEST(Cli, TheFileOfTheDirectoryIsFound) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  EXPECT_EQ(weft({"check"}).err,
            "error E0009: no cluster file is named, and none is here\n"
            "  = name one, or write one with `weft init`\n"
            "1 error; `weft explain E0009` says more\n");
  weft({"init", "a.weft.yaml"});
  EXPECT_EQ(weft({"check"}).code, 0);
  weft({"init", "b.weft.yaml"});
  const Outcome outcome = weft({"check"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("name one of a.weft.yaml or b.weft.yaml"), std::string::npos) << outcome.err;
}

TEST(Cli, MissingFilesAndDirectoriesAreNamed) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::filesystem::create_directory("folder");
  EXPECT_EQ(weft({"check", "nowhere.weft.yaml"}).err,
            "nowhere.weft.yaml: error E0001: no such file\n"
            "  = `weft init` writes a cluster file to start from\n"
            "1 error; `weft explain E0001` says more\n");
  EXPECT_EQ(weft({"check", "folder"}).err,
            "folder: error E0001: this is a directory\n"
            "  = name the cluster file inside it\n"
            "1 error; `weft explain E0001` says more\n");
  EXPECT_EQ(weft({"check", "/dev/zero"}).code, 2);
}

TEST(Cli, MisspeltCommandsAndOptionsExitWithTwo) {
  EXPECT_EQ(weft({"chekc"}).err, "there is no command 'chekc'; did you mean 'check'?\n");
  for (const std::string line : {"chekc", "check --nope", "show", "show nothing", "explain", "explain E9999",
                                 "catalog hgx-h101", "completion fish", "", "init --kind dragonfli"})
    EXPECT_EQ(weft(words(line)).code, 2) << line;
}

TEST(Cli, JsonEverywhereIsJson) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  for (const std::string line : {"check --json", "catalog hgx-h100 --json", "explain E0107 --json", "version --json",
                                 "show fabric --as json", "show server --as json"}) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 0) << line;
    EXPECT_FALSE(nlohmann::json::parse(outcome.out, nullptr, false).is_discarded()) << line << "\n" << outcome.out;
  }
  for (const std::string line : {"show gpus --json", "show nics --json", "show links --json", "show servers --json",
                                 "show paths 0 9 --json", "catalog --json"}) {
    std::istringstream lines(weft(words(line)).out);
    int records = 0;
    for (std::string each; std::getline(lines, each); ++records)
      EXPECT_FALSE(nlohmann::json::parse(each, nullptr, false).is_discarded()) << line;
    EXPECT_GT(records, 0) << line;
  }
}

TEST(Cli, ErrorsAreJsonToo) {
  const Outcome outcome = weft({"check", "nowhere.weft.yaml", "--json"});
  EXPECT_EQ(outcome.code, 2);
  const auto records = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(records[0]["code"], "E0001");
}

TEST(Cli, SetAppliesToEveryCommandThatReadsAFile) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  for (const std::string line : {"check --set servers.nics=3x", "show gpus --set servers.nics=3x"}) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err.substr(0, 38), "--set:1:14: error E0103: 'nics' must b") << outcome.err;
  }
}

TEST(Cli, NamesThatAreNotThereAreExplained) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  EXPECT_NE(weft({"show", "paths", "s0/gpu0", "s99/gpu0"}).err.find("GPUs are s0/gpu0 to s31/gpu7, or 0 to 255"), std::string::npos);
  EXPECT_NE(weft({"show", "paths", "s0/gpu0"}).err.find("weft show paths s0/gpu0 s1/gpu3"), std::string::npos);
  EXPECT_NE(weft({"show", "paths", "0", "9", "--fail", "spine99"}).err.find("'spine99' is not a switch"), std::string::npos);
}

TEST(Cli, CutOffPairsAreSaidToBe) {
  const InDirectory here(kSource / "examples/05-p5-tor-clos");
  const Outcome outcome = weft({"show", "paths", "s0/gpu0", "s9/gpu0", "--fail", "leaf0"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "nothing joins s0/gpu0 and s9/gpu0 any more\n");
}

TEST(Cli, ACatalogDirectoryAddsKinds) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("mine.yaml") << "servers:\n  my-box: {base: hgx-h100, text: ours, nics: 4}\n";
  std::ofstream("c.weft.yaml") << "version: 1\nservers: {kind: my-box, count: 2}\nfabric: {kind: single-chassis}\n";
  EXPECT_EQ(weft({"check", "c.weft.yaml"}).code, 2);
  EXPECT_EQ(weft({"check", "c.weft.yaml", "--catalog", "."}).code, 2) << "a cluster file is no catalog file";
  std::filesystem::create_directory("catalog");
  std::filesystem::rename("mine.yaml", "catalog/mine.yaml");
  const Outcome outcome = weft({"check", "c.weft.yaml", "--catalog", "catalog"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2 my-box: 8 x h100-sxm, 4 x connectx-7"), std::string::npos) << outcome.out;
}

TEST(Cli, CompletionScriptsNameEveryCommand) {
  for (const std::string shell : {"bash", "zsh"}) {
    const std::string script = weft({"completion", shell}).out;
    for (const std::string verb : {"init", "check", "show", "catalog", "schema", "explain", "version", "--as", "--set"})
      EXPECT_NE(script.find(verb), std::string::npos) << shell << " " << verb;
  }
}

}  // namespace
}  // namespace weft::golden
