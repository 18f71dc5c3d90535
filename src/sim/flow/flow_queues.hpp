#pragma once
// What goes from one rank to another between the same two NICs goes one after another: a connection keeps the order of
// its messages. Side by side all of them would come when the last one does. What several channels of a collective send
// has a share of the links for each of them, as connections of their own would.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace weft::sim {

class FlowQueues {
  struct Channel {
    std::uint32_t number;
    std::uint32_t items;
  };
  struct Queue {
    std::uint32_t under_way = kNone;
    std::uint32_t first = kNone;  // that waits
    std::uint32_t last = kNone;
    std::vector<Channel> channels;
  };

 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  using Connection = std::array<std::uint32_t, 5>;  // ranks, NICs, and which of those between them

  std::uint32_t queue_of(const Connection& connection) {
    const auto [found, is_new] = numbers_.try_emplace(connection, static_cast<std::uint32_t>(queues_.size()));
    if (is_new) queues_.emplace_back();
    return found->second;
  }
  // False: it may go at once, and is under way until next() is called.
  bool waits(std::uint32_t queue, std::uint32_t item, std::uint32_t channel) {
    Queue& mine = queues_[queue];
    const auto found = std::ranges::find(mine.channels, channel, &Channel::number);
    if (found == mine.channels.end())
      mine.channels.push_back({channel, 1});
    else
      ++found->items;
    if (mine.under_way == kNone) {
      mine.under_way = item;
      return false;
    }
    if (item >= behind_.size()) behind_.resize(item + std::size_t{1});
    behind_[item] = kNone;
    (mine.first == kNone ? mine.first : behind_[mine.last]) = item;
    mine.last = item;
    return true;
  }
  // What was under way, of this channel, has left: the one that may go now, or kNone.
  std::uint32_t next(std::uint32_t queue, std::uint32_t channel) {
    Queue& mine = queues_[queue];
    const auto found = std::ranges::find(mine.channels, channel, &Channel::number);
    if (--found->items == 0) mine.channels.erase(found);
    mine.under_way = mine.first;
    if (mine.first != kNone) mine.first = behind_[mine.first];
    return mine.under_way;
  }
  std::uint32_t under_way(std::uint32_t queue) const { return queues_[queue].under_way; }  // kNone: nothing is
  // How many channels have something there.
  std::uint32_t channels(std::uint32_t queue) const {
    return static_cast<std::uint32_t>(queues_[queue].channels.size());
  }

 private:
  std::map<Connection, std::uint32_t> numbers_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> behind_;  // by item: the one behind it
};

}  // namespace weft::sim
