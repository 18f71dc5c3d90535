#include "compute/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/wide.hpp"

namespace weft::compute {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;  // in ps
constexpr std::int64_t kLeastClocks = 300;           // per mille: below, a limit is not one that anybody sets
constexpr std::int64_t kBlock = 128;                 // queries, and keys, that attention works on at a time

std::int64_t divided_up(std::int64_t amount, std::int64_t parts) { return (amount + parts - 1) / parts; }

// Rounded up: no kernel beats its roofline.
Duration time_of(Wide work, Wide per_second, Wide per_mille) {
  const Wide rate = per_second * per_mille;
  return Duration(static_cast<std::int64_t>((work * kSecond * 1000 + rate - 1) / rate));
}

std::int64_t bits_of(Precision precision) {
  return precision == Precision::bf16 ? 16 : precision == Precision::nvfp4 ? 4 : 8;
}

// Sum of what is positive of first, first + 1, ... for so many terms.
std::int64_t ramp(std::int64_t first, std::int64_t terms) {
  const std::int64_t skipped = std::clamp<std::int64_t>(-first, 0, terms);
  const std::int64_t rest = terms - skipped;
  return rest * (2 * (first + skipped) + rest - 1) / 2;
}

// Keys that queries see: of all together, and of the one (or the block of them) that sees most.
struct Seen {
  std::int64_t all;
  std::int64_t most;
};

// Counted in queries and keys, or in blocks of both. `before`: keys that the first query sees beside its own.
Seen seen(std::int64_t queries, std::int64_t keys, std::int64_t before, bool causal, std::int64_t out_of_window) {
  if (!causal) return {queries * keys, keys};
  // The i-th sees up to i + 1 + before, and none that lies a window back.
  const std::int64_t all = ramp(before + 1, queries) - ramp(before + 1 - keys, queries) - ramp(out_of_window, queries);
  const std::int64_t most = std::min(queries + before, keys) - std::max<std::int64_t>(0, queries - 1 + out_of_window);
  return {all, most};
}

std::int64_t floor_divided(std::int64_t amount, std::int64_t parts) {
  return amount >= 0 ? amount / parts : -divided_up(-amount, parts);
}

std::int64_t window_of(const Attention& each) { return each.window > 0 ? std::min(each.window, each.keys) : each.keys; }

Seen seen_keys(const Attention& each) {
  const std::int64_t before = each.keys - each.queries;
  if (!each.causal) return {each.queries * window_of(each), window_of(each)};
  return seen(each.queries, each.keys, before, true, before - window_of(each) + 1);
}

// Kernels work on whole blocks.
Seen seen_blocks(const Attention& each) {
  const std::int64_t queries = divided_up(each.queries, kBlock), before = each.keys - each.queries;
  if (!each.causal) return seen(queries, divided_up(window_of(each), kBlock), 0, false, 0);
  return seen(queries, divided_up(each.keys, kBlock), divided_up(before, kBlock), true,
              floor_divided(before - window_of(each) + 1, kBlock));
}

// What attention reads and writes: before and after its products, or meanwhile.
struct Moved {
  std::int64_t exposed;
  std::int64_t hidden;
};

// Forward: queries and what comes out; keys and values. Backward: gradients beside both, that of queries summed up in
// 32 bits, and those of keys and values for every head, to be added where heads share them.
Moved moved(const Attention& each, bool backward) {
  const std::int64_t dims = each.head_dim + each.value_dim;
  const std::int64_t query = each.batch * each.heads * each.queries * dims;
  const std::int64_t key = 2 * each.batch * each.kv_heads * each.keys * dims;
  if (!backward) return {2 * query, key};
  const std::int64_t by_head = each.heads == each.kv_heads ? 0 : 2 * each.batch * each.heads * each.keys * dims;
  return {8 * query + 2 * by_head, 2 * key};
}

// Groups that a table of addresses describes.
bool in_tables(const Gemm& gemm) { return gemm.groups > 1 && !gemm.batched; }

std::int64_t share_of(Precision precision, const Generation& generation) {
  if (precision == Precision::nvfp4 && generation.fp4 != 0) return generation.fp4;
  return precision != Precision::bf16 && generation.fp8 != 0 ? generation.fp8 : generation.matrix;
}

// Per mille of what copying has, on an H200 with PyTorch 2.11 (truth/compute/h200_memory.csv, h200_step_kernels.csv).
std::int64_t share_of(Access access) {
  switch (access) {
    case Access::streaming:
      return 1000;
    case Access::activation:
      return 720;
    case Access::norm:
      return 620;
    case Access::norm_backward:
      return 390;
    case Access::softmax:
      return 450;
    case Access::widening:
      return 490;
    case Access::permutation:
      return 860;
    case Access::strided:
      return 370;
    case Access::slices:
      return 210;
    case Access::quantisation:
      return 390;
    case Access::block_quantisation:
      return 185;
    case Access::many_tensors:
      return 820;
  }
  return 1000;
}

// Clocks, per mille, at which the power of a mix of kernels is on average what is allowed. That of tensor cores goes
// with the cube of the clock, since voltage follows it; `steady` says how much they want.
std::int64_t clocks_of(std::int64_t power, std::int64_t tensor_share, std::int64_t steady, const Common& common) {
  const std::int64_t moving = 1000 - common.resting_power;
  const Wide left = Wide{1000} * power - Wide{1000 - tensor_share} * common.memory_power -
                    Wide{tensor_share} * common.resting_power;  // millionths of the limit
  const auto fits = [&](Wide clocks) {
    return Wide{tensor_share} * moving * clocks * clocks * clocks <= left * steady * steady * steady;
  };
  std::int64_t clocks = 1000;
  while (clocks > kLeastClocks && !fits(clocks)) --clocks;
  return clocks;
}

}  // namespace

