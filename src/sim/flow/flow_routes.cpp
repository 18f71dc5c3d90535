#include "sim/flow/flow_routes.hpp"

#include <algorithm>
#include <utility>

#include "sim/entropy.hpp"
#include "sim/flow/flow_scatter.hpp"
#include "sim/host/host_links.hpp"
#include "sim/host/route_out.hpp"
#include "sim/packet/parts.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;
constexpr std::int64_t kMillion = 1'000'000;
// Nine petabytes, more than a day at 800 Gb/s: a message of more counts as that, so that work fits 128 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 53;

LinkOptions link_options(const FlowConfig& config) {
  LinkOptions options;
  options.header = config.header;
  options.full_packet = config.payload + config.header;
  options.cut_through = config.cut_through;
  return options;
}

// Where it rests in memory, all of it is there before any of it goes on.
bool stored(std::uint64_t bytes) { return bytes <= HostLinks::kChunk; }

Wide work_inside(std::uint64_t bytes) {
  return Wide{std::min(bytes, kMostBytes)} * 8 * FlowRoutes::kParts * kPsPerSecond;
}

std::int64_t parts_of(Wide bits_per_second) {
  return static_cast<std::int64_t>(std::min<Wide>(bits_per_second * FlowRoutes::kParts, MaxMinRates::kUnbound / 2));
}

}  // namespace

FlowRoutes::FlowRoutes(const fabric::Fabric& fabric, const FlowConfig& config)
    : fabric_(fabric),
      config_(config),
      layout_(fabric, link_options(config)),
      host_routes_(fabric, config.rates),
      even_tree_(fabric.clos() != nullptr && fabric.clos()->shape().sites.size() <= 1),
      salt_(entropy_salt(config.seed)) {}

bool FlowRoutes::add_condition(std::uint32_t port, const Condition& condition) {
  if (condition.from > 0 || condition.to != kForever || condition.period != 0) return false;
  if (condition.kind == Condition::Kind::down) {
    remove_link(port);
    return true;
  }
  if (condition.kind != Condition::Kind::degraded) return false;
  even_tree_ = false;
  std::uint32_t& left = slow_.try_emplace(port, kMillion).first->second;
  left = static_cast<std::uint32_t>(std::uint64_t{left} * condition.amount / kMillion);
  return true;
}

void FlowRoutes::remove_link(std::uint32_t port) {
  even_tree_ = false;
  layout_.remove_link(layout_.is_endpoint_port(port) ? layout_.reverse(port) : port);
}

std::span<const FlowPath> FlowRoutes::find(const Transfer& transfer) {
  found_ = 0;
  const std::uint64_t bytes = transfer.bytes;
  const fabric::NodeId source = host_routes_.part(transfer.from);
  const fabric::NodeId destination = host_routes_.part(transfer.to);
  const std::uint32_t domain = host_routes_.domain_of(source);
  if (config_.hosts && domain == host_routes_.domain_of(destination)) {
    if (const HostRoute* route = host_routes_.find(source, destination)) {
      FlowPath& path = add_path(bytes);
      path.latency = route->latency.count();
      const std::uint32_t together = stored(bytes) ? 1 : route->legs;
      for (std::uint32_t leg = 0; leg < route->legs; leg += together) {
        take_legs(domain, *route, leg, leg + together);
        finish(path, work_inside(bytes));
      }
    }
    return std::span(paths_).first(found_);
  }
  find_pairs(layout_, transfer, pairs_);
  bool joined = true;
  if (!pairs_.empty())
    for_each_stripe(pairs_, bytes, config_.payload, transfer.message, [&](const NicPair& pair, std::uint64_t stripe) {
      joined = joined && across_queues(transfer, pair, stripe);
    });
  return std::span(paths_).first(joined ? found_ : 0);  // a message without one of its stripes never arrives
}

FlowPath& FlowRoutes::add_path(std::uint64_t bytes) {
  if (found_ == paths_.size()) paths_.emplace_back();
  FlowPath& path = paths_[found_++];
  path.bytes = path.wire_bytes = bytes;
  path.latency = path.last_part = path.acknowledgement = 0;
  path.count = 0;
  path.network = FlowPath::kInside;
  path.queue = 0;
  path.shares_nics = false;
  parts_.clear();
  return path;
}

