#include "collective/alike.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/wide.hpp"
#include "collective/direct.hpp"
#include "collective/double_tree.hpp"
#include "collective/planner.hpp"

namespace weft::collective {
namespace {

constexpr std::uint32_t kFewRanks = 128;  // of the smallest job, about
constexpr std::uint32_t kFewNodes = 4;
constexpr std::uint32_t kFewTrees = 16;  // domains
// The three are on a line when the second step is as long as the first, but for such a part.
constexpr std::int64_t kStraight = 50;

bool is_tree(Algorithm algorithm) { return algorithm == Algorithm::tree || algorithm == Algorithm::nvls_tree; }

// Levels below the root of the deeper of the two trees over so many.
std::uint32_t depth_of(std::uint32_t members) {
  std::uint32_t deepest = 0;
  for (const std::uint32_t which : {0u, 1u})
    for (std::uint32_t member = 0; member < members; ++member) {
      std::uint32_t depth = 0;
      for (std::uint32_t at = member; (at = double_tree(members, at, which).parent) != kNobody;) ++depth;
      deepest = std::max(deepest, depth);
    }
  return deepest;
}

class Places {
 public:
  Places(const Team& team, NetworkLinks* network) : team_(team), network_(network) {}

  NetworkLinks::Place of(std::uint32_t node) const {
    if (network_ == nullptr) return {};
    return network_->place(team_.gpu(team_.domain(node).first_rank)).value_or(NetworkLinks::Place{});
  }
  // The first behind a domain that has another leaf, or another pod; all there are: none has.
  std::uint32_t next_leaf(std::uint32_t node) const {
    const NetworkLinks::Place here = of(node);
    while (node < team_.nodes() && of(node).leaf == here.leaf) ++node;
    return node;
  }
  std::uint32_t next_pod(std::uint32_t node) const {
    const NetworkLinks::Place here = of(node);
    while (node < team_.nodes() && of(node).pod == here.pod) ++node;
    return node;
  }

