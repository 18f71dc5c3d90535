#include "draw/escaping.hpp"

#include <cstdint>

#include "base/markup.hpp"
#include "base/utf8.hpp"

namespace weft::draw {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool allowed(std::uint32_t point) {
  return point >= 0x20 && !(point >= 0x7F && point <= 0x9F) && point != 0xFFFE && point != 0xFFFF;
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character next = first_character(text);
    if (text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
      out += ' ';
    } else if (next.length == 0 || !allowed(next.point)) {
      out += kReplacement;
    } else {
      out += text.substr(0, next.length);
    }
    text.remove_prefix(bytes_of_first(text));
  }
  return out;
}

std::string xml_escaped(std::string_view text) { return markup_escaped(clean_utf8(text)); }

std::string dot_escaped(std::string_view text) {
  std::string out;
  for (const char c : clean_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace weft::draw
