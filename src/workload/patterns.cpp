#include "workload/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "base/wide.hpp"
#include "workload/arrivals.hpp"
#include "workload/fan.hpp"
#include "workload/sizes.hpp"

namespace weft::workload {
namespace {

using spec::Error;

constexpr std::uint32_t kMostNodes = 16'777'216;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kWholeLoad = 1'000'000;
// A flow that is finished leaves a record of 56 bytes: this many fill 7.5 GB.
constexpr std::uint64_t kMostFlows = std::uint64_t{1} << 27;
// Beyond it no time can be told from overflow: 26 days.
constexpr std::int64_t kMostDuration = std::int64_t{1} << 61;

// A random cycle through all nodes is a permutation in which nobody sends to itself (Sattolo).
std::vector<std::uint32_t> random_cycle(std::uint32_t nodes, std::uint64_t seed) {
  std::vector<std::uint32_t> to(nodes);
  std::iota(to.begin(), to.end(), 0u);
  Random random(seed, 0, 0);
  for (std::uint32_t i = nodes; i-- > 1;) std::swap(to[i], to[random.below(i)]);
  return to;
}

// Who sends to whom, node by node; of the pattern poisson, nobody knows before.
Fan::Targets targets_of(model::TrafficPattern pattern, const PatternGround& ground) {
  const std::uint32_t nodes = ground.nodes;
  const auto one = [](std::uint32_t) { return 1u; };
  const auto only_first = [](std::uint32_t count) {
    return [count](std::uint32_t rank) { return rank == 0 ? count : 0u; };
  };
  const auto ahead = [nodes](std::uint32_t rank, std::uint32_t i) {
    return static_cast<std::uint32_t>((std::uint64_t{rank} + 1 + i) % nodes);
  };
  switch (pattern) {
    case model::TrafficPattern::poisson:
      return {};
    case model::TrafficPattern::one:
      return {only_first(1), [nodes](auto, auto) { return nodes - 1; }};
    case model::TrafficPattern::ring:
      return {one, ahead};
    case model::TrafficPattern::incast:
      return {[](auto rank) { return rank > 0 ? 1u : 0u; }, [](auto, auto) { return 0u; }};
    case model::TrafficPattern::outcast:
      return {only_first(nodes - 1), ahead};
    case model::TrafficPattern::all_to_all:
      // Everybody starts with its neighbour and goes on to the next: at no time have all the same target.
      return {[nodes](auto) { return nodes - 1; }, ahead};
    case model::TrafficPattern::permutation:
      break;
  }
  return {one, [to = random_cycle(nodes, ground.seed)](std::uint32_t rank, auto) { return to[rank]; }};
}

SizeDistribution sizes_of(const model::TrafficRun& run) {
  const auto bytes = static_cast<std::uint64_t>(run.size.count());
  if (run.sizes == model::FlowSizes::fixed) return SizeDistribution::fixed(bytes);
  if (run.sizes == model::FlowSizes::uniform) return SizeDistribution::uniform(1, 2 * bytes - 1);
  return SizeDistribution::published(enum_name(run.sizes)).value();
}

class Maker {
 public:
  Maker(const model::TrafficRun& run, const PatternGround& ground, spec::Diagnostics& diagnostics)
      : run_(run), ground_(ground), diagnostics_(diagnostics) {}

  std::unique_ptr<schedule::Schedule> make() {
    if (run_.pattern == model::TrafficPattern::poisson && run_.arrivals == model::FlowArrivals::paced)
      return refuse("the pattern poisson is not paced", "--arrivals paced with another pattern");
    if (ground_.nodes < 2 || ground_.nodes > kMostNodes)
      return refuse("traffic needs two GPUs, and at most 16777216", "--gpus 2 or more");
    if (needs_bytes() && (run_.size.count() < 1 || run_.size.count() > kMostBytes))
      return refuse("a flow has from one byte to 1 TiB", "for example --size 2MB");
    if (is_open_loop(run_)) return make_arrivals();
    const bool all_to_all = run_.pattern == model::TrafficPattern::all_to_all;
    if (all_to_all) {
      if (run_.window > std::int64_t{schedule::kMostOutstanding})
        return refuse(fmt::format("a node has at most {} flows going", schedule::kMostOutstanding), "--window 8");
      if (std::uint64_t{ground_.nodes} * (ground_.nodes - 1) > kMostFlows) return too_many();
    }
    return std::make_unique<Fan>(ground_.nodes, static_cast<std::uint64_t>(run_.size.count()),
                                 all_to_all ? static_cast<std::uint32_t>(run_.window) : 0,
                                 targets_of(run_.pattern, ground_));
  }

 private:
  std::unique_ptr<schedule::Schedule> refuse(std::string message, std::string help) {
    diagnostics_.add(Error::out_of_range, run_.places.whole, std::move(message), std::move(help));
    return nullptr;
  }
  std::unique_ptr<schedule::Schedule> too_many() {
    return refuse(fmt::format("more than {} flows, each of which leaves a record",
                              grouped(static_cast<std::int64_t>(kMostFlows))),
                  "fewer nodes, or a shorter time");
  }
  bool needs_bytes() const {
    return !is_open_loop(run_) || run_.sizes == model::FlowSizes::fixed || run_.sizes == model::FlowSizes::uniform;
  }

  std::unique_ptr<schedule::Schedule> make_arrivals() {
    const SizeDistribution sizes = sizes_of(run_);
    if (run_.load.count() < 1 || run_.load.count() > kWholeLoad)
      return refuse("the load is a share of the line rate, at most all of it", "--load 0.5");
    if (ground_.line_rate.count() <= 0) return refuse("the load of a node without a network cannot be told", "");
    const std::int64_t given = run_.duration.count();
    if (given < 0 || given > kMostDuration || (given == 0 && ground_.flows == 0))
      return refuse("arrivals end after a time or a number of flows", "--duration 1ms");
    const std::int64_t duration = given > 0 ? given : kMostDuration;
    const Wide wire = static_cast<Wide>(sizes.mean()) * 8 * 1'000'000'000'000 / ground_.line_rate.count();
    const Wide gap = std::max<Wide>(1, wire * kWholeLoad / run_.load.count());
    if (gap > kMostDuration) return refuse("flows would begin years apart", "a higher --load");
    const Wide expected = static_cast<Wide>(ground_.nodes) * (duration / gap);
    if (ground_.flows > kMostFlows || (ground_.flows == 0 && expected > static_cast<Wide>(kMostFlows)))
      return too_many();
    return std::make_unique<Arrivals>(Arrivals::Process{
        ground_.nodes, sizes, Duration(static_cast<std::int64_t>(gap)), ground_.flows, Duration(duration), ground_.seed,
        run_.arrivals == model::FlowArrivals::paced, targets_of(run_.pattern, ground_)});
  }

  const model::TrafficRun& run_;
  const PatternGround& ground_;
  spec::Diagnostics& diagnostics_;
};

}  // namespace

bool is_open_loop(const model::TrafficRun& run) {
  return run.pattern == model::TrafficPattern::poisson || run.arrivals != model::FlowArrivals::at_once;
}

std::unique_ptr<schedule::Schedule> make_traffic(const model::TrafficRun& run, const PatternGround& ground,
                                                 spec::Diagnostics& diagnostics) {
  return Maker(run, ground, diagnostics).make();
}

}  // namespace weft::workload
