#pragma once
// Which weft this is.

#include <string>

namespace weft::app {

struct BuildInfo {
  std::string version;
  std::string commit;
  std::string compiler;
};
const BuildInfo& build_info();

}  // namespace weft::app
