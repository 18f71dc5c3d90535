#pragma once
// A field is described once (name, type, unit, default, range, text; of a closed set an enum with its names). From that
// description come the parser with its error texts, the JSON Schema, the reference page and the checks of --set.
//
//   template <> const Table& table_of<Link>() {
//     static const Table table = TableOf<Link>("link", "A cable between two ports.")
//         .field("rate", &Link::rate, {.text = "Speed of the port, one way.", .fallback = "400Gbps"})
//         .build();
//     return table;
//   }

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "base/ranges.hpp"
#include "base/units.hpp"
#include "spec/node.hpp"

namespace weft::spec {

class Reader;
struct Table;

struct FieldOptions {
  std::string text;
  std::string fallback = "";  // default, as it would be written in the file
  std::string example = "";
  bool required = false;
  std::vector<std::string> except = {};            // names of the field's enum that cannot be written
  std::optional<std::int64_t> min = std::nullopt;  // in the smallest unit
  std::optional<std::int64_t> max = std::nullopt;
  std::vector<std::string> only_for = {};  // values of the neighbouring `kind` that have this field
  std::string section = "";                // catalog section of a field that names a kind
  std::vector<std::pair<std::string, std::string>> meant = {};  // other words for choices
};

enum class Shape { boolean, integer, text, quantity, ratio, indices, sizes, object };

struct Field {
  std::string name;
  FieldOptions options;
  Shape shape = Shape::text;
  std::vector<std::string> choices = {};  // of a closed set: the names of its enum
  bool list = false;                      // a list of `shape`; one value alone is a list of one
  bool optional = false;                  // stays empty when it is not given
  const UnitFamily* units = nullptr;      // Shape::quantity
  const Table& (*object)() = nullptr;     // Shape::object
  std::function<void(Reader&, const Node&, const Field&, void*)> read;
};

struct Table {
  std::string name;
  std::string text;
  std::vector<Field> fields;
  std::function<void(const Node&, void*)> note_places = {};  // for structs that keep them
};

template <class T>
const Table& table_of();

// Reads trees into plain structs by their tables, complaining about everything it meets.
class Reader {
 public:
  // Looks a kind up in the catalog and lays the mapping over it; nullopt when it complained.
  using Resolve = std::function<std::optional<Node>(const std::string& section, const Node&)>;

  Reader(Diagnostics& diagnostics, Resolve resolve) : diagnostics_(diagnostics), resolve_(std::move(resolve)) {}

  template <class T>
  void read(const Node& node, T& out) {
    read_object(table_of<T>(), node, &out);
  }
  void read_object(const Table& table, const Node& node, void* out);
  // A mapping whose kind is not known: what stands in it is checked, what is missing is not.
  template <class T>
  void read_without_kind(const Node& node, T& out) {
    const bool before = std::exchange(kind_unknown_, true);
    read(node, out);
    kind_unknown_ = before;
  }

  Diagnostics& diagnostics() { return diagnostics_; }
  std::optional<Node> resolve(const Field& field, const Node& node) { return resolve_(field.options.section, node); }

  // One value of each shape. They leave `out` alone when they complain.
  void value(const Node&, const Field&, bool& out);
  void value(const Node&, const Field&, std::int64_t& out);
  void value(const Node&, const Field&, std::string& out);
  void value(const Node&, const Field&, Ratio& out);
  void value(const Node&, const Field&, Indices& out);
  void value(const Node&, const Field&, Sizes& out);
  void quantity(const Node&, const Field&, std::int64_t& out);
  // False with errors when a list is too long or has empty items.
  bool accept_items(const Node&, const Field&);

 private:
  void wrong_type(const Node&, const Field&, std::string_view wanted);
  bool in_range(const Node&, const Field&, std::int64_t value);
  std::optional<Indices::Range> index_range(const Node&, const Field&, std::string_view text);
  std::optional<Bytes> size(const Node&, const Field&, std::string_view text);
  void empty_list(const Node&, const Field&, std::string_view example);
  // The key that was probably meant.
  std::optional<std::string> unknown_key(const Table&, const Entry&, const std::optional<std::string>& kind);

