#pragma once
// Files into sources. Every way in which a path can fail to be a readable text becomes a complaint.

#include <filesystem>
#include <optional>

#include "spec/diagnostics.hpp"

namespace weft::spec {

std::optional<std::uint32_t> load_file(const std::filesystem::path& path, Diagnostics& diagnostics);

}  // namespace weft::spec
