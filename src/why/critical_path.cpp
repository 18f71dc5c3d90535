#include "why/critical_path.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

namespace weft::why {
namespace {

using collective::Edge;
using collective::Plan;
using collective::PlanOptions;
using collective::Step;
using collective::Team;

// As in collective/timing.cpp, long programs are run with a few rounds; the others are like the last.
constexpr std::uint64_t kFewRounds = 6;
constexpr std::uint64_t kAllRounds = 8;  // up to here none is left out
constexpr std::uint64_t kMostSteps = 4'000'000;
constexpr std::uint64_t kFewSteps = 400'000;  // a moment: so many are all run, and nothing is guessed
constexpr std::uint32_t kBegin = 0xFFFFFFFFu;

class Trace {
 public:
  Trace(const Team& team, const Plan& plan, bool pxn) : team_(team), plan_(plan), pxn_(pxn) {}

  Breakdown run() {
    for (std::uint32_t program = 0; program < plan_.different.size(); ++program)
      for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank)
        for (std::uint32_t lane = 0; lane < plan_.different[program]->lanes(rank); ++lane)
          lanes_.push_back(begin({.program = program, .rank = rank, .number = lane}));
    runnable_.resize(lanes_.size());
    std::iota(runnable_.rbegin(), runnable_.rend(), 0u);
    while (!runnable_.empty()) {
      const std::uint32_t lane = runnable_.back();
      runnable_.pop_back();
      advance(lane);
    }
    return walk_back();
  }

 private:
  // Something that took time, after something else.
  struct Link {
    std::uint32_t before = kBegin;
    Resource resource = Resource::protocol;
    std::int64_t time = 0;
    std::int64_t overhead = 0;  // of the time
    std::int64_t lost = 0;      // beyond it, because the rank is slow
    std::uint32_t rank = 0;     // who did it
  };
  struct Lane {
    std::uint32_t program = 0;
    std::uint32_t rank = 0;
    std::uint32_t number = 0;
    std::uint64_t at = 0;
    std::int64_t clock = 0;
    std::int64_t busy = 0;            // until when its sends occupy it
    std::uint32_t by_clock = kBegin;  // what the clock stands at because of,
    std::uint32_t by_busy = kBegin;   // and the sends
    std::int64_t left = 0;            // when the last send and those joined to it have left,
    std::uint32_t by_left = kBegin;   // and because of what
  };
  struct Arrival {
    std::int64_t time;
    std::uint32_t link;
  };
  struct Stream {
    std::vector<Arrival> arrivals;
    std::size_t taken = 0;
    std::uint32_t waiter = kBegin;
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;

  std::uint32_t add(Link link) {
    links_.push_back(link);
    return static_cast<std::uint32_t>(links_.size() - 1);
  }

  // Who comes late has something before its first step.
  Lane begin(Lane lane) {
    if (lane.rank >= plan_.starts.size() || plan_.starts[lane.rank] == Duration{}) return lane;
    lane.clock = plan_.starts[lane.rank].count();
    lane.by_clock = add({kBegin, Resource::waiting, lane.clock, 0, 0, lane.rank});
    return lane;
  }

  bool is_inside(std::uint32_t from, std::uint32_t to) const { return plan_.node[from] == plan_.node[to]; }

  Resource resource_of(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t gpus = team_.ranks();
    if (is_inside(from, to)) {
      const model::ServerKind& server = team_.group(std::min({from, to, gpus - 1})).spec;
      return server.scale_up ? Resource::scale_up : server.p2p ? Resource::pcie : Resource::host_memory;
    }
    const auto far = [&](std::uint32_t rank, bool sends) {
      if (rank >= gpus || team_.direct(rank)) return false;
      const collective::Port& port = team_.domain(team_.node_of(rank)).ports[team_.port_of(rank)];
      return !(sends && pxn_ && port.direct && team_.group(rank).spec.scale_up);
    };
    if (far(from, true) || far(to, false)) return Resource::host_memory;
    const std::uint32_t rank = from < gpus ? from : to;
    const collective::Port& port = team_.domain(team_.node_of(rank)).ports[team_.port_of(rank)];
    return port.pcie_rate < port.nic_rate ? Resource::pcie : Resource::nic;
  }

  void advance(std::uint32_t index) {
    for (;;) {
      Lane& lane = lanes_[index];
      Step step;
      if (!plan_.different[lane.program]->step(lane.rank, lane.number, lane.at, step)) return;
      if (step.kind == Step::Kind::send) {
        send(lane, step);
      } else {
        Stream& stream = streams_[{lane.program, step.peer, lane.rank, step.tag}];
        if (stream.taken == stream.arrivals.size()) {
          stream.waiter = index;
          return;
        }
        const Arrival& arrival = stream.arrivals[stream.taken++];
        if (arrival.time > lane.clock) {
          const bool inside = is_inside(step.peer, lane.rank);
          lane.clock = arrival.time;
          lane.by_clock = add({arrival.link, inside ? Resource::inside_latency : Resource::network_latency,
                               plan_.latency(step.peer, lane.rank).count(), 0, 0, lane.rank});
        }
      }
      ++lane.at;
    }
  }

