#pragma once
// What happens to ranks, in order of time, then of who caused it: for executors that know no packets. Every rank has a
// digest of all that it has handled.

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "base/digest.hpp"
#include "sim/run/runner.hpp"

namespace weft::sim {

struct RankEvent {
  enum class Kind : std::uint8_t { done, sent, received };
  std::int64_t time;
  std::uint32_t source;      // rank that caused it
  std::uint32_t number = 0;  // counted by the source
  std::uint32_t rank;        // rank that handles it
  std::uint32_t what;        // message or context
  std::uint64_t bytes = 0;   // received
  Kind kind;
};

class RankEvents {
 public:
  explicit RankEvents(std::uint32_t ranks) : ranks_(ranks) {}

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }
  bool empty() const { return queue_.empty(); }
  std::int64_t time() const { return queue_.front().time; }  // of the first

  void add(RankEvent event) {
    event.number = ranks_[event.source].caused++;
    queue_.push_back(event);
    std::push_heap(queue_.begin(), queue_.end(), later);
  }

  // Tells the runner what happens first.
  RankEvent handle(Runner& runner) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const RankEvent event = queue_.back();
    queue_.pop_back();
    Digest& digest = ranks_[event.rank].digest;
    digest.add(static_cast<std::uint64_t>(event.time));
    digest.add(std::uint64_t{event.source} << 32 | event.number);
    digest.add(std::uint64_t{event.what} << 8 | static_cast<std::uint64_t>(event.kind));
    switch (event.kind) {
      case RankEvent::Kind::done:
        runner.done(event.time, event.rank, event.what);
        break;
      case RankEvent::Kind::sent:
        runner.sent(event.time, event.rank, event.what);
        break;
      case RankEvent::Kind::received:
        delivered_ += event.bytes;
        runner.received(event.time, event.rank, event.source, event.what);
        break;
    }
    return event;
  }

  std::uint64_t delivered() const { return delivered_; }  // bytes
  std::uint64_t digest() const {
    Digest all;
    for (const Rank& rank : ranks_) all.add(rank.digest.value());
    return all.value();
  }

 private:
  struct Rank {
    Digest digest;
    std::uint32_t caused = 0;
  };
  static bool later(const RankEvent& a, const RankEvent& b) {
    return std::tie(a.time, a.source, a.number) > std::tie(b.time, b.source, b.number);
  }

  std::vector<Rank> ranks_;
  std::vector<RankEvent> queue_;  // heap, earliest first
  std::uint64_t delivered_ = 0;
};

}  // namespace weft::sim
