#pragma once
// Completion scripts, made from the same records that make --help.

#include <CLI/CLI.hpp>
#include <string>

namespace weft::cli {

std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace weft::cli
