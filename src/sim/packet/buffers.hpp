#pragma once
// Buffers behind exact ports: what switches and NICs hold of what has come in, and what they tell their neighbours so
// that it does not become too much. exact.hpp says by what rules.

#include <algorithm>
#include <cstdint>

#include "sim/packet/fast_cnp.hpp"
#include "sim/packet/port_queues.hpp"

namespace weft::sim {

class Buffers {
 public:
  Buffers(World& world, Windows& windows, Tally& tally, PortQueues& queues, FastCnp& cnps)
      : world_(world), windows_(windows), tally_(tally), queues_(queues), cnps_(cnps) {}

  // Takes in a packet that goes out by a port; marks, trims or refuses (false) it.
  bool take_in(const Event& event, Queuing& packet, std::uint32_t out);
  // Holds a packet by the port it came in by, which pauses its neighbour where that is too much; false: it does not
  // fit.
  bool hold_in(const Event& packet, std::uint32_t cls, std::uint32_t entity);
  void release(const Event& packet, std::uint32_t cls, std::uint32_t entity);
  // Credit goes back a quarter of the buffer at a time: the neighbour never lacks more than that.
  void give_credit(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, std::int64_t bytes);
  // What a NIC has received waits until the host takes it. True: it is taken now.
  bool take_from_nic(const Event& event);
  // Whether a packet is marked at a port where so much waits; its sender may be told at once.
  bool marks_at(const Event& packet, std::uint32_t out, std::int64_t waiting);
  void count_drop(std::uint32_t port);

 private:
  bool find_room(const Event& event, Queuing& packet, std::uint32_t out);
  // How much a queue of a switch may hold now.
  std::int64_t threshold(std::uint32_t network_switch) const {
    const std::int64_t left = world_.exact.shared[network_switch] - world_.exact.used[network_switch];
    return std::max<std::int64_t>(0, left) * world_.config.exact.alpha >> 8;
  }
  Hold& hold(std::uint32_t port, std::uint32_t cls) {
    return world_.exact.holds[port * world_.config.exact.classes + cls];
  }
  void tell(std::uint32_t entity, std::uint32_t port, std::uint32_t cls, Control what, std::int64_t amount);

  World& world_;
  Windows& windows_;
  Tally& tally_;
  PortQueues& queues_;
  FastCnp& cnps_;
};

// Marks, and where there is no room trims a packet; false: it does not fit all the same.
[[gnu::always_inline]] inline bool Buffers::find_room(const Event& event, Queuing& packet, std::uint32_t out) {
  const ExactConfig& exact = world_.config.exact;
  const std::uint32_t entity = event.to;
  if (world_.exact.ports[out].thrown_away >> packet.cls & 1) {
    ++world_.exact.drops[out].watchdog;
    return false;
  }
  const std::int64_t waiting = world_.exact.gate(out, packet.cls).bytes;
  if (waiting > 0 && packet.cls != exact.trimmed_class && marks_at(event, out, waiting))
    packet.flags |= transport::kMarked;
  if (!world_.config.exact.is_lossless(packet.cls)) {
    const std::int64_t then = waiting + packet.bytes;
    const Link& link = world_.layout.link(world_.exact.wires[out].link);
    if (packet.cls != exact.trimmed_class && (then > threshold(entity) || link.wire(then) > link.queue)) {
      if (!world_.config.trimming || !transport::can_be_trimmed(event.type)) return false;
      packet.flags &= 0xF & ~transport::kMarked;
      packet.flags |= transport::kTrimmed;
      packet.bytes = world_.config.header;
      packet.cls = exact.trimmed_class;
    }
    if (world_.exact.used[entity] + packet.bytes > world_.exact.shared[entity]) return false;
    world_.exact.used[entity] += packet.bytes;
    return true;
  }
  if (world_.config.exact.has_credit(packet.cls)) return true;  // who sent it had seen that there is room
  return hold_in(event, queues_.class_in(event), entity);
}

[[gnu::always_inline]] inline bool Buffers::take_in(const Event& event, Queuing& packet, std::uint32_t out) {
  if (!find_room(event, packet, out)) {
    count_drop(out);
    return false;
  }
  const int news = packet.flags & ~event.flags;
  if (news == 0) return true;
  const bool marked = (news & transport::kMarked) != 0;
  const bool trimmed = (news & transport::kTrimmed) != 0;
  world_.ports[out].marked += marked;
  world_.ports[out].trimmed += trimmed;
  if (Samples* const samples = world_.samples_of(out)) {
    samples->at(windows_.now()).marked += marked;
    samples->at(windows_.now()).trimmed += trimmed;
  }
  return true;
}

}  // namespace weft::sim
