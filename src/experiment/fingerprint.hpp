#pragma once
// A hash of what the user gave: equal inputs have equal fingerprints, so results can be matched.

#include <cstdint>
#include <string_view>

#include "base/digest.hpp"

namespace weft::experiment {

class Fingerprint {
 public:
  void add(std::uint64_t number) { digest_.add(number); }
  void add(std::string_view text) {
    digest_.add(text.size());  // keeps "ab", "c" and "a", "bc" apart
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t word = 0;
      for (const char c : text.substr(at, 8)) word = word << 8 | static_cast<unsigned char>(c);
      digest_.add(word);
    }
  }
  std::uint64_t value() const { return digest_.value(); }

 private:
  Digest digest_;
};

}  // namespace weft::experiment
