#include "sim/packet/unloaded_times.hpp"

#include <algorithm>

#include "fabric/path_cost.hpp"
#include "sim/packet/parts.hpp"

namespace weft::sim {
namespace {

bool is_sooner(const schedule::FlowRecord& flow, std::int64_t alone) {
  const std::int64_t end = (flow.unanswered ? flow.received : flow.sent).count();
  return end != schedule::kNotYet.count() && end - flow.start.count() < alone;
}

}  // namespace

// Whether routes share a link is asked of stripes that leave together; each has its even share then.
UnloadedTimes::PathOut UnloadedTimes::path_out(std::uint32_t from, std::uint64_t bytes, std::uint64_t stripes) {
  PathOut path;
  path.bytes = bytes / stripes;
  if (routes_ == nullptr) return path;
  std::vector<std::uint32_t> used;
  std::size_t mine = 0;  // of them, those of the first stripe
  for (std::uint64_t i = 0; i < stripes; ++i) {
    const HostRoute* route = routes_->find(routes_->part(from), nic(pairs_[i].source));
    if (route == nullptr) return {};
    used.insert(used.end(), route->links.begin(), route->links.end());
    if (i > 0) continue;
    mine = used.size();
    path.latency = route->latency;
    path.rests = route->legs > 1;
  }
  const auto links = routes_->links(routes_->domain_of(routes_->part(from)));
  for (std::size_t i = 0; i < mine; ++i) {
    const Bandwidth share = links[used[i]].rate / std::count(used.begin(), used.end(), used[i]);
    if (path.rate.count() == 0 || share < path.rate) path.rate = share;
  }
  return path;
}

std::int64_t UnloadedTimes::of(const schedule::FlowRecord& flow) {
  const fabric::Fabric& fabric = engine_.layout().fabric();
  if (std::max(flow.source, flow.destination) >= fabric.cluster().gpus) return 0;  // a switch is nobody's way
  if (routes_ != nullptr) {
    const fabric::NodeId from = routes_->part(flow.source);
    const fabric::NodeId to = routes_->part(flow.destination);
    if (routes_->domain_of(from) == routes_->domain_of(to)) {
      const auto path = fabric.path_inside(from, to, 0);
      return path ? fabric::path_cost(fabric, *path).of(Bytes(static_cast<std::int64_t>(flow.bytes))).count() : 0;
    }
  }
  find_pairs(engine_.layout(), flow.source, flow.destination, pairs_);
  if (pairs_.empty()) return 0;
  const std::uint64_t payload = engine_.config().payload_of(flow.stream);
  const std::uint64_t used = std::clamp<std::uint64_t>(flow.bytes / payload, 1, pairs_.size());
  const PathOut out = path_out(flow.source, flow.bytes, used);
  const NicPair pair = pairs_[0];
  const Flow stripe{pair.source, pair.destination, (flow.bytes + used - 1) / used, 0};
  PacketSim::Cut cut = cut_of(flow, stripe.bytes, std::span(pairs_).first(used));
  const auto alone = [&] {
    return engine_.config().verb_of(flow.stream) == transport::Op::read ? of_read(flow, stripe, cut, out)
                                                                        : of_send(flow, stripe, cut, out);
  };
  const std::int64_t minimal = alone();
  cut.detours = engine_.layout().makes_detours() && is_sooner(flow, minimal);
  return cut.detours ? alone() : minimal;
}

// Stripes between the same two leaves share what is between those.
PacketSim::Cut UnloadedTimes::cut_of(const schedule::FlowRecord& flow, std::uint64_t bytes,
                                     std::span<const NicPair> stripes) const {
  const SimConfig& config = engine_.config();
  const Layout& layout = engine_.layout();
  PacketSim::Cut cut{config.packet_of(flow.stream), config.header_of(flow.stream)};
  cut.trains = std::count_if(stripes.begin(), stripes.end(), [&](const NicPair& each) {
    return layout.leaf_of(each.source) == layout.leaf_of(stripes[0].source) &&
           layout.leaf_of(each.destination) == layout.leaf_of(stripes[0].destination);
  });
  const bool follows_hash =
      config.balance == Balance::ecmp || config.balance == Balance::entropy || config.balance == Balance::pinned;
  if (!follows_hash || layout.makes_detours()) return cut;  // switches spread packets
  const transport::Protocol protocol = config.protocol_of(flow.stream);
  const bool spreads = transport::describe(protocol).many_paths;
  if (spreads && config.balance == Balance::entropy) return cut;
  const transport::Connections each = transport::connections_of(protocol, config.stack);
  cut.paths = !spreads && each.split_above && bytes > *each.split_above ? each.count : 1;
  return cut;
}

std::int64_t UnloadedTimes::of_send(const schedule::FlowRecord& flow, const Flow& stripe, const PacketSim::Cut& cut,
                                    const PathOut& out) {
  const auto by_wire = [&](std::uint64_t bytes) {
    const Flow sent{stripe.source, stripe.destination, bytes, 0};
    return flow.unanswered ? engine_.unloaded_arrival(sent, cut) : engine_.unloaded(sent, cut);
  };
  const auto ready = [&](std::uint64_t bytes) {
    const bool moves = out.rate.count() > 0 && !out.rests;
    const Duration moving =
        moves ? transfer_time(Bytes(static_cast<std::int64_t>(std::min(bytes, out.bytes))), out.rate) : Duration(0);
    return (out.latency + moving).count();
  };
  const std::uint64_t whole = stripe.bytes;
  const std::uint64_t first = std::min<std::uint64_t>(whole, part_size(whole, cut.full_packet - cut.header));
  const std::int64_t path = by_wire(whole);
  if (path == 0) return 0;
  std::int64_t alone = ready(first) + path;
  if (routes_ != nullptr && first < whole) {
    const std::uint64_t last = (whole - 1) % first + 1;
    alone = std::max({alone, ready(whole - last) + by_wire(first + last), ready(whole) + by_wire(last)});
  }
  // An acknowledgement does not wait for the GPU to have the bytes.
  if (flow.unanswered && routes_ != nullptr)
    if (const HostRoute* in = routes_->find(nic(stripe.destination), routes_->part(flow.destination)))
      alone += in->latency.count();
  return sooner(flow, alone, stripe, cut);
}

std::int64_t UnloadedTimes::of_read(const schedule::FlowRecord& flow, const Flow& stripe, const PacketSim::Cut& cut,
                                    const PathOut& out) {
  const Flow back{stripe.destination, stripe.source, stripe.bytes, 0};
  const std::int64_t question = engine_.unloaded_arrival({stripe.source, stripe.destination, 0, 0}, cut);
  const std::int64_t answer = engine_.unloaded_arrival(back, cut);
  if (question == 0 || answer == 0) return 0;
  // The acknowledgement of the question leaves before the answer.
  const Layout& layout = engine_.layout();
  const std::int64_t heard =
      layout.link(layout.far(layout.port_of_endpoint(stripe.destination)).link).occupancy(cut.header);
  std::int64_t inside = out.latency.count();
  const auto add_latency = [&](fabric::NodeId from, fabric::NodeId to) {
    if (const HostRoute* route = routes_->find(from, to)) inside += route->latency.count();
  };
  if (routes_ != nullptr) {
    add_latency(routes_->part(flow.destination), nic(stripe.destination));
    add_latency(nic(stripe.source), routes_->part(flow.source));
  }
  return sooner(flow, inside + question + heard + answer, back, cut);
}

// What a flow would have taken alone, behind itself, or less where its last packet overtakes the others. Nobody knows
// whether that one would have found another path: a flow that was sooner found one.
std::int64_t UnloadedTimes::sooner(const schedule::FlowRecord& flow, std::int64_t alone, const Flow& stripe,
                                   const PacketSim::Cut& cut) const {
  if (!is_sooner(flow, alone)) return alone;
  const std::int64_t end = (flow.unanswered ? flow.received : flow.sent).count();
  return std::max(end - flow.start.count(), alone - engine_.overtaking(stripe, cut));
}

}  // namespace weft::sim
