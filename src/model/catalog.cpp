#include "model/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "model/embedded_catalog.hpp"
#include "model/kinds.hpp"
#include "model/training.hpp"
#include "spec/files.hpp"

namespace weft::model {
namespace {

using spec::Diagnostics;
using spec::Entry;
using spec::Error;
using spec::Node;

// Changing a count makes the kind's placement lists for that count meaningless.
constexpr std::pair<std::string_view, std::string_view> kListOfCount[] = {{"nics", "nic_switch"},
                                                                          {"gpus", "gpu_switch"},
                                                                          {"pcie_switches", "nic_switch"},
                                                                          {"pcie_switches", "gpu_switch"},
                                                                          {"pcie_switches", "switch_socket"},
                                                                          {"sockets", "switch_socket"}};

Node over_kind(Node base, const Node& over) {
  for (const auto& [count, list] : kListOfCount) {
    if (over.find(count) == nullptr || over.find(list) != nullptr) continue;
    std::erase_if(base.entries, [list = list](const Entry& entry) { return entry.key == list; });
  }
  return spec::overlay(base, over);
}

void set_kind(Node& node, const Node& name) {
  std::erase_if(node.entries, [](const Entry& entry) { return entry.key == "kind"; });
  node.entries.insert(node.entries.begin(), Entry{"kind", name.place, name});
}

bool is_number(const Node& node) {
  return node.is_scalar() && !node.text.empty() &&
         (std::isdigit(static_cast<unsigned char>(node.text[0])) || node.text[0] == '$');
}

// "scale_up.switches" for every number below `node`; a list of numbers is one field.
void numbers_of(const Node& node, const std::string& path, std::map<std::string, spec::Place>& out) {
  for (const Entry& entry : node.entries) {
    if (path.empty() && (entry.key == "sources" || entry.key == "text")) continue;
    if (entry.key == "ultracluster") continue;  // a name that looks like a number
    const std::string here = path.empty() ? entry.key : path + "." + entry.key;
    if (is_number(entry.value) ||
        (entry.value.is_sequence() && std::any_of(entry.value.items.begin(), entry.value.items.end(), is_number)))
      out[here] = entry.key_place;
    numbers_of(entry.value, here, out);
  }
}

void check_sources(const std::string& name, const Node& node, Diagnostics& diagnostics) {
  std::map<std::string, spec::Place> numbers;
  numbers_of(node, "", numbers);
  std::map<std::string, int> used;
  if (const Entry* sources = node.find("sources")) {
    for (const Node& row : sources->value.items) {
      const Entry* flag = row.find("used");
      const Entry* fields = row.find("fields");
      if (fields == nullptr || (flag && flag->value.text == "false")) continue;
      for (const Node& field : fields->value.items) {
        ++used[field.text];
        if (!numbers.contains(field.text))
          diagnostics.add(Error::no_source, field.place, fmt::format("'{}' has no number '{}'", name, field.text),
                          "`fields` names the numbers of this entry, not of its base");
      }
    }
  }
  for (const auto& [field, place] : numbers)
    if (used[field] != 1)
      diagnostics.add(Error::no_source, place,
                      fmt::format("'{}' of '{}' is named by {} used source rows", field, name, used[field]),
                      "a `sources` row with its name in `fields`");
}

}  // namespace

const std::vector<std::string>& Catalog::sections() {
  static const std::vector<std::string> names = {"servers", "gpus", "nics", "switches", "links", "cables", "models"};
  return names;
}

namespace {

// The section of a file that is compiled in: "<...>/gpus.yaml" has the section "gpus" and no other.
std::string section_in(std::string_view file) {
  file.remove_prefix(file.rfind('/') + 1);
  return std::string(file.substr(0, file.find('.')));
}

const EmbeddedFile& embedded_section(const std::string& section) {
  const auto& files = embedded_catalog();
  return *std::find_if(files.begin(), files.end(),
                       [&](const EmbeddedFile& file) { return section_in(file.name) == section; });
}

// A section of those, at the places that it has in the sources that the catalog was made with, where this file has that
// number; with a name, of that entry alone.
std::vector<Entry> read_embedded(const std::string& section, std::uint32_t source, std::string_view name = {}) {
  const EmbeddedFile& file = embedded_section(section);
  std::string text(file.text);
  if (!name.empty()) {
    // Other lines are empty, so that those of the entry stay where they are. Its name stands two columns in.
    text.clear();
    bool within = false;
    for (std::string_view rest = file.text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.starts_with("  ") && !line.starts_with("   "))
        within = line.substr(2).starts_with(name) && line.substr(2 + name.size()).starts_with(":");
      if (within || line.starts_with(section)) text += line;
      text += '\n';
    }
  }
  Diagnostics own;
  for (std::uint32_t other = 1; other < source; ++other) own.sources().add("", "");
  const Node root = spec::parse_yaml(own.sources().add(std::string(file.name), std::move(text)), own);
  if (own.has_errors() || root.entries.size() != 1 || root.entries[0].key != section) std::abort();  // tests read all
  return root.entries[0].value.entries;
}

// Most runs ask for a few entries, and small runs take less than reading a section does. What is compiled in is the
// same for all catalogs.
const Node* embedded_entry(const std::string& section, std::uint32_t source, const std::string& name) {
  if (name.empty()) return nullptr;
  static std::mutex reading;
  static std::map<std::tuple<std::string, std::uint32_t, std::string>, Node> read;
  const std::scoped_lock lock(reading);
  const auto key = std::make_tuple(section, source, name);
  if (const auto known = read.find(key); known != read.end()) return &known->second;
  for (Entry& entry : read_embedded(section, source, name))
    return &read.emplace(key, std::move(entry.value)).first->second;
  return nullptr;
}

}  // namespace

