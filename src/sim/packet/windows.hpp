#pragma once
// Events to come of one shard, and the order in which they are handled.
//
// All events of one window are handled entity by entity, each in the order (time, cause, number). The
// window is as wide as the look-ahead, so effects on other entities fall behind it and the result is
// the same in whatever order the entities come, or on whatever thread. That order is what the caches
// like: a switch's ports stay close while its packets pass. Effects without delay (triggers of a
// connection matrix) break the rule; such a run is one shard that goes strictly in time order.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/packet/wheel.hpp"
#include "sim/packet/world.hpp"

namespace weft::sim {

class Windows {
 public:
  // One event of a window, to be sorted: time within it, then cause.
  struct Pending {
    std::uint64_t when;  // time since the window's start, then the entity that caused it
    const Event* event;  // its number decides between equals

    bool operator<(const Pending& other) const {
      return when != other.when ? when < other.when : event->number < other.event->number;
    }
  };

  Windows(World& world, std::uint32_t shard, std::uint32_t shards);

  // Room for an event behind the running window, at any entity; the caller fills it.
  Event& place(std::int64_t time, std::uint32_t to) {
    if (alone_ || world_.shard_of[to] == shard_) return wheel_.add(time);
    outbox_first_ = std::min(outbox_first_, wheel_.window_of(time));
    return outbox_[world_.shard_of[to]].emplace_back();
  }
  // All of it but its content.
  void address(Event& event, std::int64_t time, std::uint32_t to, std::uint32_t from) {
    event.time = time;
    event.to = to;
    event.from = from;
    event.number = entities_[from].caused++ & kNumbers;
  }
  // Of an entity to itself, at any time.
  void emit(const Event& event, std::int64_t time, std::uint32_t entity);

  // Of the entity at work; the next one may start earlier.
  std::int64_t now() const { return now_; }
  void set_now(std::int64_t now) { now_ = now; }
  bool running() const { return end_ > 0; }
  std::int64_t end() const { return end_; }
  // The latest event that was handled; the same for all shards together however many there are.
  std::int64_t reached() const { return reached_; }

  // The first window with anything in it, of its own or on the way to another shard.
  std::int64_t next() const { return std::min(wheel_.next(), outbox_first_); }
  // Takes what another shard has for this one. Between windows.
  void take_from(Windows& other);
  // For each entity in turn: handler.prepare(events), handler.handle(event) for all of them and those that come up
  // meanwhile, and handler.go_on() until it has nothing left to do.
  template <class Handler>
  void run(std::int64_t window, Handler& handler);
  // Calls visit(event) for everything that is still to come, in no order.
  template <class Visit>
  void for_all(Visit visit) const {
    wheel_.for_all(visit);
    for (const auto& events : outbox_)
      for (const Event& event : events) visit(event);
  }

 private:
  static bool later(const Event& a, const Event& b) { return a.time != b.time ? a.time > b.time : cause(a) > cause(b); }
  static constexpr std::size_t kFewEvents = 64;  // one entity's share of a window is short and nearly sorted
  static void sort(std::span<Pending> group);
  Event take_late();
  template <class Handler>
  void run_group(std::span<Pending> group, Handler& handler);

  World& world_;
  World::Entity* entities_;  // all of them
  std::uint32_t shard_;
  bool alone_;  // it is the only one
  Wheel wheel_;
  std::int64_t start_ = 0;
  std::int64_t end_ = 0;  // 0: no window is running
  std::int64_t now_ = 0;
  std::int64_t reached_ = 0;
  std::vector<Pending> pending_;            // and one more that is nobody
  std::vector<std::uint32_t> counts_;       // by entity
  std::vector<Event> late_;                 // min-heap of events within the running window
  std::vector<std::vector<Event>> outbox_;  // by shard
  std::int64_t outbox_first_ = Wheel::kNothing;
};

inline void Windows::sort(std::span<Pending> group) {
  Pending* const begin = group.data();
  Pending* const end = begin + group.size();
  if (group.size() > kFewEvents) return std::sort(begin, end);
  for (Pending* each = begin + 1; each < end; ++each) {
    if (!(*each < each[-1])) continue;
    const Pending moving = *each;
    Pending* at = each;
    do *at = at[-1];
    while (--at > begin && moving < at[-1]);
    *at = moving;
  }
}

template <class Handler>
void Windows::run_group(std::span<Pending> group, Handler& handler) {
  sort(group);
  handler.prepare(group);
  const Pending* const end = group.data() + group.size();
  for (const Pending* next = group.data(); next != end;) {
    if (!late_.empty() && later(*next->event, late_.front())) {
      handler.handle(take_late());
      continue;
    }
    const Event& event = *next->event;
    ++next;
    __builtin_prefetch(next->event);
    handler.handle(event);
  }
  while (true) {
    if (!late_.empty()) {
      handler.handle(take_late());
    } else if (!handler.go_on()) {
      break;
    }
  }
  reached_ = std::max(reached_, now_);
}

template <class Handler>
void Windows::run(std::int64_t window, Handler& handler) {
  outbox_first_ = Wheel::kNothing;
  wheel_.move_to(window);
  start_ = wheel_.start_of(window);
  end_ = wheel_.end_of(window);
  const std::size_t size = wheel_.size();
  pending_.resize(size + 1);
  pending_[size] = {};
  const std::span<Pending> all(pending_.data(), size);
  const auto note = [&](std::size_t at, const Event& event) {
    all[at] = {(static_cast<std::uint64_t>(event.time - start_) << 32) | event.from, &event};
  };
  if (world_.config.in_time_order) {
    std::size_t n = 0;
    wheel_.for_each([&](const Event& event) { note(n++, event); });
    run_group(all, handler);
  } else if (size * 16 < counts_.size()) {
    // A large fabric with little to do.
    std::size_t n = 0;
    wheel_.for_each([&](const Event& event) { note(n++, event); });
    std::sort(all.begin(), all.end(), [](const Pending& a, const Pending& b) { return a.event->to < b.event->to; });
    for (std::size_t begin = 0, end = 0; begin < size; begin = end) {
      while (end < size && all[end].event->to == all[begin].event->to) ++end;
      run_group(all.subspan(begin, end - begin), handler);
    }
  } else {
    // Counting sort by entity, then each entity's events by time.
    std::fill(counts_.begin(), counts_.end(), 0);
    wheel_.for_each([&](const Event& event) { ++counts_[event.to + 1]; });
    for (std::size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
    wheel_.for_each([&](const Event& event) { note(counts_[event.to]++, event); });
    std::uint32_t begin = 0;
    while (begin < size) {
      const std::uint32_t end = counts_[all[begin].event->to];
      run_group(all.subspan(begin, end - begin), handler);
      begin = end;
    }
  }
  wheel_.clear();
  end_ = 0;
}

}  // namespace weft::sim
