#include "app/data_folder.hpp"

namespace weft::app {

std::filesystem::path data_folder(const std::string& name, const std::filesystem::path& program) {
  std::error_code fault;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(program, fault).parent_path();
  for (const std::filesystem::path& each : {folder.parent_path() / "share" / "weft" / name,  // bin/weft
                                            folder.parent_path().parent_path() / name,       // build/release/weft
                                            folder.parent_path().parent_path().parent_path() / name})
    if (std::filesystem::is_directory(each, fault)) return each;
  return {};
}

}  // namespace weft::app
