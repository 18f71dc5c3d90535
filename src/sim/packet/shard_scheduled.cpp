// A scheduled fabric; scheduled.hpp says how it works.

#include <algorithm>

#include "sim/packet/shard.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kNone = PacketPool::kNone;

}  // namespace

// From a host: it waits here. From another leaf: it is let go by its port.
void Shard::arrive_scheduled(const Event& event) {
  const std::uint32_t by = event.from & ((1u << world_.exact.ingress_shift) - 1);
  if (layout_.is_host(by)) return await_credit(event);
  if (by == event.to) return leave_scheduled(event);  // has waited below
  ScheduledLeaf::Line& down = world_.scheduled.leaves[event.to].down;
  const std::int64_t begin = std::max(down.busy, now_);
  down.busy = begin + layout_.bundle_wire(event.to, event.bytes);
  if (down.samples.on()) {
    down.samples.carry(begin, down.busy - begin, event.bytes);
    ++down.samples.at(begin).packets;
  }
  down.waited += begin - now_;
  down.bytes += event.bytes;
  ++down.packets;
  ++tally_.hops;
  // Where its port is busy until then, nobody could tell that it stands there early.
  const std::uint32_t out = layout_.reverse_port(layout_.port_of_endpoint(event.header.destination));
  std::int64_t& held_until =
      world_.scheduled.granting[event.header.destination * config_.exact.classes + class_of(event)].held_until;
  if (begin == now_ || (world_.ports[out].busy >= begin && held_until < now_)) return leave_scheduled(event);
  held_until = begin;
  const std::int64_t waiting = layout_.bundle_bytes(event.to, begin - now_);
  down.longest = std::max(down.longest, waiting);
  if (down.samples.on()) down.samples.queue(now_, waiting, begin);
  emit(event, begin, event.to);
}

// ---- the leaf where it comes in

void Shard::await_credit(const Event& event) {
  Event packet = event;
  const std::uint32_t entity = event.to;
  const std::uint32_t endpoint = packet.header.destination;
  const std::uint32_t cls = class_of(packet);
  if (!layout_.reachable(packet.header.source, endpoint)) {
    ++tally_.lost;
    return;
  }
  ScheduledLeaf& leaf = world_.scheduled.leaves[entity];
  const bool here = layout_.leaf_of(endpoint) == entity;
  if (!lossless(cls)) {
    if (here) return leave_scheduled(packet);
    pool_.chain(leaf.express_first, leaf.express_last, pool_.take(packet));
    return send_cells(entity);
  }
  const std::uint32_t out = layout_.reverse_port(layout_.port_of_endpoint(endpoint));
  const auto number = static_cast<std::uint32_t>(leaf.queues.size());
  const auto [known, is_new] = leaf.queue_of.try_emplace(std::uint64_t{endpoint} * kMostClasses + cls, number);
  if (is_new) leaf.queues.push_back({.endpoint = endpoint, .cls = cls});
  VirtualQueue& queue = leaf.queues[known->second];
  // What comes while credit is fetched waits in any case: that is no congestion.
  const std::int64_t always = here ? 0 : world_.scheduled.meanwhile[layout_.far(out).link];
  if (marks_at(packet, out, std::max<std::int64_t>(0, queue.bytes - always))) packet.flags |= transport::kMarked;
  // What is for another leaf waits for the way there: that port is another entity's.
  Samples* const samples = here ? samples_of(out) : leaf.up.samples.on() ? &leaf.up.samples : nullptr;
  if (!hold_in(packet, cls, entity)) {
    if (here) return count_drop(out);
    ++leaf.up.dropped;
    ++tally_.dropped;
    if (samples) ++samples->at(now_).dropped;
    return;
  }
  if (packet.flags & ~event.flags & transport::kMarked) {
    if (here)
      ++world_.ports[out].marked;
    else
      ++leaf.up.marked;
    if (samples) ++samples->at(now_).marked;
  }
  pool_.chain(queue.head, queue.tail, pool_.take(packet));
  queue.bytes += packet.bytes;
  if (here) {
    Port& port = world_.ports[out];
    const Link& link = layout_.link(layout_.far(out).link);
    port.peak = std::max(port.peak, link.wire(queue.bytes));
    if (samples) samples->peak(now_, link.bytes_in(link.wire(queue.bytes)));
  } else {
    leaf.waiting += packet.bytes;
    leaf.up.longest = std::max(leaf.up.longest, leaf.waiting);
    if (samples) samples->queue(now_, leaf.waiting);
  }
  const std::uint32_t target = layout_.leaf_of(endpoint);
  if (here) return asked(endpoint, cls, entity, known->second, packet.bytes);
  notify(entity, target, Control::ask, endpoint, cls, known->second, packet.bytes);
}

