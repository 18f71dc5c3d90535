#include "sim/packet/windows.hpp"

namespace weft::sim {
Windows::Windows(World& world, std::uint32_t shard, std::uint32_t shards)
    : world_(world),
      entities_(world.entities.data()),
      shard_(shard),
      alone_(shards == 1),
      wheel_(world.layout.look_ahead()),
      counts_(world.layout.entities() + 1),
      outbox_(shards) {}

void Windows::emit(const Event& event, std::int64_t time, std::uint32_t entity) {
  if (time >= end_) {
    Event& slot = place(time, entity);
    slot = event;
    return address(slot, time, entity, entity);
  }
  // A wake-up within the window, or a run in time order.
  late_.push_back(event);
  address(late_.back(), time, entity, entity);
  std::push_heap(late_.begin(), late_.end(), later);
}

void Windows::take_from(Windows& other) {
  std::vector<Event>& events = other.outbox_[shard_];
  for (const Event& event : events) wheel_.add(event.time) = event;
  events.clear();
}

Event Windows::take_late() {
  const Event event = late_.front();
  std::pop_heap(late_.begin(), late_.end(), later);
  late_.pop_back();
  return event;
}

}  // namespace weft::sim
