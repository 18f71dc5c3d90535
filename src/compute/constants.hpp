#pragma once
// What GPUs of a generation make of their datasheets, as few numbers, each with a meaning. Every one of them and how it
// came about is in docs/compute.md.

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::compute {

struct Generation {
  std::string_view name;
  std::vector<std::string_view> gpus;  // what names of its GPUs begin with
  std::string_view scaled;             // the generation whose shares it has; empty: its own were measured
  std::int64_t matrix_share;           // per mille of the peak that tensor cores sustain on whole waves of tiles
  std::int64_t memory_share;           // per mille of the memory's bandwidth that a kernel gets
  std::int64_t attention_share;        // per mille of the peak, forward
  std::int64_t backward_share;         // and backward
  std::int64_t kernel_ns;              // from a kernel's start to its first tile and from its last to its end
  std::int64_t launch_ns;              // of the host, for a kernel
};

struct Constants {
  std::vector<Generation> generations;
};

const Constants& constants();

// That of a GPU of this name; of unknown ones the last.
const Generation& generation_of(std::string_view gpu, const Constants& all = constants());

}  // namespace weft::compute
