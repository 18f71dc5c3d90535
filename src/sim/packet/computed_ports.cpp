// Computed ports with something unusual about them: faults, shapers, samples, captures.

#include "sim/packet/computed_ports.hpp"

namespace weft::sim {
namespace {

// Whether a packet that could leave at a time gets through the shaper, and when; one that waits too long does not.
bool conforms(Bucket& bucket, std::int64_t ready, std::uint32_t bytes, std::int64_t& begin) {
  begin = bucket.conforms(begin, bytes);
  if (begin - ready > bucket.queue * bucket.ps_per_byte) return false;
  bucket.take(begin, bytes);
  return true;
}

// Books a packet on a wire whose rate may change under way; gives how long it then takes.
std::int64_t book_specially(Special& special, Port& port, const Link& link, bool high, std::uint32_t bytes,
                            std::int64_t& begin) {
  const std::int64_t before = port.busy;
  const std::int64_t wire = link.wire(bytes);
  const std::int64_t takes = std::max(wire, link.gap);
  begin = high ? book_high(port, link, begin, takes) : book(port, begin, takes);
  // A slower rate makes the booking longer by as much as the packet takes longer.
  const std::int64_t extra = finish(special.conditions, begin, wire) - begin - wire;
  if (high) port.busy_high += extra;
  if (!high || port.busy > begin) port.busy += extra;
  // A header that goes before data makes the last of them leave later: on a wire that is full until then, that is
  // when more bytes have left than would have without it.
  if (special.samples.on())
    special.samples.carry(high && port.busy > before ? port.busy - takes - extra : begin, wire + extra, bytes);
  return wire + extra;
}

// What a port did to a packet that has come.
void count_changes(const Port& before, const Port& port, schedule::LinkSample& sample) {
  sample.marked += port.marked - before.marked;
  sample.trimmed += port.trimmed - before.trimmed;
  sample.dropped += port.dropped - before.dropped;
}

}  // namespace

// The same as forward, with all that may be unusual about a port.
void ComputedPorts::forward_specially(const Event& arrived, std::uint32_t index, std::uint32_t entity,
                                      std::int64_t ready) {
  Port& port = world_.ports[index];
  const Port before = port;
  Special& special = world_.specials[port.special - 1];
  const Layout::Far& far = world_.layout.far(index);
  const Link& link = world_.layout.link(far.link);
  Passing packet{arrived.bytes, arrived.flags};
  const bool waits = !goes_first(arrived);
  // A queue is of bytes: where they leave more slowly, being booked further ahead is no longer a queue.
  std::int64_t ahead = at_full_rate(special.conditions, ready, port.busy - ready);
  if (special.bucket.ps_per_byte > 0)
    ahead = std::min(ahead, link.wire(std::max<std::int64_t>(0, port.busy - ready) / special.bucket.ps_per_byte));
  bool admitted = !waits || admit(packet, arrived.type, port, link, entity, ahead);
  cnps_.marked(arrived, packet.flags & ~arrived.flags);
  const bool high = !waits || (packet.flags & transport::kTrimmed);
  std::int64_t begin = ready;
  if (admitted && special.bucket.ps_per_byte > 0) {
    begin = std::max(ready, port.busy);
    admitted = conforms(special.bucket, ready, packet.bytes, begin);
    if (!admitted) {
      port.marked = before.marked;
      port.trimmed = before.trimmed;
      ++port.dropped;
      ++tally_.dropped;
    }
  }
  std::int64_t wire = 0;
  Fate end = Fate::arrives;
  if (admitted) {
    wire = book_specially(special, port, link, high, packet.bytes, begin);
    port.bytes += packet.bytes;
    port.waited += begin - ready;
    ++port.packets;
    end = fate(special.conditions, begin, begin + wire + link.latency, world_.entities[entity].random);
  }
  if (special.samples.on()) {
    if (waits)
      special.samples.queue(ready, link.bytes_in(std::max<std::int64_t>(0, ahead)), std::max(ready, before.busy));
    count_changes(before, port, special.samples.at(ready));
    if (admitted) ++special.samples.at(begin).packets;
    if (end != Fate::arrives) ++special.samples.at(begin).lost;
  }
  if (!admitted) return;
  if (special.capture > 0) captures_.add(special, arrived, packet, begin);
  if (end == Fate::arrives) return leave(arrived, packet, far, link, entity, begin, wire);
  ++port.lost;
  ++(end == Fate::lost ? tally_.lost : tally_.corrupted);
}

}  // namespace weft::sim