 private:
  const Team& team_;
  NetworkLinks* network_;
};

// So many, of two leaves of two pods each, as far as there are such.
std::vector<std::uint32_t> spread(const Team& team, const Places& places, std::uint32_t count) {
  const std::uint32_t pod = places.next_pod(0);
  std::vector<std::uint32_t> starts = {0, places.next_leaf(0), pod, pod < team.nodes() ? places.next_leaf(pod) : pod};
  std::erase_if(starts, [&](std::uint32_t start) { return start >= team.nodes(); });
  const auto each = (count + starts.size() - 1) / starts.size();
  std::vector<bool> taken(team.nodes());
  std::vector<std::uint32_t> chosen;
  for (const std::uint32_t start : starts)
    for (std::uint32_t node = start, more = 0; node < team.nodes() && more < each && chosen.size() < count; ++node) {
      if (taken[node]) continue;
      taken[node] = true;
      chosen.push_back(node);
      ++more;
    }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::uint32_t> first(std::uint32_t count) {
  std::vector<std::uint32_t> nodes(count);
  for (std::uint32_t node = 0; node < count; ++node) nodes[node] = node;
  return nodes;
}

// Bytes of a smaller job whose ranks do as much at a time as those of the whole.
std::uint64_t bytes_for(const Team& part, const Team& whole, const PlanOptions& options, std::uint32_t channels) {
  const bool chains = options.operation == Operation::broadcast || options.operation == Operation::reduce;
  const Algorithm algorithm = options.choice.algorithm;
  if (chains || options.operation == Operation::send_recv) return options.bytes;
  const std::uint64_t streams = algorithm == Algorithm::ring ? channels : 1;
  if (algorithm != Algorithm::ring && algorithm != Algorithm::hierarchical && algorithm != Algorithm::direct)
    return options.bytes;
  const std::uint64_t parts = streams * whole.ranks();
  return (options.bytes + parts - 1) / parts * streams * part.ranks();
}

std::int64_t followed(std::int64_t last, std::int64_t step, std::uint64_t further, std::uint64_t apart) {
  return last + static_cast<std::int64_t>(Wide{step} * further / apart);
}

}  // namespace

std::string why_not_alike(const Team& team, const PlanOptions& options) {
  if (options.every_rank || options.beside != nullptr) return "another job is beside it";
  if (options.conditions != nullptr && options.conditions->of_ranks()) return "some are late or slow";
  if (!team.alike()) return "servers differ, or not the same GPUs of each take part";
  if (options.choice.algorithm == Algorithm::pat) return "the steps of PAT differ in size";
  if (options.network != nullptr && !options.network->place(team.gpu(0)))
    return "links differ: by faults, by hashed paths, or as a Dragonfly's and several sites' do";
  return "";
}

std::optional<Timing> time_alike(const Team& team, const PlanOptions& options, const TimeJob& time) {
  const Places places(team, options.network);
  const bool everybody = options.operation == Operation::all_to_all;
  const bool tree = is_tree(options.choice.algorithm);
  const std::uint32_t ranks = team.domain(0).ranks;
  std::uint32_t few = tree ? kFewTrees : std::max(kFewNodes, kFewRanks / ranks);
  if (everybody) {
    const std::uint32_t pod = places.next_pod(0);
    few = pod < team.nodes() ? pod : std::max(few, places.next_leaf(0));
  }
  const std::array<std::uint32_t, 3> counts = {everybody ? 2 * few : few,
                                               tree        ? 2 * few
                                               : everybody ? 3 * few
                                                           : 2 * few,
                                               tree        ? 4 * few
                                               : everybody ? 4 * few
                                                           : 3 * few};
  if (counts[2] >= team.nodes()) return std::nullopt;

  PlanOptions part = options;
  std::tie(part.choice.channels, part.chunk) = cut_of(team, options);
  std::array<std::int64_t, 3> took{}, network{};
  std::uint64_t messages = 0;
  Timing made;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Team some = team.only(everybody ? first(counts[i]) : spread(team, places, counts[i]));
    part.bytes = bytes_for(some, team, options, part.choice.channels);
    made = time(some, part);
    messages += made.messages;
    if (!made.stopped_by.empty()) return made;
    took[i] = (made.time - made.plan.launch).count();
    network[i] = made.plan.network_time.count();
  }
  // Trees grow by a level each time, all others by a number of domains.
  const std::uint64_t apart = tree ? 1 : few;
  const std::uint64_t further = tree ? depth_of(team.nodes()) - depth_of(counts[2]) : team.nodes() - counts[2];
  const std::int64_t step = took[2] - took[1];
  if (std::abs(step - (took[1] - took[0])) * kStraight > std::max(std::abs(step), took[2] / kStraight))
    return std::nullopt;
  made.plan.stood_for = made.plan.gpus;
  made.plan.gpus = team.ranks();
  made.plan.network_time = Duration(followed(network[2], network[2] - network[1], further, apart));
  made.time = std::max(made.plan.least, made.plan.launch + Duration(followed(took[2], step, further, apart)));
  made.messages = messages;
  return made;
}

std::optional<Ends> ends_of_pairs(const Plan& plan) {
  if (plan.different.size() != 1) return std::nullopt;
  const auto* pairs = dynamic_cast<const Direct*>(plan.different[0].get());
  if (pairs == nullptr) return std::nullopt;
  std::int64_t last = 0;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank)
    for (const std::uint32_t lane : {Direct::kInside, Direct::kOutside}) {
      const Direct::Sends sends = pairs->sends(rank, lane);
      if (sends.peers == 0) continue;
      const auto whole = [&](std::int64_t each) { return Wide{each} + plan.lost(rank, each); };
      const Wide to_one = whole(sends.round) * (sends.rounds - 1) + whole(sends.last);
      const Duration latency = lane == Direct::kInside ? plan.inside : plan.outside;
      const Duration start = rank < plan.starts.size() ? plan.starts[rank] : Duration(0);
      const Wide end = to_one * sends.peers + latency.count() + start.count();
      last = std::max(last, static_cast<std::int64_t>(std::min<Wide>(end, INT64_MAX)));
    }
  return Ends{std::vector<Duration>(plan.ranks, Duration(last)), pairs->messages(), ""};
}

}  // namespace weft::collective
