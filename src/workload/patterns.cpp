#include "workload/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "base/wide.hpp"
#include "workload/exponential.hpp"
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

// Every node sends to a list of others, all at once or a window at a time.
class Fan final : public schedule::Schedule {
 public:
  struct Targets {
    std::function<std::uint32_t(std::uint32_t rank)> count;
    std::function<std::uint32_t(std::uint32_t rank, std::uint32_t i)> target;
  };
  Fan(std::uint32_t nodes, std::uint64_t bytes, std::uint32_t window, Targets targets)
      : bytes_(bytes), window_(window), targets_(std::move(targets)), cursors_(nodes) {}

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(cursors_.size()); }
  std::uint32_t lanes(std::uint32_t rank) const override { return targets_.count(rank) > 0 ? 1 : 0; }
  bool next(std::uint32_t rank, std::uint32_t, Instruction& out) override {
    Cursor& at = cursors_[rank];
    if (at.sent == targets_.count(rank)) return false;
    if (window_ > 0 && at.sent >= window_ && !std::exchange(at.waited, true)) {
      out = Instruction::wait(window_);
      return true;
    }
    at.waited = false;
    out = Instruction::put(targets_.target(rank, at.sent++), bytes_);
    out.detached = window_ == 0;
    return true;
  }

 private:
  struct Cursor {
    std::uint32_t sent = 0;
    bool waited = false;
  };
  std::uint64_t bytes_;
  std::uint32_t window_;
  Targets targets_;
  std::vector<Cursor> cursors_;
};

// Flows begin at random times, whether or not earlier ones are done, towards random others. Every node
// draws from its own stream, so that what it does depends on no other and on no executor.
class Poisson final : public schedule::Schedule {
 public:
  struct Process {
    std::uint32_t nodes;
    SizeDistribution sizes;
    std::int64_t gap;       // ps between two flows of a node, on average
    std::uint64_t flows;    // in all; 0: no limit
    std::int64_t duration;  // ps
    std::uint64_t seed;
  };
  explicit Poisson(Process process) : process_(std::move(process)), sources_(process_.nodes) {
    for (std::uint32_t rank = 0; rank < process_.nodes; ++rank) {
      Source& source = sources_[rank];
      source.random = Random(process_.seed, 0, rank);
      source.left = process_.flows == 0 ? UINT64_MAX : process_.flows / process_.nodes + (rank < process_.flows % process_.nodes ? 1 : 0);
    }
  }

  std::uint32_t ranks() const override { return process_.nodes; }
  std::uint32_t lanes(std::uint32_t) const override { return 1; }
  bool next(std::uint32_t rank, std::uint32_t, Instruction& out) override {
    Source& source = sources_[rank];
    if (std::exchange(source.due, false)) {
      const std::uint32_t other = source.random.below(process_.nodes - 1);
      out = Instruction::put(other + (other >= rank ? 1 : 0), process_.sizes.draw(source.random));
      out.detached = true;
      return true;
    }
    if (source.left == 0) return false;
    const std::int64_t gap = draw_exponential(source.random, process_.gap);
    if (gap > process_.duration - source.time) return false;
    source.time += gap;
    --source.left;
    source.due = true;
    out = Instruction::at(source.time);
    return true;
  }

 private:
  struct Source {
    Random random;
    std::int64_t time = 0;
    std::uint64_t left = 0;
    bool due = false;  // the flow whose time was just given comes next
  };
  Process process_;
  std::vector<Source> sources_;
};

