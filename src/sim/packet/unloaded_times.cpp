// What a flow takes when nothing else is on its way: what slowdown is measured against.
//
// Out of its server a stripe goes part by part (packet_run.hpp). Where the way to the NIC is faster than the NIC, the
// NIC begins with the first part and never waits again; where it is slower, the NIC waits for each part, and sends
// the last one when all is there. Data that rest on their way, and reads, are taken to cost their latency inside: what
// that costs beyond shows as slowdown.

#include <algorithm>

#include "fabric/path_cost.hpp"
#include "sim/packet/packet_run.hpp"

namespace weft::sim {
namespace {

bool is_sooner(const schedule::FlowRecord& flow, std::int64_t alone) {
  const std::int64_t end = flow.unanswered ? flow.received : flow.sent;
  return end != schedule::kNotYet && end - flow.start < alone;
}

}  // namespace

// Whether routes share a link is asked of stripes that leave together; each has its even share then.
PacketRun::PathOut PacketRun::path_out(Hosts& hosts, std::uint32_t from, std::uint64_t bytes, std::uint64_t stripes) {
  PathOut path;
  path.bytes = bytes / stripes;
  if (!model_hosts_) return path;
  std::vector<std::uint32_t> used;
  std::size_t mine = 0;  // of them, those of the first stripe
  for (std::uint64_t i = 0; i < stripes; ++i) {
    const HostRoute* route = hosts.routes.find(part(from), nic(hosts.pairs[i].source));
    if (route == nullptr) return {};
    used.insert(used.end(), route->links.begin(), route->links.end());
    if (i > 0) continue;
    mine = used.size();
    path.latency = route->latency;
    path.rests = route->legs > 1;
  }
  const auto links = hosts.routes.links(domain_of(from));
  for (std::size_t i = 0; i < mine; ++i) {
    const Bandwidth share = links[used[i]].rate / std::count(used.begin(), used.end(), used[i]);
    if (path.rate.count() == 0 || share < path.rate) path.rate = share;
  }
  return path;
}

std::int64_t PacketRun::unloaded(const schedule::FlowRecord& flow) {
  Hosts& hosts = *hosts_[0];
  if (model_hosts_ && domain_of(flow.source) == domain_of(flow.destination)) {
    if (std::max(flow.source, flow.destination) >= fabric_.cluster().gpus) return 0;  // a switch is nobody's way
    const auto path = fabric_.path_inside(part(flow.source), part(flow.destination), 0);
    return path ? fabric::path_cost(fabric_, *path).of(Bytes(static_cast<std::int64_t>(flow.bytes))).count() : 0;
  }
  find_pairs(engine_.layout(), flow.source, flow.destination, hosts.pairs);
  if (hosts.pairs.empty()) return 0;
  const std::uint64_t payload = engine_.config().payload_of(flow.stream);
  const std::uint64_t used = std::clamp<std::uint64_t>(flow.bytes / payload, 1, hosts.pairs.size());
  const PathOut out = path_out(hosts, flow.source, flow.bytes, used);
  const NicPair pair = hosts.pairs[0];
  const Flow stripe{pair.source, pair.destination, (flow.bytes + used - 1) / used, 0};
  PacketSim::Cut cut = cut_of(flow, stripe.bytes, std::span(hosts.pairs).first(used));
  const auto alone = [&] {
    return is_read(flow.stream) ? unloaded_read(flow, stripe, cut, out) : unloaded_send(flow, stripe, cut, out);
  };
  const std::int64_t minimal = alone();
  cut.detours = engine_.layout().makes_detours() && is_sooner(flow, minimal);
  return cut.detours ? alone() : minimal;
}

// Stripes between the same two leaves share what is between those.
PacketSim::Cut PacketRun::cut_of(const schedule::FlowRecord& flow, std::uint64_t bytes,
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

std::int64_t PacketRun::unloaded_send(const schedule::FlowRecord& flow, const Flow& stripe, const PacketSim::Cut& cut,
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
  if (model_hosts_ && first < whole) {
    const std::uint64_t last = (whole - 1) % first + 1;
    alone = std::max({alone, ready(whole - last) + by_wire(first + last), ready(whole) + by_wire(last)});
  }
  // An acknowledgement does not wait for the GPU to have the bytes.
  if (flow.unanswered && model_hosts_)
    if (const HostRoute* in = hosts_[0]->routes.find(nic(stripe.destination), part(flow.destination)))
      alone += in->latency.count();
  return sooner(flow, alone, stripe, cut);
}

std::int64_t PacketRun::unloaded_read(const schedule::FlowRecord& flow, const Flow& stripe, const PacketSim::Cut& cut,
                                      const PathOut& out) {
  const Flow back{stripe.destination, stripe.source, stripe.bytes, 0};
  const std::int64_t question = engine_.unloaded_arrival({stripe.source, stripe.destination, 0, 0}, cut);
  const std::int64_t answer = engine_.unloaded_arrival(back, cut);
  if (question == 0 || answer == 0) return 0;
  // The acknowledgement of the question leaves before the answer.
  const Layout& layout = engine_.layout();
  const std::int64_t heard =
      layout.link(layout.far(layout.port_of_endpoint(stripe.destination)).link).occupancy(cut.header);
  const auto latency = [&](fabric::NodeId from, fabric::NodeId to) {
    const HostRoute* route = model_hosts_ ? hosts_[0]->routes.find(from, to) : nullptr;
    return route == nullptr ? 0 : route->latency.count();
  };
  const std::int64_t inside = out.latency.count() + latency(part(flow.destination), nic(stripe.destination)) +
                              latency(nic(stripe.source), part(flow.source));
  return sooner(flow, inside + question + heard + answer, back, cut);
}

// What a flow would have taken alone, behind itself, or less where its last packet overtakes the others. Nobody knows
// whether that one would have found another path: a flow that was sooner found one.
std::int64_t PacketRun::sooner(const schedule::FlowRecord& flow, std::int64_t alone, const Flow& stripe,
                               const PacketSim::Cut& cut) const {
  if (!is_sooner(flow, alone)) return alone;
  const std::int64_t end = flow.unanswered ? flow.received : flow.sent;
  return std::max(end - flow.start, alone - engine_.overtaking(stripe, cut));
}

}  // namespace weft::sim
