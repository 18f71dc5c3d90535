#include "sim/layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/wide.hpp"

namespace weft::sim {
namespace {

using fabric::LinkTier;

constexpr std::size_t kTiers = 7;
constexpr std::size_t kMostRates = 31;                        // Event::rate has five bits
constexpr std::int64_t kBitPicoseconds = 8'000'000'000'000;   // a byte at 1 bit/s
// Whoever watches a run is asked once per window: with long cables everywhere it would be seconds until the next.
constexpr std::int64_t kLongestLookAhead = 4'000'000;  // ps; a window's times fit 32 bits

std::int64_t per_byte(Bandwidth rate) {
  return ((kBitPicoseconds << 10) + rate.count() - 1) / rate.count();
}  // never early

}  // namespace

Layout::Layout(const fabric::Fabric& fabric, const LinkOptions& options)
    : fabric_(&fabric), options_(options), per_plane_(fabric.switches_per_plane()), removed_(fabric.no_failures()) {
  switches_ = fabric.count(fabric::NodeKind::network_switch);
  nodes_.resize(switches_);
  find_hosts();
  find_links();
  connect_ports();
  options_.scheduled = options.scheduled && can_be_scheduled();
  if (options_.scheduled) find_bundles();
  detour_delay_ = delay_of_a_detour();
  base_rtt_ = longest_round_trip() + 2 * detour_delay_;
  set_queues();
}

void Layout::find_hosts() {
  std::vector<std::uint32_t> first_host;
  entities_ = switches();
  for (const model::Group& group : fabric_->cluster().groups) {
    const auto together =
        static_cast<std::uint32_t>(group.spec.scale_up ? std::max<std::int64_t>(1, group.spec.scale_up->servers) : 1);
    first_host.push_back(entities_);
    entities_ += (group.servers + together - 1) / together;
  }
  ends_.resize(fabric_->endpoints());
  for (std::uint32_t e = 0; e < ends_.size(); ++e) {
    const fabric::Attachment at = fabric_->attachment(e);
    const fabric::Node nic = fabric_->describe(fabric_->nic_of(e));
    const model::Group& group = fabric_->cluster().groups[nic.group];
    const auto together =
        static_cast<std::uint32_t>(group.spec.scale_up ? std::max<std::int64_t>(1, group.spec.scale_up->servers) : 1);
    ends_[e].plane = at.plane;
    ends_[e].host = first_host[nic.group] + (nic.server - group.first_server) / together;
    ends_[e].destination = fabric_->ask([&](const auto& network) { return network.destination(at.target); });
  }
}

// Kinds of links: those between switches by tier, then NIC links by server group.
void Layout::find_links() {
  const std::size_t groups = fabric_->cluster().groups.size();
  links_.resize(kTiers + groups);
  shapers_.resize(links_.size());
  const auto describe = [&](std::size_t index, const model::Wire& wire) {
    if (wire.rate.count() == 0) return;  // a tier this fabric does not have
    links_[index].latency = wire.latency.count();
    links_[index].per_byte = per_byte(wire.rate);
    shapers_[index] = wire.shaper;
  };
  for (std::size_t tier = 1; tier < fabric::kLinkTiers; ++tier)
    describe(tier, fabric_->wire(static_cast<LinkTier>(tier)));
  for (std::uint32_t g = 0; g < groups; ++g) {
    Link& link = links_[kTiers + g];
    describe(kTiers + g, fabric_->wire(LinkTier::nic, g));
    // The NIC's own latency and packet rate belong to its cable, in both directions.
    const model::NicKind& nic = fabric_->cluster().groups[g].spec.nic;
    link.latency += nic.latency.count();
    if (nic.packet_rate) link.gap = 1'000'000'000'000 * nic.ports / std::max<std::int64_t>(1, nic.packet_rate->count());
    slowest_packet_ = std::max(slowest_packet_, link.occupancy(options_.full_packet));
  }
  for (Link& link : links_) {
    if (link.per_byte == 0) continue;
    auto known = std::find(rates_.begin(), rates_.end(), link.per_byte);
    if (known == rates_.end()) known = rates_.insert(known, link.per_byte);
    link.rate = static_cast<std::uint8_t>(known - rates_.begin());
    link.full_packet = link.occupancy(options_.full_packet);
  }
  if (rates_.size() > kMostRates) options_.cut_through = false;
}

void Layout::connect_ports() {
  std::int64_t look_ahead = kLongestLookAhead;
  const std::int64_t least = options_.exact ? std::min(options_.header, kControlBytes) : options_.header;
  for (std::uint32_t s = 0; s < switches(); ++s) {
    const std::uint32_t plane = s / per_plane_;
    const std::uint32_t local = s % per_plane_;
    Node& node = nodes_[s];
    node.first_port = static_cast<std::uint32_t>(far_.size());
    node.latency = fabric_->switch_kind(s).latency.count();
    node.simple = fabric_->ask([&](const auto& network) { return network.has_waypoint(local); });
    if (node.simple) node.waypoint = fabric_->ask([&](const auto& network) { return network.waypoint(local); });
    for (std::uint32_t port = 0; port < fabric_->ports(s); ++port) {
      const fabric::Peer other = fabric_->peer(s, port);
      Far& far = far_.emplace_back();
      if (other.kind == fabric::Peer::Kind::other_switch) {
        far = {plane * per_plane_ + other.switch_index, static_cast<std::uint32_t>(other.tier)};
        const Link& link = links_[far.link];
        look_ahead = std::min(look_ahead, (options_.exact ? 0 : node.latency) + link.latency + link.wire(least));
        continue;
      }
      const auto end =
          other.kind == fabric::Peer::Kind::nic ? fabric_->endpoint_at(plane, {local, port}) : std::nullopt;
      if (end)
        far = {ends_[*end].host, static_cast<std::uint32_t>(kTiers + fabric_->describe(fabric_->nic_of(*end)).group)};
    }
  }
  endpoint_ports_ = static_cast<std::uint32_t>(far_.size());
  far_.reserve(far_.size() + ends_.size());
  for (std::uint32_t e = 0; e < ends_.size(); ++e) {
    const fabric::Destination& at = ends_[e].destination;
    const std::uint32_t leaf = ends_[e].plane * per_plane_ + at.place[0];
    const Far far{leaf, far_[nodes_[leaf].first_port + at.below[0]].link};
    far_.push_back(far);
    const Link& link = links_[far.link];  // nothing precedes the cable
    look_ahead = std::min(look_ahead, link.latency + link.wire(least));
  }
  look_ahead_ = std::max<std::int64_t>(1, look_ahead);
  if (!options_.exact) return;
  reverse_.resize(far_.size());
  for (std::uint32_t port = 0; port < far_.size(); ++port)
    if (connected(port)) reverse_[port] = reverse(port);
}

// Between servers at both ends of every group and a few between, by the first and the last of their NICs on each
// plane: rates differ by group, the tiers that are crossed by how far apart two servers are.
std::int64_t Layout::longest_round_trip() const {
  constexpr std::size_t kMostServers = 32;
  constexpr std::uint32_t kSteps = 8;
  using Network = std::pair<std::uint32_t, std::uint32_t>;  // site and plane: SRD does not go from one to another
  std::map<Network, std::vector<std::uint32_t>> ends;
  std::size_t tried = 0;
  for (const model::Group& group : fabric_->cluster().groups) {
    const std::uint32_t steps = std::min(kSteps, group.servers - 1);
    for (std::uint32_t i = 0; i <= steps && tried < kMostServers; ++i, ++tried) {
      const auto server = static_cast<std::uint32_t>(std::uint64_t{i} * (group.servers - 1) / std::max(1u, steps));
      std::map<std::uint32_t, std::uint32_t> last;  // by plane
      for (std::uint32_t nic = 0; nic < group.nics(); ++nic) {
        for (std::uint32_t port = 0; port < static_cast<std::uint32_t>(group.spec.nic.ports); ++port) {
          const std::uint32_t end = fabric_->endpoint(group.first_nic + server * group.nics() + nic, port);
          const bool is_first = last.insert_or_assign(ends_[end].plane, end).second;
          if (is_first) ends[{group.site, ends_[end].plane}].push_back(end);
        }
      }
      for (const auto& [plane, end] : last) ends[{group.site, plane}].push_back(end);
    }
  }
  std::int64_t longest = 0;
  for (const auto& [network, tries] : ends)
    for (const std::uint32_t from : tries)
      for (const std::uint32_t to : tries)
        longest = std::max(longest, *one_way(from, to, options_.full_packet) + *one_way(to, from, options_.header));
  return longest;
}

void Layout::set_queues() {
  for (Link& link : links_) {
    link.queue = options_.queue_bytes > 0 ? link.wire(options_.queue_bytes) : base_rtt_;
    const auto part = [&](std::uint32_t millionths) {
      return static_cast<std::int64_t>(static_cast<Wide>(link.queue) * millionths / 1'000'000);
    };
    link.mark_from = part(options_.mark_from);
    link.mark_to = part(options_.mark_to);
    link.mark_most = (INT64_C(1) << 31) * options_.mark_most / 1'000'000;
  }
}

std::uint32_t Layout::next_port_slowly(std::uint32_t at, const End& end, std::uint32_t entropy) const {
  const fabric::Target target = end.destination.target();
  const fabric::Hop hop = removed_.empty()
                              ? fabric_->next_hop(at % per_plane_, target, entropy)
                              : fabric_->next_hop(at % per_plane_, target, entropy, {}, removed_.planes[end.plane]);
  return hop ? nodes_[at].first_port + hop.port : kNowhere;
}

std::uint32_t Layout::next_port_over(std::uint32_t at, std::uint32_t endpoint, std::uint32_t entropy,
                                     std::uint32_t group) const {
  const fabric::Hop hop = fabric_->next_hop(at % per_plane_, target_of(endpoint), entropy, {group, 0});
  return hop ? nodes_[at].first_port + hop.port : kNowhere;
}

std::int64_t Layout::delay_of_a_detour() const {
  const fabric::Dragonfly* dragonfly = fabric_->dragonfly();
  if (dragonfly == nullptr || dragonfly->shape().routing == model::DragonflyRouting::minimal ||
      dragonfly->shape().groups < 3)
    return 0;
  std::int64_t delay = 2 * nodes_[0].latency;
  for (const LinkTier tier : {LinkTier::local, LinkTier::global}) {
    const Link& link = links_[static_cast<std::size_t>(tier)];
    delay += link.latency + link.wire(options_.cut_through ? options_.header : options_.full_packet);
  }
  return delay;
}

void Layout::next_ports(std::uint32_t at, std::uint32_t endpoint, std::vector<std::uint32_t>& ports) const {
  ports.clear();
  const End& end = ends_[endpoint];
  const std::uint32_t local = at % per_plane_;
  const fabric::Target target = end.destination.target();
  const fabric::Broken& broken = removed_.planes[end.plane];
  const auto live = [&](std::uint32_t port) {
    if (broken.empty()) return true;
    if (broken.port_down(local, port)) return false;
    const fabric::Peer next = fabric_->peer(at, port);
    if (next.kind != fabric::Peer::Kind::other_switch) return true;
    return fabric_->ask([&](const auto& network) { return network.reaches(next.switch_index, target, {}, broken); });
  };
  const auto visit = [&](std::uint32_t port) {
    if (live(port)) ports.push_back(nodes_[at].first_port + port);
  };
  fabric_->ask([&](const auto& network) { network.for_each_port(local, target, {}, visit); });
  if (!ports.empty() || broken.empty()) return;
  // Around what is broken there may still be a way that is no shortest one.
  if (const std::uint32_t port = next_port_slowly(at, end, 0); port != kNowhere) ports.push_back(port);
}

void Layout::remove_link(std::uint32_t port) {
  const std::uint32_t at = owner(port);
  fabric_->fail_link(removed_, at, port - nodes_[at].first_port);
  for (Node& node : nodes_) node.simple = false;
}

std::uint32_t Layout::owner(std::uint32_t port) const {
  if (is_endpoint_port(port)) return ends_[port - endpoint_ports_].host;
  const auto after = std::upper_bound(nodes_.begin(), nodes_.end(), port,
                                      [](std::uint32_t p, const Node& node) { return p < node.first_port; });
  return static_cast<std::uint32_t>(after - nodes_.begin()) - 1;
}

std::string Layout::name_of_end(std::uint32_t port) const {
  if (is_endpoint_port(port)) return fabric_->name(fabric_->nic_of(port - endpoint_ports_));
  return fabric_->name(fabric_->node(fabric::NodeKind::network_switch, owner(port)));
}

std::uint32_t Layout::reverse(std::uint32_t port) const {
  if (is_endpoint_port(port)) {
    const End& end = ends_[port - endpoint_ports_];
    return port_of(end.plane * per_plane_ + end.destination.place[0], end.destination.below[0]);
  }
  const std::uint32_t at = owner(port);
  const std::uint32_t local = port - nodes_[at].first_port;
  const fabric::Peer other = fabric_->peer(at, local);
  const std::uint32_t plane = at / per_plane_;
  if (other.kind == fabric::Peer::Kind::other_switch)
    return port_of(plane * per_plane_ + other.switch_index, other.port);
  return port_of_endpoint(*fabric_->endpoint_at(plane, {at % per_plane_, local}));
}

// The same steps as a packet takes on empty ports.
std::optional<std::int64_t> Layout::one_way(std::uint32_t from, std::uint32_t to, std::int64_t bytes, bool asks) const {
  if (options_.scheduled) return one_way_scheduled(from, to, bytes, asks);
  std::int64_t begin = 0;
  for (std::uint32_t port = port_of_endpoint(from);;) {
    const Far& far = far_[port];
    const Link& in = links_[far.link];
    if (is_host(far.entity)) return begin + in.wire(bytes) + in.latency;
    port = next_port(far.entity, to, 0);
    if (port == kNowhere) return std::nullopt;
    begin = begins_next(begin, in, links_[far_[port].link], nodes_[far.entity].latency, bytes);
  }
}

std::int64_t Layout::begins_next(std::int64_t begin, const Link& in, const Link& out, std::int64_t switch_latency,
                                 std::int64_t bytes) const {
  // Not waited for by a switch that cuts through.
  const auto rest = [&](const Link& link) {
    return options_.cut_through ? link.wire(bytes) - link.wire(options_.header) : 0;
  };
  const std::int64_t whole = begin + in.wire(bytes) + in.latency + switch_latency;
  // A faster link behind a slower one must not run dry.
  return whole - (out.per_byte < in.per_byte ? std::min(rest(in), rest(out)) : rest(in));
}

// Over a link: behind each other at the ends, which are there once, and in as many rows as there are links in between.
void Layout::pass(const Train& train, Underway& at) const {
  const Far& far = far_[at.port];
  const Link& link = links_[far.link];
  const std::int64_t takes = link.occupancy(train.full);
  const bool end = is_host(far.entity) || is_endpoint_port(at.port);
  const std::int64_t rows = end ? 1 : std::min(at.paths, train.paths * train.trains);
  if (end) at.apart = std::max(at.apart, takes);
  if (train.before == 0) return;
  const std::int64_t behind = rows == 1 ? takes : std::min(takes, at.apart);
  at.last = std::max(at.last, at.first + (train.before - 1) * at.apart + behind);
  if (!end) at.last = std::max(at.last, at.first + ((train.before + 1) * train.trains - 1) / rows * takes);
}

// By one of several ports of the switch behind its link. Down a tree there are as many links as there were up.
void Layout::go_by(std::uint32_t port, std::size_t ports, const Train& train, Underway& at) const {
  const Far& far = far_[at.port];
  const std::int64_t latency = nodes_[far.entity].latency;
  const Link& in = links_[far.link];
  const Link& out = links_[far_[port].link];
  at.first = begins_next(at.first, in, out, latency, train.full);
  at.last = begins_next(at.last, in, out, latency, train.last);
  at.port = port;
  if (is_host(far_[port].entity)) return;
  std::int64_t& known = at.paths_of[far_[port].link];
  if (known == 0) known = at.paths * static_cast<std::int64_t>(ports);
  at.paths = known;
}

// Ports by which a router of the first group may send a packet off its minimal ways: its global links, and to others of
// the group, which go on by theirs.
void Layout::add_detours(std::uint32_t from, std::uint32_t at, std::uint32_t to,
                         std::vector<std::uint32_t>& ports) const {
  const fabric::Dragonfly& fly = dragonfly();
  const std::uint32_t group = fly.group_of(in_plane(at));
  if (group != fly.group_of(target_of(from).leaf) || group == fly.group_of(target_of(to).leaf)) return;
  for (std::uint32_t port = fly.shape().router_down; port < fly.ports(in_plane(at)); ++port) {
    const std::uint32_t index = port_of(at, port);
    if (connected(index) && (is_global(index) || in_plane(at) == target_of(from).leaf)) ports.push_back(index);
  }
}

std::optional<std::int64_t> Layout::arrival(std::uint32_t from, std::uint32_t to, const Train& train,
                                            Underway at) const {
  while (true) {
    pass(train, at);
    const Far& far = far_[at.port];
    const Link& link = links_[far.link];
    if (is_host(far.entity)) return at.last + link.wire(train.last) + link.latency;
    const Range range = ports_towards(far.entity, to);
    if (range.count > 0) {
      go_by(next_port(far.entity, to, 0), range.count, train, at);
      continue;
    }
    std::vector<std::uint32_t> ports;
    next_ports(far.entity, to, ports);
    const std::size_t several = ports.size();
    if (train.detours) add_detours(from, far.entity, to, ports);
    if (fabric_->dragonfly() == nullptr) ports.resize(std::min<std::size_t>(1, several));  // in a tree all are as long
    std::optional<std::int64_t> soonest;
    for (const std::uint32_t port : ports) {
      Underway next = at;
      go_by(port, several, train, next);
      const auto there = arrival(from, to, train, next);
      if (there && (!soonest || *there < *soonest)) soonest = there;
    }
    return soonest;
  }
}

std::optional<std::int64_t> Layout::one_way(std::uint32_t from, std::uint32_t to, const Train& train) const {
  return arrival(from, to, train, {.port = port_of_endpoint(from)});
}

std::vector<std::uint16_t> Layout::partition(std::uint32_t n) const {
  std::vector<std::uint16_t> result(entities_);
  const auto split = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      result[first + i] = static_cast<std::uint16_t>(std::uint64_t{i} * n / count);
  };
  for (std::uint32_t first = 0; first < switches(); first += per_plane_)
    for (const fabric::SwitchTier& tier : fabric_->tiers()) split(first + tier.first, tier.count);
  split(switches(), entities_ - switches());
  return result;
}

}  // namespace weft::sim
