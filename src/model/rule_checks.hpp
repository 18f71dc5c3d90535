#pragma once
// What the rules of traffic must be beside each other, which no single key can tell.

#include "model/cluster_file.hpp"
#include "spec/diagnostics.hpp"
#include "spec/node.hpp"

namespace weft::model {

// `root` is the tree that they were read from without error.
void check_rules(const TrafficRules& rules, const spec::Node& root, spec::Diagnostics& diagnostics);

}  // namespace weft::model