// Words between leaves are cells, too, but take no room on the links.
void Shard::notify(std::uint32_t entity, std::uint32_t target, Control what, std::uint32_t endpoint, std::uint32_t cls,
                   std::uint32_t queue, std::int64_t bytes) {
  Event event;
  event.kind = EventKind::control;
  event.header.source = endpoint;
  event.header.destination = cls;
  event.header.sequence = static_cast<std::uint32_t>(what);
  event.header.data = {queue, entity, static_cast<std::uint64_t>(bytes)};
  const std::int64_t time = now_ + layout_.word_time(entity, target);
  Event& slot = place(time, target);
  slot = event;
  address(slot, time, target, entity);
}

void Shard::granted(std::uint32_t entity, std::uint32_t number, std::int64_t bytes) {
  ScheduledLeaf& leaf = world_.scheduled.leaves[entity];
  VirtualQueue& queue = leaf.queues[number];
  queue.granted += bytes;
  if (queue.granted <= 0 || queue.in_line || queue.head == kNone) return;
  if (layout_.leaf_of(queue.endpoint) == entity) {
    while (queue.granted > 0 && queue.head != kNone) leave_scheduled(take_out(queue, entity));
    return;
  }
  queue.in_line = true;
  stand_in_line(leaf, number);
  send_cells(entity);
}

void Shard::stand_in_line(ScheduledLeaf& leaf, std::uint32_t number) {
  leaf.queues[number].next = kNone;
  (leaf.line_last == kNone ? leaf.line_first : leaf.queues[leaf.line_last].next) = number;
  leaf.line_last = number;
}

Event Shard::take_out(VirtualQueue& queue, std::uint32_t entity) {
  const std::uint32_t index = queue.head;
  const Event packet = pool_[index];
  queue.head = pool_.next(index);
  if (queue.head == kNone) queue.tail = kNone;
  queue.bytes -= packet.bytes;
  queue.granted -= packet.bytes;
  pool_.give_back(index);
  release(packet, queue.cls, entity);
  return packet;
}

// Sends what may go while the uplinks are free: first what asks nobody, then a packet of each virtual queue in turn.
void Shard::send_cells(std::uint32_t entity) {
  ScheduledLeaf& leaf = world_.scheduled.leaves[entity];
  while (leaf.express_first != kNone || leaf.line_first != kNone) {
    if (leaf.up.busy > now_) {
      if (leaf.armed == leaf.up.busy) return;
      leaf.armed = leaf.up.busy;
      return remind(entity, Control::send, 0, 0, leaf.armed);
    }
    Event packet;
    VirtualQueue* queue = nullptr;
    if (leaf.express_first != kNone) {
      const std::uint32_t index = leaf.express_first;
      packet = pool_[index];
      leaf.express_first = pool_.next(index);
      if (leaf.express_first == kNone) leaf.express_last = kNone;
      pool_.give_back(index);
    } else {
      const std::uint32_t number = leaf.line_first;
      queue = &leaf.queues[number];
      leaf.line_first = queue->next;
      if (leaf.line_first == kNone) leaf.line_last = kNone;
      packet = take_out(*queue, entity);
      leaf.waiting -= packet.bytes;
      if (leaf.up.samples.on()) leaf.up.samples.queue(now_, leaf.waiting);
      queue->in_line = queue->granted > 0 && queue->head != kNone;
      if (queue->in_line) stand_in_line(leaf, number);
    }
    leaf.up.busy = now_ + layout_.bundle_wire(entity, packet.bytes);
    if (leaf.up.samples.on()) {
      leaf.up.samples.carry(now_, leaf.up.busy - now_, packet.bytes);
      ++leaf.up.samples.at(now_).packets;
    }
    leaf.up.waited += now_ - packet.time;
    leaf.up.bytes += packet.bytes;
    ++leaf.up.packets;
    ++tally_.hops;
    const std::uint32_t target = layout_.leaf_of(packet.header.destination);
    std::int64_t time = now_ + layout_.cells_time(entity, target, packet.bytes);
    if (queue) time = queue->whole = std::max(time, queue->whole);
    Event& slot = place(time, target);
    slot = packet;
    address(slot, time, target, entity);
  }
}

