// Wrong cluster files with the exact text weft answers. Every file of tests/golden/bad is loaded
// under its bare name, so that the texts do not depend on where the checkout is:
//
//   name.weft.yaml, .topo, .xml   the file
//   name.set                      --set arguments, one per line (optional)
//   name.catalog.yaml             added to the catalog (optional)
//   name.expected                 what is printed; UPDATE_GOLDEN=1 rewrites it
//
// Read a new .expected aloud before committing it: where, what, and what would be right.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/testing_source_dir.hpp"
#include "measured/topology_cluster.hpp"
#include "model/load.hpp"
#include "spec/files.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using spec::Error;

const fs::path kFolder = fs::path(base::kSourceDir) / "tests/golden/bad";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

struct Answer {
  spec::Diagnostics diagnostics;
  std::optional<model::Cluster> cluster;
};

std::string stem(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".weft.yaml", ".topo", ".xml"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

void load(const fs::path& file, const std::vector<std::string>& more_sets, Answer& answer) {
  const fs::path beside = kFolder / stem(file);
  model::Catalog catalog = model::Catalog::embedded(answer.diagnostics);
  if (const fs::path own = beside.string() + ".catalog.yaml"; fs::exists(own))
    catalog.add_source(answer.diagnostics.sources().add(own.filename().string(), read(own)), answer.diagnostics);
  model::LoadOptions options;
  options.set = lines(read(beside.string() + ".set"));
  options.set.insert(options.set.end(), more_sets.begin(), more_sets.end());
  const std::uint32_t source = answer.diagnostics.sources().add(file.filename().string(), read(file));
  if (!measured::is_topology(file)) {
    answer.cluster = model::load_cluster(source, stem(file), options, catalog, answer.diagnostics);
  } else if (auto loaded = measured::load_topology_cluster(source, 1, options, catalog, answer.diagnostics)) {
    answer.cluster = std::move(loaded->cluster);
  }
}

std::vector<fs::path> bad_files() {
  std::set<fs::path> out;
  for (const auto& item : fs::directory_iterator(kFolder)) {
    const std::string name = item.path().filename().string();
    if (name.ends_with(".weft.yaml") || name.ends_with(".topo") || name.ends_with(".xml")) out.insert(item.path());
  }
  return {out.begin(), out.end()};
}

void expect_text(const fs::path& file, Answer& answer) {
  const std::string text = spec::render_text(answer.diagnostics, false);
  const fs::path expected = kFolder / (stem(file) + ".expected");
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(expected, std::ios::binary) << text;
  } else {
    EXPECT_EQ(text, read(expected));
  }
}

void expect_no_control_characters(const Answer& answer) {
  const std::string text = spec::render_text(answer.diagnostics, false);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    EXPECT_TRUE(byte == '\n' || (byte >= 0x20 && byte != 0x7F)) << "byte " << i << " of\n" << text;
    if (byte == 0xC2 && i + 1 < text.size()) {
      EXPECT_GE(static_cast<unsigned char>(text[i + 1]), 0xA0) << text;
    }
  }
}

// Every error says where it stands, inside the file, and what would be right.
void expect_place_and_help(const Answer& answer) {
  const auto all = answer.diagnostics.sorted();
  ASSERT_FALSE(all.empty());
  for (const spec::Diagnostic& d : all) {
    EXPECT_FALSE(d.help.empty()) << d.message;
    ASSERT_GT(d.place.source, 0U) << d.message;
    if (d.place.line == 0) {
      EXPECT_NE(d.error, Error::bad_topo) << "each line of a .topo file can be told";
      continue;
    }
    const std::string_view line = answer.diagnostics.sources().line(d.place);
    EXPECT_GE(d.place.column, 1U);
    EXPECT_LE(d.place.column, line.size() + 1) << d.message;
  }
}

void expect_same_as_json(const Answer& answer) {
  std::vector<nlohmann::json> json;
  std::istringstream lines(spec::render_json(answer.diagnostics));
  for (std::string line; std::getline(lines, line);) json.push_back(nlohmann::json::parse(line));
  const auto all = answer.diagnostics.sorted();
  ASSERT_EQ(json.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(json[i]["code"], spec::info(all[i].error).code);
    EXPECT_EQ(json[i]["record"], "error");
    EXPECT_EQ(json[i]["version"], 1);
    EXPECT_EQ(json[i].value("line", 0U), all[i].place.line);
    EXPECT_EQ(json[i].value("help", ""), all[i].help);
  }
}

