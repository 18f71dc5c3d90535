#include "draw/utf8.hpp"

#include <cstdint>

namespace weft::draw {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Decoded {
  std::uint32_t point = 0;
  std::size_t length = 0;  // 0: not UTF-8
};

// Table 3-7 of the Unicode standard: overlong forms, surrogates and what lies past U+10FFFF are
// out.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  std::uint32_t point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    point = (point << 6) | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return {};
  return {point, length};
}

bool allowed(std::uint32_t point) {
  return point >= 0x20 && !(point >= 0x7F && point <= 0x9F) && point != 0xFFFE && point != 0xFFFF;
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Decoded next = decode(text);
    const std::size_t length = next.length == 0 ? 1 : next.length;
    if (text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
      out += ' ';
    } else if (next.length == 0 || !allowed(next.point)) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : clean_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string dot_escaped(std::string_view text) {
  std::string out;
  for (const char c : clean_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace weft::draw