// By one of the queues between two NICs, or a part by each.
bool FlowRoutes::across_queues(const Transfer& transfer, const NicPair& pair, std::uint64_t bytes) {
  if (config_.split || config_.queues <= 1) return across(transfer, pair, bytes, 0);
  if (bytes <= config_.whole)
    return across(transfer, pair, bytes, turns_[{pair.source, pair.destination}]++ % config_.queues);
  const std::uint64_t packets = (bytes + config_.payload - 1) / config_.payload;
  const std::uint64_t each = (packets + config_.queues - 1) / config_.queues * config_.payload;
  for (std::uint32_t queue = 0; queue * each < bytes; ++queue) {
    if (!across(transfer, pair, std::min(each, bytes - queue * each), queue)) return false;
    paths_[found_ - 1].shares_nics = queue > 0;
  }
  return true;
}

// Out of the server, over the network, into the other one.
bool FlowRoutes::across(const Transfer& transfer, const NicPair& pair, std::uint64_t bytes, std::uint32_t queue) {
  FlowPath& path = add_path(bytes);
  path.nics = pair;
  path.queue = queue;
  const std::uint64_t payload = config_.payload;
  const std::uint64_t packets = std::max<std::uint64_t>(1, (bytes + payload - 1) / payload);
  path.wire_bytes = bytes + packets * config_.header;
  const Wide in_full_packets =
      Wide{std::min(path.wire_bytes, kMostBytes)} * payload * 8 * FlowRoutes::kParts / (payload + config_.header);

  const auto last = static_cast<std::int64_t>(bytes - (packets - 1) * payload + config_.header);
  const auto there = layout_.one_way(pair.source, pair.destination, last);
  const auto back = layout_.one_way(pair.destination, pair.source, config_.header);
  if (!there || !back) return false;
  path.latency = *there - layout_.link(layout_.far(layout_.port_of_endpoint(pair.source)).link).wire(last);
  path.acknowledgement = *back;

  // The stage that crosses the network has the last leg before it and all behind it.
  const auto domain = [&](std::uint32_t endpoint) { return host_routes_.domain_of(fabric_.nic_of(endpoint)); };
  const bool rests = stored(bytes);
  if (config_.hosts) {
    const HostRoute* out = route_out(host_routes_, transfer, fabric_.nic_of(pair.source));
    if (out == nullptr) return false;
    path.latency += out->latency.count();
    for (std::uint32_t leg = 0; rests && leg + 1 < out->legs; ++leg) {
      take_legs(domain(pair.source), *out, leg, leg + 1);
      finish(path, work_inside(bytes));
    }
    take_legs(domain(pair.source), *out, rests ? out->legs - 1 : 0, out->legs);
  }
  if (!(config_.split ? take_all_paths(pair) : take_one_path(pair, queue))) return false;
  if (config_.hosts) {
    const HostRoute* in = host_routes_.find(fabric_.nic_of(pair.destination), host_routes_.part(transfer.to));
    if (in == nullptr) return false;
    path.latency += in->latency.count();
    take_legs(domain(pair.destination), *in, 0, in->legs);
    path.last_part = last_part(domain(pair.destination), *in, bytes);
  }
  path.network = path.count;
  finish(path, in_full_packets * kPsPerSecond);
  return true;
}

std::uint32_t FlowRoutes::next_on_path(std::uint32_t at, const NicPair& pair, std::uint16_t path) {
  const Layout::Range range = config_.pins > 0 ? layout_.ports_towards(at, pair.destination) : Layout::Range{};
  if (range.count > 1) return range.first + pin_of(layout_, pair.source, path, config_.pins) % range.count;
  const std::uint32_t entropy = path_entropy(pair_entropy(pair.source, pair.destination, salt_), path);
  return layout_.next_port(at, pair.destination, entropy);
}

