#include "report/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "base/text.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTie = 1.005;  // would be printed as 1.00x

std::string number(std::uint64_t value) { return grouped(static_cast<std::int64_t>(value)); }

// A sum of which less is better. `scope`: what is left out of it; sums of different scopes say nothing of each other.
enum class Of { price, purchase, power, network_power };
constexpr auto names_of(Of) {
  using enum Of;
  return std::to_array<EnumName<Of>>(
      {{price, "price"}, {purchase, "purchase"}, {power, "power"}, {network_power, "network power"}});
}
struct Sum {
  Of of;
  std::function<std::optional<std::int64_t>(const Costs&)> value;
  std::function<std::string(const Costs&)> text;
  std::function<std::string(const Costs&)> scope;
};

template <class Q>
std::optional<std::int64_t> count_of(const std::optional<Q>& quantity) {
  return quantity ? std::optional(quantity->count()) : std::nullopt;
}
// "$1.2M+": more by what is left out.
template <class Q>
std::string text_of(const std::optional<Q>& quantity, const std::vector<std::string>& left_out) {
  return quantity ? brief(*quantity) + (left_out.empty() ? "" : "+") : "-";
}

// Half a sum ranks designs wrongly.
std::optional<Power> whole_power(const Costs& costs) { return costs.power_is_partial ? std::nullopt : costs.power; }
std::optional<Power> network_of(const Costs& costs) {
  return whole_power(costs) && costs.switches > 0 ? std::optional(costs.network) : std::nullopt;
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

const std::vector<Sum>& sums() {
  const auto unpriced = [](const Costs& costs) { return joined(costs.not_priced); };
  const auto unpowered = [](const Costs& costs) { return joined(costs.not_in_power); };
  static const std::vector<Sum> all = {
      {Of::price, [](const Costs& c) { return count_of(c.price); },
       [](const Costs& c) { return text_of(c.price, c.not_priced); }, unpriced},
      {Of::purchase, [](const Costs& c) { return count_of(c.purchase); },
       [](const Costs& c) { return text_of(c.purchase, c.not_priced); }, unpriced},
      {Of::power, [](const Costs& c) { return count_of(whole_power(c)); },
       [](const Costs& c) { return text_of(c.power, c.not_in_power); }, unpowered},
      {Of::network_power, [](const Costs& c) { return count_of(network_of(c)); },
       [](const Costs& c) { return text_of(network_of(c), c.not_in_power); }, unpowered},
  };
  return all;
}

bool any_has(const std::vector<LabelledCosts>& variants, const Sum& sum) {
  return std::any_of(variants.begin(), variants.end(),
                     [&](const LabelledCosts& each) { return sum.text(each.costs) != "-"; });
}

template <class Same>
bool all_alike(const std::vector<LabelledCosts>& variants, const Same& same) {
  return std::all_of(variants.begin(), variants.end(),
                     [&](const LabelledCosts& each) { return same(each.costs, variants[0].costs); });
}

std::string ranking(const std::vector<LabelledCosts>& variants, const Sum& sum) {
  constexpr std::size_t kNamed = 5;
  std::vector<const LabelledCosts*> order;
  for (const LabelledCosts& each : variants) order.push_back(&each);
  const auto value = [&](const LabelledCosts* each) { return static_cast<double>(*sum.value(each->costs)); };
  std::stable_sort(order.begin(), order.end(),
                   [&](const LabelledCosts* a, const LabelledCosts* b) { return value(a) < value(b); });
  const double least = value(order[0]);
  if (value(order.back()) <= least * kTie) return "";
  std::string best;
  std::vector<std::string> others;
  std::size_t more = 0;
  for (const LabelledCosts* each : order) {
    if (value(each) <= least * kTie) {
      best += (best.empty() ? "" : " or ") + each->label;
    } else if (others.size() < kNamed) {
      const std::string times = fmt::format("{:.2f}x{}", value(each) / least, others.empty() ? " that" : "");
      others.push_back(fmt::format("{} with {}", least > 0 ? times : sum.text(each->costs), each->label));
    } else {
      ++more;
    }
  }
  if (more > 0) others.push_back(fmt::format("more with {} others", more));
  return fmt::format("least with {}, {}; {}", best, sum.text(order[0]->costs), fmt::join(others, ", "));
}

// "servers in purchase, optics in power".
std::string left_out(const std::vector<LabelledCosts>& variants, const Costs& costs) {
  const auto shown = [&](Of of) {
    return std::any_of(sums().begin(), sums().end(),
                       [&](const Sum& sum) { return sum.of == of && any_has(variants, sum); });
  };
  std::vector<std::string> out;
  if (!costs.not_priced.empty() && (shown(Of::price) || shown(Of::purchase)))
    out.push_back(
        fmt::format("{} in {}", joined(costs.not_priced), enum_name(shown(Of::purchase) ? Of::purchase : Of::price)));
  if (!costs.not_in_power.empty() && shown(Of::power))
    out.push_back(fmt::format("{} in power", joined(costs.not_in_power)));
  return fmt::format("{}", fmt::join(out, "; "));
}

bool leaves_out_optics(const Costs& costs) {
  return std::any_of(costs.not_in_power.begin(), costs.not_in_power.end(),
                     [](const std::string& name) { return name.ends_with("optics"); });
}

bool built_alike(const std::vector<LabelledCosts>& variants) {
  return all_alike(variants, [](const Costs& a, const Costs& b) {
    return a.switches == b.switches && a.cables == b.cables && a.ports == b.ports && a.ports_used == b.ports_used;
  });
}

}  // namespace

