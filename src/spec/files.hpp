#pragma once
// Files into sources. Every way in which a path can fail to be a readable text becomes an error.

#include <filesystem>
#include <optional>

#include "spec/diagnostics.hpp"

namespace weft::spec {

// "-" is standard input; pipes and devices are read like files. Reads one byte more than `limit` at most; who parses the
// text complains about its length.
std::optional<std::uint32_t> load_file(const std::filesystem::path& path, Diagnostics& diagnostics,
                                       std::size_t limit = std::size_t{1} << 20);

}  // namespace weft::spec
