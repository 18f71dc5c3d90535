#include "measured/profile.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace weft::measured {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostText = std::size_t{4} << 30;  // unpacked
constexpr std::size_t kMostEvents = 20'000'000;

// Microseconds, from the trace's beginning.
struct Interval {
  double start = 0;
  double end = 0;
};

bool contains(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Unpacked, where it begins as gzip does.
Result<std::string, std::string> unpacked(const std::string& bytes) {
  if (bytes.size() < 2 || static_cast<unsigned char>(bytes[0]) != 0x1F || static_cast<unsigned char>(bytes[1]) != 0x8B)
    return bytes;
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return tl::unexpected(std::string("cannot be unpacked"));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::vector<char> part(1 << 20);
  int state = Z_OK;
  while (state == Z_OK && out.size() <= kMostText) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > kMostText) return tl::unexpected(std::string("larger than 4 GiB when it is unpacked"));
  if (state != Z_STREAM_END) return tl::unexpected(std::string("is gzipped, and cut off or damaged"));
  return out;
}

double number(const Json& event, const char* key) {
  const auto at = event.find(key);
  return at != event.end() && at->is_number() ? at->get<double>() : 0;
}

std::string word(const Json& event, const char* key) {
  const auto at = event.find(key);
  return at != event.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// Bytes of an element, by PyTorch's name of its type.
std::uint64_t width_of(const std::string& type) {
  if (contains(type, {"Double", "Long", "double", "int64"})) return 8;
  if (contains(type, {"BFloat16", "Half", "bfloat16", "float16", "Short"})) return 2;
  if (contains(type, {"Byte", "Char", "Bool", "Float8", "uint8"})) return 1;
  return 4;
}

// Sorted, and those that touch made one.
std::vector<Interval> joined(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> out;
  for (const Interval& each : all)
    if (!out.empty() && each.start <= out.back().end)
      out.back().end = std::max(out.back().end, each.end);
    else
      out.push_back(each);
  return out;
}

double length(const std::vector<Interval>& all) {
  double sum = 0;
  for (const Interval& each : all) sum += each.end - each.start;
  return sum;
}

// Where both have something.
double common(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  double sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[k].end) - std::max(a[i].start, b[k].start));
    (a[i].end < b[k].end ? i : k) += 1;
  }
  return sum;
}

class Reading {
 public:
  // One of traceEvents.
  void event(const Json& event) {
    if (word(event, "ph") != "X") return;
    const std::string category = word(event, "cat");
    const std::string name = word(event, "name");
    const Interval when{number(event, "ts"), number(event, "ts") + number(event, "dur")};
    if (!(when.end >= when.start)) return;
    // The host's marks: the GPU's of the same name are shorter.
    if (name.starts_with("ProfilerStep#") && category == "user_annotation") marks_.push_back(when);
    const bool copy = category == "gpu_memcpy" || category == "gpu_memset";
    if (category != "kernel" && !copy) return;
    const KernelKind kind = copy ? KernelKind::copies : kind_of(name);
    ++out_.kernels;
    busy_[static_cast<std::size_t>(kind)] += when.end - when.start;
    span_ = span_ ? Interval{std::min(span_->start, when.start), std::max(span_->end, when.end)} : when;
    (kind == KernelKind::communication ? communicating_ : computing_).push_back(when);
    if (kind == KernelKind::communication) operation(event, name, when);
  }

  void about(const std::string& key, const Json& value) {
    if (key == "distributedInfo" && value.is_object()) {
      out_.rank = static_cast<std::int64_t>(number(value, "rank"));
      out_.ranks = static_cast<std::int64_t>(number(value, "world_size"));
    }
    if (key == "deviceProperties" && value.is_array() && !value.empty() && value[0].is_object())
      out_.gpu = word(value[0], "name");
  }