  void send(Lane& lane, const Step& step) {
    const std::int64_t time = step.joined ? 0 : occupancy(step.edge, step.bytes);
    const std::int64_t lost = plan_.lost(lane.rank, time);
    if (lane.clock > lane.busy) lane.by_busy = lane.by_clock;
    lane.busy = std::max(lane.busy, lane.clock) + time + lost;
    const std::uint32_t before = lane.by_busy;
    const Resource resource = resource_of(lane.rank, step.peer);
    if (time > 0) lane.by_busy = add({before, resource, time, step.edge.overhead.count(), lost, lane.rank});
    if (!step.joined) {
      const std::int64_t own = passage(step.edge, step.bytes);
      lane.left = lane.busy - (time - own);
      lane.by_left = own == time
                         ? lane.by_busy
                         : add({before, resource, own, std::min(own, step.edge.own_overhead.count()), lost, lane.rank});
    }
    Stream& stream = streams_[{lane.program, lane.rank, step.peer, step.tag}];
    stream.arrivals.push_back({lane.left + plan_.latency(lane.rank, step.peer).count(), lane.by_left});
    if (stream.waiter != kBegin) {
      runnable_.push_back(stream.waiter);
      stream.waiter = kBegin;
    }
  }

  Breakdown walk_back() const {
    const auto end = [](const Lane& lane) { return std::max(lane.clock, lane.busy); };
    const auto last =
        std::max_element(lanes_.begin(), lanes_.end(), [&](const Lane& a, const Lane& b) { return end(a) < end(b); });
    Breakdown out;
    if (last == lanes_.end()) return out;
    std::map<std::uint32_t, Breakdown::Waited> waited;
    for (std::uint32_t at = last->clock > last->busy ? last->by_clock : last->by_busy; at != kBegin;
         at = links_[at].before) {
      const Link& link = links_[at];
      out[link.resource] += Duration(link.time - link.overhead);
      out[Resource::protocol] += Duration(link.overhead);
      out[Resource::waiting] += Duration(link.lost);
      if (link.resource == Resource::waiting) waited[link.rank].late += Duration(link.time);
      if (link.lost > 0) waited[link.rank].slow += Duration(link.lost);
    }
    for (const auto& [rank, each] : waited) out.waited.push_back({rank, each.late, each.slow});
    std::stable_sort(out.waited.begin(), out.waited.end(),
                     [](const auto& a, const auto& b) { return a.total() > b.total(); });
    return out;
  }

  const Team& team_;
  const Plan& plan_;
  bool pxn_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> runnable_;
  std::vector<Link> links_;
  std::map<Key, Stream> streams_;
};

// Nothing when it takes more than `most_steps`. Of no rounds: all of them.
std::optional<Breakdown> run(const Team& team, PlanOptions options, std::uint64_t rounds, std::uint64_t most_steps,
                             Plan& plan) {
  options.most_rounds = rounds;
  plan = make_plan(team, options);
  std::uint64_t steps = 0;
  for (const auto& program : plan.different) steps += program->messages();
  if (steps > most_steps) return std::nullopt;
  return Trace(team, plan, options.pxn).run();
}

// Of a few rounds, and what further ones cost where they are like the last.
std::optional<Breakdown> estimate(const Team& team, const PlanOptions& options, Plan& plan) {
  auto made = run(team, options, kAllRounds, kMostSteps, plan);
  if (!made) return std::nullopt;
  const std::uint64_t whole = plan.whole_rounds;
  if (whole <= kAllRounds) return made;
  // A part may shrink where the chain changes its way.
  const auto before = run(team, options, kFewRounds, kMostSteps, plan);
  if (!before) return std::nullopt;
  for (std::size_t i = 0; i < kResources; ++i) {
    const Duration more = std::max(Duration(0), made->time[i] - before->time[i]);
    made->time[i] +=
        more * static_cast<std::int64_t>(whole - kAllRounds) / static_cast<std::int64_t>(kAllRounds - kFewRounds);
  }
  return made;
}

}  // namespace

std::string_view name(Resource resource) {
  switch (resource) {
    case Resource::launch:
      return "launch";
    case Resource::protocol:
      return "protocol of each chunk";
    case Resource::scale_up:
      return "NVLink";
    case Resource::pcie:
      return "PCIe";
    case Resource::host_memory:
      return "host memory";
    case Resource::nic:
      return "NIC";
    case Resource::slow_nic:
      return "slow NIC";
    case Resource::fabric:
      return "fabric (collisions, queues)";
    case Resource::pause:
      return "pauses of the fabric";
    case Resource::resending:
      return "packets sent again";
    case Resource::inside_latency:
      return "latency inside servers";
    case Resource::network_latency:
      return "latency of the network";
    case Resource::waiting:
      return "waiting for a slower rank";
  }
  return "";
}

Duration Breakdown::total() const { return std::accumulate(time.begin(), time.end(), Duration(0)); }

std::optional<Breakdown> critical_path(const Team& team, const PlanOptions& options, const FabricLoss& loss) {
  Plan plan;
  auto made = run(team, options, 0, kFewSteps, plan);
  if (!made) made = estimate(team, options, plan);
  if (!made) return std::nullopt;
  const std::int64_t nic_time = (*made)[Resource::nic].count();
  const auto charge = [&](Resource resource, std::int64_t per_mille) {
    (*made)[resource] = Duration(nic_time / 1'000 * per_mille);
    (*made)[Resource::nic] = (*made)[Resource::nic] - (*made)[resource];
  };
  charge(Resource::slow_nic, loss.slow);
  charge(Resource::pause, loss.paused);
  charge(Resource::resending, loss.resent);
  charge(Resource::fabric, 1'000 - loss.left - loss.slow - loss.paused - loss.resent);
  (*made)[Resource::launch] = plan.launch;
  (*made)[Resource::launch] += Duration(std::max<std::int64_t>(0, plan.least.count() - made->total().count()));
  return made;
}

}  // namespace weft::why
