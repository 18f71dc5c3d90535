#include "fabric/dragonfly.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

#include <algorithm>

namespace weft::fabric {
namespace {

constexpr std::uint32_t kPortSalt = 5;
constexpr std::uint32_t kDetourSalt = 6;

}  // namespace

std::uint32_t Dragonfly::links_between(std::uint32_t ahead) const {
  if (shape_.groups < 2) return 0;
  // Whole rounds join every pair; of the links left over, those whose other end exists too.
  const std::uint32_t rest = links_per_group() % round();
  const bool extra = ahead - 1 < rest && shape_.groups - ahead - 1 < rest;
  return links_per_group() / round() + (extra ? 1 : 0);
}

Dragonfly::Share Dragonfly::own_links(std::uint32_t me, std::uint32_t ahead) const {
  // Link number i * round + ahead - 1 lies in [me * global_links, (me + 1) * global_links).
  const auto below = [&](std::uint32_t bound) {  // how many of them are below a number
    return bound < ahead ? 0 : std::min(links_between(ahead), (bound - ahead) / round() + 1);
  };
  const std::uint32_t first = below(me * shape_.global_links);
  return {first, below((me + 1) * shape_.global_links) - first};
}

model::Wire Dragonfly::wire(LinkTier tier) const {
  if (tier == LinkTier::local) return shape_.local_wire;
  return tier == LinkTier::global ? shape_.global_wire : model::Wire{};
}

std::vector<CableRun> Dragonfly::cables(const model::FabricSpec& spec) const {
  const std::uint64_t groups = shape_.groups;
  std::uint64_t outwards = 0;  // global links of a group
  for (std::uint32_t ahead = 1; ahead < shape_.groups; ++ahead) outwards += links_between(ahead);
  return {{LinkTier::local, groups * shape_.routers_per_group * (shape_.routers_per_group - 1) / 2, &spec.link.medium},
          {LinkTier::global, groups * outwards / 2, &spec.link.medium}};
}

std::string Dragonfly::text() const {
  return fmt::format("; {} of {}, {} each", counted(shape_.groups, "group"),
                     counted(shape_.routers_per_group, "router"), counted(shape_.global_links, "global link"));
}

std::uint64_t Dragonfly::path_count(std::uint32_t from, const Target& target) const {
  const std::uint32_t to = target.leaf;
  const std::uint32_t group = group_of(from);
  if (group == group_of(to)) return 1;
  // Every link is the choice of a whole route: the hops in both groups follow from it.
  const std::uint32_t ahead = (group_of(to) + shape_.groups - group) % shape_.groups;
  const std::uint32_t mine = own_links(from % shape_.routers_per_group, ahead).count;
  return mine > 0 ? mine : links_between(ahead);
}

std::uint32_t Dragonfly::local_port(std::uint32_t router, std::uint32_t to) const {
  const std::uint32_t me = router % shape_.routers_per_group;
  const std::uint32_t other = to % shape_.routers_per_group;
  return shape_.router_down + other - (other > me ? 1 : 0);
}

Peer Dragonfly::peer(std::uint32_t router, std::uint32_t port) const {
  if (port < shape_.router_down) return {Peer::Kind::nic, LinkTier::nic, 0, 0};
  const std::uint32_t group = group_of(router);
  const std::uint32_t me = router % shape_.routers_per_group;
  const std::uint32_t base = group * shape_.routers_per_group;
  std::uint32_t slot = port - shape_.router_down;
  if (slot < shape_.routers_per_group - 1) {
    const std::uint32_t other = base + slot + (slot >= me ? 1 : 0);
    return {Peer::Kind::other_switch, LinkTier::local, other, local_port(other, router)};
  }
  if (shape_.groups < 2) return {};
  slot -= shape_.routers_per_group - 1;
  const std::uint32_t link = me * shape_.global_links + slot;
  const std::uint32_t ahead = link % round() + 1;
  const std::uint32_t back = link / round() * round() + (shape_.groups - ahead) - 1;
  if (back >= links_per_group()) return {};  // left over: its other end does not exist
  const std::uint32_t there = (group + ahead) % shape_.groups;
  return {Peer::Kind::other_switch, LinkTier::global, there * shape_.routers_per_group + back / shape_.global_links,
          global_port(back)};
}

std::uint32_t Dragonfly::goal_group(std::uint32_t, const Target& target, RouteState state) const {
  return state.via != kNone && state.global_hops == 0 ? state.via : group_of(target.leaf);
}

RouteState Dragonfly::after(std::uint32_t router, std::uint32_t port, RouteState state) const {
  if (peer(router, port).tier == LinkTier::global) ++state.global_hops;
  return state;
}

bool Dragonfly::usable(std::uint32_t router, std::uint32_t port, const Target& target, RouteState state,
                       const Broken& broken, bool spare, Search& search) const {
  if (broken.port_down(router, port)) return false;
  const Peer next = peer(router, port);
  if (next.kind == Peer::Kind::nic) return true;
  return next.kind == Peer::Kind::other_switch &&
         reaches(next.switch_index, target, after(router, port, state), broken, spare, search);
}

bool Dragonfly::reaches(std::uint32_t router, const Target& target, RouteState state, const Broken& broken, bool spare,
                        Search& search) const {
  if (broken.switch_down(router)) return false;
  // Behind the first global link it no longer matters which detour was meant.
  const std::uint32_t via = state.global_hops > 0 ? kNone : state.via;
  const std::uint64_t key = std::uint64_t{router} << 35 | std::uint64_t{via} << 3 |
                            std::min<std::uint64_t>(state.global_hops, 3) << 1 | (spare ? 1 : 0);
  if (const bool* known = search.known(key)) return *known;
  search.expand();
  bool found = false;
  for_each_port(router, target, state, [&](std::uint32_t port) {
    found = found || usable(router, port, target, state, broken, spare, search);
  });
  if (found || !spare) return search.remember(key, found);
  for_each_local_port(
      [&](std::uint32_t port) { found = found || usable(router, port, target, state, broken, false, search); });
  return search.remember(key, found);
}

bool Dragonfly::reaches(std::uint32_t router, const Target& target, RouteState state, const Broken& broken,
                        Search& search) const {
  if (broken.target_down(target)) return false;
  return reaches(router, target, state, broken, false, search) || reaches(router, target, state, broken, true, search);
}

RouteState Dragonfly::detour(std::uint32_t router, const Target& target, std::uint32_t entropy) const {
  const std::uint32_t from = group_of(router);
  const std::uint32_t to = group_of(target.leaf);
  if (shape_.groups < 3 || from == to) return {};
  // A group that is neither end: draw below groups - 2 and step over both.
  std::uint32_t via = choose(entropy, kDetourSalt, shape_.groups - 2);
  const std::uint32_t low = from < to ? from : to;
  const std::uint32_t high = from < to ? to : from;
  if (via >= low) ++via;
  if (via >= high) ++via;
  return {via, 0};
}

RouteState Dragonfly::start(std::uint32_t router, const Target& target, std::uint32_t entropy,
                            const Broken& broken) const {
  const RouteState wanted =
      shape_.routing == model::DragonflyRouting::valiant ? detour(router, target, entropy) : RouteState{};
  if (broken.empty() || broken.target_down(target)) return wanted;
  Search search;
  const std::uint32_t first = choose(entropy, kDetourSalt, shape_.groups);
  for (const bool spare : {false, true}) {
    if (reaches(router, target, wanted, broken, spare, search)) return wanted;
    if (reaches(router, target, {}, broken, spare, search)) return {};
    for (std::uint32_t i = 0; i < shape_.groups; ++i) {
      const RouteState around{(first + i) % shape_.groups, 0};
      if (around.via == group_of(router)) continue;
      if (reaches(router, target, around, broken, spare, search)) return around;
    }
  }
  return wanted;
}

Hop Dragonfly::next_hop(std::uint32_t router, const Target& target, std::uint32_t entropy, RouteState state,
                        const Broken& broken) const {
  if (!broken.empty() && broken.target_down(target)) return {};
  Search search;
  const auto choose_live = [&](auto for_each, bool spare) {
    const auto works = [&](std::uint32_t port) {
      return broken.empty() || usable(router, port, target, state, broken, spare, search);
    };
    std::uint32_t live = 0;
    for_each([&](std::uint32_t port) { live += works(port); });
    if (live == 0) return Hop{};
    std::uint32_t wanted = choose(entropy, kPortSalt + 16 * state.global_hops, live);
    Hop hop;
    for_each([&](std::uint32_t port) {
      if (!works(port)) return;
      if (wanted-- == 0) hop = {port, after(router, port, state)};
    });
    return hop;
  };
  const auto towards = [&](auto visit) { for_each_port(router, target, state, visit); };
  const auto anywhere = [&](auto visit) { for_each_local_port(visit); };
  for (const bool spare : {false, true})
    if (const Hop hop = choose_live(towards, spare); hop || broken.empty()) return hop;
  return choose_live(anywhere, false);
}

}  // namespace weft::fabric
