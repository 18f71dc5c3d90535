#include "sim/flow/flow_sim.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/flow/flow_queues.hpp"
#include "sim/flow/flow_scatter.hpp"
#include "sim/host/local_work.hpp"
#include "sim/run/rank_events.hpp"
#include "sim/time_heap.hpp"

namespace weft::sim {
namespace {

using Kind = RankEvent::Kind;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMillion = 1'000'000;
constexpr std::uint64_t kEventsBetweenQuestions = 64;
constexpr std::uint32_t kStartsBetweenQuestions = 16;  // each may find thousands of paths
// Of many flows at once (FlowOptions::many) that come and go one by one, none changes the others' rates by much, and
// finding these anew costs as much as all of them. So rates are found anew when others have come and gone, too: after
// up to such a part of what flows take at that time. Until then a flow that comes has what is left of its links, at
// most its fair share.
constexpr std::int64_t kPatience = 32;
// One that gets less than such a part of what it could have waits no longer than for that part of what it takes alone.
constexpr std::int64_t kOwnPatience = 4;

// The time `after` a moment, or never where it does not fit.
std::int64_t later_by(std::int64_t moment, Wide after) {
  return after < kNever - moment ? moment + static_cast<std::int64_t>(after) : kNever;
}

Wide time_to_move(Wide work, std::int64_t rate) { return rate > 0 ? (work + rate - 1) / rate : Wide{kNever}; }

class FlowRun final : public Network {
 public:
  FlowRun(schedule::Schedule& schedule, FlowRoutes& routes, const FlowOptions& options)
      : routes_(routes),
        rates_(routes.rates()),
        options_(options),
        runner_(schedule, *this),
        events_(schedule.ranks()),
        unloaded_(schedule.ranks()) {}

  schedule::RunResult run();

  std::uint32_t send(std::int64_t now, const Transfer& transfer) override;
  void wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) override {
    events_.add({.time = at, .source = rank, .rank = rank, .what = context, .kind = Kind::done});
  }
  void local(std::int64_t now, std::uint32_t rank, schedule::Instruction::Kind kind, std::uint64_t bytes,
             std::uint32_t context) override {
    wake(now + local_time(routes_.fabric(), rank, kind, bytes).count(), rank, context);
  }

 private:
  // A stripe of a message, from when it is sent until it has moved over all of its way.
  struct Stripe {
    FlowPath path;
    std::size_t stage = 0;  // of the way
    Wide left = 0;          // work of the stage, at `since`
    std::int64_t start = 0;
    std::int64_t since = 0;
    std::int64_t rate = 0;
    std::uint32_t from = 0;  // rank
    std::uint32_t to = 0;
    std::uint32_t message = 0;
    std::uint32_t channel = 0;
    std::uint32_t flow = 0;   // of MaxMinRates, while it moves
    std::uint32_t count = 1;  // of shares that it has of its links
    bool moving = false;

    const FlowPath::Stage& now() const { return path.stages[stage]; }
  };
  static constexpr std::uint32_t kNobody = FlowQueues::kNone;

  void go_on(std::int64_t now, std::uint32_t number);
  void move(std::int64_t now, std::uint32_t number);
  void leave(std::int64_t now, const Stripe& stripe);
  void share_out(std::int64_t now, std::uint32_t queue);
  std::uint32_t queue_of(const Stripe& stripe) {
    const auto& [source, destination] = stripe.path.nics;
    return queues_.queue_of({stripe.from, stripe.to, source, destination, stripe.path.queue});
  }
  Stripe& stripe_of(std::uint32_t flow) { return stripes_[stripe_of_[flow]]; }
  std::int64_t scattered(std::int64_t now, std::uint32_t flow) const;
  void end_flows(std::int64_t now);
  bool start();
  void settle(std::int64_t now);
  void settle_within(std::int64_t now, std::int64_t patience) {
    settle_by_ = std::min(settle_by_, moving_ < options_.many ? now : later_by(now, patience));
  }
  std::int64_t left_for(std::uint32_t flow) const;
  std::int64_t next() const;
  void step(std::int64_t now);
  void carry(const Stripe& stripe, Wide moved);
  void collect_links(schedule::RunResult& result);

