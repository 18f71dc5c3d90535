#include "spec/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/text.hpp"

namespace weft::spec {
namespace {

constexpr std::int64_t kMaxIndex = 1'000'000'000;

enum class NumberFault { none, not_a_number, too_large };

NumberFault parse_integer(std::string_view text, std::int64_t& out) {
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error == std::errc::result_out_of_range) return NumberFault::too_large;
  if (error != std::errc{} || end != digits.data() + digits.size()) return NumberFault::not_a_number;
  return NumberFault::none;
}

std::string bound_text(std::int64_t bound, const Field& field) {
  return field.units != nullptr ? print_exact(bound, *field.units) : grouped(bound);
}

std::vector<std::string> suffixes(const UnitFamily& family) {
  std::vector<std::string> out;
  for (const Unit& unit : family.units) out.emplace_back(unit.suffix);
  return out;
}

// "B, KiB, MiB": those that weft itself prints.
std::string usual_units(const UnitFamily& family) {
  std::string out = family.print_order.starts_with(' ') ? "none" : "";
  for (const char c : family.print_order) out += c == ' ' ? std::string(", ") : std::string(1, c);
  return out;
}

std::string subject(const Table& table) {
  return table.name.find(' ') == std::string::npos ? fmt::format("'{}'", table.name) : "the " + table.name;
}

std::string missing_help(const Field& field) {
  const FieldOptions& options = field.options;
  if (!field.choices.empty()) return fmt::format("one of {}", either(field.choices));
  if (!options.example.empty()) return fmt::format("{} For example {}: {}", options.text, field.name, options.example);
  return options.text;
}

// What stands there, in words: the text itself, or its type.
std::string found_there(const Node& node) {
  return node.is_scalar() ? fmt::format("'{}'", shown(node.text)) : std::string(describe(node));
}

bool one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// The `kind` that decides which fields there are; nothing when it is missing or misspelt, because
// then every error about its keys would only repeat that.
std::optional<std::string> kind_of(const Table& table, const Node& node) {
  const Entry* entry = node.find("kind");
  if (entry == nullptr || !entry->value.is_scalar()) return std::nullopt;
  for (const Field& field : table.fields) {
    const auto& choices = field.choices;
    if (field.name == "kind" && !choices.empty() &&
        std::find(choices.begin(), choices.end(), entry->value.text) == choices.end())
      return std::nullopt;
  }
  return entry->value.text;
}

bool applies(const Field& field, const std::optional<std::string>& kind) {
  const auto& only = field.options.only_for;
  return !kind || only.empty() || std::find(only.begin(), only.end(), *kind) != only.end();
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string range_text(const Field& field) {
  const auto& [min, max] = std::pair(field.options.min, field.options.max);
  if (min && max) return fmt::format("{} to {}", bound_text(*min, field), bound_text(*max, field));
  if (min) return fmt::format("at least {}", bound_text(*min, field));
  if (max) return fmt::format("at most {}", bound_text(*max, field));
  return "";
}

std::string type_text(const Field& field) {
  std::string base;
  switch (field.shape) {
    case Shape::boolean:
      base = "true or false";
      break;
    case Shape::integer:
      base = "whole number";
      break;
    case Shape::text:
      base = field.choices.empty() ? "text" : "one word";
      break;
    case Shape::quantity:
      base = field.units->name;
      break;
    case Shape::ratio:
      base = "ratio";
      break;
    case Shape::indices:
      return "indices";
    case Shape::sizes:
      return "sizes";
    case Shape::object:
      base = field.options.section.empty() ? "mapping" : "kind from the catalog, or mapping";
      break;
  }
  return field.list ? "list of " + base : base;
}

void Reader::read_object(const Table& table, const Node& node, void* out) {
  if (!node.is_map()) {
    std::vector<std::string> needed;
    for (const Field& field : table.fields)
      if (field.options.required && field.options.only_for.empty()) needed.push_back(field.name);
    if (needed.empty()) needed.push_back(table.fields[0].name);
    const bool is_kind = node.is_scalar() && needed[0] == "kind";
    diagnostics_.add(Error::wrong_type, node.place,
                     fmt::format("{} must be a mapping, not {}", subject(table), found_there(node)),
                     is_kind ? fmt::format("write {{kind: {}}}, with its other keys", shown(node.text))
                             : fmt::format("a mapping has keys with values: {}: ...", fmt::join(needed, ": ..., ")));
    return;
  }
  if (table.note_places) table.note_places(node, out);
  const std::optional<std::string> kind = kind_of(table, node);
  std::vector<std::string> meant;  // by misspelt keys: they are not also missing
  for (const Entry& entry : node.entries) {
    if (diagnostics_.full()) return;
    if (auto guess = unknown_key(table, entry, kind)) meant.push_back(*guess);
  }
  for (const Field& field : table.fields) {
    if (!applies(field, kind)) continue;
    if (kind_unknown_ && field.name == "kind") continue;  // that has been said
    // Without a kind it is not known which of its keys would be required.
    const bool required = field.options.required && !kind_unknown_ && (kind || field.options.only_for.empty()) &&
                          std::find(meant.begin(), meant.end(), field.name) == meant.end();
    if (const Entry* entry = node.find(field.name)) {
      if (entry->value.kind == Node::Kind::null) {
        diagnostics_.add(Error::empty_value, entry->value.place, fmt::format("'{}' has no value", field.name),
                         field.options.required ? "it needs one: " + missing_help(field)
                                                : "give it a value, or remove the key to get its default");
      } else {
        field.read(*this, entry->value, field, out);
      }
    } else if (required) {
      diagnostics_.add(Error::missing_key, node.place, fmt::format("{} needs the key '{}'", subject(table), field.name),
                       missing_help(field));
    } else if (!field.options.fallback.empty()) {
      Node fallback;
      fallback.kind = Node::Kind::scalar;
      fallback.text = field.options.fallback;
      fallback.place = node.place;
      field.read(*this, fallback, field, out);
    } else if (field.shape == Shape::object && !field.list && !field.optional && !field.options.required &&
               field.options.section.empty()) {
      // A mapping that is not written is an empty one: its own defaults apply.
      Node empty;
      empty.kind = Node::Kind::map;
      empty.place = node.place;
      field.read(*this, empty, field, out);
    }
  }
}

std::optional<std::string> Reader::unknown_key(const Table& table, const Entry& entry,
                                               const std::optional<std::string>& kind) {
  std::vector<std::string> names;
  for (const Field& field : table.fields) {
    const bool allowed = applies(field, kind);
    if (field.name == entry.key) {
      if (allowed) return std::nullopt;
      diagnostics_.add(Error::not_for_this_kind, entry.key_place,
                       fmt::format("'{}' does not apply to kind {}", entry.key, shown(*kind)),
                       fmt::format("it belongs to {}", either(field.options.only_for)));
      return std::nullopt;
    }
    if (allowed) names.push_back(field.name);
  }
  std::string help;
  std::optional<std::string> guess;
  if (entry.key == "<<") {
    help = "weft has no merge keys; a kind with changes is written {kind: name, key: value}";
  } else if ((guess = did_you_mean(entry.key, names))) {
    help = fmt::format("did you mean '{}'?", *guess);
  } else {
    std::sort(names.begin(), names.end());
    help = fmt::format("{} takes {}", subject(table), either(names));
  }
  diagnostics_.add(Error::unknown_key, entry.key_place,
                   fmt::format("{} has no key '{}'", subject(table), shown(entry.key)), help);
  return guess;
}

void Reader::wrong_type(const Node& node, const Field& field, std::string_view wanted) {
  const std::string example = !field.options.example.empty() ? field.options.example : field.options.fallback;
  diagnostics_.add(Error::wrong_type, node.place,
                   fmt::format("'{}' must be {}, not {}", field.name, wanted, found_there(node)),
                   example.empty() ? "" : fmt::format("for example {}: {}", field.name, example));
}

bool Reader::in_range(const Node& node, const Field& field, std::int64_t value) {
  const FieldOptions& options = field.options;
  const bool low = options.min && value < *options.min;
  const bool high = options.max && value > *options.max;
  if (!low && !high) return true;
  diagnostics_.add(Error::out_of_range, node.place, fmt::format("'{}' cannot be {}", field.name, shown(node.text)),
                   fmt::format("allowed: {}", range_text(field)));
  return false;
}

void Reader::value(const Node& node, const Field& field, bool& out) {
  if (!node.is_scalar() || (node.text != "true" && node.text != "false"))
    return wrong_type(node, field, "true or false");
  out = node.text == "true";
}

void Reader::value(const Node& node, const Field& field, std::int64_t& out) {
  if (!node.is_scalar()) return wrong_type(node, field, "a whole number");
  std::int64_t parsed = 0;
  std::string_view text = node.text;
  for (const auto& [word, number] : field.options.meant)
    if (word == text) text = number;
  switch (parse_integer(text, parsed)) {
    case NumberFault::not_a_number:
      return wrong_type(node, field, "a whole number");
    case NumberFault::too_large: {
      diagnostics_.add(Error::out_of_range, node.place, fmt::format("'{}' cannot be {}", field.name, shown(node.text)),
                       field.options.max ? "allowed: " + range_text(field) : "the number is too large");
      return;
    }
    case NumberFault::none:
      break;
  }
  if (in_range(node, field, parsed)) out = parsed;
}

void Reader::value(const Node& node, const Field& field, std::string& out) {
  if (!node.is_scalar()) return wrong_type(node, field, "text");
  if (!one_line(node.text)) {
    diagnostics_.add(Error::out_of_range, node.place,
                     fmt::format("'{}' holds a line break or another control character", field.name),
                     "one line of printable text");
    return;
  }
  const auto& choices = field.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), node.text) == choices.end()) {
    auto guess = did_you_mean(node.text, choices);
    for (const auto& [word, choice] : field.options.meant)
      if (word == node.text) guess = choice;
    diagnostics_.add(Error::not_a_choice, node.place, fmt::format("'{}' cannot be '{}'", field.name, shown(node.text)),
                     guess ? fmt::format("did you mean '{}'? (one of {})", *guess, either(choices))
                           : fmt::format("one of {}", either(choices)));
    return;
  }
  constexpr std::int64_t kLongestName = 4096;
  if (static_cast<std::int64_t>(node.text.size()) > kLongestName) {
    diagnostics_.add(
        Error::out_of_range, node.place,
        fmt::format("'{}' is {} bytes long", field.name, grouped(static_cast<std::int64_t>(node.text.size()))),
        fmt::format("at most {}", grouped(kLongestName)));
    return;
  }
  out = node.text;
}

