#pragma once
// Manual pages, made from the same records that make --help.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weft::cli {

struct ManPage {
  std::string name;  // weft-sim.1
  std::string text;  // roff
};
// One of weft itself, and one of each verb.
std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version);

}  // namespace weft::cli
