#include "truth/measurement_columns.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace weft::truth {
namespace {

using What = MeasuredColumn::What;

constexpr std::size_t kMostDigits = 40;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_word(char c) { return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z'); }

std::string lowered(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), lower);
  return made;
}

// Letters and digits between whatever else is written: "oop_time_us" and "OOP time (us)" are the same.
std::vector<std::string_view> words_of(std::string_view head) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < head.size();) {
    const auto from = static_cast<std::size_t>(
        std::find_if(head.begin() + static_cast<std::ptrdiff_t>(at), head.end(), is_word) - head.begin());
    std::size_t end = from;
    while (end < head.size() && is_word(head[end])) ++end;
    if (end > from) words.push_back(head.substr(from, end - from));
    at = end + 1;
  }
  return words;
}

struct Unit {
  std::string_view name;  // in small letters
  double scale;
};
constexpr Unit kSizes[] = {{"b", 1},
                           {"byte", 1},
                           {"bytes", 1},
                           {"k", 1024},
                           {"kb", 1024},
                           {"kib", 1024},
                           {"m", 1 << 20},
                           {"mb", 1 << 20},
                           {"mib", 1 << 20},
                           {"g", 1 << 30},
                           {"gb", 1 << 30},
                           {"gib", 1 << 30},
                           {"t", 1099511627776.0},
                           {"tb", 1099511627776.0},
                           {"tib", 1099511627776.0}};
constexpr Unit kTimes[] = {{"ns", 1e-3}, {"us", 1},       {"usec", 1},           {"microseconds", 1},
                           {"ms", 1e3},  {"msec", 1e3},   {"milliseconds", 1e3}, {"s", 1e6},
                           {"sec", 1e6}, {"seconds", 1e6}};

template <std::size_t N>
const Unit* find_unit(const Unit (&units)[N], std::string_view word) {
  const std::string small = lowered(word);
  const auto found =
      std::find_if(std::begin(units), std::end(units), [&](const Unit& each) { return each.name == small; });
  return found == std::end(units) ? nullptr : &*found;
}

// Of a rate: GBps, GB/s, Gbps, Gbit/s, MB/s. In a rate's head alone a large or small b makes a difference of eight.
void read_rate_unit(const std::vector<std::string_view>& words, MeasuredColumn& column) {
  for (const std::string_view word : words) {
    const std::string small = lowered(word);
    const bool giga = small.starts_with('g');
    if (!giga && !small.starts_with('m')) continue;
    const std::string_view rest = std::string_view(small).substr(1);
    if (rest != "b" && rest != "bps" && rest != "bs" && !rest.starts_with("bit") && !rest.starts_with("byte")) continue;
    const bool bits = rest.starts_with("bit") || (word[1] == 'b' && !rest.starts_with("byte"));
    column.scale = (giga ? 1 : 1e-3) / (bits ? 8 : 1);
    column.ambiguous = word == small && !rest.starts_with("bit") && !rest.starts_with("byte");
  }
}

}  // namespace

std::optional<MeasuredColumn> column_named(std::string_view head) {
  const std::vector<std::string_view> words = words_of(bare_cell(head));
  std::vector<std::string> small;
  for (const std::string_view word : words) small.push_back(lowered(word));
  const auto any = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(small.begin(), small.end(), [&](const std::string& word) {
      return std::find(names.begin(), names.end(), word) != names.end();
    });
  };
  MeasuredColumn column;
  column.in_place = any({"ip", "inplace"}) || (any({"in"}) && any({"place"}) && !any({"out"}));
  if (any({"algbw", "alg", "algorithm", "busbw", "bus"})) {
    column.what = any({"busbw", "bus"}) ? What::bus_rate : What::algorithm_rate;
    read_rate_unit(words, column);
    return column;
  }
  if (any({"time", "latency", "duration"})) {
    column.what = What::time;
    for (const std::string_view word : words)
      if (const Unit* unit = find_unit(kTimes, word); unit != nullptr) column.scale = unit->scale;
    return column;
  }
  if (any({"size", "bytes", "nbytes", "message", "msg", "msgsize"}) && !any({"group", "batch", "world", "chunk"})) {
    for (const std::string_view word : words)
      if (const Unit* unit = find_unit(kSizes, word); unit != nullptr) column.scale = unit->scale;
    return column;
  }
  return std::nullopt;
}

std::string_view bare_cell(std::string_view cell) {
  const auto outer = [](char c) { return c == ' ' || c == '"' || c == '\'' || c == '\t'; };
  while (!cell.empty() && outer(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && outer(cell.back())) cell.remove_suffix(1);
  return cell;
}

bool nothing_measured(std::string_view cell) {
  const std::string small = lowered(bare_cell(cell).substr(0, 8));
  return small.empty() || small == "-" || small == "n/a" || small == "na" || small == "nan" || small == "null";
}

std::optional<double> number_in(std::string_view cell) {
  std::string digits;
  for (const char c : bare_cell(cell).substr(0, kMostDigits))
    if (c != ',') digits += c;
  double value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size() || !(value > 0)) return std::nullopt;
  return value;
}

std::optional<double> size_in(std::string_view cell) {
  cell = bare_cell(cell);
  std::size_t letters = 0;
  while (letters < cell.size() && lower(cell[cell.size() - 1 - letters]) >= 'a' &&
         lower(cell[cell.size() - 1 - letters]) <= 'z')
    ++letters;
  const Unit* unit = letters == 0 ? nullptr : find_unit(kSizes, cell.substr(cell.size() - letters));
  if (letters > 0 && unit == nullptr) return std::nullopt;
  const auto value = number_in(cell.substr(0, cell.size() - letters));
  return value ? std::optional(*value * (unit == nullptr ? 1 : unit->scale)) : std::nullopt;
}

}  // namespace weft::truth
