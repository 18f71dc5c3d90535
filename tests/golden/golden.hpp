#pragma once
// Golden tests: what a person would see, compared letter by letter with a file in the tree.
// UPDATE_GOLDEN=1 rewrites the files; read the diff before committing it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing_source_dir.hpp"
#include "cli/cli.hpp"

namespace weft::golden {

inline const std::filesystem::path kSource = base::kSourceDir;

inline std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline void expect_file(const std::filesystem::path& path, const std::string& actual) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(actual, read(path)) << "differs from " << path << "; UPDATE_GOLDEN=1 rewrites it";
}

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

// Where stderr is no terminal, a line every ten seconds says how far a run is: how many there are depends on the
// machine.
inline std::string without_progress(const std::string& text) {
  static const std::regex line(
      "[^\n]*[0-9]% delivered, [^\n]*\n|[0-9]+ of [0-9]+ (runs|tables|seeds|sizes|causes|changes)(, [0-9:]+ "
      "left)?\n|([0-9]+ of "
      "[0-9]+ sizes, (about [0-9:]+ left, )?)?at work for [0-9]+:[^\n]*\n");
  return std::regex_replace(text, line, "");
}

// The command line in this process, as if its output went to a file; `width`: to a terminal.
inline Outcome weft(const std::vector<std::string>& arguments, std::size_t width = 0) {
  std::ostringstream out;
  std::ostringstream err;
  app::Console console{out, err, false, false, width};
  const int code = cli::run(arguments, console);
  return {code, out.str(), without_progress(err.str())};
}

// Splits at spaces; golden commands need no quoting.
inline std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

// Runs a test body inside another directory.
class InDirectory {
 public:
  explicit InDirectory(const std::filesystem::path& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~InDirectory() { std::filesystem::current_path(before_); }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  std::filesystem::path before_;
};

// A directory of its own for each test, removed afterwards.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::golden
