#include "lab/run_pages.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

}  // namespace

fs::path run_page(const State& state, const std::string& from, const std::string& to) {
  std::error_code none;
  fs::create_directories(state.folder() / "runs", none);
  return state.folder() / "runs" / fmt::format("{}+{}.prom", from, to);  // no name has a '+'
}

std::vector<RunPage> run_pages(const State& state) {
  std::map<std::string, RunPage> pages;  // in an order that does not change
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(state.folder() / "runs", none)) {
    const std::string name = entry.path().stem().string();
    const std::size_t plus = name.find('+');
    if (entry.path().extension() != ".prom" || plus == std::string::npos) continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    pages[name] = {name.substr(0, plus), name.substr(plus + 1), text.str()};
  }
  std::vector<RunPage> all;
  for (auto& [name, page] : pages) all.push_back(std::move(page));
  return all;
}

std::string merged(const std::vector<RunPage>& pages) {
  struct Family {
    std::string head;  // HELP and TYPE
    std::string samples;
  };
  std::map<std::string, Family> families;
  for (const RunPage& page : pages) {
    std::istringstream lines(page.text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
        Family& family = families[line.substr(7, line.find(' ', 7) - 7)];
        if (family.head.find(line) == std::string::npos) family.head += line + "\n";
      } else if (const std::size_t brace = line.find('{'); brace != std::string::npos) {
        families[line.substr(0, brace)].samples += fmt::format(
            "{}node=\"{}\",peer=\"{}\",{}\n", line.substr(0, brace + 1), page.from, page.to, line.substr(brace + 1));
      }
    }
  }
  std::string text;
  for (const auto& [name, family] : families) text += family.head + family.samples;
  return text;
}

}  // namespace weft::lab