void Reader::value(const Node& node, const Field& field, Ratio& out) {
  if (!node.is_scalar()) return wrong_type(node, field, "a ratio such as 1, 1.5 or 3:1");
  constexpr std::int64_t kLimit = 1'000'000;
  std::string_view text = node.text;
  std::string_view under = "1";
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    under = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  Ratio parsed;
  std::string whole(text);
  if (const auto point = whole.find('.'); point != std::string::npos) {
    const std::size_t decimals = whole.size() - point - 1;
    whole.erase(point, 1);
    if (decimals == 0 || decimals > 6) return wrong_type(node, field, "a ratio such as 1, 1.5 or 3:1");
    for (std::size_t i = 0; i < decimals; ++i) parsed.under *= 10;
  }
  std::int64_t divisor = 1;
  if (parse_integer(whole, parsed.over) != NumberFault::none || parse_integer(under, divisor) != NumberFault::none)
    return wrong_type(node, field, "a ratio such as 1, 1.5 or 3:1");
  if (parsed.over < 1 || divisor < 1 || parsed.over > kLimit * parsed.under || divisor > kLimit) {
    diagnostics_.add(Error::out_of_range, node.place, fmt::format("'{}' cannot be {}", field.name, shown(node.text)),
                     "a ratio is above 0 and at most 1,000,000");
    return;
  }
  parsed.under *= divisor;
  out = parsed;
}

