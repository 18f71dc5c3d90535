#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "golden.hpp"

namespace weft::golden {
namespace {

TEST(Cli, HelpTextsAreAsReviewed) {
  std::string all;
  for (const std::string line :
       {"",         "init",     "check",       "show",    "sim",         "compare",    "sweep",    "validate",
        "render",   "place",    "doctor",      "lab",     "lab up",      "lab status", "lab exec", "lab traffic",
        "lab fail", "lab heal", "lab capture", "lab pod", "lab metrics", "lab down",   "run",      "catalog",
        "schema",   "explain",  "completion",  "help",    "version"}) {
    auto arguments = words(line);
    arguments.push_back("--help");
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 0);
    all += "$ weft " + line + (line.empty() ? "" : " ") + "--help\n" + outcome.out + "\n";
  }
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  expect_file(kSource / "tests/golden/help.txt", all);
}

TEST(Cli, GeneratedFilesAreFresh) {
  expect_file(kSource / "schemas/cluster-file.schema.json", weft({"schema"}).out);
  expect_file(kSource / "docs/reference/cluster-file.md", weft({"schema", "--reference"}).out);
  expect_file(kSource / "docs/reference/errors.md", weft({"schema", "--errors"}).out);
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

// Digests and figures of simulations depend on no machine.
TEST(Cli, TheReadmeShowsWhatIsSimulated) {
  const std::string readme = read(kSource / "README.md");
  {
    const InDirectory here(kSource / "docs/readme");
    for (const std::string line :
         {"sim acp.weft.yaml --links 3", "compare acp.weft.yaml --vary servers.nics=2,4,8 --seeds 3"}) {
      const Outcome outcome = weft(words(line), 80);
      EXPECT_NE(readme.find("$ weft " + line + "\n" + outcome.out), std::string::npos)
          << "README.md should show:\n$ weft " << line << "\n"
          << outcome.out;
    }
  }
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init"});
  const std::string out = weft(words("sim --collective all_reduce --gpus 64 --sizes 1G")).out;
  const std::size_t at = out.find("  1073741824");
  const std::string row = out.substr(at, out.find("N/A", at) + 3 - at);
  EXPECT_NE(readme.find(row), std::string::npos) << "README.md should show:\n" << out;
}

TEST(Cli, TheReadmesPicturesAreFresh) {
  const std::string file = (kSource / "docs/readme/acp.weft.yaml").string();
  for (const std::string what : {"server", "fabric"})
    expect_file(kSource / "docs/pictures" / ("acp-" + what + ".svg"), weft({"show", what, "--as", "svg", file}).out);
}

TEST(Cli, TheSchemaIsJson) { EXPECT_FALSE(nlohmann::json::parse(weft({"schema"}).out, nullptr, false).is_discarded()); }

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
                                 "catalog hgx-h101", "completion tcsh", "help simm", "", "init --kind dragonfli"})
    EXPECT_EQ(weft(words(line)).code, 2) << line;
}

TEST(Cli, AMisspeltOptionIsNamedWithTheOneThatIsMeant) {
  EXPECT_EQ(weft({"why", "--mesured", "out.txt"}).err,
            "weft why has no option '--mesured'; did you mean '--measured'?\n");
  EXPECT_EQ(weft({"why", "--mesured=out.txt"}).err, "weft why has no option '--mesured'; did you mean '--measured'?\n");
  EXPECT_EQ(weft({"sim", "--colour"}).err, "weft sim has no option '--colour'; `weft sim --help` lists them\n");
}

TEST(Cli, JsonEverywhereIsJson) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  for (const std::string line : {"show fabric --as json", "show server --as json"}) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 0) << line;
    EXPECT_FALSE(nlohmann::json::parse(outcome.out, nullptr, false).is_discarded()) << line << "\n" << outcome.out;
  }
}

// Results, errors and warnings alike: a record a line, which says what it is and of which version.
TEST(Cli, JsonIsRecords) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  for (const std::string line :
       {"check --json", "check --set servers.nics=3x --json", "catalog hgx-h100 --json", "explain E0107 --json",
        "version --json", "show gpus --json", "show nics --json", "show links --json", "show servers --json",
        "show paths 0 9 --json", "catalog --json", "plan --gpus 16 --sizes 1MiB --json",
        "why --gpus 16 --size 1MiB --fast --json", "sim --pattern ring --gpus 4 --size 1kB --json",
        "sim --collective all_reduce --gpus 16 --sizes 1MiB --json",
        "compare --vary fabric.spines=2,4 --collective all_reduce --gpus 16 --sizes 1MiB --json",
        "sweep --over fabric.spines=2,4 --pattern ring --gpus 4 --size 1kB --json", "sim --pattern nothing --json"}) {
    std::istringstream lines(weft(words(line)).out);
    int records = 0;
    for (std::string each; std::getline(lines, each); ++records) {
      const auto record = nlohmann::json::parse(each, nullptr, false);
      ASSERT_TRUE(record.is_object()) << line << "\n" << each;
      EXPECT_TRUE(record["record"].is_string()) << line << "\n" << each;
      EXPECT_EQ(record["version"], 1) << line << "\n" << each;
    }
    EXPECT_GT(records, 0) << line;
  }
}