  FlowRoutes& routes_;
  MaxMinRates& rates_;
  const FlowOptions& options_;
  Runner runner_;
  RankEvents events_;
  std::vector<std::vector<std::int64_t>> unloaded_;  // by rank and message
  std::vector<Stripe> stripes_;                      // by number, some of them free
  std::vector<std::uint32_t> free_;                  // stripes
  std::vector<std::uint32_t> stripe_of_;             // by flow of MaxMinRates
  FlowQueues queues_;                                // of stripes
  TimeHeap ends_;
  std::vector<std::uint32_t> ending_;      // now
  std::vector<std::uint32_t> shared_out_;  // flows that have another number of shares since rates were found
  std::uint32_t moving_ = 0;               // stripes
  std::int64_t settle_by_ = kNever;        // when rates are to be found anew
  std::int64_t takes_ = 0;                 // a flow, about, of those that ended last
  std::vector<std::uint64_t> carried_;     // bytes on the wire, by link
  std::uint64_t happened_ = 0;
};

std::uint32_t FlowRun::send(std::int64_t now, const Transfer& transfer) {
  const auto paths = routes_.find(transfer);
  std::int64_t unloaded = 0;
  Wide moves = 0;
  for (const FlowPath& path : paths) {
    if (!path.shares_nics) moves = 0;
    // The acknowledgement does not wait for what happens behind the network.
    const std::size_t answered = path.network == FlowPath::kInside ? path.count : path.network + 1;
    for (std::size_t i = 0; i < answered; ++i) moves += time_to_move(path.stages[i].work, path.stages[i].alone);
    unloaded = std::max(unloaded, later_by(path.latency + path.acknowledgement, moves));
    std::uint32_t number = static_cast<std::uint32_t>(stripes_.size());
    if (free_.empty()) {
      stripes_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    Stripe& stripe = stripes_[number];
    stripe.path = path;
    stripe.stage = 0;
    stripe.from = transfer.from;
    stripe.to = transfer.to;
    stripe.message = transfer.message;
    stripe.channel = transfer.channel;
    go_on(now, number);
  }
  // Messages may leave in another order than they were numbered in.
  std::vector<std::int64_t>& known = unloaded_[transfer.from];
  if (transfer.message >= known.size()) known.resize(transfer.message + std::size_t{1});
  known[transfer.message] = unloaded;
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, paths.size()));  // without a way it never ends
}

// To the next stage that takes time, or to its end.
void FlowRun::go_on(std::int64_t now, std::uint32_t number) {
  Stripe& stripe = stripes_[number];
  const FlowPath& path = stripe.path;
  for (; stripe.stage < path.count; ++stripe.stage) {
    if (stripe.stage == path.network)
      if (const std::uint32_t queue = queue_of(stripe); queues_.waits(queue, number, stripe.channel))
        return share_out(now, queue);
    if (!stripe.now().shares.empty() && stripe.now().work > 0) return move(now, number);
  }
  events_.add({.time = now + path.latency + path.last_part,
               .source = stripe.from,
               .rank = stripe.to,
               .what = stripe.message,
               .bytes = path.bytes,
               .kind = Kind::received});
  if (path.network == FlowPath::kInside) leave(now, stripe);
  free_.push_back(number);
}

// All of it is on its way: what the sender waits for is the answer.
void FlowRun::leave(std::int64_t now, const Stripe& stripe) {
  events_.add({.time = now + stripe.path.latency + stripe.path.acknowledgement,
               .source = stripe.from,
               .rank = stripe.from,
               .what = stripe.message,
               .kind = Kind::sent});
}

void FlowRun::move(std::int64_t now, std::uint32_t number) {
  Stripe& stripe = stripes_[number];
  stripe.start = stripe.since = now;
  stripe.left = stripe.now().work;
  stripe.rate = 0;
  stripe.moving = true;
  stripe.count = stripe.stage == stripe.path.network ? queues_.channels(queue_of(stripe)) : 1;
  const std::uint32_t flow = stripe.flow = rates_.add_flow(stripe.now().shares, stripe.count);
  if (flow >= stripe_of_.size()) stripe_of_.resize(flow + std::size_t{1});
  stripe_of_[flow] = number;
  ends_.set(flow, kNever);
  if (++moving_ < options_.many) return settle_within(now, 0);
  const std::int64_t alone = stripe.now().alone;
  std::int64_t patience = takes_ / kPatience;
  stripe.rate = std::min(alone, left_for(flow));
  if (stripe.rate > 0) ends_.set(flow, later_by(now, time_to_move(stripe.left, stripe.rate)));
  if (stripe.rate < alone / kOwnPatience)
    patience = std::min(patience, later_by(0, time_to_move(stripe.left, alone) / kOwnPatience));
  settle_within(now, patience);
}

