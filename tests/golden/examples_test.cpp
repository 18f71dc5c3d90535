// Every example is a transcript: `commands` run in its directory must print `expected.txt`.
#include <regex>
#include <set>

#include "golden.hpp"

namespace weft::golden {
namespace {

std::vector<std::string> example_names() {
  std::set<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(kSource / "examples"))
    if (item.is_directory()) names.insert(item.path().filename().string());
  return {names.begin(), names.end()};
}

// Results name the commit they were made with, which no file of that commit can.
std::string without_commit(const std::string& text) {
  static const std::regex commit("\"commit\":\"[^\"]*\"");
  return std::regex_replace(text, commit, "\"commit\":\"...\"");
}

std::string transcript(const std::filesystem::path& directory) {
  const InDirectory here(directory);
  std::istringstream commands(read("commands"));
  std::string out;
  for (std::string line; std::getline(commands, line);) {
    const auto arguments = words(line);
    const Outcome outcome = weft({arguments.begin() + 1, arguments.end()});
    out += "$ " + line + "\n" + without_commit(outcome.out) + outcome.err;
    if (outcome.code != 0) out += "exit " + std::to_string(outcome.code) + "\n";
  }
  return out;
}

class Examples : public testing::TestWithParam<std::string> {};

TEST_P(Examples, PrintWhatTheyShould) {
  const auto directory = kSource / "examples" / GetParam();
  expect_file(directory / "expected.txt", transcript(directory));
}

// Output that a README shows is output: its lines stand in expected.txt in that order, `...` for what is left out.
TEST_P(Examples, ReadmesShowWhatIsPrinted) {
  const auto directory = kSource / "examples" / GetParam();
  if (!std::filesystem::exists(directory / "README.md")) return;
  const std::string expected = "\n" + read(directory / "expected.txt");
  std::istringstream readme(read(directory / "README.md"));
  bool within = false;   // a block that shows a command of the transcript
  bool indents = false;  // it is a block because its lines are indented
  std::size_t at = 0;
  for (std::string line; std::getline(readme, line);) {
    const bool indented = line.starts_with("    ");
    if (line.starts_with("```") || (indents && !indented && !line.empty())) within = false;
    if (line.starts_with("    $ weft ") || line.starts_with("$ weft ")) indents = indented;
    if (indents && indented) line.erase(0, 4);
    if (line.starts_with("$ weft ")) {
      within = true;
      at = 0;
    }
    if (!within || line == "..." || (indents && line.empty())) continue;
    at = expected.find("\n" + line + "\n", at);
    ASSERT_NE(at, std::string::npos) << "README.md shows what expected.txt does not have here:\n" << line;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(example_names()), [](const auto& each) {
  std::string name = each.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace
}  // namespace weft::golden