std::int64_t flops_of(const Gemm& gemm) { return 2 * gemm.m * gemm.n * gemm.k * gemm.groups; }

std::int64_t forward_flops_of(const Attention& attention) {
  return 2 * attention.batch * attention.heads * seen_keys(attention).all * (attention.head_dim + attention.value_dim);
}

Bytes bytes_of(const Gemm& gemm) {
  const std::int64_t read = (gemm.m + gemm.n) * gemm.k * bits_of(gemm.precision) / 8;
  return Bytes(gemm.groups * (read + gemm.result_bytes * gemm.m * gemm.n));
}

Bytes bytes_of(const OptimizerStep& step) {
  // Parameter and moments are read and written in 32 bits. LAMB reads both again for the norms of its layers.
  const std::int64_t state = step.kind == Optimizer::sgd ? 8 : step.kind == Optimizer::adam ? 24 : 36;
  return Bytes(step.parameters * (state + step.gradient_bytes + step.copy_bytes));
}

Kernels::Kernels(const model::GpuKind& gpu, Load load, const Constants& constants)
    : generation_(generation_of(gpu.kind, constants)),
      common_(constants.common),
      power_(1000),
      clocks_(1000),
      bf16_(gpu.fp16_dense.value_or(Compute(kSecond))),
      fp8_(gpu.fp8_dense.value_or(bf16_)),
      fp4_(gpu.fp4_dense.value_or(fp8_)),
      memory_(gpu.memory_bandwidth.value_or(gigabits_per_second(8'000))),
      multiprocessors_(gpu.multiprocessors.value_or(100)) {
  const auto watts = static_cast<std::int64_t>(Wide{gpu.power.count()} * kSecond / bf16_.count());  // per PFLOP/s
  power_ = watts * 1000 / generation_.watts_per_pflop;
  if (load != Load::rested) *this = under(load == Load::steady ? 1000 : common_.tensor_share);
  const auto& measured = generation_.measured;
  if (!generation_.scaled.empty())
    basis_ = fmt::format("kernels of {} were not measured: {}'s, scaled by its rates", gpu.kind, generation_.scaled);
  else if (std::find(measured.begin(), measured.end(), gpu.kind) != measured.end())
    basis_ = fmt::format("kernels of {} were measured", gpu.kind);
  else
    basis_ = fmt::format("kernels of {} are those of {}, scaled by its rates", gpu.kind, measured.front());
}

Compute Kernels::peak(Precision precision) const {
  return precision == Precision::bf16 ? bf16_ : precision == Precision::nvfp4 ? fp4_ : fp8_;
}

Duration Kernels::memory_bound(Bytes moved, Access access) const {
  const Wide share = Wide{generation_.memory} * share_of(access);
  return nanoseconds(common_.start_ns) + time_of(Wide{moved.count()} * 8 * 1000, memory_.count(), share);
}

// Every multiprocessor works on one tile at a time, perhaps of a part of the sum over k, and all of them in waves.
Duration Kernels::tiled(const Gemm& gemm, Tile tile, std::int64_t split) const {
  const std::int64_t tiles = gemm.groups * split * divided_up(gemm.m, tile.rows) * divided_up(gemm.n, tile.columns);
  const std::int64_t waves = divided_up(tiles, multiprocessors_);
  std::int64_t share = share_of(gemm.precision, generation_);
  if (in_tables(gemm)) share = share * common_.grouped / 1000;
  const Wide products = Wide{2} * divided_up(gemm.k, split) *
                        (10 * tile.rows * tile.columns + generation_.tile_border * (tile.rows + tile.columns));
  const Duration busy = time_of(products * multiprocessors_ * 100, Wide{peak(gemm.precision).count()} * clocks_, share);
  const Duration store =
      time_of(Wide{8} * gemm.result_bytes * tile.rows * tile.columns * multiprocessors_ * common_.exposed,
              Wide{memory_.count()} * generation_.memory, 1000);
  Duration time = (busy + store + nanoseconds(generation_.tile_ns)) * waves;
  // Parts of a sum are written in 32 bits and added by another kernel.
  if (split > 1) time += memory_bound(Bytes(4 * split * gemm.groups * gemm.m * gemm.n));
  return time;
}

Duration Kernels::gemm(const Gemm& gemm) const {
  const auto [at, is_new] = kept_.products.try_emplace(gemm);
  if (is_new) at->second = untimed(gemm);
  return at->second;
}

Duration Kernels::untimed(const Gemm& gemm) const {
  Duration best{INT64_MAX};
  // Kernels for groups have the largest tiles only, and whole sums.
  const std::size_t tiles = in_tables(gemm) ? 2 : generation_.tiles.size();
  for (std::size_t tile = 0; tile < tiles; ++tile)
    for (const std::int64_t split : {1, 2, 4, 8})
      if (split == 1 || !in_tables(gemm)) best = std::min(best, tiled(gemm, generation_.tiles[tile], split));
  const Duration moved = time_of(Wide{compute::bytes_of(gemm).count()} * 8, memory_.count(), generation_.memory);
  const std::int64_t before = in_tables(gemm) ? common_.group_ns : 0;
  return nanoseconds(before + common_.start_ns + common_.fill_ns) + std::max(best, moved);
}

// A multiprocessor has a block of queries (backward: of keys) and goes through the blocks that it sees; products and
// exponentials of one block follow each other.
Duration Kernels::fused(const Attention& each, bool backward) const {
  const bool triton = each.kernel == AttentionKernel::triton;
  const bool flash2 = each.kernel == AttentionKernel::flash2 || triton;
  const std::int64_t share = (flash2 ? generation_.attention * generation_.flash2 / 1000 : generation_.attention) *
                             (backward ? common_.backward : 1000) / 1000 * (triton ? common_.triton : 1000) / 1000;
  // FlashAttention-2 has Ampere's instructions, for which exponentials are cheaper.
  const std::int64_t softmax =
      flash2 ? std::min<std::int64_t>(generation_.softmax_flops, 128) : generation_.softmax_flops;
  // Backward computes the scores again: five products instead of two.
  const std::int64_t products =
      backward ? 6 * each.head_dim + 4 * each.value_dim : 2 * (each.head_dim + each.value_dim);
  const Wide pair = Wide{products} * bf16_.count() / peak(each.precision).count() + softmax;
  const auto busy = [&](Wide blocks) {
    return time_of(blocks * kBlock * kBlock * pair * 1000, Wide{bf16_.count()} * clocks_, share);
  };
  const Seen blocks = seen_blocks(each);
  const std::int64_t heads = each.batch * each.heads;
  const std::int64_t tiles = heads * divided_up(each.queries, kBlock);
  const Duration begun = nanoseconds(generation_.tile_ns) +
                         (backward ? busy(multiprocessors_) * common_.backward_fill / 1000 : Duration{});
  const Duration longest = busy(Wide{blocks.most} * multiprocessors_) + begun;
  const Duration shared = busy(Wide{blocks.all} * heads) + begun * tiles / multiprocessors_;
  // Tiles of the same length come in waves; others fill the gaps but for the end.
  const Duration time =
      !each.causal
          ? longest * divided_up(tiles, multiprocessors_)
          : std::max(longest, shared + longest * (flash2 && !backward ? common_.flash2_tail : common_.tail) / 1000);
  const Moved bytes = moved(each, backward);
  const auto memory = [&](std::int64_t count) { return time_of(Wide{count} * 8, memory_.count(), generation_.memory); };
  return nanoseconds(common_.start_ns + common_.fill_ns) +
         std::max(time + memory(bytes.exposed), memory(bytes.exposed + bytes.hidden));
}

// Scores are written, and all of them, masked or not.
Duration Kernels::unfused(const Attention& each, bool backward) const {
  const std::int64_t heads = each.batch * each.heads, q = each.queries, k = each.keys;
  const std::int64_t scores = heads * q * k;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t over) {
    return gemm({m, n, over, heads, each.precision, true});
  };
  if (!backward)
    return product(q, k, each.head_dim) + memory_bound(Bytes(each.score_bytes * scores)) +
           product(q, each.value_dim, k);
  return product(q, k, each.value_dim) + product(k, each.value_dim, q) +
         memory_bound(Bytes(each.score_backward_bytes * scores)) + product(q, each.head_dim, k) +
         product(k, each.head_dim, q);
}

Duration Kernels::attention_forward(const Attention& attention) const {
  return attention.kernel == AttentionKernel::unfused ? unfused(attention, false) : fused(attention, false);
}

Duration Kernels::attention_backward(const Attention& attention) const {
  return attention.kernel == AttentionKernel::unfused ? unfused(attention, true) : fused(attention, true);
}

Duration Kernels::optimizer(const OptimizerStep& step) const {
  return memory_bound(compute::bytes_of(step), Access::many_tensors);
}

Duration Kernels::launch() const { return nanoseconds(common_.launch_ns); }

Duration Kernels::paced(Duration busy, std::int64_t kernels) const { return std::max(busy, launch() * kernels); }

Kernels Kernels::under(std::int64_t tensor_share) const {
  Kernels loaded = *this;
  loaded.clocks_ = clocks_of(power_, tensor_share, generation_.steady, common_);
  return loaded;
}

const Kernels& Kernels::loaded(std::int64_t tensor_share) const {
  auto& kept = kept_.loaded[clocks_of(power_, tensor_share, generation_.steady, common_)];
  if (kept == nullptr) kept = std::make_shared<const Kernels>(under(tensor_share));
  return *kept;
}

Kernels Kernels::beside(std::int64_t multiprocessors, Bandwidth memory) const {
  Kernels rest = *this;
  rest.multiprocessors_ = std::max<std::int64_t>(1, multiprocessors_ - multiprocessors);
  const auto left = [&](Compute all) {
    return Compute(static_cast<std::int64_t>(Wide{all.count()} * rest.multiprocessors_ / multiprocessors_));
  };
  rest.bf16_ = left(bf16_);
  rest.fp8_ = left(fp8_);
  rest.fp4_ = left(fp4_);
  rest.memory_ = std::max(memory_ - memory, memory_ / 10);
  return rest;
}

}  // namespace weft::compute
