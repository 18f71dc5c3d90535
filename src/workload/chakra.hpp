#pragma once
// Execution traces of Chakra (MLCommons): a file for each rank, in which every message of the protobuf schema
// et_def.proto follows its length: GlobalMetadata, then nodes with what they need.
//
//   COMP_NODE        takes duration_micros; where that is 0, num_ops and tensor_size at the GPU's rates
//   MEM_*_NODE       tensor_size bytes in the GPU's memory
//   COMM_SEND, RECV  comm_size bytes from comm_src to comm_dst under comm_tag
//   COMM_COLL_NODE   comm_type of comm_size bytes, by the group pg_name; without one by all ranks
//
// A GPU computes one node at a time, and so does its CPU (is_cpu_op). comm_size is what a rank puts in, as ASTRA-sim
// and Chakra's converter of PyTorch traces have it: of an all-gather the part of one rank.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workload/graph.hpp"

namespace weft::workload {

// How fast a node without a duration is; 0: not known.
struct ChakraRates {
  double operations = 0;  // a second
  double bytes = 0;       // of memory, a second
};

// Ranks by the name of a group, as ASTRA-sim's communicator file has them.
using ChakraGroups = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;
// {"0": [0, 1, 2, 3], ...}
std::optional<ChakraGroups> read_chakra_groups(std::uint32_t source, spec::Diagnostics& diagnostics);

// `sources`: by rank. Groups that are not given have the ranks that name them.
Graph read_chakra(const std::vector<std::uint32_t>& sources, const ChakraGroups& groups, const ChakraRates& rates,
                  spec::Diagnostics& diagnostics);

}  // namespace weft::workload