std::unique_ptr<schedule::Schedule> make_fan(const PatternOptions& options) {
  const std::uint32_t nodes = options.nodes;
  const auto one = [](std::uint32_t) { return 1u; };
  const auto only_first = [](std::uint32_t count) {
    return [count](std::uint32_t rank) { return rank == 0 ? count : 0u; };
  };
  const auto fan = [&](Fan::Targets targets, std::uint32_t window = 0) {
    return std::make_unique<Fan>(nodes, options.bytes, window, std::move(targets));
  };
  const auto ahead = [nodes](std::uint32_t rank, std::uint32_t i) {
    return static_cast<std::uint32_t>((std::uint64_t{rank} + 1 + i) % nodes);
  };
  if (options.name == "one") return fan({only_first(1), [nodes](auto, auto) { return nodes - 1; }});
  if (options.name == "ring") return fan({one, ahead});
  if (options.name == "incast") return fan({[](std::uint32_t rank) { return rank > 0 ? 1u : 0u; }, [](auto, auto) { return 0u; }});
  if (options.name == "outcast") return fan({only_first(nodes - 1), ahead});
  // Everybody starts with its neighbour and goes on to the next: at no time have all the same target.
  if (options.name == "all-to-all") return fan({[nodes](auto) { return nodes - 1; }, ahead}, options.window);
  return fan({one, [to = random_cycle(nodes, options.seed)](std::uint32_t rank, auto) { return to[rank]; }});
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
    if (!check_name()) return nullptr;
    if (options_.nodes < 2 || options_.nodes > kMostNodes)
      return refuse("traffic needs two nodes, and at most 16777216", "--nodes 2 or more");
    if (needs_bytes() && (options_.bytes < 1 || options_.bytes > kMostBytes))
      return refuse("a flow has from one byte to 1 TiB", "for example --size 2MB");
    if (options_.name == "poisson") return make_poisson();
    if (options_.name == "all-to-all") {
      if (options_.window > schedule::kMostOutstanding)
        return refuse(fmt::format("a node keeps at most {} flows going, not {}", schedule::kMostOutstanding, options_.window), "--window 8");
      if (std::uint64_t{options_.nodes} * (options_.nodes - 1) > kMostFlows) return too_many();
    }
    return make_fan(options_);
  }

 private:
  std::unique_ptr<schedule::Schedule> refuse(std::string message, std::string help) {
    diagnostics_.add(Complaint::out_of_range, {}, std::move(message), std::move(help));
    return nullptr;
  }
  std::unique_ptr<schedule::Schedule> too_many() {
    return refuse(fmt::format("more than {} flows, each of which leaves a record", grouped(static_cast<std::int64_t>(kMostFlows))),
                  "fewer nodes, or a shorter time");
  }
  bool needs_bytes() const { return options_.name != "poisson" || options_.sizes == "fixed" || options_.sizes == "uniform"; }

  bool check_name() {
    std::vector<std::string> names;
    for (const PatternName& each : traffic_patterns()) names.emplace_back(each.name);
    if (std::find(names.begin(), names.end(), options_.name) != names.end()) return true;
    refuse(fmt::format("there is no pattern '{}'", options_.name.substr(0, 40)), fmt::format("one of {}", either(names)));
    return false;
  }

  std::unique_ptr<schedule::Schedule> make_poisson() {
    const auto sizes = sizes_for(options_);
    if (!sizes)
      return refuse(fmt::format("there is no size distribution '{}'", options_.sizes.substr(0, 40)), fmt::format("one of {}", either(size_names())));
    if (options_.load_per_mille < 1 || options_.load_per_mille > 1000)
      return refuse("the load is a share of the line rate: from 0.001 to 1", "--load 0.5");
    if (options_.line_rate.count() <= 0) return refuse("the load of a node without a network cannot be told", "");
    if (options_.duration.count() < 0 || options_.duration.count() > kMostDuration || (options_.duration.count() == 0 && options_.flows == 0))
      return refuse("Poisson arrivals end after a time or a number of flows", "--duration 1ms");
    const std::int64_t duration = options_.duration.count() > 0 ? options_.duration.count() : kMostDuration;
    const Wide wire = static_cast<Wide>(sizes->mean()) * 8 * 1'000'000'000'000 / options_.line_rate.count();
    const Wide gap = std::max<Wide>(1, wire * 1000 / options_.load_per_mille);
    if (gap > kMostDuration) return refuse("flows would begin years apart", "a higher --load");
    const Wide expected = static_cast<Wide>(options_.nodes) * (duration / gap);
    if (options_.flows > kMostFlows || (options_.flows == 0 && expected > static_cast<Wide>(kMostFlows))) return too_many();
    return std::make_unique<Poisson>(
        Poisson::Process{options_.nodes, *sizes, static_cast<std::int64_t>(gap), options_.flows, duration, options_.seed});
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

std::unique_ptr<schedule::Schedule> make_traffic(const PatternOptions& options, spec::Diagnostics& diagnostics) {
  return Maker(options, diagnostics).make();
}

const std::vector<std::string>& pattern_names() {
  static const std::vector<std::string> names = {"permutation", "incast", "outcast", "ring"};
  return names;
}

Matrix make_pattern(const std::string& name, std::uint32_t nodes, std::uint64_t bytes, std::uint64_t seed) {
  Matrix matrix;
  matrix.nodes = nodes;
  const auto schedule = make_fan({.name = name, .nodes = nodes, .bytes = bytes, .seed = seed});
  Instruction each;
  for (std::uint32_t rank = 0; rank < nodes; ++rank)
    for (std::uint32_t lane = 0; lane < schedule->lanes(rank); ++lane)
      while (schedule->next(rank, lane, each)) matrix.flows.push_back({.source = rank, .destination = each.peer, .bytes = each.bytes});
  return matrix;
}

}  // namespace weft::workload
