#pragma once
// Designs that tests write as text. The built-in catalog is read once for all of them: with sanitizers that takes as
// long as many a run.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "experiment/design.hpp"

namespace weft::experiment::testing {

inline std::unique_ptr<Design> design_from(const std::string& text) {
  static spec::Diagnostics of_catalog;
  static const auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(of_catalog));
  spec::Diagnostics diagnostics = of_catalog;  // which knows the catalog's places
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", text);
  auto design = Design::read(source, "test", {}, catalog, diagnostics);
  EXPECT_NE(design, nullptr) << spec::render_text(diagnostics, false);
  return design;
}

}  // namespace weft::experiment::testing
