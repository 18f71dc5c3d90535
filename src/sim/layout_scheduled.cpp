// Where cells go in a scheduled fabric, and how long they take.

#include <algorithm>

#include "base/wide.hpp"
#include "sim/layout.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kCellBytes = 256;  // Broadcom's Ramon; the last of a packet may be shorter

}  // namespace

bool Layout::can_be_scheduled() const {
  using Tier = fabric::Clos::Tier;
  const fabric::Clos* clos = fabric_->clos();
  return clos != nullptr && clos->count(Tier::super_spine) == 0 && clos->count(Tier::gateway) == 0;
}

void Layout::find_bundles() {
  bundles_.resize(switches());
  const std::uint32_t leaves = fabric_->clos()->count(fabric::Clos::Tier::leaf);
  for (std::uint32_t s = 0; s < switches(); ++s) {
    if (s % per_plane_ >= leaves) continue;
    const std::uint32_t ports = fabric_->ports(s);
    for (std::uint32_t port = nodes_[s].first_port; port < nodes_[s].first_port + ports; ++port) {
      if (!connected(port) || is_host(far_[port].entity)) continue;
      Bundle& bundle = bundles_[s];
      if (bundle.links++ > 0) continue;
      bundle.first_port = port;
      bundle.kind = far_[port].link;
      bundle.spine_latency = nodes_[far_[port].entity].latency;
    }
  }
}

std::int64_t Layout::bundle_wire(std::uint32_t leaf, std::int64_t bytes) const {
  const std::int64_t unit = INT64_C(1024) * bundles_[leaf].links;
  return (links_[bundles_[leaf].kind].per_byte * bytes + unit - 1) / unit;
}

std::int64_t Layout::bundle_bytes(std::uint32_t leaf, std::int64_t picoseconds) const {
  return links_[bundles_[leaf].kind].bytes_in(picoseconds) * bundles_[leaf].links;
}

// The last cell is on its uplink when the others have left; behind the spine it has a wire for itself.
std::int64_t Layout::cells_time(std::uint32_t from, std::uint32_t to, std::int64_t bytes) const {
  const Bundle& bundle = bundles_[from];
  const Link& link = links_[bundle.kind];
  const std::int64_t cell = link.wire(std::min(bytes, kCellBytes));
  return std::max(bundle_wire(from, bytes), cell) + cell + 2 * link.latency + bundle.spine_latency + nodes_[to].latency;
}

std::int64_t Layout::word_time(std::uint32_t from, std::uint32_t to) const {
  const Bundle& bundle = bundles_[from];
  const Link& link = links_[bundle.kind];
  return 2 * (link.wire(kControlBytes) + link.latency) + bundle.spine_latency + nodes_[to].latency;
}

std::int64_t Layout::credit_loop() const {
  std::int64_t longest = 0;
  for (std::uint32_t s = 0; s < switches(); ++s)
    if (bundles_[s].links > 0)
      longest = std::max(longest, 2 * word_time(s, s) + cells_time(s, s, options_.full_packet));
  return longest;
}

// Whole packets at every step: into the leaf, there and back for the credit, over the spines, out of the leaf.
std::int64_t Layout::one_way_scheduled(std::uint32_t from, std::uint32_t to, std::int64_t bytes, bool asks) const {
  const std::uint32_t in = leaf_of(from);
  const std::uint32_t out = leaf_of(to);
  const Link& first = links_[far_[port_of_endpoint(from)].link];
  const Link& last = links_[far_[port_of_endpoint(to)].link];
  std::int64_t time = first.wire(bytes) + first.latency + nodes_[in].latency;
  if (in != out) time += cells_time(in, out, bytes);
  if (in != out && asks) time += word_time(in, out) + word_time(out, in);
  return time + last.wire(bytes) + last.latency;
}

}  // namespace weft::sim