  Result<Profile, std::string> finish() {
    if (!span_) return tl::unexpected(std::string("has no kernels of a GPU: the profiler needs ProfilerActivity.CUDA"));
    out_.steps = static_cast<std::int64_t>(marks_.size());
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, out_.steps));
    const std::vector<Interval> computing = joined(std::move(computing_));
    const std::vector<Interval> communicating = joined(std::move(communicating_));
    double all = span_->end - span_->start;
    // From the first mark to the last one's end: kernels run behind the host, and end later.
    if (!marks_.empty()) {
      const std::vector<Interval> marks = joined(marks_);
      all = std::max(marks.back().end - marks.front().start, length(computing));
    }
    const double hidden = common(computing, communicating);
    out_.step = all / steps;
    for (std::size_t i = 0; i < kKernelKinds; ++i) out_.busy[i] = busy_[i] / steps;
    out_.computing = length(computing) / steps;
    out_.communicating = length(communicating) / steps;
    out_.exposed = (length(communicating) - hidden) / steps;
    out_.idle = std::max(0.0, out_.step - out_.computing - out_.exposed);
    return std::move(out_);
  }

 private:
  void operation(const Json& event, const std::string& name, const Interval& when) {
    const auto args = event.find("args");
    std::string called;
    std::uint64_t bytes = 0;
    if (args != event.end() && args->is_object()) {
      called = word(*args, "Collective name");
      const double elements = std::max(number(*args, "In msg nelems"), number(*args, "Out msg nelems"));
      if (elements > 0 && elements < 1e15)
        bytes = static_cast<std::uint64_t>(elements) * width_of(word(*args, "dtype"));
    }
    // Without the arguments: ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...).
    if (called.empty()) {
      const std::size_t begin = name.find("Kernel_");
      called = begin == std::string::npos ? "other"
                                          : name.substr(begin + 7, name.find_first_of("_(", begin + 7) - begin - 7);
    }
    ProfiledOperation& each = out_.operations[called];
    ++each.count;
    each.us += when.end - when.start;
    each.bytes += bytes;
  }

  Profile out_;
  std::array<double, kKernelKinds> busy_ = {};
  std::vector<Interval> computing_;
  std::vector<Interval> communicating_;
  std::vector<Interval> marks_;
  std::optional<Interval> span_;
};

}  // namespace

KernelKind kind_of(std::string_view kernel) {
  std::string lower;
  for (const char c : kernel) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (contains(lower, {"nccl"})) return KernelKind::communication;
  if (contains(lower, {"memcpy", "memset"})) return KernelKind::copies;
  if (contains(lower, {"flash", "fmha", "attention", "sdpa", "softmax_warp"}) && !contains(lower, {"layer_norm"}))
    return KernelKind::attention;
  if (contains(lower, {"gemm", "nvjet", "cutlass", "xmma", "cublas", "splitk", "wgrad", "matmul"}))
    return KernelKind::matrices;
  if (contains(lower, {"multi_tensor", "adam", "optimizer", "lamb"})) return KernelKind::optimizer;
  return KernelKind::elementwise;
}

Result<Profile, std::string> read_profile(const std::string& bytes) {
  const auto text = unpacked(bytes);
  if (!text) return tl::unexpected(text.error());
  Reading reading;
  std::size_t events = 0;
  std::string key;
  bool in_events = false;
  // Events are looked at as they come, and forgotten: a trace may be larger than memory would hold as values.
  const auto look = [&](int depth, Json::parse_event_t what, Json& value) {
    if (depth == 1 && what == Json::parse_event_t::key) {
      key = value.get<std::string>();
      in_events = key == "traceEvents";
      return true;
    }
    if (depth == 2 && what == Json::parse_event_t::object_end && in_events) {
      if (++events <= kMostEvents) reading.event(value);
      return false;
    }
    if (depth == 1 && (what == Json::parse_event_t::object_end || what == Json::parse_event_t::array_end))
      reading.about(key, value);
    return true;
  };
  const Json whole = Json::parse(text->begin(), text->end(), look, false);
  if (whole.is_discarded() && events == 0) return tl::unexpected(std::string("is no JSON, or not whole"));
  if (whole.is_discarded()) return tl::unexpected(std::string("is cut off: not whole JSON"));
  if (events == 0) return tl::unexpected(std::string("has no traceEvents: no trace of PyTorch's profiler"));
  if (events > kMostEvents)
    return tl::unexpected(fmt::format("has more than {} events: fewer steps in the profiler's schedule", kMostEvents));
  return reading.finish();
}

}  // namespace weft::measured
