#pragma once
// When flows end, the first one at hand: a heap in which the time of any flow can be moved. Flows that end at the same
// time come by number.

#include <cstdint>
#include <tuple>
#include <vector>

namespace weft::sim {

class FlowEnds {
 public:
  bool empty() const { return heap_.empty(); }
  std::int64_t time() const { return heap_.front().time; }
  std::uint32_t flow() const { return heap_.front().flow; }

  // Adds a flow, or moves it.
  void set(std::uint32_t flow, std::int64_t time) {
    if (flow >= place_.size()) place_.resize(flow + std::size_t{1}, kNowhere);
    if (place_[flow] == kNowhere) {
      place_[flow] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({time, flow});
    } else {
      heap_[place_[flow]].time = time;
    }
    sink(rise(place_[flow]));
  }

  void remove(std::uint32_t flow) {
    const std::uint32_t hole = place_[flow];
    place_[flow] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    put(hole, last);
    sink(rise(hole));
  }

 private:
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  struct Entry {
    std::int64_t time;
    std::uint32_t flow;
    bool operator<(const Entry& other) const { return std::tie(time, flow) < std::tie(other.time, other.flow); }
  };

  void put(std::uint32_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.flow] = at;
  }
  std::uint32_t rise(std::uint32_t at) {
    const Entry entry = heap_[at];
    for (; at > 0 && entry < heap_[(at - 1) / 2]; at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
    put(at, entry);
    return at;
  }
  void sink(std::uint32_t at) {
    const Entry entry = heap_[at];
    while (true) {
      std::size_t child = 2 * std::size_t{at} + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < entry)) break;
      put(at, heap_[child]);
      at = static_cast<std::uint32_t>(child);
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // by flow
};

}  // namespace weft::sim
