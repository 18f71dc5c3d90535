#pragma once
// Rendered files on disk. A list beside them, .weft-render, keeps a digest of each file as it was written: what is not
// in it, or was changed since, is somebody else's and is never overwritten or removed.

#include <filesystem>
#include <string>
#include <vector>

#include "render/rendered.hpp"

namespace weft::app {

inline constexpr std::string_view kRenderedList = ".weft-render";

struct TreeChange {
  std::vector<std::string> written;
  std::vector<std::string> unchanged;
  std::vector<std::string> removed;  // written once for this target, and no longer part of it
  std::vector<std::string> foreign;  // in the way; where there are any, nothing was done
  std::string failed;                // which file could not be written, and why
};

// Makes `directory` hold the files of a target; those of other targets stay.
TreeChange write_tree(const std::filesystem::path& directory, const std::string& target,
                      const std::vector<render::File>& files);

}  // namespace weft::app
