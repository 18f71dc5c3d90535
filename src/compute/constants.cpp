#include "compute/constants.hpp"

#include <algorithm>

namespace weft::compute {
namespace {

// Tiles of CUTLASS and cuBLAS kernels of a generation: the largest that its registers or tensor memory hold, and less.
const std::vector<Tile> kAmpereTiles = {{256, 128}, {128, 256}, {128, 128}, {64, 256},
                                        {256, 64},  {128, 64},  {64, 128},  {64, 64}};
const std::vector<Tile> kHopperTiles = {{256, 128}, {128, 256}, {320, 128}, {128, 320}, {192, 192},
                                        {128, 192}, {192, 128}, {128, 128}, {128, 64},  {64, 128},
                                        {256, 64},  {64, 256},  {64, 64}};
const std::vector<Tile> kBlackwellTiles = {{256, 256}, {256, 192}, {192, 256}, {256, 128}, {128, 256},
                                           {128, 192}, {192, 128}, {128, 128}, {128, 64},  {64, 128},
                                           {256, 64},  {64, 256},  {64, 64}};

// Tensor cores of a multiprocessor do 2,048 (Ampere), 4,096 (Hopper) and 8,192 (Blackwell) operations in 16 bits per
// clock, and its special function units 16 exponentials (CUDA C++ Programming Guide, arithmetic throughput).
// Blackwell under steady load was not measured: `steady` follows from whole steps of Megatron-Bridge on B200, GB200 and
// GB300 (truth/training), which differ in watts; FlashAttention-2 has half of Hopper's share there, since the peak has
// doubled and its instructions have not become faster.
Constants make() {
  Constants all;
  all.generations = {
      {.name = "Ampere",
       .gpus = {"a100"},
       .measured = {"a100-80-sxm"},
       .scaled = "",
       .tiles = kAmpereTiles,
       .softmax_flops = 128,
       .watts_per_pflop = 1282,
       .matrix = 960,
       .fp8 = 0,
       .fp4 = 0,
       .tile_border = 36,
       .tile_ns = 1'991,
       .memory = 893,
       .attention = 760,
       .flash2 = 1000,
       .steady = 847},
      {.name = "Hopper",
       .gpus = {"h100", "h200", "h800"},
       .measured = {"h100-sxm", "h200-sxm"},
       .scaled = "",
       .tiles = kHopperTiles,
       .softmax_flops = 256,
       .watts_per_pflop = 708,
       .matrix = 900,
       .fp8 = 782,
       .fp4 = 0,
       .tile_border = 49,
       .tile_ns = 328,
       .memory = 863,
       .attention = 1050,
       .flash2 = 500,
       .steady = 855},
      {.name = "Blackwell",
       .gpus = {"b200", "gb200", "b300", "gb300"},
       .measured = {"b200"},
       .scaled = "",
       .tiles = kBlackwellTiles,
       .softmax_flops = 512,
       .watts_per_pflop = 444,
       .matrix = 947,
       .fp8 = 834,
       .fp4 = 631,
       .tile_border = 173,
       .tile_ns = 489,
       .memory = 850,
       .attention = 1170,
       .flash2 = 250,
       .steady = 760},
  };
  // AWS publishes no kernel times. NeuronCores work on tiles of 128 x 512; everything else is Hopper's.
  Generation trainium = all.generations[1];
  trainium.name = "Trainium";
  trainium.gpus = {"trainium"};
  trainium.measured = {};
  trainium.scaled = "Hopper";
  trainium.tiles = {{128, 512}, {128, 128}};
  Generation unknown = all.generations[1];
  unknown.name = "unknown";
  unknown.gpus = {};
  unknown.measured = {};
  unknown.scaled = "Hopper";
  all.generations.push_back(trainium);
  all.generations.push_back(unknown);
  all.common = {.start_ns = 1'000,
                .fill_ns = 1'470,
                .exposed = 392,
                .grouped = 920,
                .group_ns = 9'460,
                .tail = 400,
                .flash2_tail = 503,
                .triton = 710,  // "1.3 to 1.5 times faster": FlashAttention-2's paper and README
                .backward = 760,
                .backward_fill = 1'440,
                .resting_power = 176,
                .memory_power = 450,
                .tensor_share = 700,
                .launch_ns = 11'700};
  return all;
}

}  // namespace

const Constants& constants() {
  static const Constants all = make();
  return all;
}

const Generation& generation_of(std::string_view gpu, const Constants& all) {
  const auto found = std::find_if(all.generations.begin(), all.generations.end(), [&](const Generation& each) {
    return std::any_of(each.gpus.begin(), each.gpus.end(),
                       [&](std::string_view name) { return gpu.starts_with(name); });
  });
  return found == all.generations.end() ? all.generations.back() : *found;
}

std::vector<Knob> knobs(Constants& all) {
  std::vector<Knob> found;
  for (Generation& each : all.generations)
    if (each.scaled.empty())
      for (const auto& [name, value] : std::vector<std::pair<std::string_view, std::int64_t Generation::*>>{
               {"matrix", &Generation::matrix},
               {"fp8", &Generation::fp8},
               {"fp4", &Generation::fp4},
               {"tile_border", &Generation::tile_border},
               {"tile_ns", &Generation::tile_ns},
               {"memory", &Generation::memory},
               {"attention", &Generation::attention},
               {"flash2", &Generation::flash2},
               {"steady", &Generation::steady}})
        if (each.*value != 0) found.push_back({each.name, name, &(each.*value)});
  for (const auto& [name, value] :
       std::vector<std::pair<std::string_view, std::int64_t Common::*>>{{"start_ns", &Common::start_ns},
                                                                        {"fill_ns", &Common::fill_ns},
                                                                        {"exposed", &Common::exposed},
                                                                        {"grouped", &Common::grouped},
                                                                        {"group_ns", &Common::group_ns},
                                                                        {"tail", &Common::tail},
                                                                        {"flash2_tail", &Common::flash2_tail},
                                                                        {"backward", &Common::backward},
                                                                        {"backward_fill", &Common::backward_fill}})
    found.push_back({"all", name, &(all.common.*value)});
  return found;
}

}  // namespace weft::compute
