#include "app/sim/collective_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "app/commands.hpp"
#include "base/text.hpp"
#include "collective/constants.hpp"
#include "model/field_limits.hpp"

namespace weft::app {
namespace {

using experiment::CollectiveChoice;
using experiment::CollectiveJob;
using spec::Error;

constexpr std::size_t kMostSizes = 1000;

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto each : values) names.emplace_back(collective::name(each));
  return names;
}

void unknown(std::string_view option, const std::string& text, std::vector<std::string> names,
             spec::Diagnostics& diagnostics) {
  const auto guess = did_you_mean(text, names);
  diagnostics.add(Error::unknown_key, {}, fmt::format("{} has no '{}'", option, text.substr(0, 40)),
                  guess ? fmt::format("did you mean {}?", *guess) : fmt::format("one of {}", either(names)));
}

// Said here, where it is known that the word is of the command line.
void check_stack(const std::string& name, spec::Diagnostics& diagnostics) {
  if (name.empty() || collective::stack_named(name) != nullptr) return;
  unknown("--stack", name, stack_names(), diagnostics);
}

// What the command line says of jobs: each of them on every list of --on, and beside the first those of --beside.
std::vector<CollectiveJob> take_options(const CollectiveOptions& options, std::vector<CollectiveJob> jobs,
                                        spec::Diagnostics& diagnostics) {
  std::vector<CollectiveJob> made;
  const auto skew = parse<DurationDimension>(options.skew.empty() ? "0s" : options.skew);
  if (!skew || skew->count() < 0)
    diagnostics.add(Error::wrong_type, {}, fmt::format("--skew cannot be '{}'", options.skew.substr(0, 40)),
                    "a time, for example --skew 20us");
  const bool at_once = std::any_of(jobs.begin(), jobs.end(), [](const CollectiveJob& job) { return job.alongside; });
  if (at_once && !(options.on.empty() && options.beside.empty()))
    diagnostics.add(Error::contradiction, {}, "the file says what runs at the same time, and --on or --beside does",
                    "`on` in the file, or --collective for a job of the command line's own");
  for (CollectiveJob& job : jobs) {
    if (!options.given.empty()) job.places = {};  // the file is not to blame for what the command line says
    if (options.per_server > 0) job.per_server = options.per_server;
    if (!options.split.empty()) job.split = options.split;
    if (!options.slow_ranks.empty()) job.slow_ranks = options.slow_ranks;
    if (!options.skew.empty() && skew) job.skew = *skew;
    if (collective::stack_named(options.stack) != nullptr) job.stack = options.stack;
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

}  // namespace

std::string with_units(const std::string& sizes) {
  const auto is_digit = [&](std::size_t at) { return at < sizes.size() && sizes[at] >= '0' && sizes[at] <= '9'; };
  const auto has_unit = [&](std::size_t at) {
    return at < sizes.size() && std::isalpha(static_cast<unsigned char>(sizes[at])) != 0;
  };
  // K, M, G and T alone are nccl-tests' units: -b 8 -e 8G.
  const auto is_magnitude = [&](std::size_t at) {
    return at > 0 && is_digit(at - 1) && std::string_view("KMGTkmgt").find(sizes[at]) != std::string_view::npos &&
           !has_unit(at + 1);
  };
  std::string out;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    if (is_magnitude(at)) {
      out += std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(sizes[at])))) + "iB";
      continue;
    }
    out += sizes[at];
    const bool within =
        is_digit(at + 1) || (at + 1 < sizes.size() && sizes[at + 1] == '.' && is_digit(at + 2));  // 1.5GiB
    if (is_digit(at) && !within && !has_unit(at + 1)) out += 'B';
  }
  return out;
}

std::vector<Bytes> parse_sizes(const std::string& given, spec::Diagnostics& diagnostics) {
  const std::string text = with_units(given);
  std::vector<Bytes> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dots = item.find("..");
    const auto first = parse<BytesDimension>(item.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse<BytesDimension>(item.substr(dots + 2));
    if (!first || !last || first->count() < 1 || last->count() > model::kMaxCollective || *last < *first) {
      diagnostics.add(Error::wrong_type, {}, fmt::format("--sizes cannot be '{}'", item.substr(0, 40)),
                      "sizes up to 16TiB, for example --sizes 8B..8GiB");
      return {};
    }
    for (std::int64_t size = first->count(); size <= last->count() && sizes.size() < kMostSizes; size *= 2)
      sizes.emplace_back(size);
  }
  return sizes;
}

std::vector<Bytes> parse_sizes_quietly(const std::string& text) {
  spec::Diagnostics nobody;
  return parse_sizes(text, nobody);
}

std::vector<std::string> collective_names() { return names_of(collective::kOperations); }

std::vector<std::string> stack_names() {
  std::vector<std::string> names;
  for (const collective::Stack& each : collective::stacks()) names.emplace_back(each.name);
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = names_of(collective::kAlgorithms);
  names.insert(names.begin(), {"auto", "all"});
  return names;
}

std::vector<CollectiveJob> jobs_of(const model::Cluster& cluster, const CollectiveOptions& options, std::uint32_t gpus,
                                   const std::string& sizes, spec::Diagnostics& diagnostics) {
  check_stack(options.stack, diagnostics);
  std::vector<CollectiveJob> jobs;
  if (options.operation.empty()) {
    jobs = experiment::collectives_of(cluster);
  } else if (const auto operation = collective::operation_named(options.operation)) {
    jobs.push_back({.operation = *operation,
                    .gpus = cluster.gpus,
                    .sizes = sizes.empty() ? parse_sizes("8B..8GiB", diagnostics) : std::vector<Bytes>{},
                    .stack = {}});
  } else {
    unknown("--collective", options.operation, names_of(collective::kOperations), diagnostics);
  }
  for (CollectiveJob& job : jobs) {
    if (!sizes.empty()) job.sizes = parse_sizes(sizes, diagnostics);
    if (gpus > 0) job.gpus = gpus;
    if (gpus > 0 || !sizes.empty()) job.places = {};
    if (gpus > 0 || options.per_server > 0) job.on.clear();
  }
  return take_options(options, std::move(jobs), diagnostics);
}

CollectiveChoice choice_of(const CollectiveOptions& options, spec::Diagnostics& diagnostics) {
  CollectiveChoice wanted;
  wanted.channels = options.channels;
  wanted.pxn = options.pxn;
  for (const std::string& text : options.algorithms) {
    if (text == "auto") continue;
    if (text == "all") {
      wanted.all = true;
    } else if (const auto algorithm = collective::algorithm_named(text)) {
      wanted.algorithms.push_back(*algorithm);
    } else {
      std::vector<std::string> names = names_of(collective::kAlgorithms);
      names.insert(names.end(), {"auto", "all"});
      unknown("--algorithms", text, std::move(names), diagnostics);
    }
  }
  if (options.protocol != "auto") {
    wanted.protocol = collective::protocol_named(options.protocol);
    if (!wanted.protocol) unknown("--protocol", options.protocol, names_of(collective::kProtocols), diagnostics);
  }
  return wanted;
}

}  // namespace weft::app
