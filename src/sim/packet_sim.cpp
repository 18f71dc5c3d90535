#include "sim/packet_sim.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

using fabric::LinkTier;
using transport::PacketType;

constexpr std::size_t kTiers = 7;
constexpr std::int64_t kPicosPerSecondByte = 8'000'000'000'000;

// Endpoints and path to the number that switches hash: different for every path of every pair.
std::uint32_t entropy_of(const transport::Header& header) {
  return header.source * 0x9e3779b1u + header.destination * 0x85ebca77u + header.path * 0xc2b2ae3du;
}

bool later(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.from != b.from) return a.from > b.from;
  return a.number > b.number;
}

}  // namespace

PacketSim::PacketSim(const fabric::Fabric& fabric, const SimConfig& config)
    : fabric_(fabric), config_(config), srd_({}), wheel_(1, 0) {
  hosts0_ = fabric.count(fabric::NodeKind::network_switch);
  per_plane_ = fabric.switches_per_plane();
  for (std::uint32_t e = 0; e < fabric.endpoints(); ++e) {
    attached_.push_back(fabric.attachment(e));
    host_of_.push_back(fabric.describe(fabric.nic_of(e)).server);
  }
  nic_ports_.resize(fabric.endpoints());
  armed_.assign(fabric.endpoints(), transport::kNever);
  entities_.resize(hosts0_ + fabric.cluster().servers);
  for (std::uint32_t i = 0; i < entities_.size(); ++i) entities_[i].random = Random(config.seed, 0, i);
  counts_.resize(entities_.size() + 1);

  find_links();
  const std::int64_t look_ahead = connect_ports();
  wheel_ = Wheel(std::max<std::int64_t>(1, look_ahead), 0);

  // The longest unloaded round trip: a full packet out, a header back.
  const std::uint32_t full = config_.srd.payload + config_.srd.header;
  const std::uint32_t last = fabric.endpoints() - 1;
  const std::uint32_t first = reachable(0, last) ? 0 : last;
  base_rtt_ = one_way(first, last, full) + one_way(last, first, config_.srd.header);
  for (Link& link : links_) {
    link.queue = config_.queue_bytes > 0 ? config_.queue_bytes * link.ps_per_byte : base_rtt_;
    link.mark_from = link.queue * config_.mark_from / 100;
    link.mark_to = link.queue * config_.mark_to / 100;
  }
  config_.srd.base_rtt = base_rtt_;
  if (config_.srd.rto == 0) config_.srd.rto = 5 * base_rtt_;
  srd_ = transport::Srd(config_.srd);
}

// Kinds of links: those between switches by tier, then NIC links by server group.
void PacketSim::find_links() {
  const std::size_t groups = fabric_.cluster().groups.size();
  links_.resize(kTiers + groups);
  const auto describe = [&](std::size_t index, const model::Wire& wire) {
    links_[index].latency = wire.latency.count();
    if (wire.rate.count() == 0) return;  // a tier this fabric does not have
    links_[index].ps_per_byte = (kPicosPerSecondByte + wire.rate.count() - 1) / wire.rate.count();  // never early
  };
  for (const LinkTier tier : {LinkTier::spine, LinkTier::super_spine, LinkTier::gateway, LinkTier::site, LinkTier::local, LinkTier::global})
    if ((fabric_.clos() != nullptr) == (tier < LinkTier::local)) describe(static_cast<std::size_t>(tier), fabric_.wire(tier));
  for (std::uint32_t g = 0; g < groups; ++g) {
    describe(kTiers + g, fabric_.wire(LinkTier::nic, g));
    config_.srd.packet_time = std::max(config_.srd.packet_time, links_[kTiers + g].ps_per_byte * (config_.srd.payload + config_.srd.header));
  }
}

