#pragma once
// For which GPUs, operations, sizes and numbers of servers there are published measurements among the tables of truth/:
// elsewhere the model is extrapolated, and a result says so.

#include <span>
#include <string>

#include "collective/names.hpp"
#include "collective/team.hpp"

namespace weft::collective {

struct Validated {
  std::string_view generation;
  Operation operation;
  std::uint32_t domains;  // servers or racks, at most
  std::uint64_t least;    // bytes
  std::uint64_t most;
  bool several_domains() const { return domains > 1; }
};
// A test compares them with the tables.
std::span<const Validated> validated();

// Empty, or what no table tells: "no published table of all_to_all on Hopper within a server".
std::string not_validated(const Team& team, Operation operation, std::uint64_t bytes);

}  // namespace weft::collective
