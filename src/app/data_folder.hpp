#pragma once
// Where files lie that come with weft: installed beside the program, or in the checkout that it was built in.

#include <filesystem>
#include <string>

namespace weft::app {

// share/weft/NAME of an installation, NAME of a checkout; empty where neither has it. `program`: the running one.
std::filesystem::path data_folder(const std::string& name, const std::filesystem::path& program = "/proc/self/exe");

}  // namespace weft::app
