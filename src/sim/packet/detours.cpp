// Detours in a Dragonfly: Valiant's, always, or UGAL's, where the direct way is the longer one by its queue.
//
// A packet carries no route. Who sent it says in which group it began, its header which group a detour would lead
// over; so a router in that first group knows what to do, one in the last goes straight on, and one in any other is
// the middle of a detour and takes the minimal way. Two global links at most, so nothing can loop.
//
// UGAL looks at the queues of its own router (UGAL-L), which do not show a global link that belongs to another router
// of the group. Therefore that one chooses again, among its own global links: no hop more than Valiant's.

#include <algorithm>

#include "base/hash.hpp"
#include "sim/packet/route_choice.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kMinimalHops = 3;  // local, global, local
constexpr std::uint32_t kDetourHops = 5;   // and global, local

}  // namespace

// By one of a router's own global links to a third group; kNowhere where it has none.
std::uint32_t RouteChoice::detour_port(const Event& packet, std::uint32_t entropy) const {
  const fabric::Dragonfly& fly = world_.layout.dragonfly();
  const std::uint32_t at = world_.layout.in_plane(packet.to);
  const std::uint32_t links = fly.shape().global_links;
  const std::uint32_t first = fly.shape().router_down + fly.shape().routers_per_group - 1;
  const std::uint32_t target = fly.group_of(world_.layout.target_of(packet.header.destination).leaf);
  const std::uint32_t start = pick(mix64(entropy), links);
  for (std::uint32_t i = 0; i < links; ++i) {
    const std::uint32_t port = first + (start + i) % links;
    const fabric::Peer peer = fly.peer(at, port);
    if (peer.kind == fabric::Peer::Kind::other_switch && fly.group_of(peer.switch_index) != target)
      return world_.layout.port_of(packet.to, port);
  }
  return Layout::kNowhere;
}

std::uint32_t RouteChoice::choose_around(const Event& packet) const {
  const fabric::Dragonfly& fly = world_.layout.dragonfly();
  const std::uint32_t destination = packet.header.destination;
  const std::uint32_t source = world_.layout.target_of(packet.header.source).leaf;
  const fabric::Target target = world_.layout.target_of(destination);
  const std::uint32_t at = world_.layout.in_plane(packet.to);
  const std::uint32_t group = fly.group_of(at);
  // The same at every router that sees the packet, also where each packet goes its own way.
  std::uint32_t entropy =
      path_entropy(pair_entropy(packet.header.source, destination, world_.entropy_salt), packet.header.path);
  if (world_.config.balance == Balance::spray) {
    const std::uint64_t which = std::uint64_t{packet.header.sequence} << 16 | packet.header.echo;
    entropy += static_cast<std::uint32_t>(mix64(which << 4 | static_cast<std::uint64_t>(packet.type)));
  }
  if (group != fly.group_of(source) || group == fly.group_of(target.leaf))
    return world_.layout.next_port(packet.to, destination, entropy);

  const auto global = [&](std::uint32_t port) {
    return port != Layout::kNowhere &&
           fly.peer(at, port - world_.layout.port_of(packet.to, 0)).tier == fabric::LinkTier::global;
  };
  std::uint32_t minimal = world_.layout.next_port(packet.to, destination, entropy);
  std::uint32_t detour =
      world_.layout.next_port_over(packet.to, destination, entropy, fly.detour(source, target, entropy).via);
  if (fly.shape().routing == model::DragonflyRouting::valiant) minimal = detour;
  if (at != source) {
    // Within the group there is one hop only: what is left are this router's own global links.
    if (!global(detour)) detour = detour_port(packet, entropy);
    if (!global(minimal)) minimal = detour;
  }
  if (detour == Layout::kNowhere || world_.avoids(detour, packet.time)) detour = minimal;
  if (minimal == Layout::kNowhere || world_.avoids(minimal, packet.time)) minimal = detour;
  if (minimal == detour) return minimal;
  const auto queue = [&](std::uint32_t port, std::int64_t less) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, world_.load(port, packet.time) - less));
  };
  // A wait that is shorter than the detour itself is no reason for it.
  const bool around = fabric::ugal_prefers_detour(queue(minimal, world_.layout.detour_delay()), kMinimalHops,
                                                  queue(detour, 0), kDetourHops);
  return around ? detour : minimal;
}

}  // namespace weft::sim
