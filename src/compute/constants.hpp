#pragma once
// What GPUs make of their datasheets, as few numbers, each with a meaning: at most eight for a generation, and some
// that hold for all. docs/compute.md lists them with the measurements behind each; `kernels_bench --refit` fits them
// anew.

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::compute {

// Of a kernel's output, worked on by one multiprocessor at a time.
struct Tile {
  std::int64_t rows;
  std::int64_t columns;
};

struct Generation {
  std::string_view name;
  std::vector<std::string_view> gpus;  // what names of its GPUs begin with
  std::vector<std::string_view> measured;
  std::string_view scaled;  // the generation whose shares it has; empty: its own were measured

  // From documents.
  std::vector<Tile> tiles;       // that its libraries choose from
  std::int64_t softmax_flops;    // that tensor cores do in the time the special function units take for one exponential
  std::int64_t watts_per_pflop;  // power limit over bf16 peak of the GPU that was measured

  // Fitted.
  std::int64_t matrix;       // per mille of the peak in bf16, while clocks are at their highest
  std::int64_t fp8;          // per mille in 8 bits; 0: as above,
  std::int64_t fp4;          // and in 4; 0: as in 8
  std::int64_t tile_border;  // tenths of an element: what loading operands costs a tile, as if it were wider and longer
  std::int64_t tile_ns;      // from one tile's last product to the next one's first
  std::int64_t memory;       // per mille of the memory's bandwidth
  std::int64_t attention;    // per mille of the peak, for the best kernel there is
  std::int64_t flash2;       // per mille of that for FlashAttention-2
  std::int64_t steady;       // per mille of the clocks that power leaves to tensor cores that work on and on
};

// The same everywhere.
struct Common {
  std::int64_t start_ns;     // a kernel's start and end
  std::int64_t fill_ns;      // and of one that works on tiles: first loads, last stores
  std::int64_t exposed;      // per mille of a tile's store that nothing hides
  std::int64_t grouped;      // per mille of the matrix rate that products in groups have,
  std::int64_t group_ns;     // and the kernel before them that writes their addresses
  std::int64_t tail;         // per mille of the longest tile of causal attention that others wait for at the end,
  std::int64_t flash2_tail;  // and forward with FlashAttention-2, which does not begin with the longest
  std::int64_t triton;       // per mille of FlashAttention-2's rate that the first one in Triton has
  std::int64_t backward;     // per mille of attention's rate that its backward kernels have
  std::int64_t
      backward_fill;  // per mille of the time for a block of queries that a block of keys takes to begin and end
  std::int64_t resting_power;  // per mille of the power limit that does not depend on clocks,
  std::int64_t memory_power;   // and that kernels without tensor cores take
  std::int64_t tensor_share;   // per mille of a training step in which tensor cores work, where it is not known
  std::int64_t launch_ns;      // of the host, for an operator of PyTorch
};

struct Constants {
  std::vector<Generation> generations;
  Common common;
};

const Constants& constants();

// That of a GPU of this name; of unknown ones the last.
const Generation& generation_of(std::string_view gpu, const Constants& all = constants());

// A fitted number, wherever it stands.
struct Knob {
  std::string_view owner;
  std::string_view name;
  std::int64_t* value;
};
std::vector<Knob> knobs(Constants& all);

}  // namespace weft::compute
