#include "measured/environment.hpp"

#include <algorithm>

#include "measured/trials.hpp"

namespace weft::measured {
namespace {

constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostName = 64;
constexpr std::size_t kMostValue = 256;

// Behind a value: "| 112.3 GB/s", " 198.4 +11%".
bool a_figure_follows(std::string_view rest) {
  const std::size_t at = rest.find_first_not_of(" \t|*`:->");
  if (at == std::string_view::npos || at == 0 || rest[at] < '0' || rest[at] > '9') return false;
  const std::string_view word = rest.substr(at, rest.find_first_of(" \t|*`,;", at) - at);
  const std::string_view behind = rest.substr(std::min(at + word.size(), rest.size()), 5);
  return word.find('.') != std::string_view::npos || behind.starts_with(" GB/s") || behind.starts_with(" Gb/s");
}

// A row of what was tried, one setting after another with what each gave: none of them is the job's.
bool is_list_of_trials(std::string_view line) {
  std::size_t with_figure = 0;
  for (std::size_t at = line.find("NCCL_"), tried = 0; at != std::string_view::npos && tried < kMostNames;
       at = line.find("NCCL_", at + 1), ++tried) {
    const std::size_t equals = line.find_first_of("= \t", at);
    if (equals == std::string_view::npos || line[equals] != '=') continue;
    const std::size_t end = line.find_first_of(" \t|*`,;", equals);
    with_figure += end != std::string_view::npos && a_figure_follows(line.substr(end));
  }
  return with_figure > 1 || (with_figure == 1 && line.starts_with('|'));
}

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
  if (is_list_of_trials(line)) return;
  for (const std::string_view part : without_trials(line))
    for (const std::string_view prefix : {"NCCL_", "FI_", "CUDA_"}) collect_named(prefix, part, out);
}

}  // namespace weft::measured
