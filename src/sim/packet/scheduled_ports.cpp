#include "sim/packet/scheduled_ports.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

// From a host: it waits here. From another leaf: it is let go by its port.
void ScheduledPorts::arrive(const Event& event) {
  const std::uint32_t by = event.from & ((1u << world_.exact.ingress_shift) - 1);
  if (world_.layout.is_host(by)) return await_credit(event);
  if (by == event.to) return leave(event);  // has waited below
  ScheduledLeaf::Line& down = world_.scheduled.leaves[event.to].down;
  const std::int64_t begin = std::max(down.busy, windows_.now());
  down.busy = begin + world_.layout.bundle_wire(event.to, event.bytes);
  if (down.samples.on()) {
    down.samples.carry(begin, down.busy - begin, event.bytes);
    ++down.samples.at(begin).packets;
  }
  down.waited += begin - windows_.now();
  down.bytes += event.bytes;
  ++down.packets;
  // Where its port is busy until then, nobody could tell that it stands there early.
  const std::uint32_t out = world_.layout.reverse_port(world_.layout.port_of_endpoint(event.header.destination));
  std::int64_t& held_until =
      world_.scheduled.granting[event.header.destination * world_.config.exact.classes + queues_.class_of(event)]
          .held_until;
  if (begin == windows_.now() || (world_.ports[out].busy >= begin && held_until < windows_.now())) return leave(event);
  held_until = begin;
  const std::int64_t waiting = world_.layout.bundle_bytes(event.to, begin - windows_.now());
  down.longest = std::max(down.longest, waiting);
  if (down.samples.on()) down.samples.queue(windows_.now(), waiting, begin);
  windows_.emit(event, begin, event.to);
}

// ---- the leaf where it comes in

void ScheduledPorts::await_credit(const Event& event) {
  Event packet = event;
  const std::uint32_t entity = event.to;
  const std::uint32_t endpoint = packet.header.destination;
  const std::uint32_t cls = queues_.class_of(packet);
  if (!world_.layout.reachable(packet.header.source, endpoint)) {
    ++tally_.lost;
    return;
  }
  ScheduledLeaf& leaf = world_.scheduled.leaves[entity];
  const bool here = world_.layout.leaf_of(endpoint) == entity;
  if (!world_.config.exact.is_lossless(cls)) {
    if (here) return leave(packet);
    queues_.pool().chain(leaf.express_first, leaf.express_last, queues_.pool().take(packet));
    return send_cells(entity);
  }
  const std::uint32_t out = world_.layout.reverse_port(world_.layout.port_of_endpoint(endpoint));
  const auto number = static_cast<std::uint32_t>(leaf.queues.size());
  const auto [known, is_new] = leaf.queue_of.try_emplace(std::uint64_t{endpoint} * kMostClasses + cls, number);
  if (is_new) leaf.queues.push_back({.endpoint = endpoint, .cls = cls});
  VirtualQueue& queue = leaf.queues[known->second];
  // What comes while credit is fetched waits in any case: that is no congestion.
  const std::int64_t always = here ? 0 : world_.scheduled.meanwhile[world_.layout.far(out).link];
  if (buffers_.marks_at(packet, out, std::max<std::int64_t>(0, queue.bytes - always)))
    packet.flags |= transport::kMarked;
  // What is for another leaf waits for the way there: that port is another entity's.
  Samples* const samples = here ? world_.samples_of(out) : leaf.up.samples.on() ? &leaf.up.samples : nullptr;
  if (!buffers_.hold_in(packet, cls, entity)) {
    if (here) return buffers_.count_drop(out);
    ++leaf.up.dropped;
    ++tally_.dropped;
    if (samples) ++samples->at(windows_.now()).dropped;
    return;
  }
  if (packet.flags & ~event.flags & transport::kMarked) {
    if (here)
      ++world_.ports[out].marked;
    else
      ++leaf.up.marked;
    if (samples) ++samples->at(windows_.now()).marked;
  }
  queues_.pool().chain(queue.head, queue.tail, queues_.pool().take(packet));
  queue.bytes += packet.bytes;
  if (here) {
    Port& port = world_.ports[out];
    const Link& link = world_.layout.link(world_.layout.far(out).link);
    port.peak = std::max(port.peak, link.wire(queue.bytes));
    if (samples) samples->peak(windows_.now(), link.bytes_in(link.wire(queue.bytes)));
  } else {
    leaf.waiting += packet.bytes;
    leaf.up.longest = std::max(leaf.up.longest, leaf.waiting);
    if (samples) samples->queue(windows_.now(), leaf.waiting);
  }
  const std::uint32_t target = world_.layout.leaf_of(endpoint);
  if (here) return asked(endpoint, cls, entity, known->second, packet.bytes);
  notify(entity, target, Control::ask, endpoint, cls, known->second, packet.bytes);
}

