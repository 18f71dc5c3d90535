#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/commands.hpp"
#include "app/session.hpp"
#include "base/text.hpp"
#include "collective/constants.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using spec::Entry;
using spec::Node;
using Json = nlohmann::ordered_json;

std::string value_text(const Node& node) {
  if (node.is_scalar()) return node.text;
  std::vector<std::string> parts;
  for (const Node& item : node.items) parts.push_back(value_text(item));
  if (node.is_sequence()) return fmt::format("[{}]", fmt::join(parts, ", "));
  for (const Entry& entry : node.entries) parts.push_back(fmt::format("{}: {}", entry.key, value_text(entry.value)));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

Json to_json(const Node& node) {
  if (node.is_scalar()) return node.text;
  Json out = node.is_sequence() ? Json::array() : Json::object();
  for (const Node& item : node.items) out.push_back(to_json(item));
  for (const Entry& entry : node.entries) out[entry.key] = to_json(entry.value);
  return out;
}

std::string text_of(const Node& node, std::string_view key) {
  const Entry* entry = node.find(key);
  return entry != nullptr ? value_text(entry->value) : "";
}

// Whether "scale_up.switches" is there.
bool has_field(const Node& node, const std::string& path) {
  const std::size_t dot = path.find('.');
  const Entry* entry = node.find(path.substr(0, dot));
  return entry != nullptr && (dot == std::string::npos || has_field(entry->value, path.substr(dot + 1)));
}

// Which field comes from where. `whole` is the entry with all its layers, `settled` the fields that
// nearer layers gave: what a layer says about those is not what holds.
void add_sources(const Node& layer, const Node& whole, std::set<std::string>& settled, report::Table& table) {
  const Entry* sources = layer.find("sources");
  if (sources == nullptr) return;
  std::set<std::string> given;
  for (const Node& row : sources->value.items) {
    const bool used = text_of(row, "used") != "false";
    std::string from = text_of(row, "from");
    if (!used) from += fmt::format(" says {}; not used: {}", text_of(row, "value"), text_of(row, "why"));
    std::vector<std::string> fields;
    if (const Entry* named = row.find("fields"))
      for (const Node& field : named->value.items)
        if (!settled.contains(field.text) && has_field(whole, field.text)) fields.push_back(field.text);
    given.insert(fields.begin(), fields.end());
    if (fields.empty()) continue;
    table.add({fmt::format("{}", fmt::join(fields, " ")), used ? "used" : "-", from});
  }
  settled.insert(given.begin(), given.end());
}

void show_entry(const model::Catalog& catalog, const std::string& section, const std::string& name,
                const InputOptions& input, spec::Diagnostics& diagnostics, Console& console) {
  Node wanted;
  wanted.kind = Node::Kind::scalar;
  wanted.text = name;
  const auto entry = catalog.entry(section, wanted, diagnostics);
  if (!entry) return;
  if (input.json) {
    Json record = {{"record", "catalog_entry"}, {"version", 1}, {"section", section}, {"name", name}};
    record["entry"] = to_json(*entry);
    console.out << record.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    return;
  }
  report::Facts facts;
  facts.add(section, name);
  for (const Entry& field : entry->entries)
    if (field.key != "sources" && field.key != "kind") facts.add(field.key, value_text(field.value));
  console.out << facts.text(console.width, console.colour_out) << "\n";
  report::Table sources({{"fields"}, {"", false}, {"source"}});
  std::set<std::string> settled;
  for (std::string layer = name; !layer.empty();) {  // what it says itself, then what it builds on
    const Node& own = *catalog.own(section, layer);
    add_sources(own, *entry, settled, sources);
    layer = text_of(own, "base");
  }
  console.out << sources.text(console.width, console.colour_out, true);
}

}  // namespace

// What a collective may name as its stack: one of these, perhaps with a release of NCCL behind it.
static int show_stacks(const std::string& only, bool json, Console& console) {
  report::Table table({{"stack"}, {"what it is"}, {"NCCL"}, {"its vendor sets"}});
  const auto add = [&](const collective::Stack& each) {
    const std::string profile(each.network.profile);
    if (json)
      console.out << Json({{"record", "stack"},
                           {"version", 1},
                           {"name", each.name},
                           {"text", each.text},
                           {"rules", each.release.text},
                           {"profile", profile}})
                         .dump()
                  << "\n";
    else
      table.add({each.name, std::string(each.network.text) + ", " + std::string(each.launch.text), each.release.text,
                 profile.empty() ? "-" : profile});
  };
  if (!only.empty()) {
    add(*collective::stack_named(only));
  } else {
    for (const collective::Stack& each : collective::stacks()) add(each);
  }
  if (json) return kFine;
  console.out << table.text(console.width, console.colour_out);
  if (only.empty())
    console.out << "any release may stand behind it: `weft catalog ib-nccl2.21.5` says whose rules it gets\n";
  return kFine;
}

int catalog(const CatalogOptions& options, Console& console) {
  if (options.name == "stacks") return show_stacks("", options.input.json, console);
  if (collective::stack_named(options.name) != nullptr) return show_stacks(options.name, options.input.json, console);
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = load_catalog(options.input, diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  const auto& sections = model::Catalog::sections();
  std::vector<std::string> all;
  for (const std::string& section : sections) {
    for (const std::string& name : catalog.names(section)) {
      all.push_back(name);
      if (name != options.name) continue;
      show_entry(catalog, section, name, options.input, diagnostics, console);
      return report(diagnostics, options.input, console) ? kYourInput : kFine;
    }
  }
  const bool one_section = std::find(sections.begin(), sections.end(), options.name) != sections.end();
  if (!options.name.empty() && !one_section) {
    all.insert(all.end(), sections.begin(), sections.end());
    const auto guess = did_you_mean(options.name, all);
    diagnostics.add(spec::Error::unknown_kind, {}, fmt::format("nothing in the catalog is called '{}'", options.name),
                    guess ? fmt::format("did you mean '{}'?", *guess) : "`weft catalog` lists everything");
    report(diagnostics, options.input, console);
    return kYourInput;
  }
  report::Table table({{"section"}, {"name"}, {"what it is"}});
  for (const std::string& section : sections) {
    if (one_section && section != options.name) continue;
    for (const std::string& name : catalog.names(section)) {
      const std::string text = text_of(*catalog.own(section, name), "text");
      if (options.input.json) {
        console.out
            << Json({{"record", "catalog"}, {"version", 1}, {"section", section}, {"name", name}, {"text", text}})
                   .dump()
            << "\n";
      } else {
        table.add({section, name, text});
      }
    }
  }
  if (!options.input.json) console.out << table.text(console.width, console.colour_out);
  return kFine;
}

}  // namespace weft::app
