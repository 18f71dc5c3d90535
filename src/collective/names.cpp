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
// NCCL's words for how near two devices are (src/graph/topo.cc), and nvidia-smi's for one of them.
constexpr std::string_view kLevelWords[] = {"loc", "nvl", "nvb", "c2c", "pix", "pxb", "p2c",
                                            "pxn", "phb", "sys", "net", "dis", "node"};

enum class Kind : std::uint8_t { algorithms, protocols, level, number, free };
struct Variable {
  std::string_view name;
  Kind kind;
};
// Those whose values are looked at here; NCCL reads what is no number as 0.
constexpr Variable kVariables[] = {
    {"NCCL_ALGO", Kind::algorithms},
    {"NCCL_PROTO", Kind::protocols},
    {"NCCL_P2P_LEVEL", Kind::level},
    {"NCCL_NET_GDR_LEVEL", Kind::level},
    {"NCCL_IB_GDR_LEVEL", Kind::level},
    {"NCCL_P2P_DISABLE", Kind::number},
    {"NCCL_SHM_DISABLE", Kind::number},
    {"NCCL_IB_DISABLE", Kind::number},
    {"NCCL_PXN_DISABLE", Kind::number},
    {"NCCL_NVLS_ENABLE", Kind::number},
    {"NCCL_MNNVL_ENABLE", Kind::number},
    {"NCCL_CUMEM_ENABLE", Kind::number},
    {"NCCL_COLLNET_ENABLE", Kind::number},
    {"NCCL_CROSS_NIC", Kind::number},
    {"NCCL_NET_GDR_READ", Kind::number},
    {"NCCL_MIN_NCHANNELS", Kind::number},
    {"NCCL_MAX_NCHANNELS", Kind::number},
    {"NCCL_MIN_NRINGS", Kind::number},
    {"NCCL_MAX_NRINGS", Kind::number},
    {"NCCL_MIN_CTAS", Kind::number},
    {"NCCL_MAX_CTAS", Kind::number},
    {"NCCL_NCHANNELS_PER_NET_PEER", Kind::number},
    {"NCCL_BUFFSIZE", Kind::number},
    {"NCCL_IB_QPS_PER_CONNECTION", Kind::number},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", Kind::number},
    {"NCCL_IB_PCI_RELAXED_ORDERING", Kind::number},
    {"NCCL_IB_TC", Kind::number},
    {"NCCL_IB_GID_INDEX", Kind::number},
    {"NCCL_SOCKET_NTHREADS", Kind::number},
    {"NCCL_NSOCKS_PERTHREAD", Kind::number},
    {"NCCL_NVLS_CHUNKSIZE", Kind::number},
    {"NCCL_NVLSTREE_MAX_CHUNKSIZE", Kind::number},
};

Kind kind_of(std::string_view variable) {
  const auto* found = std::find_if(std::begin(kVariables), std::end(kVariables),
                                   [&](const Variable& each) { return each.name == variable; });
  return found == std::end(kVariables) ? Kind::free : found->kind;
}

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
  });
}

// What NCCL's words for algorithms mean here: CollNet is the one that gives to switches at once.
std::string as_named(std::string_view word) {
  const std::string made = plain(word);
  return made == "collnetdirect" ? "collnet" : made;
}

}  // namespace

bool listed(std::string_view list, std::string_view name) {
  if (list.empty()) return true;
  const bool all_but = list.starts_with('^');
  if (all_but) list.remove_prefix(1);
  bool named = false;
  while (!list.empty() && !named) named = as_named(next_word(list)) == plain(name);
  return named != all_but;
}

std::string_view list_for(Operation operation, std::string_view value) {
  std::string_view of_all;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(';'), value.size());
    const std::string_view list = value.substr(0, end);
    value.remove_prefix(std::min(end + 1, value.size()));
    const std::size_t colon = list.find(':');
    if (colon == std::string_view::npos) of_all = list;
    if (colon != std::string_view::npos && plain(list.substr(0, colon)) == plain(name(operation)))
      return list.substr(colon + 1);
  }
  return of_all;
}

std::string_view not_modelled(std::string_view list) {
  if (list.empty() || list.starts_with('^')) return {};
  for (std::string_view rest = list; !rest.empty();)
    if (as_named(next_word(rest)) != "collnetchain") return {};
  return list;
}

std::string_view refused_word(std::string_view variable, std::string_view value) {
  const Kind kind = kind_of(variable);
  if (kind == Kind::free) return {};
  if (kind == Kind::number) return is_number(value) ? std::string_view{} : value;
  if (kind == Kind::level) {
    const bool known = std::find(std::begin(kLevelWords), std::end(kLevelWords), plain(value)) != std::end(kLevelWords);
    return known || is_number(value) ? std::string_view{} : value;
  }
  const auto words = kind == Kind::algorithms ? std::span<const std::string_view>(kAlgorithmWords) : kProtocolWords;
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

std::string_view words_for(std::string_view variable) {
  switch (kind_of(variable)) {
    case Kind::algorithms:
      return "Ring, Tree, NVLS, NVLSTree, CollnetDirect, CollnetChain or PAT";
    case Kind::protocols:
      return "LL, LL128 or Simple";
    case Kind::level:
      return "LOC, NVL, PIX, PXB, PHB or SYS";
    case Kind::number:
      return "a whole number";
    case Kind::free:
      return {};
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
