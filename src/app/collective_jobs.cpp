#include "app/collective_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/random.hpp"
#include "base/text.hpp"

namespace weft::app {
namespace {

using collective::Operation;
using spec::Complaint;

// A plan keeps some hundred bytes for every rank and channel: a GiB.
constexpr std::uint32_t kMostRanks = 262'144;
constexpr std::uint32_t kMostGroups = 4096;
constexpr Duration kMostSkew = microseconds(1'000'000);

// The whole of a text as a number.
std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

struct Stretch {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t stride = 1;
  std::uint32_t width = 1;  // taken of every stride
};

// A..B/SxN, of which everything but A may be left out.
std::optional<Stretch> stretch_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view range = text.substr(0, slash);
  const std::size_t dots = range.find("..");
  const auto first = number(range.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number(range.substr(dots + 2));
  if (!first || !last || *last < *first) return std::nullopt;
  Stretch made{*first, *last};
  if (slash == std::string_view::npos) return made;
  const std::string_view steps = text.substr(slash + 1);
  const std::size_t by = steps.find('x');
  const auto stride = number(steps.substr(0, by));
  const auto width = by == std::string_view::npos ? 1u : number(steps.substr(by + 1));
  if (!stride || !width || *stride == 0 || *width == 0 || *width > *stride) return std::nullopt;
  made.stride = *stride;
  made.width = *width;
  return made;
}

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
  const auto has_unit = [&](std::size_t at) { return at < sizes.size() && std::isalpha(static_cast<unsigned char>(sizes[at])) != 0; };
  std::string out;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    out += sizes[at];
    const bool within = is_digit(at + 1) || (at + 1 < sizes.size() && sizes[at + 1] == '.' && is_digit(at + 2));  // 1.5GiB
    if (is_digit(at) && !within && !has_unit(at + 1)) out += 'B';
  }
  return out;
}

std::vector<std::uint32_t> parse_gpus(const std::string& text, std::uint32_t count, spec::Diagnostics& diagnostics) {
  std::vector<std::uint32_t> gpus;
  const auto refuse = [&](const std::string& what, const std::string& help) {
    diagnostics.add(Complaint::bad_range, {}, what, help);
    return std::vector<std::uint32_t>{};
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    at = comma + 1;
    const auto stretch = stretch_of(item);
    if (!stretch)
      return refuse(fmt::format("GPUs cannot be '{}'", item.substr(0, 40)),
                    "for example 0..15,32..47, or 0..63/8 for every eighth, or 0..255/128x8 for eight of every 128");
    if (stretch->last >= count)
      return refuse(fmt::format("there is no GPU {}", stretch->last), fmt::format("GPUs are numbered from 0 to {}", count - 1));
    for (std::uint64_t gpu = stretch->first; gpu <= stretch->last; ++gpu)
      if ((gpu - stretch->first) % stretch->stride < stretch->width) gpus.push_back(static_cast<std::uint32_t>(gpu));
  }
  std::sort(gpus.begin(), gpus.end());
  if (const auto twice = std::adjacent_find(gpus.begin(), gpus.end()); twice != gpus.end())
    return refuse(fmt::format("GPU {} is named twice", *twice), "every GPU is one rank");
  return gpus;
}

std::vector<std::vector<std::uint32_t>> groups_of(const CollectiveJob& job, const model::Cluster& cluster,
                                                  std::uint32_t per_server, spec::Diagnostics& diagnostics) {
  const std::vector<std::uint32_t> gpus = job.on.empty() ? collective::pick_gpus(cluster, job.gpus, per_server)
                                                         : parse_gpus(job.on, cluster.gpus, diagnostics);
  if (gpus.empty()) return {};
  if (gpus.size() > kMostRanks) {
    diagnostics.add(Complaint::out_of_range, {}, fmt::format("{} GPUs", grouped(static_cast<std::int64_t>(gpus.size()))),
                    fmt::format("collectives are simulated for up to {}", grouped(kMostRanks)));
    return {};
  }
  if (job.split.empty()) return {gpus};
  const auto by = number(std::string_view(job.split).substr(1));
  const bool neighbours = job.split[0] == '/';
  const auto all = static_cast<std::uint32_t>(gpus.size());
  const auto refuse = [&](const std::string& what, const std::string& help) {
    diagnostics.add(Complaint::bad_range, {}, what, help);
    return std::vector<std::vector<std::uint32_t>>{};
  };
  if ((!neighbours && job.split[0] != '%') || !by || *by == 0)
    return refuse(fmt::format("split cannot be '{}'", job.split.substr(0, 40)),
                  "/8 for groups of eight that follow each other, %8 for eight groups of every eighth rank");
  const std::uint32_t count = neighbours ? all / *by : *by;
  if (all % *by != 0 || count == 0 || all / count < 2 || count > kMostGroups)
    return refuse(fmt::format("{} GPUs cannot be split by '{}'", grouped(all), job.split),
                  fmt::format("equal groups of at least two, at most {} of them", grouped(kMostGroups)));
  std::vector<std::vector<std::uint32_t>> groups(count);
  for (std::uint32_t rank = 0; rank < all; ++rank) groups[neighbours ? rank / *by : rank % *by].push_back(gpus[rank]);
  return groups;
}

collective::Conditions conditions_of(const CollectiveJob& job, std::uint32_t ranks, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics) {
  collective::Conditions made;
  for (const std::string& text : job.slow_ranks) {
    const std::size_t equals = text.find('=');
    const auto rank = number(std::string_view(text).substr(0, equals));
    const auto share = parse<ShareDimension>(equals == std::string::npos ? "" : text.substr(equals + 1));
    if (!rank || !share || share->count() < 1000 || share->count() > 1'000'000 || *rank >= ranks)
      diagnostics.add(Complaint::bad_range, {}, fmt::format("a slow rank cannot be '{}'", text.substr(0, 40)),
                      fmt::format("a rank from 0 to {} and what is left of its speed, 0.1% to 100%: 3=50%", ranks - 1));
    else
      made.ranks.push_back({*rank, share->count() / 1000});
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
    if (fault.kind != "slow" || !fault.share || fault.at.count() > 0 || fault.lasts || !part ||
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
      CollectiveJob job{operation, static_cast<std::uint32_t>(given->gpus.value_or(cluster.gpus)), given->sizes.values,
                        given->stack};
      jobs.push_back(std::move(job));
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
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("{} of {} GPUs, {} {}", collective::name(job.operation), grouped(job.gpus), whose, grouped(most)),
                    std::string(help));
  };
  if (!job.on.empty()) return;
  if (job.gpus > cluster.gpus) refuse(cluster.gpus, "the cluster has", "a larger cluster, or fewer GPUs");
  else if (job.gpus > kMostRanks) refuse(kMostRanks, "collectives are simulated for up to", "--gpus, or gpus in `run:`");
}

std::vector<CollectiveJob> take_options(const CollectiveOptions& options, std::vector<CollectiveJob> jobs,
                                        spec::Diagnostics& diagnostics) {
  std::vector<CollectiveJob> made;
  const auto skew = parse<DurationDimension>(options.skew.empty() ? "0s" : options.skew);
  if (!skew || skew->count() < 0)
    diagnostics.add(Complaint::wrong_type, {}, fmt::format("--skew cannot be '{}'", options.skew.substr(0, 40)),
                    "a time, for example --skew 20us");
  for (CollectiveJob& job : jobs) {
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