std::int64_t PacketSim::connect_ports() {
  std::int64_t look_ahead = INT64_MAX;
  for (std::uint32_t s = 0; s < hosts0_; ++s) {
    first_port_.push_back(static_cast<std::uint32_t>(far_.size()));
    const std::int64_t latency = fabric_.switch_kind(s).latency.count();
    switch_latency_.push_back(latency);
    const std::uint32_t plane = s / per_plane_;
    for (std::uint32_t port = 0; port < fabric_.ports(s); ++port) {
      const fabric::Peer other = fabric_.peer(s, port);
      far_.push_back({0, 0});
      std::int64_t before = latency;
      if (other.kind == fabric::Peer::Kind::other_switch) {
        far_.back() = {plane * per_plane_ + other.switch_index, static_cast<std::uint32_t>(other.tier)};
      } else {
        const auto end = other.kind == fabric::Peer::Kind::nic ? fabric_.endpoint_at(plane, {s % per_plane_, port}) : std::nullopt;
        if (!end) continue;
        far_.back() = {hosts0_ + host_of_[*end], static_cast<std::uint32_t>(kTiers + fabric_.describe(fabric_.nic_of(*end)).group)};
        before = 0;  // from the NIC's side nothing precedes the cable
      }
      const Link& link = links_[far_.back().link];
      look_ahead = std::min(look_ahead, before + link.latency + link.ps_per_byte * config_.srd.header);
    }
  }
  ports_.resize(far_.size());
  return look_ahead;
}

std::int64_t PacketSim::one_way(std::uint32_t from, std::uint32_t to, std::uint32_t bytes) const {
  const fabric::Attachment& start = attached_[from];
  const fabric::Target target = attached_[to].target;
  std::uint32_t at = start.target.leaf;
  const Link& nic = links_[far_[first_port_[start.plane * per_plane_ + at] + start.target.port].link];
  std::int64_t time = nic.latency + nic.ps_per_byte * bytes;
  while (true) {
    const std::uint32_t here = start.plane * per_plane_ + at;
    const Far& far = far_[first_port_[here] + fabric_.next_hop(at, target, 0).port];
    time += switch_latency_[here] + links_[far.link].latency + links_[far.link].ps_per_byte * bytes;
    if (far.entity >= hosts0_) return time;
    at = far.entity % per_plane_;
  }
}

std::int64_t PacketSim::unloaded(const Flow& flow) const {
  const std::uint64_t payload = config_.srd.payload;
  const std::uint64_t packets = std::max<std::uint64_t>(1, (flow.bytes + payload - 1) / payload);
  const auto last = static_cast<std::uint32_t>(flow.bytes - (packets - 1) * payload);
  const fabric::Attachment& start = attached_[flow.source];
  const Link& nic = links_[far_[first_port_[start.plane * per_plane_ + start.target.leaf] + start.target.port].link];
  const std::int64_t full = static_cast<std::int64_t>(payload) + config_.srd.header;
  const std::int64_t each = nic.ps_per_byte * full;
  const auto before = static_cast<std::int64_t>(packets - 1);
  std::int64_t arrived = before * each + one_way(flow.source, flow.destination, last + config_.srd.header);
  if (before > 0)  // a short last packet may overtake the full one before it on another path
    arrived = std::max(arrived, (before - 1) * each + one_way(flow.source, flow.destination, static_cast<std::uint32_t>(full)));
  return arrived + one_way(flow.destination, flow.source, config_.srd.header);
}

void PacketSim::emit(Event& event, std::uint32_t from) {
  event.from = from;
  event.number = entities_[from].caused++;
  if (event.time < window_end_) {  // a wake-up of the entity itself, or a run in time order
    late_.push_back(event);
    std::push_heap(late_.begin(), late_.end(), later);
  } else {
    wheel_.add(event);
  }
}

void PacketSim::start(std::uint32_t tag, const Flow& flow) {
  if (config_.in_time_order && flow.start <= now_ && running_) {
    srd_.post(now_, flow.source, flow.destination, flow.bytes, tag);
    pump(flow.source, now_);
    return;
  }
  Event event;
  event.kind = EventKind::start;
  event.time = flow.start;
  event.to = host_entity(flow.source);
  event.header.source = flow.source;
  event.header.destination = flow.destination;
  event.header.data.size = flow.bytes;
  event.header.data.tag = tag;
  emit(event, event.to);
}

