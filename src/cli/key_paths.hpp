#pragma once
// The keys that --set, --vary and --over take, with the words that some of them allow: a view of the JSON Schema.

#include <string>
#include <vector>

namespace weft::cli {

struct KeyPath {
  std::string path;                 // transport.kind
  std::vector<std::string> values;  // srd, tcp, ...; empty: not a word of a few
};
std::vector<KeyPath> key_paths();

}  // namespace weft::cli
