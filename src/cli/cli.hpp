#pragma once
// argv to one function of `app`, and its exit code back.

#include <string>
#include <vector>

#include "app/console.hpp"

namespace weft::cli {

// `arguments` without the program's name.
int run(const std::vector<std::string>& arguments, app::Console& console);

}  // namespace weft::cli