// Another channel has something to send behind what is under way.
void FlowRun::share_out(std::int64_t now, std::uint32_t queue) {
  Stripe& stripe = stripes_[queues_.under_way(queue)];
  const std::uint32_t count = queues_.channels(queue);
  if (count == stripe.count) return;
  stripe.count = count;
  rates_.set_count(stripe.flow, count);
  shared_out_.push_back(stripe.flow);
  settle_within(now, takes_ / kPatience);
}

// The rate that a flow may have until rates are found anew.
std::int64_t FlowRun::left_for(std::uint32_t flow) const {
  std::int64_t least = kNever;
  rates_.for_each_share(flow, [&](std::uint32_t link, std::uint64_t weight) {
    const Wide unused = Wide{rates_.unused(link)} * MaxMinRates::kWhole / weight;
    least = static_cast<std::int64_t>(std::min<Wide>({Wide{least}, unused, Wide{rates_.level(link)}}));
  });
  return std::max<std::int64_t>(0, least);
}

// How late the last packets come because packets do not spread evenly: as the worst of the links tells over which the
// flow is split.
std::int64_t FlowRun::scattered(std::int64_t now, std::uint32_t flow) const {
  const std::int64_t moved = now - stripes_[stripe_of_[flow]].start;
  std::int64_t latest = 0;
  std::int64_t unused = kMillion;
  std::int64_t packet = 0;
  std::int64_t deviation = 0;  // the largest of those links that are alike
  const auto take = [&] { latest = std::max(latest, scatter_delay(moved, packet, unused, deviation)); };
  rates_.for_each_share(flow, [&](std::uint32_t link, std::uint64_t weight) {
    if (!routes_.is_spread(link, weight)) return;
    const std::int64_t capacity = routes_.capacity(link);
    const auto here =
        static_cast<std::int64_t>(Wide{rates_.unused(link)} * kMillion / std::max<std::int64_t>(1, capacity));
    if (here != unused || routes_.packet_time(link) != packet) {
      take();
      unused = here;
      packet = routes_.packet_time(link);
      deviation = 0;
    }
    deviation = std::max(deviation, routes_.deviation(link));
  });
  take();
  return latest;
}

// All that end now, with the loads they leave behind seen by none of them.
void FlowRun::end_flows(std::int64_t now) {
  ending_.clear();
  for (; !ends_.empty() && ends_.time() == now; ++happened_) {
    const std::uint32_t flow = ends_.number();
    ending_.push_back(flow);
    stripe_of(flow).path.latency += scattered(now, flow);
    ends_.remove(flow);
  }
  for (const std::uint32_t flow : ending_) {
    const std::uint32_t number = stripe_of_[flow];
    Stripe& stripe = stripes_[number];
    if (options_.with_links) carry(stripe, stripe.now().work);
    stripe.moving = false;
    rates_.remove_flow(flow);
    --moving_;
    takes_ += (now - stripe.start - takes_) / 8;
    settle_within(now, takes_ / kPatience);
    if (stripe.stage == stripe.path.network) {
      leave(now, stripe);
      if (const std::uint32_t next = queues_.next(queue_of(stripe), stripe.channel); next != kNobody) move(now, next);
    }
    ++stripe.stage;
    go_on(now, number);
  }
}

void FlowRun::settle(std::int64_t now) {
  settle_by_ = kNever;
  const auto change = [&](std::uint32_t flow) {
    Stripe& stripe = stripe_of(flow);
    stripe.left -= Wide{stripe.rate} * (now - stripe.since);
    stripe.since = now;
    stripe.rate = rates_.rate(flow) * stripe.count;
    ends_.set(flow, later_by(now, time_to_move(stripe.left, stripe.rate)));
  };
  for (const std::uint32_t flow : rates_.settle()) change(flow);
  // More shares may be as large as fewer were.
  for (const std::uint32_t flow : shared_out_)
    if (stripe_of(flow).moving && stripe_of(flow).flow == flow) change(flow);
  shared_out_.clear();
}

