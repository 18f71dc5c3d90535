#include "app/collective_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "model/placement.hpp"

namespace weft::app {
namespace {

using collective::Operation;
using spec::Complaint;

// A plan keeps some hundred bytes for every rank and channel: a GiB.
constexpr std::uint32_t kMostRanks = 262'144;
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

std::string bare_as_bytes(const std::string& sizes) {
  const auto is_digit = [&](std::size_t at) { return at < sizes.size() && sizes[at] >= '0' && sizes[at] <= '9'; };
  const auto has_unit = [&](std::size_t at) {
    return at < sizes.size() && std::isalpha(static_cast<unsigned char>(sizes[at])) != 0;
  };
  std::string out;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    out += sizes[at];
    const bool within =
        is_digit(at + 1) || (at + 1 < sizes.size() && sizes[at + 1] == '.' && is_digit(at + 2));  // 1.5GiB
    if (is_digit(at) && !within && !has_unit(at + 1)) out += 'B';
  }
  return out;
}

std::vector<std::vector<std::uint32_t>> groups_of(const CollectiveJob& job, const model::Cluster& cluster,
                                                  spec::Diagnostics& diagnostics) {
  const auto refuse = [&](const model::Refusal& why) {
    diagnostics.add(Complaint::bad_range, {}, why.what, why.help);
    return std::vector<std::vector<std::uint32_t>>{};
  };
  std::vector<std::uint32_t> gpus;
  if (job.on.empty()) {
    gpus = collective::pick_gpus(cluster, job.gpus, job.per_server);
  } else {
    auto named = model::parse_gpus(job.on, cluster.gpus);
    if (!named) return refuse(named.error());
    gpus = std::move(*named);
  }
  if (gpus.size() > kMostRanks) {
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("{} GPUs", grouped(static_cast<std::int64_t>(gpus.size()))),
                    fmt::format("collectives are simulated for up to {}", grouped(kMostRanks)));
    return {};
  }
  auto groups = model::split_gpus(job.split, gpus);
  return groups ? std::move(*groups) : refuse(groups.error());
}

collective::Conditions conditions_of(const CollectiveJob& job, std::uint32_t ranks, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics) {
  collective::Conditions made;
  for (const std::string& text : job.slow_ranks) {
    if (const auto slow = model::parse_slow_rank(text, ranks))
      made.ranks.push_back({slow->rank, slow->speed_per_mille});
    else
      diagnostics.add(Complaint::bad_range, {}, slow.error().what, slow.error().help);
  }
  if (job.skew.count() < 0 || job.skew > kMostSkew)
    diagnostics.add(Complaint::out_of_range, {}, fmt::format("a skew of {}", exact(job.skew)), "at most 1s");
  else if (job.skew.count() > 0 && ranks > 1)
    made.starts = draw_starts(job.skew, ranks, seed);
  return made;
}

bool add_slow_nics(const std::vector<model::FaultSpec>& faults, const fabric::Fabric& fabric,
                   collective::Conditions& conditions) {
  for (const model::FaultSpec& fault : faults) {
    const auto part = fabric.find(fault.part);
    if (fault.kind != model::FaultKind::slow || !fault.share || fault.at.count() > 0 || fault.lasts || !part ||
        fabric.describe(*part).kind != fabric::NodeKind::nic)
      return false;
    const std::uint32_t nic = fabric::value(*part) - fabric::value(fabric.node(fabric::NodeKind::nic, 0));
    conditions.nics.push_back({nic, fault.share->count() / 1000});
  }
  return true;
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
                      .alongside = given->alongside});
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

void check_job(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics) {
  const auto refuse = [&](std::uint32_t most, std::string_view whose, std::string_view help) {
    diagnostics.add(
        Complaint::out_of_range, {},
        fmt::format("{} of {} GPUs, {} {}", collective::name(job.operation), grouped(job.gpus), whose, grouped(most)),
        std::string(help));
  };
  if (!job.on.empty()) return;
  if (job.gpus > cluster.gpus)
    refuse(cluster.gpus, "the cluster has", "a larger cluster, or fewer GPUs");
  else if (job.gpus > kMostRanks)
    refuse(kMostRanks, "collectives are simulated for up to", "--gpus, or gpus in `run:`");
}

std::vector<CollectiveJob> take_options(const CollectiveOptions& options, std::vector<CollectiveJob> jobs,
                                        spec::Diagnostics& diagnostics) {
  std::vector<CollectiveJob> made;
  const auto skew = parse<DurationDimension>(options.skew.empty() ? "0s" : options.skew);
  if (!skew || skew->count() < 0)
    diagnostics.add(Complaint::wrong_type, {}, fmt::format("--skew cannot be '{}'", options.skew.substr(0, 40)),
                    "a time, for example --skew 20us");
  const bool at_once = std::any_of(jobs.begin(), jobs.end(), [](const CollectiveJob& job) { return job.alongside; });
  if (at_once && !(options.on.empty() && options.beside.empty()))
    diagnostics.add(Complaint::contradiction, {}, "the file says what runs at the same time, and --on or --beside does",
                    "`on` in the file, or --collective for a job of the command line's own");
  for (CollectiveJob& job : jobs) {
    if (options.per_server > 0) job.per_server = options.per_server;
    if (!options.split.empty()) job.split = options.split;
    if (!options.slow_ranks.empty()) job.slow_ranks = options.slow_ranks;
    if (!options.skew.empty() && skew) job.skew = *skew;
    if (options.on.empty()) made.push_back(job);
    for (const std::string& on : options.on) {
      job.on = on;
      made.push_back(job);
    }
    for (const std::string& on : options.beside) {
      job.on = on;
      job.alongside = true;
      made.push_back(job);
    }
  }
  return made;
}

}  // namespace weft::app
