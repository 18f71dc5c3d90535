#pragma once
// From what the file asks for to counts that close, or errors that name the count that would.

#include <optional>

#include "model/cluster.hpp"
#include "spec/node.hpp"

namespace weft::model {

// `root` is the file's tree, for the places of errors.
std::optional<Shape> derive_shape(const Cluster& cluster, const spec::Node& root, spec::Diagnostics& diagnostics);

}  // namespace weft::model
