#include "experiment/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::experiment {
namespace {

using spec::Error;

struct Known {
  std::string_view name;
  Limit::Kind kind;
  std::string_view example;
};
constexpr Known kKnown[] = {
    {"time", Limit::Kind::time, "time=10ms"},
    {"events", Limit::Kind::events, "events=1e9"},
    {"memory", Limit::Kind::memory, "memory=4GiB"},
    {"wall", Limit::Kind::wall, "wall=60s"},
};

// Digits and an exponent: 1000000 or 1e6.
std::optional<std::int64_t> parse_count(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const auto digits = [](std::string_view part) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    for (const char c : part) {
      if (c < '0' || c > '9' || value > kMost / 10 - 1) return std::nullopt;
      value = value * 10 + (c - '0');
    }
    return part.empty() ? std::nullopt : std::optional(value);
  };
  const std::size_t e = text.find_first_of("eE");
  auto value = digits(text.substr(0, e));
  if (!value || e == std::string_view::npos) return value;
  const auto exponent = digits(text.substr(e + 1));
  if (!exponent || *exponent > 18) return std::nullopt;
  for (std::int64_t i = 0; i < *exponent; ++i) {
    if (*value > kMost / 10) return std::nullopt;
    *value *= 10;
  }
  return value;
}

std::optional<std::int64_t> parse_most(Limit::Kind kind, std::string_view text) {
  const UnitFamily& family = kind == Limit::Kind::memory ? unit_family<Bytes>() : unit_family<Duration>();
  if (kind == Limit::Kind::events) return parse_count(text);
  const auto value = parse_quantity(text, family);
  return value ? std::optional(*value) : std::nullopt;
}

void add_limit(const std::string& item, Limits& limits, spec::Diagnostics& diagnostics) {
  const std::size_t equals = std::min(item.find('='), item.size());
  const std::string name = item.substr(0, equals);
  const auto* known =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
  if (known == std::end(kKnown)) {
    std::vector<std::string> names;
    for (const Known& k : kKnown) names.emplace_back(k.name);
    const auto guess = did_you_mean(name, names);
    diagnostics.add(Error::unknown_key, {}, fmt::format("--limit has no '{}'", name),
                    guess ? fmt::format("did you mean {}?", *guess) : "limits are " + either(names));
    return;
  }
  const auto most = parse_most(known->kind, equals < item.size() ? item.substr(equals + 1) : "");
  if (!most || *most <= 0) {
    diagnostics.add(Error::wrong_type, {}, fmt::format("--limit cannot be '{}'", item),
                    fmt::format("for example --limit {}", known->example));
    return;
  }
  if (std::any_of(limits.begin(), limits.end(), [&](const Limit& limit) { return limit.kind == known->kind; })) {
    diagnostics.add(Error::contradiction, {}, fmt::format("--limit gives {} twice", name), "once is enough");
    return;
  }
  limits.push_back({known->kind, *most, item});
}

}  // namespace

Limits parse_limits(const std::string& text, spec::Diagnostics& diagnostics) {
  Limits limits;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    add_limit(text.substr(at, comma - at), limits, diagnostics);
    at = comma + 1;
  }
  return limits;
}

}  // namespace weft::experiment
