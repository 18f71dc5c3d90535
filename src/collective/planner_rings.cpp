#include <algorithm>
#include <set>

#include "collective/gates.hpp"
#include "collective/planner.hpp"
#include "collective/ring.hpp"

namespace weft::collective {

// Node after node; within a node from the channel's entry on in order, and to the GPU next to where it leaves last.
std::vector<std::uint32_t> Planner::ring_order(std::uint32_t channel) const {
  std::vector<std::uint32_t> order;
  order.reserve(team_.ranks());
  for (std::uint32_t node = 0; node < team_.nodes(); ++node) {
    const Domain& domain = team_.domain(node);
    const std::uint32_t first = entry(node, enters_by(channel, node, plan_.alternate));
    const std::uint32_t last = plan_.alternate ? entry(node, leaves_by(channel, node, true)) : first;
    for (std::uint32_t i = 0; i < domain.ranks; ++i) {
      const std::uint32_t rank = domain.first_rank + (first - domain.first_rank + i) % domain.ranks;
      if (last == first || rank != last) order.push_back(rank);
    }
    if (last != first) order.push_back(last);
  }
  return order;
}

void Planner::add_rings() {
  const std::uint32_t channels = plan_.choice.channels;
  const std::uint32_t size = team_.ranks();
  std::vector<std::vector<std::uint32_t>> orders;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    orders.push_back(ring_order(channel));
    for (std::uint32_t i = 0; i < size; ++i)
      sharing_.load(path(orders[channel][i], orders[channel][(i + 1) % size], channel));
  }
  const bool simple = plan_.choice.protocol == Protocol::simple;
  // What came last is copied out of the buffer; what came before it, while the next came.
  const Bandwidth landing(generation_.copy_mbps * 8'000'000 / channels);
  const std::uint64_t block = part(std::uint64_t{channels} * size);
  const std::uint64_t last = block % plan_.chunk == 0 ? std::min(block, plan_.chunk) : block % plan_.chunk;
  std::set<std::vector<Edge>> seen;  // rings whose edges are alike take the same time
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < size; ++i)
      edges.push_back(edge(path(orders[channel][i], orders[channel][(i + 1) % size], channel)));
    const std::uint64_t bytes = part(std::uint64_t{channels} * size);
    plan_.bytes_per_load = bytes * ring_steps(options_.operation, size);
    const bool is_new = seen.insert(edges).second;
    add(std::make_shared<Ring>(Ring::Shape{options_.operation, orders[channel], std::move(edges), rounds_of(bytes),
                                           plan_.slices, channel}),
        channel, is_new);
  }
  if (simple) plan_.launch = plan_.launch + transfer_time(Bytes(static_cast<std::int64_t>(last)), landing);
}

}  // namespace weft::collective
