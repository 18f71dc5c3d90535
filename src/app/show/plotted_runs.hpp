#pragma once
// Collectives that were run before, as curves: what `weft sim --json` wrote, or a table of nccl-tests, measured or
// weft's own.

#include <cstdint>
#include <string>
#include <vector>

#include "draw/plot.hpp"
#include "spec/diagnostics.hpp"

namespace weft::app {

// The curves of one text, by ascending size; a curve for each operation, number of GPUs, algorithm that was forced and
// executor. `name` stands alone where there is one. None, with an error, where the text has none.
std::vector<draw::Curve> plotted_runs(const std::string& name, std::uint32_t source, spec::Diagnostics& diagnostics);

}  // namespace weft::app
