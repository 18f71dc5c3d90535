#pragma once
// What the tests of this folder share: a catalog, sources, and the folder with other people's files.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/testing_source_dir.hpp"
#include "measured/topology_cluster.hpp"

namespace weft::measured::testing {

inline const model::Catalog& catalog() {
  static spec::Diagnostics diagnostics;
  static const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  return catalog;
}

// Diagnostics in which places of the catalog exist.
struct Notes : spec::Diagnostics {
  Notes() {
    for (int i = 0; i < 6; ++i) sources().add("catalog", "");
  }
  std::uint32_t add_text(const std::string& name, const std::string& text) { return sources().add(name, text); }
  std::string text() const { return spec::render_text(*this, false); }
};

// Published measurements and files of real machines. They are other people's and not part of the project:
// WEFT_TRUTH names their folder, or it stands beside the project as shared/truth.
inline std::filesystem::path truth() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("WEFT_TRUTH")) return named;
  const fs::path source = base::kSourceDir;
  for (const fs::path& candidate : {source / "../shared/truth", source / "../../shared/truth"})
    if (fs::exists(candidate)) return candidate;
  return {};
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

#define WEFT_NEEDS_TRUTH(path)                                                         \
  if (const auto wanted = (path); truth().empty() || !std::filesystem::exists(wanted)) \
  GTEST_SKIP() << "skipped: no " << wanted << "; WEFT_TRUTH names the folder of published files"

}  // namespace weft::measured::testing
