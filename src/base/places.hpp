#pragma once
// Where something was written, for whoever finds it wrong later.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// A span of a source text, 1-based. source 0 is "nowhere": the error concerns the whole input.
struct Place {
  std::uint32_t source = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // in bytes
  std::uint32_t length = 1;
};

// The values of a mapping. Of what was not read from a text: nowhere.
struct KeyPlaces {
  Place whole;
  std::vector<std::pair<std::string, Place>> values;

  // The mapping's own where the key is not given.
  Place of(std::string_view key) const {
    for (const auto& [name, place] : values)
      if (name == key) return place;
    return whole;
  }
};

}  // namespace weft
