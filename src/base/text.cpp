#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/utf8.hpp"

namespace weft {
namespace {

// Edit distance with neighbouring letters swapped counted as one mistake.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = row[j - 1] + (a[i - 1] != b[j - 1]);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.size()];
}

std::string folded(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    out += c;
  }
  return out;
}

}  // namespace

std::optional<std::string> did_you_mean(std::string_view typed, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 64;  // beyond it the typed text is not a misspelt name
  if (typed.empty() || typed.size() > kLongestWord) return std::nullopt;
  const std::string wanted = folded(typed);
  const std::size_t allowed = std::max<std::size_t>(1, wanted.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = 2 * allowed + 2;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    std::size_t d = 2 * distance(wanted, name);
    // "h100" for "hgx-h100": a whole part of the name is a good guess, but never beats a typo.
    if (wanted.size() >= 3 && name.find(wanted) != std::string::npos) d = std::min(d, 2 * allowed + 1);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::int64_t n, std::string_view noun) {
  if (n == 1) return fmt::format("1 {}", noun);
  const std::string_view stem = noun.substr(0, noun.size() - 1);
  if (noun.ends_with("f")) return fmt::format("{} {}ves", grouped(n), stem);   // leaves
  if (noun.ends_with("ry")) return fmt::format("{} {}ies", grouped(n), stem);  // entries
  const bool sibilant = noun.ends_with("ch") || noun.ends_with("s") || noun.ends_with("x");
  return fmt::format("{} {}{}", grouped(n), noun, sibilant ? "es" : "s");
}

std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

namespace {

// Two columns on a terminal: Unicode's East Asian Width W and F, as blocks.
bool is_wide(std::uint32_t point) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kWide[] = {
      {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
      {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
      {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
      {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
  };
  return std::any_of(std::begin(kWide), std::end(kWide),
                     [&](const auto& block) { return point >= block.first && point <= block.second; });
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    width += is_wide(first_character(utf8).point) ? 2 : 1;
    utf8.remove_prefix(bytes_of_first(utf8));
  }
  return width;
}

}  // namespace weft
