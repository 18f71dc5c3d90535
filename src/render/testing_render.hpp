#pragma once
// What the tests of this folder share: clusters from YAML with their fabric, and their files by path.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "model/load.hpp"
#include "render/render.hpp"
#include "spec/diagnostics.hpp"

namespace weft::render::testing {

struct Built {
  explicit Built(model::Cluster made) : cluster(std::make_unique<model::Cluster>(std::move(made))), fabric(*cluster) {}
  std::unique_ptr<model::Cluster> cluster;
  fabric::Fabric fabric;
};

inline Built build(const std::string& yaml) {
  static const model::Catalog catalog = [] {
    spec::Diagnostics own;
    return model::Catalog::embedded(own);
  }();
  spec::Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", "version: 1\n" + yaml);
  auto cluster = model::load_cluster(source, "test", {}, catalog, diagnostics);
  if (!cluster) throw std::runtime_error(spec::render_text(diagnostics, false));
  return Built(std::move(*cluster));
}

inline const SwitchNumbers kNumbers{Bytes(4184)};
inline const Origin kOrigin{"0.0.0", "test", "0123456789abcdef"};

inline std::map<std::string, std::string> files_of(Target target, const Built& built) {
  auto files = render(target, built.fabric, kNumbers, kOrigin);
  std::map<std::string, std::string> out;
  if (!files) {
    ADD_FAILURE() << files.error().what;
    return out;
  }
  for (File& file : *files) EXPECT_TRUE(out.emplace(file.path, std::move(file.text)).second) << "twice: " << file.path;
  return out;
}

// Two units of two servers with two rails: 4 rail leaves, 2 spines.
inline const std::string kTwoUnits =
    "servers: {kind: hgx-h100, count: 4, nics: 2}\n"
    "fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, switch: tomahawk-4, link: {rate: 400Gbps, cable: "
    "5m}}\n";

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace weft::render::testing