// Requests and grants between leaves are cells, too, but take no room on the links.
void ScheduledPorts::notify(std::uint32_t entity, std::uint32_t target, Control what, std::uint32_t endpoint,
                            std::uint32_t cls, std::uint32_t queue, std::int64_t bytes) {
  const std::int64_t time = windows_.now() + world_.layout.word_time(entity, target);
  Event& slot = windows_.place(time, target);
  slot =
      Event(ControlFrame{.which = endpoint, .cls = cls, .what = what, .queue = queue, .leaf = entity, .amount = bytes});
  windows_.address(slot, time, target, entity);
}

void ScheduledPorts::granted(std::uint32_t entity, std::uint32_t number, std::int64_t bytes) {
  ScheduledLeaf& leaf = world_.scheduled.leaves[entity];
  VirtualQueue& queue = leaf.queues[number];
  queue.granted += bytes;
  if (queue.granted <= 0 || queue.in_line || queue.head == kNone) return;
  if (world_.layout.leaf_of(queue.endpoint) == entity) {
    while (queue.granted > 0 && queue.head != kNone) leave(take_out(queue, entity));
    return;
  }
  queue.in_line = true;
  stand_in_line(leaf, number);
  send_cells(entity);
}

void ScheduledPorts::stand_in_line(ScheduledLeaf& leaf, std::uint32_t number) {
  leaf.queues[number].next = kNone;
  (leaf.line_last == kNone ? leaf.line_first : leaf.queues[leaf.line_last].next) = number;
  leaf.line_last = number;
}

Event ScheduledPorts::take_out(VirtualQueue& queue, std::uint32_t entity) {
  const std::uint32_t index = queue.head;
  const Event packet = queues_.pool()[index];
  queue.head = queues_.pool().next(index);
  if (queue.head == kNone) queue.tail = kNone;
  queue.bytes -= packet.bytes;
  queue.granted -= packet.bytes;
  queues_.pool().give_back(index);
  buffers_.release(packet, queue.cls, entity);
  return packet;
}

// Sends what may go while the uplinks are free: first what asks nobody, then a packet of each virtual queue in turn.
void ScheduledPorts::send_cells(std::uint32_t entity) {
  ScheduledLeaf& leaf = world_.scheduled.leaves[entity];
  while (leaf.express_first != kNone || leaf.line_first != kNone) {
    if (leaf.up.busy > windows_.now()) {
      if (leaf.armed == leaf.up.busy) return;
      leaf.armed = leaf.up.busy;
      return remind(entity, Control::send, 0, 0, leaf.armed);
    }
    Event packet;
    VirtualQueue* queue = nullptr;
    if (leaf.express_first != kNone) {
      const std::uint32_t index = leaf.express_first;
      packet = queues_.pool()[index];
      leaf.express_first = queues_.pool().next(index);
      if (leaf.express_first == kNone) leaf.express_last = kNone;
      queues_.pool().give_back(index);
    } else {
      const std::uint32_t number = leaf.line_first;
      queue = &leaf.queues[number];
      leaf.line_first = queue->next;
      if (leaf.line_first == kNone) leaf.line_last = kNone;
      packet = take_out(*queue, entity);
      leaf.waiting -= packet.bytes;
      if (leaf.up.samples.on()) leaf.up.samples.queue(windows_.now(), leaf.waiting);
      queue->in_line = queue->granted > 0 && queue->head != kNone;
      if (queue->in_line) stand_in_line(leaf, number);
    }
    leaf.up.busy = windows_.now() + world_.layout.bundle_wire(entity, packet.bytes);
    if (leaf.up.samples.on()) {
      leaf.up.samples.carry(windows_.now(), leaf.up.busy - windows_.now(), packet.bytes);
      ++leaf.up.samples.at(windows_.now()).packets;
    }
    leaf.up.waited += windows_.now() - packet.time;
    leaf.up.bytes += packet.bytes;
    ++leaf.up.packets;
    const std::uint32_t target = world_.layout.leaf_of(packet.header.destination);
    std::int64_t time = windows_.now() + world_.layout.cells_time(entity, target, packet.bytes);
    if (queue) time = queue->whole = std::max(time, queue->whole);
    Event& slot = windows_.place(time, target);
    slot = packet;
    windows_.address(slot, time, target, entity);
  }
}

// ---- the leaf where it goes out