TEST(Cli, ErrorsAreJsonToo) {
  const Outcome outcome = weft({"check", "nowhere.weft.yaml", "--json"});
  EXPECT_EQ(outcome.code, 2);
  const auto record = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(record["record"], "error");
  EXPECT_EQ(record["code"], "E0001");
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
  EXPECT_NE(weft({"show", "paths", "s0/gpu0", "s99/gpu0"}).err.find("GPUs are s0/gpu0 to s31/gpu7, or 0 to 255"),
            std::string::npos);
  EXPECT_NE(weft({"show", "paths", "s0/gpu0"}).err.find("weft show paths s0/gpu0 s1/gpu3"), std::string::npos);
  EXPECT_NE(weft({"show", "paths", "0", "9", "--fail", "spine99"}).err.find("'spine99' is not a switch"),
            std::string::npos);
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
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = weft({"completion", shell}).out;
    for (const std::string verb : {"init", "check", "show", "sim", "compare", "sweep", "validate", "render", "place",
                                   "lab", "run", "doctor", "catalog", "schema", "explain", "version", "help"})
      EXPECT_NE(script.find(verb), std::string::npos) << shell << " " << verb;
  }
}

std::vector<nlohmann::json> records(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

TEST(Show, NeverWritesOverItsInput) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  const std::string before = read("c.weft.yaml");
  std::ofstream("plain.yaml") << before;
  std::filesystem::create_symlink("plain.yaml", "link.svg");
  for (const std::string line :
       {"show gpus c.weft.yaml -o c.weft.yaml", "show fabric --as svg c.weft.yaml -o other.weft.yaml",
        "show links c.weft.yaml -o new.topo", "show paths 0 9 plain.yaml -o ./plain.yaml",
        "show server plain.yaml --as svg -o link.svg"}) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_NE(outcome.err.find("give -o another name"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(read("c.weft.yaml"), before);
  EXPECT_EQ(read("plain.yaml"), before);
  EXPECT_FALSE(std::filesystem::exists("new.topo"));
}

TEST(Show, WritesTheFileThatIsAskedFor) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  for (const std::string line : {"show paths 0 9", "show gpus", "show links --json", "show fabric --as svg"}) {
    const Outcome direct = weft(words(line));
    const Outcome filed = weft(words(line + " -o out.txt"));
    EXPECT_EQ(filed.code, 0) << filed.err;
    EXPECT_EQ(filed.out, "");
    EXPECT_EQ(read("out.txt"), direct.out) << line;
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(".")) ++files;
  EXPECT_EQ(files, 2u) << "nothing is left beside the result";
  EXPECT_EQ(weft({"show", "gpus", "-o", "no/such/folder.txt"}).code, 3);
}

TEST(Show, CountsWhatItLeavesOut) {
  for (const std::string example :
       {"01-acp-2-nics", "07-multi-plane", "08-two-sites", "09-dragonfly", "10-mixed-generations"}) {
    const InDirectory here(kSource / "examples" / example);
    for (const std::string what : {"servers", "gpus", "nics", "links"}) {
      const std::size_t all = records(weft({"show", what, "--json", "--limit", "0"}).out).size();
      const Outcome outcome = weft({"show", what, "--json", "--limit", "1"});
      EXPECT_EQ(records(outcome.out).size(), 1u);
      std::string said;
      for (const char c : outcome.err.substr(0, outcome.err.find(" more")))
        if (c >= '0' && c <= '9') said += c;
      EXPECT_EQ(said, std::to_string(all - 1)) << example << " " << what << "\n" << outcome.err;
    }
  }
}

TEST(Show, RefusesLimitsThatAreNone) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  for (const std::string limit : {"-1", "1000000001", "99999999999999999999", "x"})
    EXPECT_EQ(weft({"show", "gpus", "--limit", limit}).code, 2) << limit;
  EXPECT_EQ(weft({"show", "gpus", "--limit", "1000000000"}).code, 0);
}

