#include "draw/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace weft::draw {
namespace {

// Few digits without trailing zeros: 63.015 -> "63", 112.5 -> "112.5", 1.6 -> "1.6".
std::string short_number(double v) {
  const int decimals = v >= 10 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}", v, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string short_rate(Bandwidth rate) {
  const double giga = static_cast<double>(rate.count()) / 1e9;
  return giga >= 1000 ? short_number(giga / 1000) + "T"
         : giga >= 1  ? short_number(giga) + "G"
                      : short_number(giga * 1000) + "M";
}

std::string byte_rate(Bandwidth rate) {
  const double giga = static_cast<double>(rate.count()) / 8e9;
  return giga >= 1000 ? short_number(giga / 1000) + "TB/s" : short_number(giga) + "GB/s";
}

std::string bundle_text(std::int64_t links, Bandwidth rate) {
  return links == 1 ? short_rate(rate) : fmt::format("{} x {}", grouped(links), short_rate(rate));
}

std::string ranges_text(const std::vector<std::uint32_t>& sorted) {
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!out.empty()) out += ", ";
    out += fmt::format("{}", sorted[i]);
    if (end - i > 1) out += fmt::format("{}{}", end - i > 2 ? "-" : ", ", sorted[end - 1]);
    i = end;
  }
  return out;
}

std::string ratio_text(double over, double under) {
  if (under <= 0) return "no way up";
  const double ratio = over / under;
  for (int terms = 1; terms <= 16; ++terms) {
    const double scaled = ratio * terms;
    if (std::abs(scaled - std::round(scaled)) < 1e-6 && scaled >= 0.5)
      return fmt::format("{}:{}", grouped(std::llround(scaled)), terms);
  }
  return fmt::format("{}:1", short_number(ratio));
}

std::string plural(std::string_view noun, std::int64_t n) {
  if (n == 1) return std::string(noun);
  if (noun.ends_with("leaf")) return fmt::format("{}ves", noun.substr(0, noun.size() - 1));
  return fmt::format("{}{}", noun, noun.ends_with("ch") ? "es" : "s");
}

bool is_chip(std::string_view accelerator) {
  return accelerator.starts_with("trainium") || accelerator.starts_with("inferentia");
}

std::string chips_for_gpus(std::string_view text) {
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && ((text[at] >= 'a' && text[at] <= 'z') || (text[at] >= 'A' && text[at] <= 'Z'));
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool plural = text.substr(at).starts_with("GPUs");
    const std::size_t length = plural ? 4 : 3;
    if (text.substr(at).starts_with("GPU") && !is_letter(at + length) && (at == 0 || !is_letter(at - 1))) {
      out += plural ? "chips" : "chip";
      at += length;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::vector<Stretch> fold(std::uint32_t total, std::uint32_t places) {
  std::vector<Stretch> out;
  const std::uint32_t front = total <= places ? total : places < 3 ? 1 : places - 2;
  for (std::uint32_t i = 0; i < front; ++i) out.push_back({i, 1, false});
  if (front == total) return out;
  const std::uint32_t back = places < 3 ? 0 : 1;
  out.push_back({front, total - front - back, true});
  if (back > 0) out.push_back({total - 1, 1, false});
  return out;
}

}  // namespace weft::draw