void PacketSim::forward(Event packet, Port& port, const Link& link, std::uint32_t entity, std::int64_t ready) {
  std::int64_t begin = 0;
  bool high = packet.type == PacketType::ack || (packet.flags & transport::kTrimmed);
  if (!high) {
    const std::int64_t ahead = port.busy - ready;
    if (entity < hosts0_ && ahead > link.mark_from) {
      if (ahead > link.queue) {
        if (!config_.trimming) {
          ++dropped_;
          return;
        }
        packet.flags |= transport::kTrimmed;
        packet.bytes = static_cast<std::uint16_t>(config_.srd.header);
        ++port.trimmed;
        high = true;
      } else {
        const std::int64_t span = link.mark_to - link.mark_from;
        const bool mark = ahead >= link.mark_to ||
                          static_cast<std::int64_t>(entities_[entity].random.next() >> 33) * span < ((ahead - link.mark_from) << 31);
        if (mark) {
          packet.flags |= transport::kMarked;
          ++port.marked;
        }
      }
    }
  }
  const std::int64_t wire = link.ps_per_byte * packet.bytes;
  if (high) {
    begin = std::max(ready, port.busy_high);
    // The data packet on the wire is not interrupted: on average half of one is still to go.
    if (port.busy > begin) begin += std::min(port.busy - begin, config_.srd.packet_time / 2);
    port.busy_high = begin + wire;
    if (port.busy > begin) port.busy += wire;
    packet.time = port.busy_high + link.latency;
  } else {
    begin = std::max({ready, port.busy, port.busy_high});
    port.busy = begin + wire;
    packet.time = port.busy + link.latency;
  }
  port.bytes += packet.bytes;
  ++hops_;
  packet.kind = EventKind::packet;
  emit(packet, entity);
}

void PacketSim::at_switch(const Event& event) {
  const fabric::Attachment& to = attached_[event.header.destination];
  const std::uint32_t local = event.to % per_plane_;
  const fabric::Hop hop = fabric_.next_hop(local, to.target, entropy_of(event.header));
  const std::uint32_t index = first_port_[event.to] + hop.port;
  const Far& far = far_[index];
  Event packet = event;
  packet.to = far.entity;
  forward(packet, ports_[index], links_[far.link], event.to, event.time + switch_latency_[event.to]);
}

void PacketSim::send(std::uint32_t endpoint, const transport::Transmit& out, std::int64_t now) {
  Event packet;
  packet.type = out.type;
  packet.flags = out.flags & 0xF;
  packet.bytes = static_cast<std::uint16_t>(out.wire_bytes);
  packet.header = out.header;
  const fabric::Attachment& here = attached_[endpoint];
  packet.to = here.plane * per_plane_ + here.target.leaf;
  const std::uint32_t link = far_[first_port_[packet.to] + here.target.port].link;
  forward(packet, nic_ports_[endpoint], links_[link], host_entity(endpoint), now);
}

void PacketSim::arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now) {
  when = std::max(when, now + 1);
  if (when >= armed_[endpoint] || when == transport::kNever) return;
  armed_[endpoint] = when;
  Event wake;
  wake.kind = EventKind::wake;
  wake.time = when;
  wake.to = host_entity(endpoint);
  wake.header.source = endpoint;
  emit(wake, wake.to);
}

void PacketSim::pump(std::uint32_t endpoint, std::int64_t now) {
  // The card takes a few packets ahead of the wire; deciding later means deciding with newer news.
  const std::int64_t ahead = 4 * config_.srd.packet_time;
  transport::Transmit out;
  while (srd_.poll_ack(endpoint, out)) send(endpoint, out, now);
  while (nic_ports_[endpoint].busy - now < ahead) {
    if (!srd_.poll(now, endpoint, out)) {
      arm(endpoint, srd_.next_wake(endpoint), now);
      return;
    }
    send(endpoint, out, now);
  }
  arm(endpoint, nic_ports_[endpoint].busy - ahead + 1, now);
}

void PacketSim::at_host(const Event& event) {
  const std::int64_t now = event.time;
  std::uint32_t endpoint = event.header.source;
  if (event.kind == EventKind::packet) {
    endpoint = event.header.destination;
    srd_.handle(now, endpoint, event.type, event.flags, event.header);
  } else if (event.kind == EventKind::start) {
    srd_.post(now, endpoint, event.header.destination, event.header.data.size, event.header.data.tag);
  } else {
    if (armed_[endpoint] != now) return;  // superseded
    armed_[endpoint] = transport::kNever;
  }
  pump(endpoint, now);
  complete(now);
}