bool FlowRoutes::take_one_path(const NicPair& pair, std::uint32_t queue) {
  const std::uint16_t path =
      config_.path_of == nullptr ? std::uint16_t{0} : config_.path_of(pair.source, pair.destination, queue);
  std::uint32_t port = layout_.port_of_endpoint(pair.source);
  while (port != Layout::kNowhere) {
    parts_.push_back({port, MaxMinRates::kWhole});
    const std::uint32_t entity = layout_.far(port).entity;
    if (layout_.is_host(entity)) return true;
    port = next_on_path(entity, pair, path);
  }
  return false;
}

// Calls visit(room) for each of a switch's ports that lead on: how much may leave by it and get there, which is what
// the link carries, or its part of all that leads on from behind it. Links side by side share that; they have
// neighbouring ports.
template <class Visit>
void FlowRoutes::for_each_room(std::span<const std::uint32_t> ports, std::uint32_t destination, Visit visit) {
  for (std::size_t first = 0, end = 0; first < ports.size(); first = end) {
    const std::uint32_t entity = layout_.far(ports[first]).entity;
    Wide beside = 0;
    for (end = first; end < ports.size() && layout_.far(ports[end]).entity == entity; ++end)
      beside += capacity_of(ports[end]);
    // The last link is the same by every way, and so decides nothing.
    const Wide behind = layout_.is_host(entity) ? Wide{MaxMinRates::kUnbound / 2}
                                                : std::min<Wide>(beside, room_behind(entity, destination));
    for (std::size_t i = first; i < end; ++i) visit(behind * capacity_of(ports[i]) / std::max<Wide>(1, beside));
  }
}

// How much may leave a switch by all of them.
std::int64_t FlowRoutes::room_behind(std::uint32_t entity, std::uint32_t destination) {
  if (const auto known = room_.find(entity); known != room_.end()) return known->second;
  std::vector<std::uint32_t> on;
  layout_.next_ports(entity, destination, on);
  Wide sum = 0;
  for_each_room(on, destination, [&](Wide room) { sum += room; });
  const auto room = static_cast<std::int64_t>(std::min<Wide>(sum, MaxMinRates::kUnbound / 2));
  room_.emplace(entity, room);
  return room;
}

bool FlowRoutes::take_all_paths(const NicPair& pair) {
  if (even_tree_) return take_bundles(pair);
  room_.clear();
  return walk_all_paths(pair, config_.adapts && !slow_.empty(), [](std::span<const Part>) {});
}

// Calls at_distance(ports) with all that are equally far from the sender's NIC, one distance after another.
template <class AtDistance>
bool FlowRoutes::walk_all_paths(const NicPair& pair, bool weighs, AtDistance at_distance) {
  const std::uint32_t first = layout_.port_of_endpoint(pair.source);
  parts_.push_back({first, MaxMinRates::kWhole});
  branches_.assign({{layout_.far(first).entity, MaxMinRates::kWhole}});
  while (!branches_.empty()) {
    next_.clear();
    const std::size_t nearer = parts_.size();
    for (const Branch& branch : branches_) {
      layout_.next_ports(branch.at, pair.destination, ports_);
      if (ports_.empty()) return false;
      const std::size_t paths = ports_.size();
      until_.assign(1, 0);
      const auto add_room = [&](Wide room) { until_.push_back(until_.back() + room); };
      if (weighs)
        for_each_room(ports_, pair.destination, add_room);
      else
        for (std::size_t i = 0; i < paths; ++i) add_room(1);
      for (std::size_t i = 0; i < paths; ++i) {
        // Rounded so that together they are the whole.
        const auto part = [&](std::size_t before) {
          return static_cast<std::uint64_t>(branch.weight * until_[before] / until_[paths]);
        };
        const std::uint64_t weight = part(i + 1) - part(i);
        parts_.push_back({ports_[i], weight});
        const std::uint32_t entity = layout_.far(ports_[i]).entity;
        if (!layout_.is_host(entity)) next_.push_back({entity, weight});
      }
    }
    at_distance(std::span<const Part>(parts_).subspan(nearer));
    std::sort(next_.begin(), next_.end(), [](const Branch& a, const Branch& b) { return a.at < b.at; });
    branches_.clear();
    for (const Branch& branch : next_) {
      if (branches_.empty() || branches_.back().at != branch.at) branches_.push_back({branch.at, 0});
      branches_.back().weight += branch.weight;
    }
  }
  return true;
}

