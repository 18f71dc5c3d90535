#include "sim/packet/shard.hpp"

namespace weft::sim {

Shard::Shard(World& world, std::uint32_t number, std::uint32_t shards)
    : world_(world),
      windows_(world, number, shards),
      captures_(world.config.most_captured),
      switching_(world, windows_, tally_, captures_),
      hosts_(world, windows_, tally_, switching_.computed(), switching_.exact()) {}

void Shard::prepare(std::span<const Windows::Pending> events) const {
  if (world_.config.exact.on) switching_.exact().foresee(events);
}

[[gnu::always_inline]] inline void Shard::handle(const Event& event) {
  if (switching_.exact().has_wakes()) switching_.exact().catch_up(event);
  ++tally_.events;
  windows_.set_now(event.time);
  world_.entities[event.to].digest.add(hash_of(event));
  if (world_.layout.is_host(event.to)) {
    hosts_.handle(event);
  } else if (event.kind == EventKind::packet) {
    switching_.pass(event);
  } else {
    switching_.handle(event);
  }
}

bool Shard::go_on() {
  if (!switching_.exact().has_wakes()) return false;
  switching_.exact().wake_first();
  return true;
}

void Shard::run(std::int64_t window) { windows_.run(window, *this); }

std::uint64_t Shard::packets_in_flight() const {
  std::uint64_t packets = pool().used();
  windows_.for_all(
      [&](const Event& event) { packets += event.kind == EventKind::packet || event.kind == EventKind::delivered; });
  return packets;
}

}  // namespace weft::sim
