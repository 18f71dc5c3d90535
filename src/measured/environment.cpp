#include "measured/environment.hpp"

namespace weft::measured {
namespace {

constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostName = 64;
constexpr std::size_t kMostValue = 256;

void collect_named(std::string_view prefix, std::string_view line, std::map<std::string, std::string>& out) {
  constexpr std::string_view kSaid = " set by environment to ";
  constexpr std::string_view kTaken = " set to ";
  const auto inner = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  std::size_t tried = 0;  // a line that repeats one name costs no more than one with as many as are kept
  for (std::size_t at = line.find(prefix);
       at != std::string_view::npos && out.size() < kMostNames && tried < kMostNames;
       at = line.find(prefix, at + prefix.size()), ++tried) {
    if (at > 0 && inner(line[at - 1])) continue;  // the end of another name
    std::size_t end = at;
    while (end < line.size() && end < at + kMostName && inner(line[end])) ++end;
    const std::string_view rest = line.substr(end, kSaid.size() + kMostValue);
    std::string_view value;
    if (rest.starts_with('=')) {
      value = rest.substr(1, rest.find_first_of(" \t;\"'`") - 1);
    } else if (rest.starts_with(kSaid)) {
      value = rest.substr(kSaid.size(), rest.find_first_of(" \t;", kSaid.size()) - kSaid.size());
    } else if (rest.starts_with(kTaken)) {
      value = rest.substr(kTaken.size(), rest.find_first_of(" \t;", kTaken.size()) - kTaken.size());
    }
    // A comma within is of a list, such as NCCL_IB_HCA's.
    while (value.ends_with('.') || value.ends_with(')') || value.ends_with(',')) value.remove_suffix(1);
    if (!value.empty()) out[std::string(line.substr(at, end - at))] = value;
  }
}

}  // namespace

void collect_environment(std::string_view line, std::map<std::string, std::string>& out) {
  for (const std::string_view prefix : {"NCCL_", "FI_", "CUDA_"}) collect_named(prefix, line, out);
}

}  // namespace weft::measured
