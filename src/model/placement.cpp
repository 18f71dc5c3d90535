#include "model/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "model/cluster.hpp"

namespace weft::model {
namespace {

constexpr std::uint32_t kMostGroups = 4096;
constexpr std::size_t kShown = 40;  // of a text that is refused

Failure<Refusal> refuse(std::string what, std::string help) {
  return Failure<Refusal>(Refusal{std::move(what), std::move(help)});
}

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

// The same text with the name of servers left out before each number; nothing: it does not begin with that name.
std::optional<std::string> without_name(std::string_view text, std::string_view name) {
  if (name.empty() || !text.starts_with(name)) return std::nullopt;
  std::string made(text.substr(name.size()));
  const std::size_t dots = made.find("..");
  if (dots == std::string::npos) return made;
  if (!std::string_view(made).substr(dots + 2).starts_with(name)) return std::nullopt;
  return made.erase(dots + 2, name.size());
}

// All GPUs of servers that a text names.
std::optional<std::vector<std::uint32_t>> gpus_of_servers(std::string_view text,
                                                          const std::vector<NamedServers>& servers) {
  for (const NamedServers& each : servers) {
    const auto numbers = without_name(text, each.name);
    const auto stretch = numbers ? stretch_of(*numbers) : std::nullopt;
    if (!stretch || stretch->last >= each.servers) continue;
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t server = stretch->first; server <= stretch->last; ++server)
      for (std::uint32_t gpu = 0; gpu < each.gpus && (server - stretch->first) % stretch->stride < stretch->width;
           ++gpu)
        gpus.push_back(each.first_gpu + server * each.gpus + gpu);
    return gpus;
  }
  return std::nullopt;
}

}  // namespace

std::vector<NamedServers> named_servers(const Cluster& cluster) {
  std::vector<NamedServers> made;
  for (const Group& group : cluster.groups)
    made.push_back({group.spec.name, group.servers, group.first_gpu, group.gpus()});
  return made;
}

Result<std::vector<std::uint32_t>, Refusal> parse_gpus(std::string_view text, std::uint32_t count,
                                                       const std::vector<NamedServers>& servers) {
  std::vector<std::uint32_t> gpus;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;
    if (const auto whole = gpus_of_servers(item, servers)) {
      gpus.insert(gpus.end(), whole->begin(), whole->end());
      if (gpus.size() > count) break;
      continue;
    }
    const auto stretch = stretch_of(item);
    if (!stretch)
      return refuse(fmt::format("GPUs cannot be '{}'", item.substr(0, kShown)),
                    "for example 0..15,32..47, or 0..63/8 for every eighth, or 0..255/128x8 for eight of every 128, or "
                    "s0..s15 for all of these servers");
    if (stretch->last >= count)
      return refuse(fmt::format("there is no GPU {}", stretch->last),
                    fmt::format("GPUs are numbered from 0 to {}", count - 1));
    for (std::uint64_t gpu = stretch->first; gpu <= stretch->last; ++gpu)
      if ((gpu - stretch->first) % stretch->stride < stretch->width) gpus.push_back(static_cast<std::uint32_t>(gpu));
    if (gpus.size() > count) break;  // one of them is there twice, however many more are named
  }
  std::sort(gpus.begin(), gpus.end());
  if (const auto twice = std::adjacent_find(gpus.begin(), gpus.end()); twice != gpus.end())
    return refuse(fmt::format("GPU {} is named twice", *twice), "every GPU is one rank");
  return gpus;
}

Result<std::vector<std::vector<std::uint32_t>>, Refusal> split_gpus(const std::string& how,
                                                                    const std::vector<std::uint32_t>& gpus) {
  if (how.empty()) return std::vector<std::vector<std::uint32_t>>{gpus};
  const auto by = number(std::string_view(how).substr(1));
  const bool neighbours = how[0] == '/';
  const auto all = static_cast<std::uint32_t>(gpus.size());
  if ((!neighbours && how[0] != '%') || !by || *by == 0)
    return refuse(fmt::format("split cannot be '{}'", how.substr(0, kShown)),
                  "/8 for groups of eight that follow each other, %8 for eight groups of every eighth rank");
  const std::uint32_t count = neighbours ? all / *by : *by;
  if (all % *by != 0 || count == 0 || all / count < 2 || count > kMostGroups)
    return refuse(fmt::format("{} GPUs cannot be split by '{}'", grouped(all), how),
                  fmt::format("equal groups of at least two, at most {} of them", grouped(kMostGroups)));
  std::vector<std::vector<std::uint32_t>> groups(count);
  for (std::uint32_t rank = 0; rank < all; ++rank) groups[neighbours ? rank / *by : rank % *by].push_back(gpus[rank]);
  return groups;
}

Result<SlowRank, Refusal> parse_slow_rank(std::string_view text, std::uint32_t ranks) {
  const std::size_t equals = text.find('=');
  const auto rank = number(text.substr(0, equals));
  const auto share = parse<ShareDimension>(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  if (!rank || !share || share->count() < 1000 || share->count() > 1'000'000 || *rank >= ranks)
    return refuse(fmt::format("a slow rank cannot be '{}'", text.substr(0, kShown)),
                  fmt::format("a rank from 0 to {} and what is left of its speed, 0.1% to 100%: 3=50%", ranks - 1));
  return SlowRank{*rank, share->count() / 1000};
}

}  // namespace weft::model
