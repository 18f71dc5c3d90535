#include "kernel_tables.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/hash.hpp"

namespace weft::bench {
namespace {

using namespace compute;

// A line of a table, by the names of its columns.
class Line {
 public:
  Line(const std::map<std::string, std::size_t>& columns, std::vector<std::string> cells)
      : columns_(columns), cells_(std::move(cells)) {}

  std::string text(const std::string& column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() || found->second >= cells_.size() ? "" : cells_[found->second];
  }
  double real(const std::string& column) const { return std::atof(text(column).c_str()); }
  std::int64_t number(const std::string& column) const { return static_cast<std::int64_t>(real(column)); }

 private:
  const std::map<std::string, std::size_t>& columns_;
  std::vector<std::string> cells_;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::istringstream in(line); std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

std::string text_of(const std::filesystem::path& file) {
  if (file.extension() != ".gz") {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      ::popen(fmt::format("zcat '{}'", file.string()).c_str(), "r"), ::pclose);
  std::vector<char> part(1 << 16);
  for (std::size_t got; pipe && (got = std::fread(part.data(), 1, part.size(), pipe.get())) > 0;)
    text.append(part.data(), got);
  return text;
}

template <class Use>
void each_line(const std::filesystem::path& file, const Use& use) {
  std::map<std::string, std::size_t> columns;
  std::string line;
  for (std::istringstream in(text_of(file)); std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells = cells_of(line);
    if (columns.empty())
      for (std::size_t at = 0; at < cells.size(); ++at) columns[cells[at]] = at;
    else
      use(Line(columns, std::move(cells)));
  }
}

KernelRow gemm_row(const Gemm& gemm, double us) {
  return {fmt::format("{}x{}x{}x{} {}", gemm.m, gemm.n, gemm.k, gemm.groups, static_cast<int>(gemm.precision)), us,
          [gemm](const Kernels& kernels) { return kernels.gemm(gemm); }};
}

std::string shape_of(const Attention& each) {
  return fmt::format("{}x{}/{} {}x{} {} {} {}", each.batch, each.heads, each.kv_heads, each.queries, each.keys,
                     each.head_dim, each.causal, each.window);
}

KernelTable own_gemms(const std::string& directory, const std::string& kernel, Precision precision) {
  KernelTable table{
      "h200-sxm", fmt::format("{} {}", kernel, precision == Precision::bf16 ? "bf16" : "fp8"), Load::steady, {}};
  each_line(directory + "/h200_gemm.csv", [&](const Line& line) {
    if (line.text("kernel") != kernel || (line.text("precision") == "bf16") != (precision == Precision::bf16)) return;
    table.rows.push_back(
        gemm_row({line.number("m"), line.number("n"), line.number("k"), line.number("groups"), precision},
                 line.real("time_us")));
  });
  return table;
}

KernelTable own_attention(const std::string& directory, const std::string& kernel, bool backward) {
  KernelTable table{"h200-sxm", fmt::format("{} {}", kernel, backward ? "backward" : "forward"), Load::steady, {}};
  each_line(directory + "/h200_attention.csv", [&](const Line& line) {
    if (line.text("kernel") != kernel || (line.text("direction") == "backward") != backward) return;
    Attention shape{line.number("batch"),     line.number("heads"),      line.number("kv_heads"),
                    line.number("queries"),   line.number("keys"),       line.number("head_dim"),
                    line.number("value_dim"), line.number("causal") != 0};
    shape.kernel = kernel == "flash2" ? AttentionKernel::flash2 : AttentionKernel::cudnn;
    table.rows.push_back({shape_of(shape), line.real("time_us"), [shape, backward](const Kernels& kernels) {
                            return backward ? kernels.attention_backward(shape) : kernels.attention_forward(shape);
                          }});
  });
  return table;
}

const std::map<std::string, Access>& accesses() {
  static const std::map<std::string, Access> all = {{"copy", Access::streaming},
                                                    {"add", Access::streaming},
                                                    {"multiply", Access::streaming},
                                                    {"silu", Access::streaming},
                                                    {"silu_backward", Access::streaming},
                                                    {"gelu", Access::activation},
                                                    {"gelu_backward", Access::activation},
                                                    {"dropout", Access::activation},
                                                    {"to_fp8", Access::activation},
                                                    {"largest", Access::activation},
                                                    {"fused_swiglu", Access::activation},
                                                    {"fused_swiglu_backward", Access::activation},
                                                    {"to_fp32", Access::widening},
                                                    {"rms_norm", Access::norm},
                                                    {"layer_norm", Access::norm},
                                                    {"rms_norm_backward", Access::norm_backward},
                                                    {"layer_norm_backward", Access::norm_backward},
                                                    {"softmax", Access::softmax},
                                                    {"softmax_backward", Access::softmax},
                                                    {"permute_rows", Access::permutation},
                                                    {"fused_quantise_rows", Access::quantisation},
                                                    {"fused_quantise_blocks", Access::block_quantisation}};
  return all;
}

std::string kind_of(Access access) {
  switch (access) {
    case Access::norm:
    case Access::norm_backward:
      return "norms";
    case Access::quantisation:
    case Access::block_quantisation:
      return "quantisation";
    default:
      return "element-wise, softmax, permutation";
  }
}

std::vector<KernelTable> own_memory(const std::string& directory) {
  std::map<std::string, KernelTable> tables;
  each_line(directory + "/h200_memory.csv", [&](const Line& line) {
    const std::string kernel = line.text("kernel");
    const Access access = accesses().at(kernel);
    const Bytes bytes(line.number("bytes"));
    KernelTable& table = tables[kind_of(access)];
    table.rows.push_back({fmt::format("{} {}x{}", kernel, line.text("rows"), line.text("columns")),
                          line.real("time_us"),
                          [=](const Kernels& kernels) { return kernels.memory_bound(bytes, access); }});
  });
  std::vector<KernelTable> all;
  for (auto& [kind, table] : tables) all.push_back({"h200-sxm", kind, Load::steady, std::move(table.rows)});
  return all;
}

KernelTable own_optimizers(const std::string& directory) {
  KernelTable table{"h200-sxm", "optimizers", Load::steady, {}};
  each_line(directory + "/h200_optimizer.csv", [&](const Line& line) {
    const Bytes bytes(line.number("bytes"));
    table.rows.push_back({line.text("kernel") + line.text("parameters") + line.text("tensors"), line.real("time_us"),
                          [=](const Kernels& kernels) { return kernels.memory_bound(bytes, Access::many_tensors); }});
  });
  return table;
}

// The kernels of bench/measure_kernels.py's model, as PyTorch runs them eagerly.
struct StepShape {
  std::int64_t layers, width, heads, kv_heads, hidden, vocabulary, batch, sequence, parameters;
  std::int64_t tokens() const { return batch * sequence; }
};

Duration linear(const Kernels& kernels, std::int64_t tokens, std::int64_t out, std::int64_t in) {
  return kernels.gemm({tokens, out, in}) + kernels.gemm({tokens, in, out}) + kernels.gemm({out, in, tokens});
}

// x * cos + cat(-b, a) * sin, and backward.
Duration rotary(const Kernels& kernels, std::int64_t elements) {
  const auto strided = [&](std::int64_t bytes) {
    return kernels.memory_bound(Bytes(bytes * elements), Access::strided);
  };
  const Duration slices = kernels.memory_bound(Bytes(4 * elements), Access::slices);
  return (strided(4) * 2 + strided(2) + strided(6) + slices) * 2;
}

Duration layer_products(const StepShape& step, const Kernels& kernels) {
  const std::int64_t tokens = step.tokens(), dim = step.width / step.heads;
  const std::int64_t qkv = (step.heads + 2 * step.kv_heads) * dim;
  const Attention attention{step.batch, step.heads, step.kv_heads, step.sequence, step.sequence, dim, dim};
  return linear(kernels, tokens, qkv, step.width) + linear(kernels, tokens, step.width, step.width) +
         linear(kernels, tokens, 2 * step.hidden, step.width) + linear(kernels, tokens, step.width, step.hidden) +
         kernels.attention_forward(attention) + kernels.attention_backward(attention);
}

// What is bound by memory.
Duration layer_rest(const StepShape& step, const Kernels& kernels) {
  const std::int64_t tokens = step.tokens(), dim = step.width / step.heads;
  const std::int64_t qkv = (step.heads + 2 * step.kv_heads) * dim, hidden = tokens * step.hidden;
  const auto moved = [&](std::int64_t bytes, Access access) { return kernels.memory_bound(Bytes(bytes), access); };
  Duration time =
      (moved(4 * tokens * step.width, Access::norm) + moved(6 * tokens * step.width, Access::norm_backward)) * 2;
  time += moved(6 * tokens * step.width, Access::streaming) * 4;  // residuals
  time += rotary(kernels, tokens * step.width) + rotary(kernels, tokens * step.kv_heads * dim);
  // Gradients of queries, keys and values are put together, and transposed.
  time += moved(4 * tokens * qkv, Access::slices) + moved(4 * tokens * qkv, Access::strided);
  // Gate and up are halves of one tensor.
  time += moved(4 * hidden, Access::strided) + moved(6 * hidden, Access::strided) * 3 +
          moved(6 * hidden, Access::streaming) + moved(8 * hidden, Access::streaming);
  return time;
}

Duration step_rest(const StepShape& step, const Kernels& kernels) {
  const std::int64_t tokens = step.tokens(), logits = tokens * step.vocabulary;
  const auto moved = [&](std::int64_t bytes, Access access) { return kernels.memory_bound(Bytes(bytes), access); };
  Duration time = layer_rest(step, kernels) * step.layers;
  time += moved(4 * tokens * step.width, Access::norm) + moved(6 * tokens * step.width, Access::norm_backward);
  // Logits in 32 bits, their softmax forward and backward, zeros for the gradient of the loss, and back to 16 bits.
  time += moved(6 * logits, Access::widening) + moved(8 * logits, Access::norm) + moved(12 * logits, Access::norm) +
          moved(4 * logits, Access::streaming) + moved(6 * logits, Access::streaming);
  time += kernels.optimizer({step.parameters, Optimizer::adam, 4, 0});
  time += moved(6 * step.parameters, Access::many_tensors) * 2;  // gradients to 32 bits, parameters back to 16
  return time;
}

Duration step_time(const StepShape& step, const Kernels& kernels) {
  const auto products = [&](const Kernels& loaded) {
    return layer_products(step, loaded) * step.layers + linear(loaded, step.tokens(), step.vocabulary, step.width);
  };
  // Clocks follow from how long tensor cores work, and that from clocks.
  const Duration rest = step_rest(step, kernels), guess = products(kernels);
  return rest + products(kernels.under(guess.count() / ((guess + rest).count() / 1000)));
}

struct Published {
  std::string begin;  // of the files' names
  std::string gpu;
  std::int64_t multiprocessors;
};

// Products of sizes that training has; sides below that are decoding's, where other kernels are used.
constexpr std::int64_t kLeastSide = 256;
constexpr std::int64_t kLeastSequence = 512;

// vLLM quantises what comes in before each product of fewer bits. To 8 it does so row by row, each in a block of
// threads of its own, which takes some ns for every row; so only products are taken that last longer: those with many
// columns.
constexpr std::int64_t kLeastQuantised = 4096;
KernelRow quantised_row(const Gemm& gemm, double us) {
  KernelRow row = gemm_row(gemm, us);
  row.time = [gemm](const Kernels& kernels) {
    const Duration before =
        gemm.precision == Precision::nvfp4
            ? kernels.memory_bound(Bytes(5 * gemm.m * gemm.k / 2), Access::activation)
            : kernels.memory_bound(Bytes(3 * gemm.m * gemm.k), Access::quantisation) + Duration(5'500) * gemm.m;
    return before + kernels.gemm(gemm);
  };
  return row;
}

KernelTable published_gemms(const std::string& file, const std::string& gpu, const std::string& dtype) {
  KernelTable table{gpu, fmt::format("gemm {}, vLLM", dtype == "bfloat16" ? "bf16" : dtype), Load::rested, {}};
  const Precision precision = dtype == "bfloat16" ? Precision::bf16
                              : dtype == "fp8"    ? Precision::fp8
                                                  : Precision::nvfp4;
  each_line(file, [&](const Line& line) {
    const Gemm gemm{line.number("m"), line.number("n"), line.number("k"), 1, precision};
    if (line.text("gemm_dtype") != dtype || std::min({gemm.m, gemm.n, gemm.k}) < kLeastSide) return;
    if (precision != Precision::bf16 && gemm.n < kLeastQuantised) return;
    const double us = line.real("latency") * 1000;
    table.rows.push_back(precision == Precision::bf16 ? gemm_row(gemm, us) : quantised_row(gemm, us));
  });
  table.fitted = dtype == "bfloat16" || gpu == "b200";  // Hopper's 8 bits are cuBLAS's, which was measured
  return table;
}

KernelTable published_attention(const std::string& file, const std::string& gpu, std::int64_t multiprocessors,
                                bool window) {
  const bool pages = !gpu.starts_with("a100");
  KernelTable table{gpu, window ? "attention in a window, vLLM" : "attention, vLLM", Load::rested, {}};
  each_line(file, [&](const Line& line) {
    const std::int64_t tokens = line.number("isl"), dim = line.number("head_dim");
    if (line.text("kv_cache_dtype") != "bfloat16" || tokens < kLeastSequence || dim > 256) return;
    if ((line.number("window_size") != 0) != window) return;
    Attention shape{line.number("batch_size"),
                    line.number("num_heads"),
                    line.number("num_key_value_heads"),
                    tokens,
                    tokens,
                    dim,
                    dim,
                    true,
                    line.number("window_size")};
    shape.kernel = pages ? AttentionKernel::flash3 : AttentionKernel::flash2;
    // vLLM writes keys and values to pages first, by another kernel; its kernel of 0.24 looks up pages for every block.
    const std::int64_t blocks = shape.batch * shape.heads * ((tokens + 127) / 128);
    const Bytes cached(8 * shape.batch * shape.kv_heads * tokens * dim);
    const Duration paging = pages ? microseconds(8) + nanoseconds(1500) * blocks / multiprocessors : Duration{};
    table.rows.push_back({shape_of(shape), line.real("latency") * 1000, [=](const Kernels& kernels) {
                            return kernels.attention_forward(shape) + kernels.memory_bound(cached, Access::widening) +
                                   paging;
                          }});
  });
  table.fitted = !window;
  return table;
}

// Linear layers of Llama-2-70B, cut over 1 to 8 GPUs; the profiler's steps of 1 us make short ones coarse.
KernelTable vidur_gemms(const std::string& file, const std::string& gpu) {
  KernelTable table{gpu, "gemm bf16, Vidur", Load::steady, {}};
  each_line(file, [&](const Line& line) {
    const std::int64_t tokens = line.number("num_tokens"), parts = line.number("num_tensor_parallel_workers");
    const std::int64_t width = line.number("n_embd"), hidden = line.number("n_expanded_embd");
    const std::int64_t dim = width / line.number("n_head");
    const std::int64_t qkv = (line.number("n_head") + 2 * line.number("n_kv_head")) * dim;
    if (tokens < kLeastSide) return;
    const auto add = [&](const std::string& name, std::int64_t n, std::int64_t k) {
      table.rows.push_back(gemm_row({tokens, n, k}, line.real("time_stats." + name + ".median") * 1000));
    };
    add("attn_pre_proj", qkv / parts, width);
    add("attn_post_proj", width, width / parts);
    add("mlp_up_proj", 2 * hidden / parts, width);
    add("mlp_down_proj", width, hidden / parts);
  });
  return table;
}

// Residuals.
KernelTable vidur_adds(const std::string& file, const std::string& gpu) {
  KernelTable table{gpu, "element-wise, Vidur", Load::steady, {}};
  each_line(file, [&](const Line& line) {
    const Bytes bytes(6 * line.number("num_tokens") * line.number("n_embd"));
    if (line.number("num_tokens") < 1024) return;
    table.rows.push_back({fmt::format("add {}", bytes.count()), line.real("time_stats.add.median") * 1000,
                          [=](const Kernels& kernels) { return kernels.memory_bound(bytes); }});
  });
  table.fitted = gpu.starts_with("a100");  // most of these tensors stay in H100's larger cache
  return table;
}

std::string named(const std::string& directory, const std::string& begin, const std::string& end) {
  std::error_code fault;
  for (const auto& each : std::filesystem::directory_iterator(directory, fault)) {
    const std::string name = each.path().filename();
    if (name.starts_with(begin) && name.ends_with(end)) return each.path();
  }
  return "";
}

}  // namespace

bool KernelRow::left_out() const {
  std::uint64_t hash = 0;
  for (const char letter : shape) hash = mix64(hash ^ static_cast<unsigned char>(letter));
  return hash % 4 == 0;
}

std::vector<KernelTable> own_tables(const std::string& directory) {
  std::vector<KernelTable> all = {
      own_gemms(directory, "gemm", Precision::bf16), own_gemms(directory, "gemm", Precision::fp8),
      own_gemms(directory, "grouped", Precision::bf16), own_gemms(directory, "batched", Precision::bf16)};
  for (const char* kernel : {"flash2", "cudnn"})
    for (const bool backward : {false, true}) all.push_back(own_attention(directory, kernel, backward));
  for (KernelTable& table : own_memory(directory)) all.push_back(std::move(table));
  all.push_back(own_optimizers(directory));
  return all;
}

std::vector<KernelTable> step_tables(const std::string& directory) {
  std::vector<KernelTable> all;
  const auto add = [&](const Line& line) {
    const StepShape step{line.number("layers"),   line.number("width"),    line.number("heads"),
                         line.number("kv_heads"), line.number("hidden"),   line.number("vocabulary"),
                         line.number("batch"),    line.number("sequence"), line.number("parameters")};
    all.push_back({"h200-sxm", "step, " + line.text("model"), Load::training, {}});
    all.back().rows.push_back({line.text("model"), line.real("step_ms") * 1000,
                               [step](const Kernels& kernels) { return step_time(step, kernels); }});
  };
  each_line(directory + "/h200_steps.csv", add);
  each_line(directory + "/h200_steps_left_out.csv", add);
  return all;
}

std::vector<KernelTable> published_tables(const std::string& directory) {
  std::vector<KernelTable> all;
  for (const auto& [begin, gpu, multiprocessors] :
       {Published{"a100_sxm", "a100-80-sxm", 108}, Published{"h100_sxm", "h100-sxm", 132},
        Published{"h200_sxm", "h200-sxm", 132}, Published{"b200_sxm", "b200", 148}}) {
    const std::string gemms = named(directory, begin, "gemm_perf.csv.gz");
    const std::string attention = named(directory, begin, "context_attention_perf.csv.gz");
    for (const char* dtype : {"bfloat16", "fp8", "nvfp4"}) all.push_back(published_gemms(gemms, gpu, dtype));
    for (const bool window : {false, true}) all.push_back(published_attention(attention, gpu, multiprocessors, window));
  }
  for (const auto& [begin, gpu] : {std::pair{"vidur_a100", "a100-80-sxm"}, std::pair{"vidur_h100", "h100-sxm"}}) {
    all.push_back(vidur_gemms(named(directory, begin, ".gz"), gpu));
    all.push_back(vidur_adds(named(directory, begin, ".gz"), gpu));
  }
  std::erase_if(all, [](const KernelTable& table) { return table.rows.empty(); });
  return all;
}

}  // namespace weft::bench