void PacketSim::complete(std::int64_t now) {
  auto& done = srd_.completions();
  for (std::size_t i = 0; i < done.size(); ++i) {
    const transport::Completion each = done[i];
    if (each.sent && on_sent) on_sent(each.tag, now);
    if (!each.sent && on_received) on_received(each.tag, now);
  }
  done.clear();
}

void PacketSim::handle(const Event& event) {
  ++events_;
  now_ = event.time;
  Digest& digest = entities_[event.to].digest;
  digest.add(static_cast<std::uint64_t>(event.time));
  digest.add((std::uint64_t{event.from} << 32) ^ event.number ^ (std::uint64_t{event.header.sequence} << 20) ^
             (std::uint64_t{event.bytes} << 48) ^ (std::uint64_t{event.flags} << 44));
  if (event.to < hosts0_) {
    at_switch(event);
  } else {
    at_host(event);
  }
}

void PacketSim::run_group(std::span<Pending> group) {
  const auto earlier = [](const Pending& a, const Pending& b) {
    return a.time != b.time ? a.time < b.time : a.cause < b.cause;
  };
  constexpr std::size_t kFew = 24;  // one entity's share of a window: nearly sorted and short
  if (group.size() > kFew) {
    std::sort(group.begin(), group.end(), earlier);
  } else {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const Pending moving = group[i];
      std::size_t at = i;
      for (; at > 0 && earlier(moving, group[at - 1]); --at) group[at] = group[at - 1];
      group[at] = moving;
    }
  }
  std::size_t next = 0;
  while (next < group.size() || !late_.empty()) {
    if (!late_.empty()) {
      const Event& first = late_.front();
      const bool take = next == group.size() || first.time < group[next].time ||
                        (first.time == group[next].time && ((std::uint64_t{first.from} << 32) | first.number) < group[next].cause);
      if (take) {
        const Event event = first;
        std::pop_heap(late_.begin(), late_.end(), later);
        late_.pop_back();
        handle(event);
        continue;
      }
    }
    handle(wheel_.event(group[next++].event));
  }
}

void PacketSim::run_window() {
  const auto key = [](const Event& event) { return (std::uint64_t{event.from} << 32) | event.number; };
  pending_.resize(wheel_.size());
  if (config_.in_time_order) {
    std::size_t n = 0;
    wheel_.for_each([&](std::uint32_t index, const Event& event) { pending_[n++] = {event.time, key(event), index}; });
    run_group(pending_);
    return;
  }
  // Counting sort by entity, then each entity's events by time.
  std::fill(counts_.begin(), counts_.end(), 0);
  wheel_.for_each([&](std::uint32_t, const Event& event) { ++counts_[event.to + 1]; });
  for (std::size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
  wheel_.for_each([&](std::uint32_t index, const Event& event) { pending_[counts_[event.to]++] = {event.time, key(event), index}; });
  std::uint32_t begin = 0;
  for (std::size_t entity = 0; entity < entities_.size(); ++entity) {
    const std::uint32_t end = counts_[entity];
    if (end == begin) continue;
    run_group(std::span(pending_).subspan(begin, end - begin));
    begin = end;
  }
}

SimResult PacketSim::run() {
  running_ = true;
  while (wheel_.advance()) {
    window_end_ = wheel_.window_end();
    run_window();
    wheel_.clear();
    window_end_ = 0;
    if (on_window) on_window(now_);
  }
  SimResult result;
  result.end = now_;
  result.events = events_;
  result.packet_hops = hops_;
  const transport::SrdCounters& counters = srd_.counters();
  result.data_sent = counters.data_sent;
  result.data_resent = counters.data_resent;
  result.acks_sent = counters.acks_sent;
  result.marked = counters.marked_seen;
  result.trimmed = counters.trimmed_seen;
  result.timeouts = counters.timeouts;
  result.dropped = dropped_;
  Digest all;
  for (const Entity& entity : entities_) all.add(entity.digest.value());
  result.digest = all.value();
  return result;
}

}  // namespace weft::sim
