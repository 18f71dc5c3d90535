#pragma once
// A YAML document as a tree whose every part knows where it was written. Plain values: it is small,
// copied freely, and merged (`overlay`) to put a user's overrides over a kind from the catalog.

#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::spec {

struct Entry;

struct Node {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  Place place;
  std::string text;     // scalars
  bool quoted = false;  // "8" is text, 8 is a number
  std::vector<Node> items;
  std::vector<Entry> entries;

  const Entry* find(std::string_view key) const;
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_map() const { return kind == Kind::map; }
  bool is_sequence() const { return kind == Kind::sequence; }
};

struct Entry {
  std::string key;
  Place key_place;
  Node value;
};

// Where the values of a mapping stand.
KeyPlaces places_of(const Node& node);

// "a number", "text", "a mapping", ...: what a person sees there.
std::string_view describe(const Node& node);

// `over` on top of `base`: mappings merge key by key, anything else is replaced. A mapping over a
// name means "that kind, with these changes": {power: 600W} over h100-sxm.
Node overlay(const Node& base, const Node& over);

// A text as it stands in a message: cut when it is long.
std::string shown(std::string_view text);

// False with an error when the source is too large, not UTF-8 or holds control characters.
bool check_text(std::uint32_t source, Diagnostics& diagnostics);

// Reads one YAML document. On an error the returned node is whatever was understood so far.
Node parse_yaml(std::uint32_t source, Diagnostics& diagnostics);

// Applies one `path=value` to the document.
void apply_set(Node& root, std::string_view assignment, Diagnostics& diagnostics);

}  // namespace weft::spec