Catalog Catalog::embedded(Diagnostics& diagnostics) {
  Catalog catalog;
  for (const EmbeddedFile& file : embedded_catalog()) {
    auto section = std::make_shared<Section>();
    section->source = diagnostics.sources().add(std::string(file.name), std::string(file.text));
    catalog.sections_[section_in(file.name)] = std::move(section);
  }
  return catalog;
}

const Catalog::Entries& Catalog::entries(const std::string& name) const {
  static const Entries none;
  const auto found = sections_.find(name);
  if (found == sections_.end()) return none;
  Section& section = *found->second;
  std::call_once(section.once, [&] {
    if (section.source == 0) return;
    for (const Entry& entry : read_embedded(name, section.source)) section.entries.insert_or_assign(entry.key, entry);
  });
  return section.entries;
}

void Catalog::add_directory(const std::filesystem::path& directory, Diagnostics& diagnostics) {
  std::set<std::filesystem::path> files;  // sorted: the same order on every file system
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(directory, error))
    if (item.path().extension() == ".yaml") files.insert(item.path());
  if (error || files.empty()) {
    const std::uint32_t source = diagnostics.sources().add(directory.string(), "");
    diagnostics.add(Error::cannot_read, {source, 0, 0, 1},
                    error ? "not a directory that can be read" : "no *.yaml files in this directory",
                    "--catalog takes a directory of catalog files");
  }
  for (const auto& path : files)
    if (const auto source = spec::load_file(path, diagnostics)) add_source(*source, diagnostics);
}

void Catalog::add_source(std::uint32_t source, Diagnostics& diagnostics) {
  const bool had_errors = diagnostics.has_errors();
  const Node root = spec::parse_yaml(source, diagnostics);
  if (!had_errors && diagnostics.has_errors()) return;  // what is left of it would only raise more
  if (!root.is_map()) {
    diagnostics.add(Error::wrong_type, {source, 0, 0, 1}, "a catalog file is a mapping of sections",
                    fmt::format("sections: {}", either(sections())));
    return;
  }
  for (const Entry& section : root.entries) {
    const auto& known = sections();
    if (std::find(known.begin(), known.end(), section.key) == known.end()) {
      const auto guess = did_you_mean(section.key, known);
      diagnostics.add(Error::unknown_key, section.key_place,
                      fmt::format("'{}' is not a catalog section", spec::shown(section.key)),
                      guess ? fmt::format("did you mean '{}'?", *guess) : fmt::format("sections: {}", either(known)));
      continue;
    }
    if (!section.value.is_map()) {
      diagnostics.add(
          Error::wrong_type, section.value.place,
          fmt::format("'{}' must be a mapping of names, not {}", section.key, spec::describe(section.value)),
          fmt::format("{}: {{my-own: {{base: ...}}}}", section.key));
      continue;
    }
    auto more = std::make_shared<Section>();  // copies of this catalog keep theirs
    more->entries = entries(section.key);
    for (const Entry& entry : section.value.entries) {
      if (entry.value.is_map()) {
        more->entries.insert_or_assign(entry.key, entry);
      } else {
        diagnostics.add(
            Error::wrong_type, entry.value.place,
            fmt::format("'{}' must be a mapping, not {}", spec::shown(entry.key), spec::describe(entry.value)),
            "an entry has keys with values, such as base: and what differs from it");
      }
    }
    sections_[section.key] = std::move(more);
  }
}

