#include "collective/validated.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "base/units.hpp"
#include "collective/constants.hpp"

namespace weft::collective {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

constexpr std::array kValidated = {
    Validated{"Ampere", Operation::all_gather, 1, 32, 8 * kGiB},
    Validated{"Ampere", Operation::all_reduce, 1, 4, 8 * kGiB},
    Validated{"Ampere", Operation::all_reduce, 2, 8, 8 * kGiB},
    Validated{"Ampere", Operation::reduce, 1, 4, 8 * kGiB},
    Validated{"Hopper", Operation::all_gather, 2, 1024, 8 * kGiB},
    Validated{"Hopper", Operation::all_reduce, 1, 8, 16 * kGiB},
    Validated{"Hopper", Operation::all_reduce, 8, 8, 16 * kGiB},
    Validated{"Blackwell", Operation::all_reduce, 1, 8 * kGiB, 8 * kGiB},
    Validated{"Blackwell", Operation::all_reduce, 4, 8, 16 * kGiB},
    Validated{"Blackwell", Operation::all_to_all, 1, 8 * kGiB, 8 * kGiB},
    Validated{"Blackwell", Operation::all_to_all, 2, 8 * kGiB, 8 * kGiB},
    // Below 512 MiB of four GPUs only, which have no use for the switches that reduce.
    Validated{"Blackwell in racks", Operation::all_reduce, 1, 512 * kMiB, 16 * kGiB},
    Validated{"Blackwell in racks", Operation::all_reduce, 20, 512 * kMiB, 16 * kGiB},
    Validated{"Blackwell in racks", Operation::all_to_all, 1, 4 * kGiB, 16 * kGiB},
    Validated{"Blackwell in racks", Operation::all_to_all, 2, 4 * kGiB, 16 * kGiB},
};

}  // namespace

std::span<const Validated> validated() { return kValidated; }

std::string not_validated(const Team& team, Operation operation, std::uint64_t bytes) {
  const Generation& generation = generation_of(team.group(0).spec.gpu.kind);
  const bool several = team.nodes() > 1;
  for (const Validated& each : kValidated) {
    if (each.generation != generation.name || each.operation != operation || each.several_domains() != several)
      continue;
    const bool larger = team.nodes() > each.domains;
    if (bytes >= each.least && bytes <= each.most && !larger) return "";
    if (larger)
      return fmt::format("published tables of {} on {} are of at most {}", name(operation), generation.name,
                         counted(each.domains, generation.name == "Blackwell in racks" ? "rack" : "server"));
    return fmt::format("published tables of {} on {} {} are of {} to {}", name(operation), generation.name,
                       several ? "between servers or racks" : "within one server or rack",
                       exact(Bytes(static_cast<std::int64_t>(each.least))),
                       exact(Bytes(static_cast<std::int64_t>(each.most))));
  }
  return fmt::format("no published table of {} on {} {}", name(operation),
                     generation.name == "other" ? team.group(0).spec.gpu.kind : std::string(generation.name),
                     several ? "between servers or racks" : "within one server or rack");
}

}  // namespace weft::collective
