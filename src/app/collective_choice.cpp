#include "app/collective_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "collective/carried.hpp"
#include "collective/tuner.hpp"

namespace weft::app {
namespace {

using collective::Algorithm;
using collective::Choice;
using collective::Operation;
using collective::Team;
using spec::Complaint;

constexpr std::size_t kMostSizes = 1000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto each : values) names.emplace_back(collective::name(each));
  return names;
}

void unknown(std::string_view option, const std::string& text, std::vector<std::string> names,
             spec::Diagnostics& diagnostics) {
  const auto guess = did_you_mean(text, names);
  diagnostics.add(Complaint::unknown_key, {}, fmt::format("{} knows no '{}'", option, text.substr(0, 40)),
                  guess ? fmt::format("did you mean {}?", *guess) : fmt::format("one of {}", either(names)));
}

}  // namespace

std::vector<Bytes> parse_sizes(const std::string& given, spec::Diagnostics& diagnostics) {
  const std::string text = bare_as_bytes(given);
  std::vector<Bytes> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dots = item.find("..");
    const auto first = parse<BytesDimension>(item.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse<BytesDimension>(item.substr(dots + 2));
    if (!first || !last || first->count() < 1 || last->count() > kMostBytes || *last < *first) {
      diagnostics.add(Complaint::wrong_type, {}, fmt::format("--sizes cannot be '{}'", item.substr(0, 40)),
                      "sizes up to 16TiB, for example --sizes 8B..8GiB");
      return {};
    }
    for (std::int64_t size = first->count(); size <= last->count() && sizes.size() < kMostSizes; size *= 2)
      sizes.emplace_back(size);
  }
  return sizes;
}

std::vector<CollectiveJob> jobs_of(const model::Cluster& cluster, const CollectiveOptions& options, std::uint32_t gpus,
                                   const std::string& sizes, spec::Diagnostics& diagnostics) {
  std::vector<CollectiveJob> jobs;
  if (options.operation.empty()) {
    jobs = collectives_of(cluster);
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
    if (gpus > 0 || options.per_server > 0) job.on.clear();
  }
  return take_options(options, std::move(jobs), diagnostics);
}

const collective::Stack* stack_of(const CollectiveJob& job, const std::string& given, const model::Cluster& cluster,
                                  spec::Diagnostics& diagnostics) {
  const std::string& name = given.empty() ? job.stack : given;
  if (name.empty()) return &collective::default_stack(cluster.file.transport.kind, cluster.groups[0].spec.nic.kind);
  const collective::Stack* found = collective::stack_named(name);
  if (found != nullptr) return found;
  std::vector<std::string> names;
  for (const collective::Stack& each : collective::stacks()) names.emplace_back(each.name);
  unknown(given.empty() ? "stack" : "--stack", name, std::move(names), diagnostics);
  return nullptr;
}

Wanted read_options(const CollectiveOptions& options, spec::Diagnostics& diagnostics) {
  Wanted wanted;
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

std::vector<Choice> choices_for(const Team& team, Operation operation, std::uint64_t bytes, const Wanted& wanted,
                                const collective::Stack& stack, std::uint32_t channels, bool by_links) {
  const auto choice = [&](Algorithm algorithm) {
    return Choice{algorithm,
                  wanted.protocol.value_or(collective::protocol_for(team, operation, algorithm, bytes, stack)),
                  channels};
  };
  const collective::Estimate best = collective::estimates(team, operation, bytes, stack).front();
  std::vector<Choice> choices;
  if (wanted.algorithms.empty()) choices.push_back({best.algorithm, wanted.protocol.value_or(best.protocol), channels});
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

}  // namespace weft::app
