#include "app/sim/traffic_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/sim/experiment_options.hpp"

namespace weft::app {
namespace {

using spec::Error;

// Says of every option that was given and is of no use here why, and what would be right.
template <class Why, class Help>
void refuse(const std::vector<std::string>& given, const std::vector<std::string>& useless, const Why& why,
            const Help& help, spec::Diagnostics& diagnostics) {
  for (const std::string& option : given)
    if (std::find(useless.begin(), useless.end(), option) != useless.end())
      diagnostics.add(Error::contradiction, {}, why(option), help(option));
}

// As a stream calls it.
std::string key_of(const std::string& option) {
  return option == "--gpus" || option == "--nodes" ? "nodes" : option.substr(2);
}

void check_pattern(const TrafficOptions& options, spec::Diagnostics& diagnostics) {
  const std::string pattern = options.pattern.empty() ? "permutation" : options.pattern;
  const auto only = [&](std::string_view wanted) {
    return [=](const std::string& option) {
      return fmt::format("{} is of {}, and the pattern is {}", option, wanted, pattern);
    };
  };
  if (pattern != "all-to-all")
    refuse(
        options.given, {"--window"}, only("all-to-all"),
        [](const std::string&) { return "--pattern all-to-all, or without it"; }, diagnostics);
  const bool open_loop = pattern == "poisson" || (!options.arrivals.empty() && options.arrivals != "at-once");
  if (!open_loop)
    refuse(
        options.given, {"--load", "--sizes", "--duration"}, only("poisson"),
        [](const std::string& option) {
          return option == "--sizes" ? "--pattern poisson, --collective all_reduce, or --size for one size"
                                     : "--pattern poisson, --arrivals poisson or paced, or without it";
        },
        diagnostics);
  if (open_loop && !options.sizes.empty() && options.sizes != "fixed" && options.sizes != "uniform")
    refuse(
        options.given, {"--size"},
        [&](const std::string&) { return fmt::format("--size is one size, and those of {} are drawn", options.sizes); },
        [](const std::string&) { return "one of --size and --sizes"; }, diagnostics);
}

// All that a file of flows leaves nothing to say about.
std::vector<std::string> others_than(const std::string& file) {
  std::vector<std::string> options = {"--matrix", "--goal", "--chakra", "--pattern",  "--size",     "--gpus", "--nodes",
                                      "--window", "--load", "--sizes",  "--duration", "--arrivals", "--verb"};
  std::erase(options, file);
  return options;
}

}  // namespace

void check_flow_options(const TrafficOptions& options, bool of_file, spec::Diagnostics& diagnostics) {
  if (const std::string file = file_of(options).option; !file.empty())
    return refuse(
        options.given, others_than(file),
        [&](const std::string& option) {
          return fmt::format("the flows of {} are as its file has them: {} changes nothing", file, option);
        },
        [&](const std::string& option) { return fmt::format("one of {} and {}", file, option); }, diagnostics);
  if (!options.streams.empty())
    return refuse(
        options.given,
        {"--size", "--gpus", "--nodes", "--window", "--load", "--sizes", "--duration", "--arrivals", "--verb"},
        [](const std::string& option) { return fmt::format("every stream has its own {}", key_of(option)); },
        [](const std::string& option) {
          return fmt::format("--stream NAME,{}=... instead of {}", key_of(option), option);
        },
        diagnostics);
  if (of_file)
    return refuse(
        options.given,
        {"--size", "--gpus", "--nodes", "--window", "--load", "--sizes", "--duration", "--arrivals", "--verb"},
        [](const std::string& option) {
          return fmt::format("every stream of the file has its own {}", key_of(option));
        },
        [](const std::string& option) {
          return fmt::format("--pattern with {}, or --stream NAME,{}=...", option, key_of(option));
        },
        diagnostics);
  check_pattern(options, diagnostics);
}

void check_trace_options(const TrafficOptions& options, spec::Diagnostics& diagnostics) {
  refuse(
      options.given, others_than(""),
      [](const std::string& option) {
        return fmt::format("the file's trace says what runs: {} changes nothing", option);
      },
      [](const std::string& option) { return fmt::format("--pattern with {}, or without it", option); }, diagnostics);
  if (!options.groups.empty())
    diagnostics.add(Error::contradiction, {}, "--groups are of --chakra, and the file's trace names its own",
                    "trace: {chakra: PREFIX, groups: FILE}");
}

void check_no_collective_options(const CollectiveOptions& options, spec::Diagnostics& diagnostics) {
  for (const std::string& option : options.given)
    diagnostics.add(Error::contradiction, {}, fmt::format("{} is of collectives, and flows run here", option),
                    "--collective all_reduce, or without it");
}

void check_no_flow_options(const TrafficOptions& options, const CollectiveOptions& collective,
                           spec::Diagnostics& diagnostics) {
  refuse(
      options.given,
      {"--matrix", "--goal", "--chakra", "--pattern", "--size", "--window", "--load", "--duration", "--arrivals",
       "--verb"},
      [](const std::string& option) { return fmt::format("{} applies to flows, not to collectives", option); },
      [](const std::string& option) {
        return option == "--size" ? std::string("--sizes 1MiB, or 8B..8GiB") : "one of --collective and " + option;
      },
      diagnostics);
  if (collective.operation.empty())
    refuse(
        options.given, {"--gpus", "--nodes", "--sizes"},
        [](const std::string& option) {
          return fmt::format("the file's run says on how many GPUs and which sizes: {} changes nothing", option);
        },
        [](const std::string& option) {
          return fmt::format("--collective all_reduce with {}, or --set run=...", option);
        },
        diagnostics);
}

}  // namespace weft::app