// The two NICs' own links, and the bundles between their leaves.
bool FlowRoutes::take_bundles(const NicPair& pair) {
  const std::uint32_t out = layout_.port_of_endpoint(pair.source);
  const std::uint32_t in = layout_.port_of_endpoint(pair.destination);
  const std::uint64_t leaves = std::uint64_t{layout_.far(out).entity} << 32 | layout_.far(in).entity;
  std::uint32_t first = between_.find(leaves);
  if (first == FlatMap::kNone) {
    first = static_cast<std::uint32_t>(crossed_.size());
    std::vector<Part> inside = std::exchange(parts_, {});
    const bool joined = walk_all_paths(pair, false, [&](std::span<const Part> ports) {
      const bool is_last = layout_.is_host(layout_.far(static_cast<std::uint32_t>(ports[0].key)).entity);
      crossed_.push_back(is_last ? kNoMore : bundle_of(ports));
    });
    parts_ = std::move(inside);
    if (!joined) return false;
    between_.insert(leaves, first);
  }
  parts_.push_back({out, MaxMinRates::kWhole});
  for (std::size_t i = first; crossed_[i] != kNoMore; ++i)
    parts_.push_back({crossed_[i], whole(number_of(crossed_[i]))});
  parts_.push_back({layout_.reverse(in), MaxMinRates::kWhole});
  return true;
}

// Links that are always taken together are found by any of them.
FlowRoutes::Key FlowRoutes::bundle_of(std::span<const Part> ports) {
  if (ports.size() == 1) return ports[0].key;
  const Key key = kBundle | ports[0].key;
  if (number_.find(key) != FlatMap::kNone) return key;
  Known bundle = know(ports[0].key);
  bundle.key = key;
  bundle.first = static_cast<std::uint32_t>(bundled_.size());
  bundle.members = static_cast<std::uint32_t>(ports.size());
  for (const Part& port : ports) {
    bundled_.push_back(static_cast<std::uint32_t>(port.key));
    bundle.deviation = std::max(bundle.deviation, know(port.key).deviation);
  }
  Wide capacity = Wide{bundle.capacity} * bundle.members;
  for (; capacity > MaxMinRates::kUnbound / 2; capacity /= 2) ++bundle.halved;
  bundle.capacity = static_cast<std::int64_t>(capacity);
  add(bundle);
  return key;
}

void FlowRoutes::take_legs(std::uint32_t domain, const HostRoute& route, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t leg = first; leg < last; ++leg)
    for (const std::uint32_t link : route.leg(leg))
      parts_.push_back({kInside | Key{domain} << 24 | link, MaxMinRates::kWhole});
}

// What arrives moves on part by part: how long the last one takes for all but the first leg.
std::int64_t FlowRoutes::last_part(std::uint32_t domain, const HostRoute& route, std::uint64_t bytes) const {
  const Wide work = work_inside(std::min<std::uint64_t>(bytes, part_size(bytes, config_.payload)));
  Wide takes = 0;
  for (std::uint32_t leg = 1; leg < route.legs; ++leg) {
    std::int64_t least = MaxMinRates::kUnbound;
    for (const std::uint32_t link : route.leg(leg))
      least = std::min(least, capacity_of(kInside | Key{domain} << 24 | link));
    takes += work / std::max<std::int64_t>(1, least);
  }
  return static_cast<std::int64_t>(takes);
}