// When something happens next.
std::int64_t FlowRun::next() const {
  return std::min({ends_.empty() ? kNever : ends_.time(), events_.empty() ? kNever : events_.time(), settle_by_});
}

// All that happens at this instant, and the rates that follow from it.
void FlowRun::step(std::int64_t now) {
  end_flows(now);
  for (; !events_.empty() && events_.time() == now; ++happened_) events_.handle(runner_);
  if (settle_by_ <= now) settle(now);
}

// Of a million ranks this takes a while; false: nobody waits for it any more.
bool FlowRun::start() {
  for (std::uint32_t rank = 0; rank < events_.ranks(); ++rank) {
    if (rank > 0 && rank % kStartsBetweenQuestions == 0 && options_.keep_going && !options_.keep_going({}))
      return false;
    runner_.start(0, rank);
  }
  settle(0);
  return true;
}

schedule::RunResult FlowRun::run() {
  schedule::RunResult result;
  result.fidelity = schedule::Fidelity::flow;
  result.seed = routes_.config().seed;
  if (!start()) result.stopped_by = "request";
  std::int64_t now = 0;
  std::uint64_t asked = 0;
  for (std::int64_t then = next(); result.stopped_by.empty() && then != kNever; then = next()) {
    const bool beyond = then > options_.horizon.time.count();
    if (beyond) now = options_.horizon.time.count();
    if (beyond || happened_ >= options_.horizon.events || happened_ - asked >= kEventsBetweenQuestions) {
      asked = happened_;
      if (options_.keep_going && !options_.keep_going({Duration(now), happened_, events_.delivered()})) {
        result.stopped_by = "request";
        break;
      }
    }
    now = then;
    step(now);
  }
  result.counters.events = happened_;
  result.digest = events_.digest();
  result.end = Duration(result.stopped_by.empty() ? runner_.last() : now);
  result.unfinished = runner_.unfinished();
  result.flows = runner_.take_flows();
  std::size_t message = 0;
  for (schedule::FlowRecord& flow : result.flows) {
    message = &flow != result.flows.data() && (&flow - 1)->source == flow.source ? message + 1 : 0;
    const std::vector<std::int64_t>& known = unloaded_[flow.source];
    flow.unloaded = Duration(message < known.size() ? known[message] : 0);  // stopped before it left
  }
  if (options_.with_links) {
    for (const Stripe& stripe : stripes_)
      if (stripe.moving) carry(stripe, stripe.now().work - stripe.left + Wide{stripe.rate} * (now - stripe.since));
    collect_links(result);
  }
  return result;
}

// What links have carried of a stage.
void FlowRun::carry(const Stripe& stripe, Wide moved) {
  carried_.resize(rates_.links());
  const Wide work = stripe.now().work;
  for (const auto& [link, weight] : stripe.now().shares) {
    const Wide all{routes_.is_inside(link) ? stripe.path.bytes : stripe.path.wire_bytes};
    const Wide bytes = moved >= work ? all : moved / (work / std::max<Wide>(1, all) + 1);
    carried_[link] += static_cast<std::uint64_t>(bytes * weight / routes_.whole(link));
  }
}

void FlowRun::collect_links(schedule::RunResult& result) {
  carried_.resize(rates_.links());
  std::vector<schedule::LinkRecord>& records = result.links;
  for (std::uint32_t link = 0; link < carried_.size(); ++link) {
    const std::uint64_t each = carried_[link] / routes_.members(link);
    for (std::uint32_t member = 0; each > 0 && member < routes_.members(link); ++member) {
      records.push_back(routes_.describe(link, member));
      records.back().bytes = each;
    }
  }
  std::stable_sort(records.begin(), records.end(), [](const schedule::LinkRecord& a, const schedule::LinkRecord& b) {
    return Wide{a.bytes} * b.rate > Wide{b.bytes} * a.rate;
  });
}

}  // namespace

schedule::RunResult run_flows(schedule::Schedule& schedule, FlowRoutes& routes, const FlowOptions& options) {
  return FlowRun(schedule, routes, options).run();
}

}  // namespace weft::sim
