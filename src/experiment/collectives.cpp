#include "experiment/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "collective/carried.hpp"
#include "collective/constants.hpp"
#include "collective/tuner.hpp"
#include "model/placement.hpp"

namespace weft::experiment {
namespace {

using collective::Algorithm;
using collective::Choice;
using collective::Operation;
using collective::Team;
using spec::Error;

// A job keeps some hundred bytes for every rank.
constexpr std::uint32_t kMostRanks = 1'048'576;
constexpr Duration kMostSkew = microseconds(1'000'000);

// One comes at once and one is as late as can be; the others are anywhere between.
std::vector<Duration> draw_starts(Duration skew, std::uint32_t ranks, std::uint64_t seed) {
  Random random(seed, 0, ranks);
  const std::uint32_t first = random.below(ranks);
  const std::uint32_t last = (first + 1 + random.below(ranks - 1)) % ranks;
  std::vector<Duration> starts;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto drawn = static_cast<std::int64_t>(random.below(1u << 20));
    const Duration between((skew.count() / 1024 * drawn) / 1024);
    starts.push_back(rank == first ? Duration(0) : rank == last ? skew : between);
  }
  return starts;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> groups_of(const CollectiveJob& job, const model::Cluster& cluster,
                                                  spec::Diagnostics& diagnostics) {
  const auto refuse = [&](const model::Refusal& why, std::string_view key) {
    diagnostics.add(Error::bad_range, job.places.of(key), why.what, why.help);
    return std::vector<std::vector<std::uint32_t>>{};
  };
  std::vector<std::uint32_t> gpus;
  if (job.on.empty()) {
    gpus = collective::pick_gpus(cluster, job.gpus, job.per_server);
  } else {
    auto named = model::parse_gpus(job.on, cluster.gpus, model::named_servers(cluster));
    if (!named) return refuse(named.error(), "on");
    gpus = std::move(*named);
  }
  if (gpus.size() > kMostRanks) {
    diagnostics.add(Error::out_of_range, job.places.of("on"),
                    fmt::format("{} GPUs", grouped(static_cast<std::int64_t>(gpus.size()))),
                    fmt::format("collectives are simulated for up to {}", grouped(kMostRanks)));
    return {};
  }
  auto groups = model::split_gpus(job.split, gpus);
  return groups ? std::move(*groups) : refuse(groups.error(), "split");
}

collective::Conditions conditions_of(const CollectiveJob& job, std::uint32_t ranks, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics) {
  collective::Conditions made;
  for (const std::string& text : job.slow_ranks) {
    if (const auto slow = model::parse_slow_rank(text, ranks))
      made.ranks.push_back({slow->rank, slow->speed_per_mille});
    else
      diagnostics.add(Error::bad_range, job.places.of("slow_ranks"), slow.error().what, slow.error().help);
  }
  if (job.skew.count() < 0 || job.skew > kMostSkew)
    diagnostics.add(Error::out_of_range, job.places.of("skew"), fmt::format("a skew of {}", exact(job.skew)),
                    "at most 1s");
  else if (job.skew.count() > 0 && ranks > 1)
    made.starts = draw_starts(job.skew, ranks, seed);
  return made;
}

std::vector<CollectiveJob> collectives_of(const model::Cluster& cluster) {
  std::vector<CollectiveJob> jobs;
  for (const model::RunSpec& run : cluster.file.run) {
    const auto add = [&](Operation operation, const std::optional<model::CollectiveRun>& given) {
      if (!given) return;
      jobs.push_back({.operation = operation,
                      .gpus = static_cast<std::uint32_t>(given->gpus.value_or(cluster.gpus)),
                      .sizes = given->sizes.values,
                      .stack = given->stack,
                      .per_server = static_cast<std::uint32_t>(given->per_server.value_or(0)),
                      .on = given->on,
                      .split = given->split,
                      .skew = given->skew,
                      .slow_ranks = given->slow_ranks,
                      .alongside = given->alongside,
                      .places = given->places});
    };
    add(Operation::all_reduce, run.all_reduce);
    add(Operation::all_gather, run.all_gather);
    add(Operation::reduce_scatter, run.reduce_scatter);
    add(Operation::broadcast, run.broadcast);
    add(Operation::reduce, run.reduce);
    add(Operation::all_to_all, run.all_to_all);
    add(Operation::send_recv, run.send_recv);
  }
  return jobs;
}

namespace {

// A server with fewer GPUs than the largest gives all it has; more than that nobody has.
void check_per_server(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics) {
  std::uint32_t most = 0;
  for (const model::Group& group : cluster.groups) most = std::max(most, group.gpus());
  if (job.per_server <= most) return;
  diagnostics.add(Error::out_of_range, job.places.of("per_server"),
                  fmt::format("{} GPUs of each server, which have {}", grouped(job.per_server), grouped(most)),
                  fmt::format("{} or fewer per server; without it all take part", grouped(most)));
}

}  // namespace

void check_job(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics) {
  const auto refuse = [&](std::uint32_t most, std::string_view whose, std::string_view help) {
    diagnostics.add(
        Error::out_of_range, job.places.of("gpus"),
        fmt::format("{} of {} GPUs, {} {}", collective::name(job.operation), grouped(job.gpus), whose, grouped(most)),
        std::string(help));
  };
  if (!job.on.empty()) return;
  check_per_server(job, cluster, diagnostics);
  if (job.gpus > cluster.gpus)
    refuse(cluster.gpus, "the cluster has", "a larger cluster, or fewer GPUs");
  else if (job.gpus > kMostRanks)
    refuse(kMostRanks, "collectives are simulated for up to", "--gpus, or gpus in `run:`");
}

const collective::Stack* stack_of(const CollectiveJob& job, const model::Cluster& cluster,
                                  spec::Diagnostics& diagnostics) {
  if (job.stack.empty())
    return &collective::default_stack(cluster.file.transport.kind, cluster.groups[0].spec.nic.kind);
  const collective::Stack* found = collective::stack_named(job.stack);
  if (found != nullptr) return found;
  std::vector<std::string> names;
  for (const collective::Stack& each : collective::stacks()) names.emplace_back(each.name);
  const auto guess = did_you_mean(job.stack, names);
  diagnostics.add(Error::unknown_key, job.places.of("stack"),
                  fmt::format("stack has no '{}'", job.stack.substr(0, 40)),
                  guess ? fmt::format("did you mean {}?", *guess) : fmt::format("one of {}", either(names)));
  return nullptr;
}

std::vector<Choice> choices_for(const Team& team, Operation operation, std::uint64_t bytes,
                                const CollectiveChoice& wanted, const collective::Stack& stack, bool by_links) {
  const auto choice = [&](Algorithm algorithm) {
    return Choice{algorithm,
                  wanted.protocol.value_or(collective::protocol_for(team, operation, algorithm, bytes, stack)),
                  wanted.channels};
  };
  const collective::Estimate best = collective::estimates(team, operation, bytes, stack).front();
  std::vector<Choice> choices;
  if (wanted.algorithms.empty())
    choices.push_back({best.algorithm, wanted.protocol.value_or(best.protocol), wanted.channels});
  for (const Algorithm algorithm :
       wanted.all ? std::vector<Algorithm>(collective::kAlgorithms.begin(), collective::kAlgorithms.end())
                  : wanted.algorithms) {
    const bool there =
        std::any_of(choices.begin(), choices.end(), [&](const Choice& each) { return each.algorithm == algorithm; });
    const Choice made = choice(algorithm);
    if (there || !collective::why_not(team, operation, algorithm, made.protocol).empty()) continue;
    if (!by_links || collective::why_not_carried(team, algorithm).empty()) choices.push_back(made);
  }
  return choices;
}

}  // namespace weft::experiment