TEST(Show, IgnoresNothing) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const auto error = [](const std::string& line) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 2) << line;
    return outcome.err;
  };
  EXPECT_NE(error("show gpus foo").find("'foo'"), std::string::npos);
  EXPECT_NE(error("show gpus a.yaml b.yaml").find("two cluster files, a.yaml and b.yaml"), std::string::npos);
  EXPECT_NE(error("show server nosuch").find("no group of servers is called 'nosuch'"), std::string::npos);
  EXPECT_NE(error("show gpus --fail spine0").find("--fail spine0"), std::string::npos);
  EXPECT_NE(error("show paths 0 9 12").find("'12'"), std::string::npos);
  EXPECT_NE(error("show fabric --json --as svg").find("contradict"), std::string::npos);
  const std::string both = error("show paths 0 9 --fail spine98 --fail spine99");
  EXPECT_NE(both.find("spine98"), std::string::npos);
  EXPECT_NE(both.find("spine99"), std::string::npos);
}

TEST(Show, TakesAFileOfAnyName) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  std::filesystem::rename("c.weft.yaml", "cluster");
  EXPECT_EQ(weft({"show", "gpus", "cluster"}).code, 0);
}

TEST(Show, RecordsHoldNumbers) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  for (const std::string line : {"show servers", "show gpus", "show nics", "show links", "show paths 0 9"})
    for (const auto& record : records(weft(words(line + " --json")).out)) {
      EXPECT_EQ(record["version"], 1);
      for (const auto& [key, field] : record.items()) {
        EXPECT_EQ(key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << key;
        if (key.ends_with("_bps") || key.ends_with("_ps") || key == "number" || key == "socket" || key == "port") {
          EXPECT_TRUE(field.is_number()) << key << " " << field;
        }
      }
    }
  EXPECT_TRUE(records(weft({"show", "paths", "0", "9", "--json"}).out)[0]["route"].is_array());
}

TEST(Show, RoutesAreDistinctAndSorted) {
  const InDirectory here(kSource / "examples/07-multi-plane");
  const Outcome all = weft({"show", "paths", "s0/gpu0", "s40/gpu0", "--limit", "0"});
  EXPECT_NE(all.out.find("256 shortest paths when parallel links are counted"), std::string::npos) << all.out;
  EXPECT_EQ(records(weft({"show", "paths", "s0/gpu0", "s40/gpu0", "--json", "--limit", "0"}).out).size(), 16u);
}

TEST(Show, FitsTheTerminal) {
  const InDirectory here(kSource / "examples/03-acp-8-nics");
  const std::string job = "sim --collective all_reduce --gpus 16 --sizes 1M";
  const std::vector<std::string> commands = {"show paths 0 255 --limit 3",
                                             "catalog hgx-h100",
                                             "catalog p5.48xlarge",
                                             "show bom",
                                             "show bom ../10-mixed-generations/cluster.weft.yaml",
                                             job,
                                             job + " --algorithms all",
                                             job + " --fidelity message,flow"};
  for (const std::string& line : commands) {
    std::istringstream lines(weft(words(line), 80).out);
    for (std::string each; std::getline(lines, each);) EXPECT_LE(each.size(), 80u) << line << "\n" << each;
  }
}

TEST(Cli, TotalsOfAScaleUpDomainAreWhatMakersPrint) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const auto scale_up = [](const std::string& kind, int count) {
    std::ofstream("c.weft.yaml") << "version: 1\nservers: {kind: " << kind << ", count: " << count
                                 << "}\nfabric: {kind: tor-clos}\n";
    return weft({"check"}).out;
  };
  EXPECT_NE(scale_up("hgx-h200", 2).find(", 7.2TB/s of a server both ways\n"), std::string::npos);
  EXPECT_NE(scale_up("gb200-nvl72", 36).find(", 129.6TB/s of a domain both ways\n"), std::string::npos);
  EXPECT_NE(scale_up("trn3", 36).find(", 368.6TB/s of a domain both ways\n"), std::string::npos);
}

TEST(Cli, TheTopTierHasNothingAbove) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const std::string out = weft({"check", "--json"}).out;
  const auto record = nlohmann::json::parse(out.substr(0, out.find('\n')));  // warnings are records behind it
  EXPECT_EQ(record["fabric"], "rail-optimized");
  EXPECT_TRUE(record["tiers"].back()["above_bps"].is_null());
  EXPECT_TRUE(record["tiers"].back()["oversubscription"].is_null());
  EXPECT_TRUE(record["tiers"].front()["oversubscription"].is_number());
  EXPECT_TRUE(record["power_milliwatts"].is_number());
}

