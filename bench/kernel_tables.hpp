#pragma once
// Measured kernels: those of truth/compute, which are weft's own, and those of a folder of published tables.

#include <functional>
#include <string>
#include <vector>

#include "compute/kernels.hpp"

namespace weft::bench {

struct KernelRow {
  std::string shape;
  double us = 0;  // measured
  std::function<Duration(const compute::Kernels&)> time;

  // A quarter of all rows, by their shape, is not fitted on.
  bool left_out() const;
};

struct KernelTable {
  std::string gpu;   // in the catalog
  std::string kind;  // gemm, attention, ...
  compute::Load load = compute::Load::steady;
  std::vector<KernelRow> rows;
  bool fitted = true;  // on three quarters of it; otherwise it is shown only
};

// Weft's own, of an H200.
std::vector<KernelTable> own_tables(const std::string& directory);
// A step of a small language model, as the sum of its kernels.
std::vector<KernelTable> step_tables(const std::string& directory);
// aiconfigurator's and Vidur's; none where the directory is not there.
std::vector<KernelTable> published_tables(const std::string& directory);

}  // namespace weft::bench
