#pragma once
// What came of a graph (GOAL, Chakra) beside its messages: how much ranks compute, and what groups did together.

#include "app/console.hpp"
#include "experiment/experiment.hpp"
#include "workload/graph.hpp"

namespace weft::app {

void print_graph(const workload::Graph& graph, const experiment::Outcome& outcome, bool json, Console& console);

}  // namespace weft::app
