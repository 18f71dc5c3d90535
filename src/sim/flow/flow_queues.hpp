#pragma once
// What goes from one rank to another between the same two NICs goes one after another: a connection keeps the order of
// its messages. Side by side all of them would come when the last one does.

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weft::sim {

class FlowQueues {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  using Connection = std::array<std::uint32_t, 5>;  // ranks, NICs, and which of those between them

  std::uint32_t queue_of(const Connection& connection) {
    const auto [found, is_new] = numbers_.try_emplace(connection, static_cast<std::uint32_t>(queues_.size()));
    if (is_new) queues_.emplace_back();
    return found->second;
  }
  // False: it may go at once, and is under way until next() is called.
  bool waits(std::uint32_t queue, std::uint32_t item) {
    Queue& mine = queues_[queue];
    if (!std::exchange(mine.busy, true)) return false;
    if (item >= behind_.size()) behind_.resize(item + std::size_t{1});
    behind_[item] = kNone;
    (mine.first == kNone ? mine.first : behind_[mine.last]) = item;
    mine.last = item;
    return true;
  }
  // What was under way has left: the one that may go now, or kNone.
  std::uint32_t next(std::uint32_t queue) {
    Queue& mine = queues_[queue];
    const std::uint32_t item = mine.first;
    mine.busy = item != kNone;
    if (mine.busy) mine.first = behind_[item];
    return item;
  }

 private:
  struct Queue {
    std::uint32_t first = kNone;  // that waits
    std::uint32_t last = kNone;
    bool busy = false;
  };
  std::map<Connection, std::uint32_t> numbers_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> behind_;  // by item: the one behind it
};

}  // namespace weft::sim