void ScheduledPorts::leave(const Event& event) {
  const std::uint32_t out = world_.layout.reverse_port(world_.layout.port_of_endpoint(event.header.destination));
  Queuing packet = queues_.queuing(event);
  if (!world_.config.exact.is_lossless(packet.cls)) {
    if (!buffers_.take_in(event, packet, out)) return;
  } else if (world_.exact.ports[out].thrown_away >> packet.cls & 1) {
    ++world_.exact.drops[out].watchdog;
    sent_on(event, packet.cls);
    return buffers_.count_drop(out);
  }
  queues_.enqueue(event, packet, out);
  ports_.serve(out, event.to);
}

// A virtual queue has as many bytes more.
void ScheduledPorts::asked(std::uint32_t endpoint, std::uint32_t cls, std::uint32_t leaf, std::uint32_t queue,
                           std::int64_t bytes) {
  ScheduledLeaf& here = world_.scheduled.leaves[world_.layout.leaf_of(endpoint)];
  const auto number = static_cast<std::uint32_t>(here.asking.size());
  const auto [known, is_new] = here.asking_of.try_emplace(std::uint64_t{leaf} << 32 | queue, number);
  if (is_new) here.asking.push_back({.leaf = leaf, .queue = queue});
  Asking& asking = here.asking[known->second];
  Granting& granting = world_.scheduled.granting[endpoint * world_.config.exact.classes + cls];
  if (asking.bytes == 0) {
    asking.next = kNone;
    (granting.last == kNone ? granting.first : here.asking[granting.last].next) = known->second;
    granting.last = known->second;
  }
  asking.bytes += bytes;
  grant(endpoint, cls);
}

// At line rate, and up to one grant ahead of it: who asks a little early need not be remembered.
void ScheduledPorts::grant(std::uint32_t endpoint, std::uint32_t cls) {
  const std::uint32_t entity = world_.layout.leaf_of(endpoint);
  const std::uint32_t out = world_.layout.reverse_port(world_.layout.port_of_endpoint(endpoint));
  const std::uint32_t kind = world_.layout.far(out).link;
  const Link& wire = world_.layout.link(kind);
  ScheduledLeaf& here = world_.scheduled.leaves[entity];
  Granting& granting = world_.scheduled.granting[endpoint * world_.config.exact.classes + cls];
  while (granting.first != kNone && world_.exact.gate(out, cls).paused_since == 0 &&
         granting.outstanding < world_.scheduled.window[kind]) {
    if (const std::int64_t time = granting.next_time - wire.wire(world_.scheduled.most); time > windows_.now()) {
      if (granting.armed == time) return;
      granting.armed = time;
      return remind(entity, Control::grant, endpoint, cls, granting.armed);
    }
    const std::uint32_t number = granting.first;
    Asking& asking = here.asking[number];
    const std::int64_t bytes = std::min(asking.bytes, world_.scheduled.most);
    granting.first = asking.next;
    if (granting.first == kNone) granting.last = kNone;
    asking.bytes -= bytes;
    if (asking.bytes > 0) {
      asking.next = kNone;
      (granting.last == kNone ? granting.first : here.asking[granting.last].next) = number;
      granting.last = number;
    }
    granting.outstanding += bytes;
    granting.next_time = std::max(granting.next_time, windows_.now()) + wire.wire(bytes);
    const Asking to = asking;  // what a queue of this leaf sends at once may ask for more
    if (to.leaf == entity) {
      granted(entity, to.queue, bytes);
    } else {
      notify(entity, to.leaf, Control::grant, endpoint, cls, to.queue, bytes);
    }
  }
}

void ScheduledPorts::sent_on(const Event& packet, std::uint32_t cls) {
  world_.scheduled.granting[packet.header.destination * world_.config.exact.classes + cls].outstanding -= packet.bytes;
  grant(packet.header.destination, cls);
}

// A leaf reminds itself.
void ScheduledPorts::remind(std::uint32_t entity, Control what, std::uint32_t endpoint, std::uint32_t cls,
                            std::int64_t time) {
  windows_.emit(Event(ControlFrame{.which = endpoint, .cls = cls, .what = what}), time, entity);
}

void ScheduledPorts::at_control(const Event& event) {
  const ControlFrame& frame = event.control;
  const bool own = event.from == event.to;
  if (frame.what == Control::ask) {
    asked(frame.which, frame.cls, frame.leaf, frame.queue, frame.amount);
  } else if (frame.what == Control::send) {
    std::int64_t& armed = world_.scheduled.leaves[event.to].armed;
    if (armed != event.time) return;  // superseded
    armed = 0;
    send_cells(event.to);
  } else if (!own) {
    granted(event.to, frame.queue, frame.amount);
  } else {
    std::int64_t& armed = world_.scheduled.granting[frame.which * world_.config.exact.classes + frame.cls].armed;
    if (armed != event.time) return;
    armed = 0;
    grant(frame.which, frame.cls);
  }
}

}  // namespace weft::sim