// ---- the leaf where it goes out

void Shard::leave_scheduled(const Event& event) {
  const std::uint32_t out = layout_.reverse_port(layout_.port_of_endpoint(event.header.destination));
  Queuing packet = queuing(event);
  if (!lossless(packet.cls)) {
    if (!take_in(event, packet, out)) return;
  } else if (world_.exact.ports[out].thrown_away >> packet.cls & 1) {
    ++world_.exact.drops[out].watchdog;
    sent_on(event, packet.cls);
    return count_drop(out);
  }
  enqueue(event, packet, out);
  serve(out, event.to);
}

// A virtual queue has as many bytes more.
void Shard::asked(std::uint32_t endpoint, std::uint32_t cls, std::uint32_t leaf, std::uint32_t queue,
                  std::int64_t bytes) {
  ScheduledLeaf& here = world_.scheduled.leaves[layout_.leaf_of(endpoint)];
  const auto number = static_cast<std::uint32_t>(here.asking.size());
  const auto [known, is_new] = here.asking_of.try_emplace(std::uint64_t{leaf} << 32 | queue, number);
  if (is_new) here.asking.push_back({.leaf = leaf, .queue = queue});
  Asking& asking = here.asking[known->second];
  Granting& granting = world_.scheduled.granting[endpoint * config_.exact.classes + cls];
  if (asking.bytes == 0) {
    asking.next = kNone;
    (granting.last == kNone ? granting.first : here.asking[granting.last].next) = known->second;
    granting.last = known->second;
  }
  asking.bytes += bytes;
  grant(endpoint, cls);
}

// At line rate, and up to one grant ahead of it: who asks a little early need not be remembered.
void Shard::grant(std::uint32_t endpoint, std::uint32_t cls) {
  const std::uint32_t entity = layout_.leaf_of(endpoint);
  const std::uint32_t out = layout_.reverse_port(layout_.port_of_endpoint(endpoint));
  const std::uint32_t kind = layout_.far(out).link;
  const Link& wire = layout_.link(kind);
  ScheduledLeaf& here = world_.scheduled.leaves[entity];
  Granting& granting = world_.scheduled.granting[endpoint * config_.exact.classes + cls];
  while (granting.first != kNone && gate(out, cls).paused_since == 0 &&
         granting.outstanding < world_.scheduled.window[kind]) {
    if (const std::int64_t time = granting.next_time - wire.wire(world_.scheduled.most); time > now_) {
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
    granting.next_time = std::max(granting.next_time, now_) + wire.wire(bytes);
    const Asking to = asking;  // what a queue of this leaf sends at once may ask for more
    if (to.leaf == entity) {
      granted(entity, to.queue, bytes);
    } else {
      notify(entity, to.leaf, Control::grant, endpoint, cls, to.queue, bytes);
    }
  }
}

// The port has sent it, or lost it to the watchdog.
void Shard::sent_on(const Event& packet, std::uint32_t cls) {
  world_.scheduled.granting[packet.header.destination * config_.exact.classes + cls].outstanding -= packet.bytes;
  grant(packet.header.destination, cls);
}

// A word of a leaf to itself.
void Shard::remind(std::uint32_t entity, Control what, std::uint32_t endpoint, std::uint32_t cls, std::int64_t time) {
  Event event;
  event.kind = EventKind::control;
  event.header.source = endpoint;
  event.header.destination = cls;
  event.header.sequence = static_cast<std::uint32_t>(what);
  emit(event, time, entity);
}

void Shard::at_word(const Event& event) {
  const std::uint32_t endpoint = event.header.source;
  const std::uint32_t cls = event.header.destination;
  const auto& [queue, leaf, bytes] = event.header.data;
  const bool own = event.from == event.to;
  if (static_cast<Control>(event.header.sequence) == Control::ask) {
    asked(endpoint, cls, leaf, queue, static_cast<std::int64_t>(bytes));
  } else if (static_cast<Control>(event.header.sequence) == Control::send) {
    std::int64_t& armed = world_.scheduled.leaves[event.to].armed;
    if (armed != event.time) return;  // superseded
    armed = 0;
    send_cells(event.to);
  } else if (!own) {
    granted(event.to, queue, static_cast<std::int64_t>(bytes));
  } else {
    std::int64_t& armed = world_.scheduled.granting[endpoint * config_.exact.classes + cls].armed;
    if (armed != event.time) return;
    armed = 0;
    grant(endpoint, cls);
  }
}

}  // namespace weft::sim
