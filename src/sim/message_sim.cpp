#include "sim/message_sim.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/digest.hpp"
#include "sim/runner.hpp"

namespace weft::sim {
namespace {

using schedule::Instruction;

constexpr std::uint64_t kEventsBetweenQuestions = 4096;

Duration wire_time(std::uint64_t bytes, Bandwidth rate) {
  return rate.count() == 0 ? Duration(0) : transfer_time(Bytes(static_cast<std::int64_t>(bytes)), rate);
}

class MessageSim final : public Network {
 public:
  MessageSim(schedule::Schedule& schedule, const MessageConfig& config)
      : config_(config), runner_(schedule, *this), ranks_(schedule.ranks()) {}

  schedule::RunResult run();

  std::uint32_t send(std::int64_t now, const Transfer& transfer) override;
  void wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) override {
    add({.time = at, .source = rank, .rank = rank, .what = context, .kind = Kind::done});
  }
  void local(std::int64_t now, std::uint32_t rank, Instruction::Kind kind, std::uint64_t bytes,
             std::uint32_t context) override {
    const Bandwidth rate = kind == Instruction::Kind::copy ? config_.copy_rate : config_.reduce_rate;
    wake(now + wire_time(bytes, rate).count(), rank, context);
  }

 private:
  enum class Kind : std::uint8_t { done, sent, received };
  struct Event {
    std::int64_t time;
    std::uint32_t source;      // rank that caused it
    std::uint32_t number = 0;  // counted by the source
    std::uint32_t rank;        // rank that handles it
    std::uint32_t what;        // message or context
    std::uint64_t bytes = 0;   // received
    Kind kind;
  };
  struct Rank {
    Digest digest;
    std::uint32_t caused = 0;
  };
  static bool later(const Event& a, const Event& b) {
    return std::tie(a.time, a.source, a.number) > std::tie(b.time, b.source, b.number);
  }

  void add(Event event) {
    event.number = ranks_[event.source].caused++;
    queue_.push_back(event);
    std::push_heap(queue_.begin(), queue_.end(), later);
  }
  void handle(const Event& event);

  const MessageConfig& config_;
  Runner runner_;
  std::vector<Rank> ranks_;
  std::vector<Event> queue_;  // heap, earliest first
  std::uint64_t delivered_ = 0;
};

std::uint32_t MessageSim::send(std::int64_t now, const Transfer& transfer) {
  const auto& [from, to, bytes, message, leaves, enters, handed] = transfer;
  const TransferCost cost = config_.transfer(from, to);
  const std::int64_t there = now + (cost.latency + wire_time(bytes, cost.rate)).count();
  add({.time = there, .source = from, .rank = to, .what = message, .bytes = bytes, .kind = Kind::received});
  add({.time = there + cost.acknowledgement.count(),
       .source = from,
       .rank = from,
       .what = message,
       .kind = Kind::sent});
  return 1;
}

void MessageSim::handle(const Event& event) {
  Digest& digest = ranks_[event.rank].digest;
  digest.add(static_cast<std::uint64_t>(event.time));
  digest.add(std::uint64_t{event.source} << 32 | event.number);
  digest.add(std::uint64_t{event.what} << 8 | static_cast<std::uint64_t>(event.kind));
  switch (event.kind) {
    case Kind::done:
      return runner_.done(event.time, event.rank, event.what);
    case Kind::sent:
      return runner_.sent(event.time, event.rank, event.what);
    case Kind::received:
      delivered_ += event.bytes;
      return runner_.received(event.time, event.rank, event.source, event.what);
  }
}

schedule::RunResult MessageSim::run() {
  schedule::RunResult result;
  result.executor = "message";
  result.seed = config_.seed;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) runner_.start(0, rank);
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const Event event = queue_.back();
    queue_.pop_back();
    handle(event);
    result.end = event.time;
    if (++result.counters.events % kEventsBetweenQuestions == 0 && config_.keep_going &&
        !config_.keep_going(event.time, result.counters.events, delivered_)) {
      result.stopped_by = "request";
      break;
    }
  }
  Digest all;
  for (const Rank& rank : ranks_) all.add(rank.digest.value());
  result.digest = all.value();
  result.unfinished = runner_.unfinished();
  result.flows = runner_.take_flows();
  for (schedule::FlowRecord& flow : result.flows) {
    const TransferCost cost = config_.transfer(flow.source, flow.destination);
    flow.unloaded = (cost.latency + wire_time(flow.bytes, cost.rate) + cost.acknowledgement).count();
  }
  return result;
}

}  // namespace

schedule::RunResult run_messages(schedule::Schedule& schedule, const MessageConfig& config) {
  return MessageSim(schedule, config).run();
}

}  // namespace weft::sim