std::vector<CostRow> cost_rows(const std::vector<LabelledCosts>& variants) {
  std::vector<CostRow> rows;
  const bool alike = built_alike(variants);
  if (!alike) {
    rows.emplace_back("switches", [](const Costs& costs) { return number(costs.switches); });
    rows.emplace_back("  ports used", [](const Costs& costs) {
      return costs.ports == 0 ? "-" : fmt::format("{} of {}", number(costs.ports_used), number(costs.ports));
    });
    rows.emplace_back("cables", [](const Costs& costs) { return number(costs.cables); });
  }
  for (const Sum& sum : sums()) {
    const bool of_network = sum.of == Of::network_power;
    if (any_has(variants, sum) && !(of_network && alike))
      rows.emplace_back(of_network ? "  network" : enum_name(sum.of), sum.text);
  }
  return rows;
}

std::vector<CostRow> cost_columns(const std::vector<LabelledCosts>& variants) {
  std::vector<CostRow> columns;
  if (!built_alike(variants))
    columns.emplace_back("ports", [](const Costs& costs) {
      return fmt::format("{}/{}", number(costs.ports_used), number(costs.ports));
    });
  for (const Sum& sum : sums())
    if (any_has(variants, sum) && sum.of != Of::network_power) columns.emplace_back(enum_name(sum.of), sum.text);
  return columns;
}

std::vector<std::pair<std::string, std::string>> cost_sentences(const std::vector<LabelledCosts>& variants) {
  std::vector<std::pair<std::string, std::string>> sentences;
  if (variants.empty()) return sentences;
  for (const Sum& sum : sums()) {
    // Servers take nearly all of the power: where networks differ, theirs says more.
    if (sum.of == Of::power && !built_alike(variants)) continue;
    const bool known = std::all_of(variants.begin(), variants.end(),
                                   [&](const LabelledCosts& each) { return sum.value(each.costs).has_value(); });
    if (!known) continue;
    if (!all_alike(variants, [&](const Costs& a, const Costs& b) { return sum.scope(a) == sum.scope(b); })) {
      sentences.emplace_back(enum_name(sum.of), "not to be compared: different parts are left out");
    } else if (std::string least = ranking(variants, sum); !least.empty()) {
      sentences.emplace_back(enum_name(sum.of), std::move(least));
    }
  }
  std::vector<std::string> each_without;
  for (const LabelledCosts& each : variants) each_without.push_back(left_out(variants, each.costs));
  const bool same = std::all_of(each_without.begin(), each_without.end(),
                                [&](const std::string& text) { return text == each_without[0]; });
  if (same) {
    if (!each_without[0].empty()) sentences.emplace_back("without", each_without[0]);
    return sentences;
  }
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (!each_without[i].empty())
      sentences.emplace_back("without", fmt::format("{}: {}", variants[i].label, each_without[i]));
  return sentences;
}

Json sentences_json(const std::vector<std::pair<std::string, std::string>>& sentences) {
  Json list = Json::array();
  for (const auto& [name, sentence] : sentences) list.push_back({{"name", name}, {"sentence", sentence}});
  return list;
}

Json costs_json(const Costs& costs) {
  const auto dollars = [](const auto& quantity) {
    return quantity ? Json(static_cast<double>(quantity->count()) / 1e6) : Json();
  };
  const std::optional<Power> whole = whole_power(costs);
  const std::optional<Power> network = network_of(costs);
  return {{"price_usd_per_hour", dollars(costs.price)},
          {"purchase_usd", dollars(costs.purchase)},
          {"not_priced", costs.not_priced},
          {"power_milliwatts", whole ? Json(whole->count()) : Json()},
          {"network_power_milliwatts", network ? Json(network->count()) : Json()},
          {"optics_in_power", !leaves_out_optics(costs)},
          {"not_in_power", costs.not_in_power},
          {"switches", costs.switches},
          {"ports", costs.ports},
          {"ports_used", costs.ports_used},
          {"cables", costs.cables}};
}

}  // namespace weft::report
