// A scheduled fabric: what is set before a run, and what its links have carried behind it.

#include <algorithm>
#include <bit>

#include "sim/packet/packet_sim.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kPacketsOfAGrant = 2;  // credits are of a few KB: 8 KB here where packets have 4

}  // namespace

// A port may have granted what comes within one loop (credit, cells) at line rate, and again as much, so that it
// does not fall idle when some of it comes late. Room for it is kept free.
void PacketSim::prepare_scheduled() {
  ScheduledWorld& world = world_.scheduled;
  if (!layout_.can_be_scheduled()) return;  // exact_problem() says so
  world.leaves.resize(layout_.switches());
  for (ScheduledLeaf& leaf : world.leaves)
    leaf.up.samples = leaf.down.samples = Samples(config_.sample.count(), most_samples());
  world.granting.resize(std::size_t{layout_.endpoints()} * config_.exact.classes);
  world.most = kPacketsOfAGrant * config_.full_packet;
  const std::int64_t loop = layout_.credit_loop();
  for (std::uint32_t kind = 0; kind < layout_.link_kinds(); ++kind) {
    const Link& link = layout_.link(kind);
    world.window.push_back(link.per_byte == 0 ? 0 : 2 * (link.bytes_in(loop) + world.most));
    world.meanwhile.push_back(link.per_byte == 0 ? 0 : link.bytes_in(loop));
  }
  const std::int64_t lossless = std::popcount(config_.exact.lossless);
  for (std::uint32_t end = 0; end < layout_.endpoints(); ++end) {
    std::int64_t& shared = world_.exact.shared[layout_.leaf_of(end)];
    shared =
        std::max<std::int64_t>(0, shared - lossless * world.window[layout_.far(layout_.port_of_endpoint(end)).link]);
  }
}

// Where nothing is lost for want of room, an incast waits in a switch, and others are paused only when its buffer is
// full: until one host's wire has taken all of it.
std::int64_t PacketSim::longest_wait(transport::PacketType type) const {
  if (!config_.exact.on || !config_.exact.is_lossless(config_.exact.class_of[static_cast<std::size_t>(type)])) return 0;
  std::int64_t buffer = config_.exact.buffer;
  for (std::uint32_t s = 0; config_.exact.buffer == 0 && s < layout_.switches(); ++s)
    buffer = std::max(buffer, layout_.fabric().switch_kind(s).buffer.count());
  return buffer / config_.full_packet * layout_.slowest_packet();
}

// Whether acknowledgements wait for credit, as data do.
bool PacketSim::answers_ask() const {
  const std::optional<transport::PacketType> ack = transport::describe(config_.protocol).ack;
  return ack && config_.exact.is_lossless(config_.exact.class_of[static_cast<std::size_t>(*ack)]);
}

// Cells have taken all links of a leaf alike: each gets its part of what they carried.
void PacketSim::settle_scheduled(std::int64_t end) {
  for (std::uint32_t s = 0; s < world_.scheduled.leaves.size(); ++s) {
    ScheduledLeaf& leaf = world_.scheduled.leaves[s];
    const Layout::Bundle& bundle = layout_.bundle(s);
    const auto settle = [&](ScheduledLeaf::Line& line, std::uint32_t port, std::uint32_t i) {
      const auto part = [&](std::uint64_t all) { return part_of(all, bundle.links, i); };
      Port& link = world_.ports[port];
      link.busy = line.busy;
      link.bytes = part(line.bytes);
      link.packets = static_cast<std::uint32_t>(part(line.packets));
      link.marked = static_cast<std::uint32_t>(part(line.marked));
      link.dropped = static_cast<std::uint32_t>(part(line.dropped));
      link.waited = line.waited / bundle.links;
      link.peak = layout_.link(bundle.kind).wire(line.longest / bundle.links);
      if (line.samples.on())
        special(port).samples = part_of(line.samples.finish(end), line.samples.interval(), bundle.links, i);
    };
    for (std::uint32_t i = 0; i < bundle.links; ++i) {
      const std::uint32_t up = bundle.first_port + i;
      settle(leaf.up, up, i);
      settle(leaf.down, layout_.reverse_port(up), i);
    }
  }
}

}  // namespace weft::sim
