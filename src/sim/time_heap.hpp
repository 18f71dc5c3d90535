#pragma once
// When something happens to each of many, which have numbers, the first one at hand: a heap in which any time can be
// moved. Equal times come by number.

#include <cstdint>
#include <tuple>
#include <vector>

namespace weft::sim {

class TimeHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::int64_t time() const { return heap_.front().time; }
  std::uint32_t number() const { return heap_.front().number; }

  // Adds a time, or moves it.
  void set(std::uint32_t number, std::int64_t time) {
    if (number >= place_.size()) place_.resize(number + std::size_t{1}, kNowhere);
    if (place_[number] == kNowhere) {
      place_[number] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({time, number});
    } else {
      heap_[place_[number]].time = time;
    }
    sink(rise(place_[number]));
  }

  void remove(std::uint32_t number) {
    const std::uint32_t hole = place_[number];
    place_[number] = kNowhere;
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
    std::uint32_t number;
    bool operator<(const Entry& other) const { return std::tie(time, number) < std::tie(other.time, other.number); }
  };

  void put(std::uint32_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.number] = at;
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
  std::vector<std::uint32_t> place_;  // by number
};

}  // namespace weft::sim