// From parts to the shares of a stage: a link that is passed twice counts once, with both weights.
void FlowRoutes::finish(FlowPath& path, Wide work) {
  if (path.count == path.stages.size()) path.stages.emplace_back();
  FlowPath::Stage& stage = path.stages[path.count++];
  stage.work = work;
  std::sort(parts_.begin(), parts_.end());
  stage.shares.clear();
  stage.alone = MaxMinRates::kUnbound;
  for (std::size_t i = 0; i < parts_.size();) {
    const Key key = parts_[i].key;
    std::uint64_t weight = 0;
    for (; i < parts_.size() && parts_[i].key == key; ++i) weight += parts_[i].weight;
    if (weight == 0) continue;  // split too finely to be seen
    stage.shares.push_back({number_of(key), weight});
    const Wide most = Wide{capacity(stage.shares.back().link)} * MaxMinRates::kWhole / weight;
    stage.alone = static_cast<std::int64_t>(std::min<Wide>(stage.alone, most));
  }
  parts_.clear();
}

std::uint32_t FlowRoutes::number_of(Key key) {
  const std::uint32_t number = number_.find(key);
  return number != FlatMap::kNone ? number : add(know(key));
}

std::uint32_t FlowRoutes::add(const Known& link) {
  const std::uint32_t number = rates_.add_link(link.capacity);
  known_.push_back(link);
  number_.insert(link.key, number);
  return number;
}

FlowRoutes::Known FlowRoutes::know(Key key) const {
  const auto draw = static_cast<std::uint32_t>(mix64(key ^ mix64(config_.seed)));
  const std::int64_t capacity = capacity_of(key);
  const Wide packet = Wide{config_.payload} * 8 * FlowRoutes::kParts * kPsPerSecond;
  const Wide packet_time = std::min<Wide>(packet / std::max<std::int64_t>(1, capacity), kPsPerSecond);
  return {key, capacity, static_cast<std::int64_t>(packet_time), normal_above_zero(draw), 0, 1, 0};
}

std::int64_t FlowRoutes::capacity_of(Key key) const {
  if ((key & kInside) != 0) {
    const auto domain = static_cast<std::uint32_t>((key & ~kInside) >> 24);
    return parts_of(host_routes_.links(domain)[key & 0xFFFFFF].rate.count());
  }
  const auto port = static_cast<std::uint32_t>(key);
  const std::uint32_t kind = layout_.far(port).link;
  const std::int64_t payload = config_.payload;
  Wide capacity = Wide{payload} * 8 * kPsPerSecond * FlowRoutes::kParts / layout_.link(kind).full_packet;
  if (const std::int64_t shaped = layout_.shaper(kind).rate.count(); shaped > 0)
    capacity = std::min(capacity, Wide{shaped} * FlowRoutes::kParts * payload / (payload + config_.header));
  if (const auto slow = slow_.find(port); slow != slow_.end()) capacity = capacity * slow->second / kMillion;
  return static_cast<std::int64_t>(std::min<Wide>(capacity, MaxMinRates::kUnbound / 2));
}

std::uint32_t FlowRoutes::left(std::uint32_t link) const {
  const Key key = known_[link].key;
  const auto slow = (key & (kInside | kBundle)) != 0 ? slow_.end() : slow_.find(static_cast<std::uint32_t>(key));
  return slow == slow_.end() ? static_cast<std::uint32_t>(kMillion) : slow->second;
}

schedule::LinkRecord FlowRoutes::describe(std::uint32_t link, std::uint32_t member) const {
  schedule::LinkRecord record;
  const Key key = known_[link].key;
  if ((key & kInside) != 0) {
    const HostLink inside = host_routes_.link(static_cast<std::uint32_t>((key & ~kInside) >> 24),
                                              static_cast<std::uint32_t>(key & 0xFFFFFF));
    record.from = fabric_.name(inside.from);
    record.to = inside.from == inside.to ? "memory" : fabric_.name(inside.to);
    record.rate = inside.rate.count();
    return record;
  }
  const auto port = (key & kBundle) != 0 ? bundled_[known_[link].first + member] : static_cast<std::uint32_t>(key);
  record.from = layout_.name_of_end(port);
  record.to = layout_.name_of_end(layout_.reverse(port));
  record.rate = (8 * kPsPerSecond << 10) / layout_.link(layout_.far(port).link).per_byte;
  return record;
}

}  // namespace weft::sim
