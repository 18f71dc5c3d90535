#pragma once
// What a character is, for everything that reads, measures or shows text from outside.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

struct Character {
  std::uint32_t point = 0;
  std::size_t length = 0;  // in bytes; 0: no UTF-8 begins here
};

// The character that `text` begins with. Table 3-7 of the Unicode standard: overlong forms, surrogates and what lies
// past U+10FFFF are refused, for other programs read them differently.
Character first_character(std::string_view text);

// How many bytes to go on by: a byte that is no UTF-8 stands for itself.
inline std::size_t bytes_of_first(std::string_view text) {
  const std::size_t length = first_character(text).length;
  return length == 0 && !text.empty() ? 1 : length;
}

}  // namespace weft