  Diagnostics& diagnostics_;
  Resolve resolve_;
  bool kind_unknown_ = false;
};

// How a range reads in a message and in the reference: "1 to 64", "at least 1", "" when unbounded.
std::string range_text(const Field& field);
// "rate", "whole number", "list of text", ...
std::string type_text(const Field& field);

namespace detail {

template <class T>
struct is_quantity : std::false_type {};
template <class D>
struct is_quantity<Quantity<D>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};

template <class V>
void describe_value(Field& field) {
  if constexpr (is_optional<V>::value) {
    describe_value<typename V::value_type>(field);
    field.optional = true;
  } else if constexpr (is_vector<V>::value) {
    describe_value<typename V::value_type>(field);
    field.list = true;
  } else if constexpr (is_quantity<V>::value) {
    field.shape = Shape::quantity;
    field.units = &unit_family<V>();
  } else if constexpr (std::is_enum_v<V>) {
    field.shape = Shape::text;
    field.choices = enum_names<V>();
    for (const std::string& name : field.options.except) std::erase(field.choices, name);
  } else if constexpr (std::is_same_v<V, bool>) {
    field.shape = Shape::boolean;
  } else if constexpr (std::is_same_v<V, std::int64_t>) {
    field.shape = Shape::integer;
  } else if constexpr (std::is_same_v<V, std::string>) {
    field.shape = Shape::text;
  } else if constexpr (std::is_same_v<V, Ratio>) {
    field.shape = Shape::ratio;
  } else if constexpr (std::is_same_v<V, Indices>) {
    field.shape = Shape::indices;
  } else if constexpr (std::is_same_v<V, Sizes>) {
    field.shape = Shape::sizes;
  } else {
    field.shape = Shape::object;
    field.object = &table_of<V>;
  }
}

template <class V>
void read_value(Reader& reader, const Node& node, const Field& field, V& out) {
  if constexpr (is_optional<V>::value) {
    typename V::value_type inner{};
    read_value(reader, node, field, inner);
    out = std::move(inner);
  } else if constexpr (is_vector<V>::value) {
    out.clear();
    if (!reader.accept_items(node, field)) return;
    const std::vector<Node> alone = {node};
    for (const Node& item : node.is_sequence() ? node.items : alone)
      read_value(reader, item, field, out.emplace_back());
  } else if constexpr (is_quantity<V>::value) {
    std::int64_t count = out.count();
    reader.quantity(node, field, count);
    out = V(count);
  } else if constexpr (std::is_enum_v<V>) {
    std::string name;
    reader.value(node, field, name);  // takes none but the choices
    if (const auto value = parse_enum<V>(name)) out = *value;
  } else if constexpr (std::is_class_v<V> && !std::is_same_v<V, std::string> && !std::is_same_v<V, Ratio> &&
                       !std::is_same_v<V, Indices> && !std::is_same_v<V, Sizes>) {
    if (field.options.section.empty()) {
      reader.read(node, out);
    } else if (const auto resolved = reader.resolve(field, node)) {
      reader.read(*resolved, out);
    } else if (node.is_map()) {
      reader.read_without_kind(node, out);
    }
  } else {
    reader.value(node, field, out);
  }
}

}  // namespace detail

template <class T>
class TableOf {
 public:
  TableOf(std::string name, std::string text) : table_{std::move(name), std::move(text), {}, {}} {}

  template <class V, class Owner>
  TableOf& field(std::string name, V Owner::*member, FieldOptions options) {
    Field field;
    field.name = std::move(name);
    field.options = std::move(options);
    detail::describe_value<V>(field);
    field.read = [member](Reader& reader, const Node& node, const Field& self, void* object) {
      detail::read_value(reader, node, self, static_cast<T*>(object)->*member);
    };
    table_.fields.push_back(std::move(field));
    return *this;
  }

  // All fields of a struct that T derives from.
  template <class Base>
  TableOf& include() {
    static_assert(std::is_base_of_v<Base, T>);
    for (Field field : table_of<Base>().fields) {
      field.read = [inner = field.read](Reader& reader, const Node& node, const Field& self, void* object) {
        inner(reader, node, self, static_cast<Base*>(static_cast<T*>(object)));
      };
      table_.fields.push_back(std::move(field));
    }
    return *this;
  }

  // Keeps where the values of the mapping stand.
  TableOf& places(KeyPlaces T::*member) {
    table_.note_places = [member](const Node& node, void* object) {
      static_cast<T*>(object)->*member = places_of(node);
    };
    return *this;
  }

  Table build() { return std::move(table_); }

 private:
  Table table_;
};

}  // namespace weft::spec