// "KEY: A or B (words) would work" as --set assignments.
std::vector<std::string> suggestions(const spec::Diagnostic& d, const spec::Node& root) {
  const std::size_t colon = d.help.find(": ");
  const std::size_t end = std::min(d.help.find(" would work"), d.help.find(" would fit"));
  if (colon == std::string::npos || end == std::string::npos || colon > end) return {};
  const std::string key = d.help.substr(0, colon);
  std::string values = d.help.substr(colon + 2, end - colon - 2);
  for (std::size_t at; (at = values.find(" (")) != std::string::npos;) values.erase(at, values.find(')', at) + 1 - at);
  for (std::size_t at; (at = values.find(" or ")) != std::string::npos;) values.replace(at, 4, ",");
  std::string path = (d.message.find("frontend") != std::string::npos ? "frontend." : "fabric.") + key;
  if (key == "count") {
    const spec::Entry* servers = root.find("servers");
    path = servers->value.is_sequence() ? "servers.0.count" : "servers.count";
    for (std::size_t i = 0; i < servers->value.items.size(); ++i)
      if (servers->value.items[i].place.line == d.place.line) path = "servers." + std::to_string(i) + ".count";
  }
  std::vector<std::string> out;
  std::istringstream stream(values);
  for (std::string value; std::getline(stream, value, ',');)
    out.push_back(path + "=" + (value[0] == ' ' ? value.substr(1) : value));
  return out;
}

void expect_suggestions_to_work(const fs::path& file, const Answer& answer) {
  for (const spec::Diagnostic& d : answer.diagnostics.sorted()) {
    if (d.help.find("would work") == std::string::npos && d.help.find("would fit") == std::string::npos) continue;
    spec::Diagnostics scratch;
    const spec::Node root = spec::parse_yaml(scratch.sources().add("scratch", read(file)), scratch);
    const auto sets = suggestions(d, root);
    EXPECT_FALSE(sets.empty()) << "cannot be applied: " << d.help;
    for (const std::string& set : sets) {
      Answer again;
      load(file, {set}, again);
      EXPECT_TRUE(again.cluster) << d.help << "\n--set " << set << "\n" << spec::render_text(again.diagnostics, false);
    }
  }
}

class BadFile : public testing::TestWithParam<fs::path> {};

// One test for all that is expected of a file, because loading it parses the catalog each time.
TEST_P(BadFile, IsAnsweredWell) {
  Answer answer;
  load(GetParam(), {}, answer);
  EXPECT_FALSE(answer.cluster);
  expect_text(GetParam(), answer);
  expect_no_control_characters(answer);
  expect_place_and_help(answer);
  expect_same_as_json(answer);
  expect_suggestions_to_work(GetParam(), answer);
}

std::string test_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name = stem(info.param);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, BadFile, testing::ValuesIn(bad_files()), test_name);

TEST(BadFiles, CoverEveryErrorThatAFileCanRaise) {
  // Not raised by the content of a cluster file: tested below, by the command line's tests, the
  // catalog's, the simulator's or those of measurements.
  const std::set<std::string_view> elsewhere = {"E0001", "E0002", "E0009", "E0203", "E0410", "E0411",
                                                "E0412", "E0413", "E0414", "E0415", "E0703", "E0704",
                                                "E0705", "E0706", "E0801", "E0802", "E0803"};
  std::string all;
  for (const fs::path& file : bad_files()) all += read(kFolder / (stem(file) + ".expected"));
  for (const spec::ErrorInfo& error : spec::all_errors()) {
    if (error.severity() == spec::Severity::warning || elsewhere.contains(error.code)) continue;
    EXPECT_NE(all.find("error " + std::string(error.code)), std::string::npos) << error.code << ": " << error.title;
  }
}

TEST(BadFiles, AreAtLeastSeventyFive) { EXPECT_GE(bad_files().size(), 75U); }

