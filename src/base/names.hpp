#pragma once
// The names of a closed set, given once, beside its enum and in its order:
//
//   enum class Recovery { go_back_n, selective };
//   constexpr auto names_of(Recovery) {
//     using enum Recovery;
//     return std::to_array<EnumName<Recovery>>({{go_back_n, "go-back-n"}, {selective, "selective"}});
//   }
//
// Reading, errors, the JSON Schema, the reference page and printing all use them.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

namespace detail {

template <class Names>
consteval bool in_order(const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (static_cast<std::size_t>(names[i].value) != i || names[i].name.empty()) return false;
  return true;
}

template <class Enum>
inline constexpr auto kNames = names_of(Enum{});

}  // namespace detail

template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view enum_name(Enum value) {
  static_assert(detail::in_order(detail::kNames<Enum>), "the names of an enum stand in its order, one for each value");
  return detail::kNames<Enum>[static_cast<std::size_t>(value)].name;
}

// The value of that name; nothing when there is none.
template <class Enum>
constexpr std::optional<Enum> parse_enum(std::string_view name) {
  for (const EnumName<Enum>& each : detail::kNames<Enum>)
    if (each.name == name) return each.value;
  return std::nullopt;
}

// As they are written in a list of choices.
template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> out;
  for (const EnumName<Enum>& each : detail::kNames<Enum>) out.emplace_back(each.name);
  return out;
}
template <class Enum>
std::vector<std::string> enum_names(std::initializer_list<Enum> values) {
  std::vector<std::string> out;
  for (const Enum value : values) out.emplace_back(enum_name(value));
  return out;
}

}  // namespace weft
