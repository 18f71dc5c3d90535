#pragma once
// What a variant is built of and costs, beside others: rows of a table, keys of a record, and who needs least.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/money.hpp"

namespace weft::report {

struct Costs {
  std::optional<Price> price;             // per hour; never added to what is bought
  std::optional<Money> purchase;          // of all parts whose purchase is known
  std::vector<std::string> not_priced;    // "servers", "some switches": in neither sum
  std::optional<Power> power;             // of all parts whose power is known
  bool power_is_partial = false;          // not published for all servers and switches
  Power network;                          // of it: switches and optics
  std::vector<std::string> not_in_power;  // "some switches", "optics": in neither
  std::uint64_t switches = 0;
  std::uint64_t cables = 0;
  std::uint64_t ports = 0;  // of all switches
  std::uint64_t ports_used = 0;
};

struct LabelledCosts {
  std::string label;
  Costs costs;
};

// Titles and texts. What a variant is built of stands there only where that differs.
using CostRow = std::pair<std::string, std::function<std::string(const Costs&)>>;
std::vector<CostRow> cost_rows(const std::vector<LabelledCosts>& variants);
// The same for a table that has them as columns, and little room.
std::vector<CostRow> cost_columns(const std::vector<LabelledCosts>& variants);

// "purchase", "least with a, $81k; 2.10x that with b": for every sum that differs; and what is in none ("without").
std::vector<std::pair<std::string, std::string>> cost_sentences(const std::vector<LabelledCosts>& variants);
// A list of `name` and `sentence`.
nlohmann::ordered_json sentences_json(const std::vector<std::pair<std::string, std::string>>& sentences);

// Its keys in a record.
nlohmann::ordered_json costs_json(const Costs& costs);

}  // namespace weft::report
