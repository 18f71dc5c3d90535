#pragma once
// What a collective is called and how nccl-tests counts its bandwidth.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ranges.hpp"

namespace weft::collective {

enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_recv
};
enum class Algorithm : std::uint8_t { ring, tree, nvls, nvls_tree, pat, collnet, direct, hierarchical };
enum class Protocol : std::uint8_t { ll, ll128, simple };

inline constexpr std::array kOperations = {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                                           Operation::broadcast,  Operation::reduce,     Operation::all_to_all,
                                           Operation::send_recv};
inline constexpr std::array kAlgorithms = {Algorithm::ring,      Algorithm::tree,        Algorithm::nvls,
                                           Algorithm::nvls_tree, Algorithm::pat,         Algorithm::collnet,
                                           Algorithm::direct,    Algorithm::hierarchical};
inline constexpr std::array kProtocols = {Protocol::ll, Protocol::ll128, Protocol::simple};

std::string_view name(Operation operation);  // all_reduce, as in the cluster file
std::string_view name(Algorithm algorithm);  // NVLSTree, as NCCL_ALGO
std::string_view name(Protocol protocol);    // LL128, as NCCL_PROTO
// Either case; words may be joined by '-' or '_'.
std::optional<Operation> operation_named(std::string_view text);
std::optional<Algorithm> algorithm_named(std::string_view text);
std::optional<Protocol> protocol_named(std::string_view text);

// What NCCL_ALGO, NCCL_PROTO and NCCL_NVLS_ENABLE leave, each as `value_of` has it (empty: not set): names between
// commas, or with ^ all but those.
template <class ValueOf>
bool allowed(Algorithm algorithm, Protocol protocol, const ValueOf& value_of);
bool listed(std::string_view list, std::string_view name);
// Of NCCL_ALGO and NCCL_PROTO, what is said for an operation: "ring;allreduce:tree" has a list of its own for one.
std::string_view list_for(Operation operation, std::string_view value);
// The first word of a value that NCCL would refuse or read as 0; empty: none. Of variables that are not known here,
// none.
std::string_view refused_word(std::string_view variable, std::string_view value);
std::string_view words_for(std::string_view variable);  // that there are, of one that has refused a word
// Algorithms of NCCL's that are not timed here, where it is left nothing else; empty: it has others.
std::string_view not_modelled(std::string_view list);

// busbw = algbw x this, over n ranks (nccl-tests, PERFORMANCE.md).
Ratio bus_factor(Operation operation, std::uint32_t ranks);

// nccl-tests' size is that of the larger buffer. Where each rank has a part of it, the count column has the part's.
bool counts_parts(Operation operation);
bool reduces(Operation operation);

template <class ValueOf>
bool allowed(Algorithm algorithm, Protocol protocol, const ValueOf& value_of) {
  const bool nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  return listed(value_of("NCCL_ALGO"), name(algorithm)) && listed(value_of("NCCL_PROTO"), name(protocol)) &&
         !(nvls && value_of("NCCL_NVLS_ENABLE") == "0");
}

}  // namespace weft::collective