TEST(BadFiles, WithManyFaultsGetAllOfThemInTheOrderOfTheFile) {
  Answer answer;
  load(kFolder / "many_faults.weft.yaml", {}, answer);
  const auto all = answer.diagnostics.sorted();
  EXPECT_GE(all.size(), 10U);
  for (std::size_t i = 1; i < all.size(); ++i)
    EXPECT_LE(std::tuple(all[i - 1].place.line, all[i - 1].place.column),
              std::tuple(all[i].place.line, all[i].place.column));
}

// ---- paths that are no files

std::string answer_to(const fs::path& path) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  EXPECT_FALSE(model::load_cluster(path, {}, catalog, diagnostics));
  return spec::render_text(diagnostics, false);
}

TEST(BadPath, ThatDoesNotExistIsNamed) {
  EXPECT_EQ(answer_to("no-such-file.weft.yaml"),
            "no-such-file.weft.yaml: error E0001: no such file\n"
            "  = `weft init` writes a cluster file to start from\n"
            "1 error; `weft explain E0001` says more\n");
}

TEST(BadPath, ThatIsADirectoryIsNotRead) {
  const std::string folder = kFolder.string();
  EXPECT_EQ(answer_to(kFolder), folder +
                                    ": error E0001: this is a directory\n"
                                    "  = name the cluster file inside it\n"
                                    "1 error; `weft explain E0001` says more\n");
}

TEST(BadPath, ThatNeverEndsIsReadUpToTheLimit) {
  EXPECT_EQ(answer_to("/dev/zero"),
            "/dev/zero: error E0002: the file is larger than 1 MiB\n"
            "  = use counts and ranges instead of lists\n"
            "1 error; `weft explain E0002` says more\n");
}

class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / ("weft-bad-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Scratch() { fs::remove_all(path_); }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(BadPath, APipeIsReadLikeAFile) {
  const Scratch scratch;
  const std::string pipe = (scratch.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "version: 1\nservers: {kind: hgx-h10, count: 4}\n"; });
  const std::string answer = answer_to(pipe);
  writer.join();
  EXPECT_NE(answer.find("did you mean 'hgx-h100'?"), std::string::npos) << answer;
}

TEST(BadPath, OfAFileBeyondOneMebibyteIsRefusedUnread) {
  const Scratch scratch;
  const fs::path file = scratch.write("large.weft.yaml", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(answer_to(file), file.string() +
                                 ": error E0002: the file is larger than 1 MiB\n"
                                 "  = use counts and ranges instead of lists\n"
                                 "1 error; `weft explain E0002` says more\n");
  const fs::path topo = scratch.write("large.topo", std::string((1 << 20) + 1, '#'));
  EXPECT_NE(answer_to(topo).find("E0002"), std::string::npos);
}

TEST(BadPath, OfADirectoryWithoutClusterFilesSaysWhatToDo) {
  const Scratch scratch;
  spec::Diagnostics none;
  EXPECT_FALSE(model::find_cluster_file(scratch.path(), none));
  EXPECT_EQ(spec::render_text(none, false),
            "error E0009: no cluster file is named, and none is here\n"
            "  = name one, or write one with `weft init`\n"
            "1 error; `weft explain E0009` says more\n");
  scratch.write("b.weft.yaml", "");
  scratch.write("a.weft.yaml", "");
  spec::Diagnostics two;
  EXPECT_FALSE(model::find_cluster_file(scratch.path(), two));
  EXPECT_EQ(spec::render_text(two, false),
            "error E0009: no cluster file is named, and there are 2 here\n"
            "  = name one of a.weft.yaml or b.weft.yaml\n"
            "1 error; `weft explain E0009` says more\n");
}

TEST(BadPath, OfACatalogMustBeADirectoryWithYamlFiles) {
  const Scratch scratch;
  spec::Diagnostics diagnostics;
  model::Catalog catalog = model::Catalog::embedded(diagnostics);
  catalog.add_directory("no-such-directory", diagnostics);
  EXPECT_EQ(spec::render_text(diagnostics, false),
            "no-such-directory: error E0001: not a directory that can be read\n"
            "  = --catalog takes a directory of catalog files\n"
            "1 error; `weft explain E0001` says more\n");
  spec::Diagnostics empty;
  catalog.add_directory(scratch.path(), empty);
  EXPECT_NE(spec::render_text(empty, false).find("no *.yaml files in this directory"), std::string::npos);
}

}  // namespace
}  // namespace weft
