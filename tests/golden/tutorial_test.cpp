// docs/tutorial.md: its commands, run one after another in an empty folder, print what stands there.

#include "golden.hpp"

namespace weft::golden {
namespace {

// A list of devices is cut off behind the first.
std::string without_ranks(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#  Rank ") || line.starts_with("#  Rank  0"))
      out += line + "\n" + (line.starts_with("#  Rank  0") ? "...\n" : "");
  return out;
}

// The page with the output of its commands as it is now. A block of commands begins with ```console.
std::string page_as_it_should_be(const std::string& page, int& commands) {
  std::string out;
  bool console = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const bool fence = line.starts_with("```");
    if (console && !fence && !line.starts_with("$ weft ")) continue;
    out += line + "\n";
    if (fence) console = line == "```console";
    if (!console || fence) continue;
    std::string command = line.substr(7);
    std::erase(command, '\'');  // of the shell
    const Outcome outcome = weft(words(command), 100);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    out += without_ranks(outcome.out) + outcome.err;
    ++commands;
  }
  return out;
}

TEST(Tutorial, ItsCommandsPrintWhatItShows) {
  const std::filesystem::path file = kSource / "docs/tutorial.md";
  const std::string page = read(file);
  const Scratch scratch;
  const InDirectory here(scratch.path());
  int commands = 0;
  expect_file(file, page_as_it_should_be(page, commands));
  EXPECT_GE(commands, 9);
}

}  // namespace
}  // namespace weft::golden
