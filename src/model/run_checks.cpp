#include "model/run_checks.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "model/placement.hpp"

namespace weft::model {
namespace {

using spec::Diagnostics;
using spec::Entry;
using spec::Error;
using spec::Node;

// The value of a key, where it is one: what is of another type has been complained about.
const Node* scalar(const Node& of, std::string_view key) {
  const Entry* entry = of.find(key);
  return entry != nullptr && entry->value.is_scalar() && !entry->value.text.empty() ? &entry->value : nullptr;
}

void refuse(const Node& at, const Refusal& why, Diagnostics& diagnostics) {
  diagnostics.add(Error::bad_range, at.place, why.what, why.help);
}

// As many GPUs as are wanted; nothing where that was complained about.
std::optional<std::uint32_t> count_of(const Node& gpus, const Cluster& cluster, Diagnostics& diagnostics) {
  std::string digits = gpus.text;  // 1_024 is a number, too
  std::erase(digits, '_');
  const std::int64_t wanted = std::atoll(digits.c_str());
  if (wanted > 0 && wanted <= static_cast<std::int64_t>(cluster.gpus)) return static_cast<std::uint32_t>(wanted);
  if (wanted > 0 && wanted <= kMaxGpus)  // else it is out of range anyhow
    diagnostics.add(Error::out_of_range, gpus.place,
                    fmt::format("'gpus' is {}, but the cluster has {}", digits, counted(cluster.gpus, "GPU")),
                    fmt::format("gpus: {} takes all of them", cluster.gpus));
  return std::nullopt;
}

// How many ranks a collective has, where the file alone can tell.
std::optional<std::uint32_t> ranks_of(const Node& work, const Cluster& cluster, Diagnostics& diagnostics) {
  const Node* gpus = scalar(work, "gpus");
  const Node* on = scalar(work, "on");
  const Node* per_server = scalar(work, "per_server");
  if (on == nullptr) {
    const auto count = gpus == nullptr ? std::optional(cluster.gpus) : count_of(*gpus, cluster, diagnostics);
    return per_server == nullptr ? count : std::nullopt;  // servers differ in how many they have
  }
  if (const Node* other = gpus != nullptr ? gpus : per_server; other != nullptr)
    diagnostics.add(Error::contradiction, other->place, "both which GPUs take part and how many",
                    "`on`, or else `gpus` and `per_server`");
  const auto named = parse_gpus(on->text, cluster.gpus, named_servers(cluster));
  if (named) return static_cast<std::uint32_t>(named->size());
  refuse(*on, named.error(), diagnostics);
  return std::nullopt;
}

void check_collective(const Node& work, bool first, const Cluster& cluster, Diagnostics& diagnostics) {
  std::optional<std::uint32_t> ranks = ranks_of(work, cluster, diagnostics);
  if (const Node* alongside = scalar(work, "alongside"); alongside != nullptr && alongside->text == "true" && first)
    diagnostics.add(Error::contradiction, alongside->place, "there is no collective before it",
                    "`alongside: true` in the second of two");
  if (!ranks) return;
  if (const Node* split = scalar(work, "split")) {
    std::vector<std::uint32_t> numbers(*ranks);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto groups = split_gpus(split->text, numbers);
    if (!groups) return refuse(*split, groups.error(), diagnostics);
    ranks = static_cast<std::uint32_t>(groups->front().size());
  }
  const Entry* slow = work.find("slow_ranks");
  if (slow == nullptr) return;
  const std::vector<Node> alone = {slow->value};
  for (const Node& each : slow->value.is_sequence() ? slow->value.items : alone) {
    if (!each.is_scalar()) continue;
    if (const auto rank = parse_slow_rank(each.text, *ranks); !rank) refuse(each, rank.error(), diagnostics);
  }
}

}  // namespace

void check_run(const Cluster& cluster, const Node& root, Diagnostics& diagnostics) {
  const Entry* section = root.find("run");
  if (section == nullptr) return;
  const std::vector<Node> alone = {section->value};
  bool first = true;
  for (const Node& work : section->value.is_sequence() ? section->value.items : alone)
    for (const Entry& entry : work.entries) {
      if (entry.key == "traffic" || entry.key == "trace" || !entry.value.is_map()) continue;
      check_collective(entry.value, first, cluster, diagnostics);
      first = false;
    }
}

}  // namespace weft::model
