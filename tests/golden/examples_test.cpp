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

INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(example_names()), [](const auto& each) {
  std::string name = each.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace
}  // namespace weft::golden