std::vector<std::string> Catalog::names(const std::string& section) const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries(section)) out.push_back(name);
  return out;
}

const Node* Catalog::own(const std::string& section, const std::string& name) const {
  const auto place = sections_.find(section);
  if (place == sections_.end()) return nullptr;
  if (place->second->source != 0) return embedded_entry(section, place->second->source, name);
  const auto found = place->second->entries.find(name);
  return found == place->second->entries.end() ? nullptr : &found->second.value;
}

std::optional<Node> Catalog::entry(const std::string& section, const Node& name, Diagnostics& diagnostics) const {
  std::vector<std::string> chain;
  std::vector<Node> layers;
  Node at = name;
  while (true) {
    constexpr std::size_t kLongestChain = 32;
    const bool cycle = std::find(chain.begin(), chain.end(), at.text) != chain.end();
    if (cycle || chain.size() >= kLongestChain) {
      diagnostics.add(Error::reference_cycle, at.place,
                      cycle ? fmt::format("'{}' builds on itself", spec::shown(at.text))
                            : fmt::format("'{}' builds on more than {} others", spec::shown(name.text), kLongestChain),
                      cycle ? fmt::format("the chain is {} -> {}; one of them must not have a 'base'",
                                          fmt::join(chain, " -> "), at.text)
                            : "let entries build on the first of them");
      return std::nullopt;
    }
    chain.push_back(at.text);
    const Node* here = own(section, at.text);
    if (here == nullptr) {
      const auto guess = did_you_mean(at.text, names(section));
      const std::string own_words = section == "models" ? " (a model of your own says all keys but kind)" : "";
      diagnostics.add(
          Error::unknown_kind, at.place,
          fmt::format("no '{}' among the {} of the catalog", spec::shown(at.text), section),
          (guess ? fmt::format("did you mean '{}'?", *guess) : fmt::format("`weft catalog {}` lists them", section)) +
              own_words);
      return std::nullopt;
    }
    layers.push_back(*here);
    const Entry* base = layers.back().find("base");
    if (base == nullptr || !base->value.is_scalar()) break;
    at = base->value;
  }
  Node merged = layers.back();
  for (auto layer = layers.rbegin() + 1; layer != layers.rend(); ++layer) merged = over_kind(std::move(merged), *layer);
  set_kind(merged, name);
  merged.place = name.place;  // errors about the whole point at who asked for it
  return merged;
}

std::optional<Node> Catalog::resolve(const std::string& section, const Node& node, Diagnostics& diagnostics) const {
  if (node.is_scalar()) return entry(section, node, diagnostics);
  const Entry* kind = node.find("kind");
  if (!node.is_map() || kind == nullptr) return node;
  if (!kind->value.is_scalar()) {
    diagnostics.add(Error::wrong_type, kind->value.place,
                    fmt::format("'kind' must be text, not {}", spec::describe(kind->value)),
                    fmt::format("`weft catalog {}` lists the names", section));
    return std::nullopt;
  }
  auto base = entry(section, kind->value, diagnostics);
  if (!base) return std::nullopt;
  return over_kind(std::move(*base), node);
}

spec::Reader Catalog::reader(Diagnostics& diagnostics) const {
  return {diagnostics, [this, &diagnostics](const std::string& section, const Node& node) {
            return resolve(section, node, diagnostics);
          }};
}

void Catalog::check(Diagnostics& diagnostics) const {
  const auto read = [&]<class T>(const std::string& section) {
    for (const std::string& name : names(section)) {
      load<T>(section, name, diagnostics);
      check_sources(name, *own(section, name), diagnostics);
    }
  };
  read.template operator()<ServerKind>("servers");
  read.template operator()<GpuKind>("gpus");
  read.template operator()<NicKind>("nics");
  read.template operator()<SwitchKind>("switches");
  read.template operator()<LinkKind>("links");
  read.template operator()<CableKind>("cables");
  read.template operator()<LanguageModelKind>("models");
}

}  // namespace weft::model
