#include "spec/schema.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"

namespace weft::spec {
namespace {

using Json = nlohmann::ordered_json;

// Tables by name in the order in which a reader meets them; a table used twice appears once.
void collect(const Table& table, std::vector<const Table*>& out) {
  for (const Table* known : out)
    if (known->name == table.name) return;
  out.push_back(&table);
  for (const Field& field : table.fields)
    if (field.object != nullptr) collect(field.object(), out);
}

std::string quantity_pattern(const UnitFamily& family) {
  std::string suffixes;
  for (const Unit& unit : family.units) {
    if (!suffixes.empty()) suffixes += '|';
    suffixes += unit.suffix;
  }
  const std::string prefix = family.prefix == "$" ? "\\$" : std::string(family.prefix);
  return fmt::format("^{}[0-9][0-9_]*(\\.[0-9]+)? ?({})$", prefix, suffixes);
}

Json value_schema(const Field& field) {
  switch (field.shape) {
    case Shape::boolean:
      return {{"type", "boolean"}};
    case Shape::integer: {
      Json out = {{"type", "integer"}};
      if (field.options.min) out["minimum"] = *field.options.min;
      if (field.options.max) out["maximum"] = *field.options.max;
      if (field.options.meant.empty()) return out;
      Json words = Json::array();
      for (const auto& [word, number] : field.options.meant) words.push_back(word);
      return {{"anyOf", {out, {{"enum", words}}}}};
    }
    case Shape::text: {
      Json out = {{"type", {"string", "number"}}};
      if (!field.choices.empty()) out = {{"enum", field.choices}};
      return out;
    }
    case Shape::quantity:
      return {{"type", "string"}, {"pattern", quantity_pattern(*field.units)}};
    case Shape::ratio:
      return {{"type", {"number", "string"}}, {"pattern", "^[0-9]+(\\.[0-9]+)?(:[0-9]+)?$"}};
    case Shape::indices:
      return {{"type", {"integer", "string", "array"}}};
    case Shape::sizes:
      return {{"type", {"string", "array"}}};
    case Shape::object: {
      Json reference = {{"$ref", "#/$defs/" + field.object().name}};
      if (field.options.section.empty()) return reference;
      return {{"anyOf", {Json{{"type", "string"}}, reference}}};
    }
  }
  return {};
}

Json field_schema(const Field& field) {
  Json out = value_schema(field);
  if (field.list) {
    const Json one = out;
    out = {{"anyOf", {Json{{"type", "array"}, {"items", one}}, one}}};
  }
  std::string text = field.options.text;
  if (!field.options.only_for.empty()) text += fmt::format(" Only for kind {}.", either(field.options.only_for));
  out["description"] = text;
  if (!field.options.fallback.empty()) {
    const Json parsed = Json::parse(field.options.fallback, nullptr, false);
    out["default"] = parsed.is_discarded() ? Json(field.options.fallback) : parsed;
  }
  return out;
}

Json object_schema(const Table& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : table.fields) {
    properties[field.name] = field_schema(field);
    if (field.options.required) required.push_back(field.name);
  }
  Json out = {{"type", "object"}, {"description", table.text}, {"additionalProperties", false}};
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string cell_type(const Field& field) {
  std::string type = type_text(field);
  if (field.shape == Shape::object) {
    type += fmt::format(" [{0}](#{0})", field.object().name);
  }
  if (!field.choices.empty()) type = "one of " + either(field.choices);
  if (const std::string range = range_text(field); !range.empty()) type += ", " + range;
  return type;
}

std::string cell_text(const Field& field) {
  std::string text = field.options.text;
  if (!field.options.section.empty()) text += fmt::format(" Kinds: `weft catalog {}`.", field.options.section);
  if (!field.options.only_for.empty()) text += fmt::format(" Only for {}.", either(field.options.only_for));
  if (!field.options.example.empty()) text += fmt::format(" Example: `{}`.", field.options.example);
  return text;
}

}  // namespace

std::string json_schema(const Table& root, const std::string& title) {
  std::vector<const Table*> tables;
  collect(root, tables);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(object_schema(root));
  Json definitions = Json::object();
  for (std::size_t i = 1; i < tables.size(); ++i) definitions[tables[i]->name] = object_schema(*tables[i]);
  schema["$defs"] = std::move(definitions);
  return schema.dump(2) + "\n";
}

std::string reference_page(const Table& root, const std::string& intro) {
  std::vector<const Table*> tables;
  collect(root, tables);
  std::string out = intro;
  for (const Table* table : tables) {
    out += fmt::format("\n## {}\n\n{}\n\n| key | value | default | meaning |\n|---|---|---|---|\n", table->name,
                       table->text);
    for (const Field& field : table->fields) {
      const std::string fallback = field.options.required           ? "required"
                                   : field.options.fallback.empty() ? ""
                                                                    : "`" + field.options.fallback + "`";
      out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, escaped(cell_type(field)), fallback,
                         escaped(cell_text(field)));
    }
  }
  return out;
}

std::string errors_page() {
  std::string out =
      "# Errors and warnings\n\nGenerated by `weft schema --errors`; `weft explain CODE` prints one of them.\n"
      "Codes E... are errors (exit 2), codes W... are warnings.\n";
  for (const ErrorInfo& error : all_errors())
    out += fmt::format("\n## {}: {}\n\n{}\n", error.code, error.title, error.explanation);
  return out;
}

}  // namespace weft::spec
