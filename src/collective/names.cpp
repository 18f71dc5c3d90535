#include "collective/names.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace weft::collective {
namespace {

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '-' && c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

template <class Values>
auto named(std::string_view text, const Values& values) -> std::optional<typename Values::value_type> {
  const std::string wanted = plain(text);
  const auto found = std::find_if(values.begin(), values.end(), [&](auto each) { return plain(name(each)) == wanted; });
  if (found == values.end()) return std::nullopt;
  return *found;
}

}  // namespace

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::all_gather:
      return "all_gather";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::broadcast:
      return "broadcast";
    case Operation::reduce:
      return "reduce";
    case Operation::all_to_all:
      return "all_to_all";
    case Operation::send_recv:
      return "send_recv";
  }
  return "";
}

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "Ring";
    case Algorithm::tree:
      return "Tree";
    case Algorithm::nvls:
      return "NVLS";
    case Algorithm::nvls_tree:
      return "NVLSTree";
    case Algorithm::pat:
      return "PAT";
    case Algorithm::collnet:
      return "CollNet";
    case Algorithm::direct:
      return "Direct";
    case Algorithm::hierarchical:
      return "Hierarchical";
  }
  return "";
}

std::string_view name(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "";
}

std::optional<Operation> operation_named(std::string_view text) { return named(text, kOperations); }
std::optional<Algorithm> algorithm_named(std::string_view text) { return named(text, kAlgorithms); }
std::optional<Protocol> protocol_named(std::string_view text) { return named(text, kProtocols); }

namespace {

std::string_view next_word(std::string_view& list) {
  const std::size_t end = std::min(list.find(','), list.size());
  const std::string_view word = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return word;
}

constexpr std::string_view kAlgorithmWords[] = {"tree",         "ring", "collnet",  "collnetdirect",
                                                "collnetchain", "nvls", "nvlstree", "pat"};
constexpr std::string_view kProtocolWords[] = {"ll", "ll128", "simple"};

}  // namespace

bool listed(std::string_view list, std::string_view name) {
  if (list.empty()) return true;
  const bool all_but = list.starts_with('^');
  if (all_but) list.remove_prefix(1);
  bool named = false;
  while (!list.empty() && !named) named = plain(next_word(list)) == plain(name);
  return named != all_but;
}

std::string_view refused_word(std::string_view variable, std::string_view value) {
  const bool algorithms = variable == "NCCL_ALGO";
  if (!algorithms && variable != "NCCL_PROTO") return {};
  const auto words = algorithms ? std::span<const std::string_view>(kAlgorithmWords) : kProtocolWords;
  // "allreduce:ring,tree;broadcast:ring" has a list for each operation.
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(';'), value.size());
    std::string_view list = value.substr(0, end);
    value.remove_prefix(std::min(end + 1, value.size()));
    if (const std::size_t colon = list.find(':'); colon != std::string_view::npos) list.remove_prefix(colon + 1);
    if (list.starts_with('^')) list.remove_prefix(1);
    while (!list.empty()) {
      const std::string_view word = next_word(list);
      if (std::find(words.begin(), words.end(), plain(word)) == words.end()) return word;
    }
  }
  return {};
}

Ratio bus_factor(Operation operation, std::uint32_t ranks) {
  const std::int64_t n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return {2 * (n - 1), n};
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return {n - 1, n};
    default:
      return {1, 1};
  }
}

bool counts_parts(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all;
}

bool reduces(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter || operation == Operation::reduce;
}

}  // namespace weft::collective
