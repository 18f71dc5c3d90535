#include "spec/node.hpp"

#include <charconv>

#include <fmt/format.h>

#include <algorithm>

namespace weft::spec {

const Entry* Node::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

KeyPlaces places_of(const Node& node) {
  KeyPlaces places{node.place, {}};
  for (const Entry& entry : node.entries) places.values.emplace_back(entry.key, entry.value.place);
  return places;
}

std::string_view describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a mapping";
    case Node::Kind::scalar:
      break;
  }
  if (node.quoted || node.text.empty()) return "text";
  if (node.text == "true" || node.text == "false") return "true/false";
  const bool digits =
      std::all_of(node.text.begin(), node.text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return digits ? "a number" : "text";
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not inside a character
  return std::string(text.substr(0, end)) + "...";
}

Node overlay(const Node& base, const Node& over) {
  if (!over.is_map()) return over;
  Node merged = over;
  if (base.is_scalar() && over.find("kind") == nullptr) {
    merged.entries.insert(merged.entries.begin(), Entry{"kind", base.place, base});
    return merged;
  }
  if (!base.is_map()) return over;
  // A different kind starts afresh: the old kind's fields do not describe the new one.
  const Entry* old_kind = base.find("kind");
  const Entry* new_kind = over.find("kind");
  if (old_kind && new_kind && old_kind->value.text != new_kind->value.text) return over;
  for (const Entry& entry : base.entries) {
    const auto mine = std::find_if(merged.entries.begin(), merged.entries.end(),
                                   [&](const Entry& candidate) { return candidate.key == entry.key; });
    if (mine == merged.entries.end()) {
      merged.entries.push_back(entry);
    } else {
      mine->value = overlay(entry.value, mine->value);
    }
  }
  return merged;
}

namespace {

// Walks one step of a --set path, creating mappings on the way; nullptr when the step is wrong.
Node* step(Node& at, std::string_view key, Place place, std::string& problem, std::string& help) {
  if (at.is_sequence()) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc{} || end != key.data() + key.size() || index >= at.items.size()) {
      problem = fmt::format("'{}' is not a position in a list of {}", shown(key), at.items.size());
      help = at.items.empty() ? "the list is empty" : fmt::format("positions count from 0 to {}", at.items.size() - 1);
      return nullptr;
    }
    return &at.items[index];
  }
  if (at.is_scalar()) {  // `--set servers.gpu.power=600W` where the file says `gpu: h100-sxm`
    Node kind = at;
    at = Node{};
    at.kind = Node::Kind::map;
    at.place = place;
    at.entries.push_back({"kind", kind.place, kind});
  }
  at.kind = Node::Kind::map;
  const auto found =
      std::find_if(at.entries.begin(), at.entries.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found != at.entries.end()) return &found->value;
  Node fresh;
  fresh.place = place;
  at.entries.push_back({std::string(key), place, fresh});
  return &at.entries.back().value;
}

void move_places(Node& node, std::uint32_t source, std::uint32_t shift) {
  const auto move = [&](Place& place) {
    place.source = source;
    place.column += place.line == 1 ? shift : 0;
  };
  move(node.place);
  for (Node& item : node.items) move_places(item, source, shift);
  for (Entry& entry : node.entries) {
    move(entry.key_place);
    move_places(entry.value, source, shift);
  }
}

}  // namespace

void apply_set(Node& root, std::string_view assignment, Diagnostics& diagnostics) {
  const std::uint32_t source = diagnostics.sources().add("--set", std::string(assignment));
  const auto equals = assignment.find('=');
  const Place start{source, 1, 1, static_cast<std::uint32_t>(std::max<std::size_t>(1, assignment.size()))};
  if (equals == std::string_view::npos || equals == 0) {
    diagnostics.add(Error::bad_set, start, "--set needs path=value", "for example --set fabric.spines=8");
    return;
  }
  Node* at = &root;
  std::string_view path = assignment.substr(0, equals);
  std::uint32_t column = 1;
  while (true) {
    const auto dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    const Place place{source, 1, column, static_cast<std::uint32_t>(std::max<std::size_t>(1, key.size()))};
    std::string problem = "a step of the path is empty";
    std::string help = "a path names keys and list positions, as in servers.0.count";
    at = key.empty() ? nullptr : step(*at, key, place, problem, help);
    if (at == nullptr) {
      diagnostics.add(Error::bad_set, place, problem, help);
      return;
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
    column += static_cast<std::uint32_t>(dot + 1);
  }
  // The value is YAML itself, so that --set fabric.link='{rate: 800Gbps}' works. It is parsed as a
  // document of its own and its places moved to where it stands on the command line.
  const std::string value(assignment.substr(equals + 1));
  const std::uint32_t scratch = diagnostics.sources().add("--set", value);
  Node parsed = parse_yaml(scratch, diagnostics);
  move_places(parsed, source, static_cast<std::uint32_t>(equals + 1));
  parsed.place.line = 1;
  parsed.place.column = std::max(parsed.place.column, static_cast<std::uint32_t>(equals + 2));
  *at = overlay(*at, parsed);
}

}  // namespace weft::spec
