#pragma once
// Words for people: suggestions, plurals, columns.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The candidate a person most likely meant, or nothing when none is near enough.
std::optional<std::string> did_you_mean(std::string_view typed, const std::vector<std::string>& candidates);

// "1 server", "2 servers", "1,024 servers".
std::string counted(std::int64_t n, std::string_view noun);

// 1048576 -> "1,048,576".
std::string grouped(std::int64_t n);

// "a, b or c".
std::string either(const std::vector<std::string>& words);

// Columns a UTF-8 text takes on a terminal, with every code point counted as one.
std::size_t display_width(std::string_view utf8);

}  // namespace weft
