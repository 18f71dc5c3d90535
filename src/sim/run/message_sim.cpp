#include "sim/run/message_sim.hpp"

#include "sim/run/rank_events.hpp"

namespace weft::sim {
namespace {

using schedule::Instruction;
using Kind = RankEvent::Kind;

constexpr std::uint64_t kEventsBetweenQuestions = 4096;
constexpr std::uint32_t kStartsBetweenQuestions = 1024;

class MessageSim final : public Network {
 public:
  MessageSim(schedule::Schedule& schedule, const MessageConfig& config)
      : config_(config), runner_(schedule, *this), events_(schedule.ranks()) {}

  schedule::RunResult run();

  std::uint32_t send(std::int64_t now, const Transfer& transfer) override;
  void wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) override {
    events_.add({.time = at, .source = rank, .rank = rank, .what = context, .kind = Kind::done});
  }
  void local(std::int64_t now, std::uint32_t rank, Instruction::Kind kind, std::uint64_t bytes,
             std::uint32_t context) override {
    wake(now + (config_.local ? config_.local(rank, kind, bytes).count() : 0), rank, context);
  }

 private:
  bool start();
  TransferCost cost_of(std::uint32_t from, std::uint32_t to, std::uint64_t tag) const {
    if (!config_.transfer || (config_.costs_itself && config_.costs_itself(tag))) return {};
    return config_.transfer(from, to);
  }

  const MessageConfig& config_;
  Runner runner_;
  RankEvents events_;
};

std::uint32_t MessageSim::send(std::int64_t now, const Transfer& transfer) {
  const auto& [from, to, bytes, message, leaves, enters, handed, channel] = transfer;
  const TransferCost cost = cost_of(from, to, runner_.message(from, message).tag);
  const std::int64_t there = now + cost.until_there(bytes).count();
  events_.add({.time = there, .source = from, .rank = to, .what = message, .bytes = bytes, .kind = Kind::received});
  events_.add({.time = there + cost.acknowledgement.count(),
               .source = from,
               .rank = from,
               .what = message,
               .kind = Kind::sent});
  return 1;
}

// Of a million ranks this takes a while; false: nobody waits for it any more.
bool MessageSim::start() {
  for (std::uint32_t rank = 0; rank < events_.ranks(); ++rank) {
    if (rank > 0 && rank % kStartsBetweenQuestions == 0 && config_.keep_going && !config_.keep_going(0, 0, 0))
      return false;
    runner_.start(0, rank);
  }
  return true;
}

schedule::RunResult MessageSim::run() {
  schedule::RunResult result;
  result.fidelity = schedule::Fidelity::message;
  result.seed = config_.seed;
  std::uint64_t& happened = result.counters.events;
  if (!start()) result.stopped_by = "request";
  for (; result.stopped_by.empty() && !events_.empty(); ++happened) {
    const bool beyond = events_.time() > config_.horizon.time.count();
    if (beyond) result.end = config_.horizon.time;
    const bool asks = beyond || happened >= config_.horizon.events || happened % kEventsBetweenQuestions == 0;
    if (asks && config_.keep_going && !config_.keep_going(result.end.count(), happened, events_.delivered())) {
      result.stopped_by = "request";
      break;
    }
    result.end = Duration(events_.handle(runner_).time);
  }
  result.digest = events_.digest();
  if (result.stopped_by.empty()) result.end = Duration(runner_.last());
  result.unfinished = runner_.unfinished();
  result.flows = runner_.take_flows();
  for (schedule::FlowRecord& flow : result.flows) {
    const TransferCost cost = cost_of(flow.source, flow.destination, flow.tag);
    flow.unloaded = (cost.until_there(flow.bytes) + cost.acknowledgement);
  }
  return result;
}

}  // namespace

schedule::RunResult run_messages(schedule::Schedule& schedule, const MessageConfig& config) {
  return MessageSim(schedule, config).run();
}

}  // namespace weft::sim
