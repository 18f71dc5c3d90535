#pragma once
// Where the result of `show` goes: stdout, or a file that appears only when it is whole.

#include <filesystem>
#include <functional>
#include <string>

#include "app/console.hpp"

namespace weft::app {

// Why `output` must not be written: it is the user's input, or looks like one. Empty when it may.
std::string why_not_write(const std::string& output, const std::filesystem::path& input);

// Calls write(stream); the exit code.
int write_output(const std::string& output, Console& console, const std::function<void(std::ostream&)>& write);

}  // namespace weft::app