void Reader::empty_list(const Node& node, const Field& field, std::string_view example) {
  diagnostics_.add(Error::bad_range, node.place, fmt::format("'{}' is an empty list", field.name),
                   fmt::format("for example {}: {}", field.name, example));
}

bool Reader::accept_items(const Node& node, const Field& field) {
  constexpr std::size_t kMostItems = 1024;
  if (node.items.size() > kMostItems) {
    diagnostics_.add(
        Error::out_of_range, node.place,
        fmt::format("'{}' has {}", field.name, counted(static_cast<std::int64_t>(node.items.size()), "item")),
        fmt::format("at most {}; equal ones are one item with a count", grouped(kMostItems)));
    return false;
  }
  bool fine = true;
  for (const Node& item : node.items) {
    if (item.kind != Node::Kind::null) continue;
    fine = false;
    diagnostics_.add(Error::empty_value, item.place, fmt::format("an item of '{}' is empty", field.name),
                     "give it a value, or remove it");
  }
  return fine;
}

std::optional<Indices::Range> Reader::index_range(const Node& node, const Field& field, std::string_view text) {
  const auto dots = text.find("..");
  Indices::Range range{};
  const bool two = dots != std::string_view::npos;
  const bool fine = parse_integer(trimmed(text.substr(0, dots)), range.first) == NumberFault::none &&
                    (!two || parse_integer(trimmed(text.substr(dots + 2)), range.last) == NumberFault::none);
  if (!two) range.last = range.first;
  if (!fine || range.first < 0 || range.last < range.first || range.last > kMaxIndex) {
    diagnostics_.add(Error::bad_range, node.place, fmt::format("'{}' cannot be '{}'", field.name, shown(text)),
                     "indices are written 3, [0, 4], 0..7 or 0..3,8..11, from 0 upwards");
    return std::nullopt;
  }
  return range;
}

