#include "collective/direct.hpp"
#include "collective/gates.hpp"
#include "collective/hierarchical.hpp"
#include "collective/pat.hpp"
#include "collective/planner.hpp"

namespace weft::collective {

// Algorithms in which ranks talk to any others: what one channel does, all do, so one program stands for all.
void Planner::add_pairs() {
  Pairs pairs;
  const std::uint32_t size = team_.ranks();
  const bool all_to_all = options_.operation == Operation::all_to_all;
  const bool neighbours = options_.operation == Operation::send_recv;
  for (std::uint32_t rank = 0; rank < size; ++rank) pairs.node.push_back(team_.node_of(rank));
  for (std::uint32_t node = 0; node < team_.nodes(); ++node) pairs.first.push_back(team_.domain(node).first_rank);
  pairs.first.push_back(size);
  // A partner in another domain with the same number there: what it has in common with all others there is the port.
  const auto outside_partner = [&](std::uint32_t rank) {
    const std::uint32_t node = team_.node_of(rank);
    const Domain& other = team_.domain((node + 1) % team_.nodes());
    return other.first_rank + (rank - team_.domain(node).first_rank) % other.ranks;
  };
  const auto inside = [&](std::uint32_t rank) {
    const Domain& domain = team_.domain(team_.node_of(rank));
    return sharing_.inside(rank, domain.first_rank + (rank - domain.first_rank + 1) % domain.ranks);
  };
  const auto outside = [&](std::uint32_t rank) {
    const std::uint32_t to = outside_partner(rank);
    const std::uint32_t from_port =
        options_.pxn ? team_.port_of(to) % static_cast<std::uint32_t>(team_.domain(team_.node_of(rank)).ports.size())
                     : team_.port_of(rank);
    return sharing_.across(rank, from_port, to, team_.port_of(to));
  };
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const Domain& domain = team_.domain(team_.node_of(rank));
    const bool last = rank + 1 == domain.first_rank + domain.ranks;
    if (domain.ranks > 1 && (!neighbours || !last)) sharing_.load(inside(rank));
    if (team_.nodes() > 1 && (!neighbours || last)) sharing_.load(outside(rank));
  }
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    // Many channels work side by side, so that no single one's speed counts.
    const auto whole = [&](Way way) {
      Edge made = edge(way);
      const Bandwidth share = sharing_.share(way);
      made.overhead = made.overhead / plan_.choice.channels;
      made.rate = plan_.choice.protocol == Protocol::ll      ? share / 2
                  : plan_.choice.protocol == Protocol::ll128 ? share / 128 * 120
                                                             : share;
      made.links = made.rate;
      return made;
    };
    const Domain& domain = team_.domain(team_.node_of(rank));
    pairs.within.push_back(domain.ranks > 1 ? whole(inside(rank)) : Edge{});
    pairs.across.push_back(team_.nodes() > 1 ? whole(outside(rank)) : Edge{});
  }
  const std::uint64_t bytes = part(neighbours ? 1 : size);
  const Rounds rounds = rounds_of(bytes);
  if (plan_.choice.algorithm == Algorithm::pat) {
    add(std::make_shared<Pat>(Pat::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  } else if (all_to_all || neighbours) {
    add(std::make_shared<Direct>(Direct::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver, true);
  } else {
    add(std::make_shared<Hierarchical>(Hierarchical::Shape{options_.operation, std::move(pairs), rounds}), kByReceiver,
        true);
  }
}

}  // namespace weft::collective
