#pragma once
// Which weft this is. Defined in a file that each build writes (cmake/build_info.cmake).

#include <string>

namespace weft::app {

struct BuildInfo {
  std::string version;
  std::string commit;  // "-dirty" behind it: and changes that are in none; "unknown": of no checkout
  std::string compiler;
};
const BuildInfo& build_info();

}  // namespace weft::app
