#include "collective/placed.hpp"

#include <utility>

namespace weft::collective {

Placed::Placed(std::uint32_t ranks, std::vector<Part> parts) : parts_(std::move(parts)), tenants_(ranks) {
  for (std::uint32_t part = 0; part < parts_.size(); ++part)
    for (std::uint32_t rank = 0; rank < parts_[part].places.size(); ++rank)
      tenants_[parts_[part].places[rank]].push_back({part, rank, parts_[part].work->lanes(rank)});
}

std::uint32_t Placed::lanes(std::uint32_t rank) const {
  std::uint32_t all = 0;
  for (const Tenant& tenant : tenants_[rank]) all += tenant.lanes;
  return all;
}

bool Placed::next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) {
  std::size_t index = 0;
  while (lane >= tenants_[rank][index].lanes) lane -= tenants_[rank][index++].lanes;
  const Tenant& tenant = tenants_[rank][index];
  const Part& part = parts_[tenant.part];
  if (!part.work->next(tenant.rank, lane, out)) return false;
  const auto place = [&](std::uint32_t& of) {
    if (of != schedule::kItself) of = part.places[of];
  };
  using Kind = schedule::Instruction::Kind;
  if (out.kind != Kind::send && out.kind != Kind::recv) return true;
  place(out.peer);
  place(out.leaves);
  place(out.enters);
  out.tag |= std::uint64_t{tenant.part} << kTagBits;
  return true;
}

}  // namespace weft::collective