void Reader::value(const Node& node, const Field& field, Indices& out) {
  const std::vector<Node> alone = {node};
  Indices parsed;
  if (node.is_sequence() && node.items.empty()) return empty_list(node, field, "0..7");
  for (const Node& item : node.is_sequence() ? node.items : alone) {
    if (!item.is_scalar()) return wrong_type(item, field, "an index or a range such as 0..7");
    std::string_view rest = item.text;
    while (true) {
      const auto comma = rest.find(',');
      const auto range = index_range(item, field, trimmed(rest.substr(0, comma)));
      if (!range) return;
      parsed.ranges.push_back(*range);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  constexpr std::int64_t kMostIndices = 16'777'216;
  if (parsed.size() > kMostIndices) {
    diagnostics_.add(Error::out_of_range, node.place,
                     fmt::format("'{}' names {} parts", field.name, grouped(parsed.size())),
                     fmt::format("at most {}", grouped(kMostIndices)));
    return;
  }
  out = std::move(parsed);
}

std::optional<Bytes> Reader::size(const Node& node, const Field& field, std::string_view text) {
  Field one = field;
  one.units = &unit_family<Bytes>();
  one.options.min = 1;
  Node part = node;
  part.text = std::string(trimmed(text));
  std::int64_t count = 0;
  quantity(part, one, count);
  return count == 0 ? std::nullopt : std::optional(Bytes(count));
}

void Reader::value(const Node& node, const Field& field, Sizes& out) {
  const std::vector<Node> alone = {node};
  Sizes parsed;
  if (node.is_sequence() && node.items.empty()) return empty_list(node, field, "8B..8GiB");
  for (const Node& item : node.is_sequence() ? node.items : alone) {
    if (!item.is_scalar()) return wrong_type(item, field, "a size or a range such as 8B..8GiB");
    const std::string_view text = item.text;
    const auto dots = text.find("..");
    const auto first = size(item, field, text.substr(0, dots));
    if (!first) return;
    if (dots == std::string_view::npos) {
      parsed.values.push_back(*first);
      continue;
    }
    const auto last = size(item, field, text.substr(dots + 2));
    if (!last) return;
    if (*last < *first) {
      diagnostics_.add(Error::bad_range, item.place, fmt::format("'{}' runs backwards", shown(text)),
                       "the smaller size comes first, as in 8B..8GiB");
      return;
    }
    for (std::int64_t at = first->count(); at <= last->count(); at *= 2) {
      parsed.values.push_back(Bytes(at));
      if (at > last->count() / 2) break;
    }
  }
  out = std::move(parsed);
}

void Reader::quantity(const Node& node, const Field& field, std::int64_t& out) {
  const UnitFamily& family = *field.units;
  const std::string like = fmt::format("write it like {}: {}", field.name, family.example);
  if (!node.is_scalar()) return wrong_type(node, field, fmt::format("a {} such as {}", family.name, family.example));
  const auto parsed = parse_quantity(node.text, family);
  if (parsed) {
    if (in_range(node, field, *parsed)) out = *parsed;
    return;
  }
  switch (parsed.error()) {
    case UnitFault::not_a_number:
      return wrong_type(node, field, fmt::format("a {} such as {}", family.name, family.example));
    case UnitFault::no_unit:
      diagnostics_.add(Error::missing_unit, node.place,
                       fmt::format("'{}' is a {} and needs a unit", field.name, family.name),
                       fmt::format("{}; `weft explain E0104` lists the units", like));
      return;
    case UnitFault::unknown_unit: {
      const std::size_t at = node.text.find_first_not_of("0123456789._ $");
      const std::string unit = at == std::string::npos ? node.text : node.text.substr(at);
      // With another first letter it would be another magnitude: 1EB is nobody's 1B.
      auto guess = did_you_mean(unit, suffixes(family));
      if (guess &&
          std::tolower(static_cast<unsigned char>((*guess)[0])) != std::tolower(static_cast<unsigned char>(unit[0])))
        guess.reset();
      diagnostics_.add(Error::unknown_unit, node.place,
                       fmt::format("'{}' is not a unit of {}", shown(unit), family.name),
                       unit.starts_with(',') ? "decimals stand behind a point, as in 1.5; thousands are not separated"
                       : guess               ? fmt::format("did you mean {}?", *guess)
                                             : fmt::format("{}; units are {}", like, usual_units(family)));
      return;
    }
    case UnitFault::not_exact:
      diagnostics_.add(Error::not_exact, node.place,
                       fmt::format("'{}' is not a whole number of {}", shown(node.text),
                                   family.units.front().suffix.empty() ? print_exact(1, family)
                                                                       : std::string(family.units.front().suffix)),
                       "quantities are exact; use fewer decimals");
      return;
    case UnitFault::out_of_range:
      diagnostics_.add(Error::out_of_range, node.place, fmt::format("'{}' is too large to represent", shown(node.text)),
                       like);
      return;
  }
}

}  // namespace weft::spec