TEST(Cli, WhatIsBoughtIsSummedAndWhatNobodyPricedIsNamed) {
  const InDirectory here(kSource / "examples/20-choosing-a-fabric");
  const std::vector<std::string> command = {"check", "rail-only.weft.yaml"};
  EXPECT_NE(weft(command).out.find("\npurchase      $2.53M: $480k switches, $2.05M cables (without servers, NICs)\n"),
            std::string::npos)
      << weft(command).out;
  EXPECT_EQ(weft(command).out.find("not public"), std::string::npos);
  const std::string out = weft({"check", "rail-only.weft.yaml", "--json"}).out;
  const auto record = nlohmann::json::parse(out.substr(0, out.find('\n')));
  EXPECT_EQ(record["not_priced"], (std::vector<std::string>{"servers", "NICs"}));
  EXPECT_EQ(record["parts"][2]["name"], "switches");
  EXPECT_EQ(record["parts"][2]["purchase_usd"], 480'000.0);
  EXPECT_TRUE(record["parts"][0]["purchase_usd"].is_null());
  EXPECT_EQ(record["optics_power_milliwatts"], 1024 * 2 * 9'000);
  EXPECT_EQ(record["optics_in_power"], true);
  EXPECT_EQ(record["not_in_power"], std::vector<std::string>{});
}

TEST(Cli, TheCatalogNamesOneUsedSourceForAField) {
  for (const std::string kind : {"dgx-h100", "acp-h100-2nic", "p5.48xlarge", "hgx-h200"}) {
    const Outcome outcome = weft({"catalog", kind});
    if (outcome.code != 0) continue;
    std::istringstream lines(outcome.out.substr(outcome.out.find("\n\n") + 2));
    std::vector<std::string> seen;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t used = line.find("  used  ");
      if (used == std::string::npos) continue;
      for (const std::string& field : words(line.substr(0, used))) {
        EXPECT_EQ(std::count(seen.begin(), seen.end(), field), 0) << kind << " " << field << "\n" << outcome.out;
        seen.push_back(field);
      }
    }
    EXPECT_FALSE(seen.empty()) << outcome.out;
  }
}

TEST(Cli, CompletionScriptsListValues) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = weft({"completion", shell}).out;
    for (const std::string each : {"table csv json svg dot", "rail-only", "E0107", "weft catalog --json", "all_reduce",
                                   "blackhole", "transport.kind"})
      EXPECT_NE(script.find(each), std::string::npos) << shell << " " << each;
  }
}

// Every option of every command stands in its manual page and in what `weft help COMMAND` prints.
TEST(Cli, HelpAndManualPagesAreOfTheSameDefinitions) {
  const Scratch scratch;
  ASSERT_EQ(weft({"help", "--man", scratch.path().string(), "--quiet"}).err, "");
  for (const std::string verb : {"sim", "check", "sweep", "help"}) {
    const std::string help = weft({"help", verb}).out;
    EXPECT_EQ(help, weft({verb, "--help"}).out);
    std::string page = read(scratch.path() / ("weft-" + verb + ".1"));
    for (std::size_t at = 0; (at = page.find("\\-", at)) != std::string::npos;) page.erase(at, 1);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  --")) {
        const std::string option = line.substr(2, line.find_first_of(" ,=", 2) - 2);
        EXPECT_NE(page.find(option), std::string::npos) << verb << " " << option;
      }
  }
  EXPECT_NE(weft({"help"}).out.find("Describe a cluster:"), std::string::npos);
  EXPECT_TRUE(weft({"--version"}).out.starts_with("weft 0."));
}

TEST(Cli, QuietLeavesErrorsAlone) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  EXPECT_EQ(weft({"show", "fabric", "--as", "svg", "-o", "f.svg", "-q"}).err, "");
  EXPECT_NE(weft({"check", "nowhere.weft.yaml", "-q"}).err, "");
}

TEST(Cli, SizeAndSizesMeanTheSameWhereOneHasAMeaning) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  const auto out = [](const std::string& line) { return weft(words(line)).out; };
  EXPECT_EQ(out("sim --collective all_reduce --size 1M --json"),
            out("sim --collective all_reduce --sizes 1MiB --json"));
  EXPECT_EQ(out("sim --pattern ring --sizes 1MB --json --gpus 8"),
            out("sim --pattern ring --size 1MB --json --gpus 8"));
  EXPECT_EQ(out("plan --size 8..8K --gpus 16 --json"), out("plan --sizes 8B..8KiB --gpus 16 --json"));
}

TEST(Cli, JsonListsEverything) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  EXPECT_GT(records(weft({"show", "gpus", "--json"}).out).size(), 200u);
  EXPECT_EQ(records(weft({"show", "gpus", "--json", "--limit", "3"}).out).size(), 3u);
}

}  // namespace
}  // namespace weft::golden
