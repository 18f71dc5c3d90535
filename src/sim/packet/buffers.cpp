#include "sim/packet/buffers.hpp"

#include <utility>

namespace weft::sim {

bool Buffers::marks_at(const Event& packet, std::uint32_t out, std::int64_t waiting) {
  const Link& link = world_.layout.link(world_.exact.wires[out].link);
  const std::int64_t ahead = link.wire(waiting);
  if (ahead <= link.mark_from) return false;
  if (ahead < link.mark_to &&
      !marks(link, ahead, static_cast<std::uint32_t>(world_.entities[packet.to].random.next() >> 33)))
    return false;
  cnps_.marked(packet, transport::kMarked);
  return true;
}

void Buffers::count_drop(std::uint32_t port) {
  ++world_.ports[port].dropped;
  ++tally_.dropped;
  if (Samples* const samples = world_.samples_of(port)) ++samples->at(windows_.now()).dropped;
}

bool Buffers::hold_in(const Event& packet, std::uint32_t cls, std::uint32_t entity) {
  const std::uint32_t in = world_.layout.port_of(entity, world_.exact.port_in(packet));
  Hold& held = hold(in, cls);
  if (held.shared + packet.bytes <= threshold(entity) && held.headroom == 0) {
    held.shared += packet.bytes;
    world_.exact.used[entity] += packet.bytes;
    return true;
  }
  if (!held.pausing) {
    held.pausing = true;
    tell(entity, in, cls, Control::pause, 0);
  }
  if (held.headroom + packet.bytes > world_.exact.headroom[world_.layout.far(in).link]) {
    ++world_.exact.drops[in].headroom;
    return false;
  }
  held.headroom += packet.bytes;
  return true;
}

void Buffers::release(const Event& packet, std::uint32_t cls, std::uint32_t entity) {
  const std::uint32_t in = world_.layout.port_of(entity, world_.exact.port_in(packet));
  Hold& held = hold(in, cls);
  const std::int64_t from_headroom = std::min<std::int64_t>(held.headroom, packet.bytes);
  held.headroom -= from_headroom;
  held.shared -= packet.bytes - from_headroom;
  world_.exact.used[entity] -= packet.bytes - from_headroom;
  if (!held.pausing || held.headroom > 0) return;
  // Where others fill the buffer, what is empty may go on all the same.
  if (held.shared > 0 && held.shared + world_.config.exact.resume_below > threshold(entity)) return;
  held.pausing = false;
  tell(entity, in, cls, Control::resume, 0);
}

void Buffers::give_credit(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, std::int64_t bytes) {
  Hold& held = hold(port, cls);
  held.owed += bytes;
  if (held.owed < world_.exact.credit / 4) return;
  tell(entity, port, cls, Control::credit, held.owed);
  held.owed = 0;
}

// Tells the neighbour on a port. Such a frame goes before all that waits, but not through what is on the wire.
void Buffers::tell(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, Control what, std::int64_t amount) {
  const Layout::Far& far = world_.layout.far(port);
  const Link& link = world_.layout.link(far.link);
  const std::int64_t begin = std::max(windows_.now(), world_.ports[port].busy);
  const std::int64_t end = begin + link.wire(kControlBytes);
  world_.ports[port].busy = end;
  const std::int64_t time = end + link.latency + world_.config.exact.reaction.count();
  Event& slot = windows_.place(time, far.entity);
  slot = Event(ControlFrame{.which = world_.layout.reverse_port(port), .cls = cls, .what = what, .amount = amount});
  windows_.address(slot, time, far.entity, entity);
}

bool Buffers::take_from_nic(const Event& event) {
  const std::uint32_t endpoint = event.header.destination;
  const std::uint32_t cls = queues_.class_of(event);
  const std::uint32_t port = world_.layout.port_of_endpoint(endpoint);
  Intake& taking = world_.exact.intakes[endpoint];
  const bool by_credits = world_.config.exact.has_credit(cls);
  if (event.kind == EventKind::packet && taking.per_byte > 0) {
    const std::int64_t backlog = (std::max<std::int64_t>(0, taking.done - event.time) << 10) / taking.per_byte;
    if (backlog + event.bytes > world_.config.exact.nic_buffer && !by_credits) {
      ++world_.exact.drops[port].headroom;
      if (world_.samples_of(port)) ++world_.specials[world_.ports[port].special - 1].refused.at(event.time).dropped;
      ++tally_.dropped;
      return false;
    }
    Hold& held = hold(port, cls);
    if (world_.config.exact.is_lossless(cls) && !by_credits && !held.pausing &&
        backlog > world_.config.exact.nic_buffer / 2) {
      held.pausing = true;
      tell(event.to, port, cls, Control::pause, 0);
    }
    taking.done = std::max(taking.done, event.time) + (taking.per_byte * event.bytes >> 10);
    Event later = event;
    later.kind = EventKind::delivered;
    windows_.emit(later, taking.done, event.to);
    return false;
  }
  ++tally_.arrived;
  if (by_credits) give_credit(event.to, port, cls, event.bytes);
  if (taking.per_byte == 0 || ((taking.done - event.time) << 10) / taking.per_byte > world_.config.exact.nic_buffer / 4)
    return true;
  // All classes share the NIC's buffer: one may have nothing left there, and no packet of its own to go on with.
  for (std::uint32_t each = 0; each < world_.config.exact.classes; ++each) {
    if (!std::exchange(hold(port, each).pausing, false)) continue;
    tell(event.to, port, each, Control::resume, 0);
  }
  return true;
}

}  // namespace weft::sim
