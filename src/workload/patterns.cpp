#include "workload/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "base/wide.hpp"
#include "workload/arrivals.hpp"
#include "workload/fan.hpp"
#include "workload/sizes.hpp"

namespace weft::workload {
namespace {

using schedule::Instruction;
using spec::Complaint;

constexpr std::uint32_t kMostNodes = 16'777'216;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
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
Fan::Targets targets_of(const PatternOptions& options) {
  const std::uint32_t nodes = options.nodes;
  const auto one = [](std::uint32_t) { return 1u; };
  const auto only_first = [](std::uint32_t count) {
    return [count](std::uint32_t rank) { return rank == 0 ? count : 0u; };
  };
  const auto ahead = [nodes](std::uint32_t rank, std::uint32_t i) {
    return static_cast<std::uint32_t>((std::uint64_t{rank} + 1 + i) % nodes);
  };
  if (options.name == "poisson") return {};
  if (options.name == "one") return {only_first(1), [nodes](auto, auto) { return nodes - 1; }};
  if (options.name == "ring") return {one, ahead};
  if (options.name == "incast") return {[](auto rank) { return rank > 0 ? 1u : 0u; }, [](auto, auto) { return 0u; }};
  if (options.name == "outcast") return {only_first(nodes - 1), ahead};
  // Everybody starts with its neighbour and goes on to the next: at no time have all the same target.
  if (options.name == "all-to-all") return {[nodes](auto) { return nodes - 1; }, ahead};
  return {one, [to = random_cycle(nodes, options.seed)](std::uint32_t rank, auto) { return to[rank]; }};
}

std::optional<SizeDistribution> sizes_for(const PatternOptions& options) {
  if (options.sizes == "fixed") return SizeDistribution::fixed(options.bytes);
  if (options.sizes == "uniform") return SizeDistribution::uniform(1, 2 * options.bytes - 1);
  return SizeDistribution::published(options.sizes);
}

class Maker {
 public:
  Maker(const PatternOptions& options, spec::Diagnostics& diagnostics) : options_(options), diagnostics_(diagnostics) {}

  std::unique_ptr<schedule::Schedule> make() {
    if (!check_name() || !check_arrivals()) return nullptr;
    if (options_.nodes < 2 || options_.nodes > kMostNodes)
      return refuse("traffic needs two nodes, and at most 16777216", "--nodes 2 or more");
    if (needs_bytes() && (options_.bytes < 1 || options_.bytes > kMostBytes))
      return refuse("a flow has from one byte to 1 TiB", "for example --size 2MB");
    if (is_open_loop(options_)) return make_arrivals();
    if (options_.name == "all-to-all") {
      if (options_.window > schedule::kMostOutstanding)
        return refuse(fmt::format("a node has at most {} flows going", schedule::kMostOutstanding), "--window 8");
      if (std::uint64_t{options_.nodes} * (options_.nodes - 1) > kMostFlows) return too_many();
    }
    const std::uint32_t window = options_.name == "all-to-all" ? options_.window : 0;
    return std::make_unique<Fan>(options_.nodes, options_.bytes, window, targets_of(options_));
  }

 private:
  std::unique_ptr<schedule::Schedule> refuse(std::string message, std::string help) {
    diagnostics_.add(Complaint::out_of_range, {}, std::move(message), std::move(help));
    return nullptr;
  }
  std::unique_ptr<schedule::Schedule> too_many() {
    return refuse(fmt::format("more than {} flows, each of which leaves a record",
                              grouped(static_cast<std::int64_t>(kMostFlows))),
                  "fewer nodes, or a shorter time");
  }
  bool needs_bytes() const {
    return !is_open_loop(options_) || options_.sizes == "fixed" || options_.sizes == "uniform";
  }

  bool check_name() {
    std::vector<std::string> names;
    for (const PatternName& each : traffic_patterns()) names.emplace_back(each.name);
    if (std::find(names.begin(), names.end(), options_.name) != names.end()) return true;
    refuse(fmt::format("there is no pattern '{}'", options_.name.substr(0, 40)),
           fmt::format("one of {}", either(names)));
    return false;
  }

  bool check_arrivals() {
    const std::vector<std::string>& names = arrival_names();
    if (std::find(names.begin(), names.end(), options_.arrivals) == names.end()) {
      refuse(fmt::format("flows cannot begin '{}'", options_.arrivals.substr(0, 40)),
             fmt::format("one of {}", either(names)));
      return false;
    }
    if (options_.name != "poisson" || options_.arrivals != "paced") return true;
    refuse("the pattern poisson is not paced", "--arrivals paced with another pattern");
    return false;
  }

  std::unique_ptr<schedule::Schedule> make_arrivals() {
    const auto sizes = sizes_for(options_);
    if (!sizes)
      return refuse(fmt::format("there is no size distribution '{}'", options_.sizes.substr(0, 40)),
                    fmt::format("one of {}", either(size_names())));
    if (options_.load_per_mille < 1 || options_.load_per_mille > 1000)
      return refuse("the load is a share of the line rate: from 0.001 to 1", "--load 0.5");
    if (options_.line_rate.count() <= 0) return refuse("the load of a node without a network cannot be told", "");
    const std::int64_t given = options_.duration.count();
    if (given < 0 || given > kMostDuration || (given == 0 && options_.flows == 0))
      return refuse("arrivals end after a time or a number of flows", "--duration 1ms");
    const std::int64_t duration = given > 0 ? given : kMostDuration;
    const Wide wire = static_cast<Wide>(sizes->mean()) * 8 * 1'000'000'000'000 / options_.line_rate.count();
    const Wide gap = std::max<Wide>(1, wire * 1000 / options_.load_per_mille);
    if (gap > kMostDuration) return refuse("flows would begin years apart", "a higher --load");
    const Wide expected = static_cast<Wide>(options_.nodes) * (duration / gap);
    if (options_.flows > kMostFlows || (options_.flows == 0 && expected > static_cast<Wide>(kMostFlows)))
      return too_many();
    return std::make_unique<Arrivals>(Arrivals::Process{options_.nodes, *sizes, static_cast<std::int64_t>(gap),
                                                        options_.flows, duration, options_.seed,
                                                        options_.arrivals == "paced", targets_of(options_)});
  }

  const PatternOptions& options_;
  spec::Diagnostics& diagnostics_;
};

}  // namespace

const std::vector<PatternName>& traffic_patterns() {
  static const std::vector<PatternName> all = {
      {"one", "one flow, from the first node to the last"},
      {"permutation", "everybody to somebody else, everybody from one"},
      {"incast", "all to the first"},
      {"outcast", "the first to all"},
      {"all-to-all", "everybody to everybody, a window at a time"},
      {"ring", "each to the next"},
      {"poisson", "flows at random times between random nodes"},
  };
  return all;
}

const std::vector<std::string>& size_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made = {"fixed", "uniform"};
    made.insert(made.end(), SizeDistribution::published_names().begin(), SizeDistribution::published_names().end());
    return made;
  }();
  return names;
}

const std::vector<std::string>& arrival_names() {
  static const std::vector<std::string> names = {"at-once", "paced", "poisson"};
  return names;
}

bool is_open_loop(const PatternOptions& options) { return options.name == "poisson" || options.arrivals != "at-once"; }

std::unique_ptr<schedule::Schedule> make_traffic(const PatternOptions& options, spec::Diagnostics& diagnostics) {
  return Maker(options, diagnostics).make();
}

const std::vector<std::string>& pattern_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const PatternName& each : traffic_patterns()) list.emplace_back(each.name);
    return list;
  }();
  return names;
}

}  // namespace weft::workload
