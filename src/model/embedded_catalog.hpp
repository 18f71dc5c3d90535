#pragma once
#include <string_view>
#include <vector>

namespace weft::model {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

// The files of catalog/, compiled in (cmake/embed.cmake).
const std::vector<EmbeddedFile>& embedded_catalog();

}  // namespace weft::model
