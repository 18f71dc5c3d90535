#pragma once
// What the roles of `weft run` read alike.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "app/commands.hpp"
#include "base/units.hpp"
#include "net/seal.hpp"

namespace weft::app {

inline constexpr std::uint16_t kRunPort = 7791;

inline int wrong_run(const std::string& what, Console& console) {
  console.err << what << "\n";
  return kYourInput;
}

// Leaves `out` as it is where there is no text.
template <class Quantity>
bool read_quantity(const std::string& name, const std::string& text, std::int64_t& out, Console& console) {
  if (text.empty()) return true;
  const auto& family = unit_family<Quantity>();
  const auto value = parse_quantity(text, family);
  if (!value || *value < 0) {
    console.err << fmt::format("{} '{}' is no {}: for example {}\n", name, text, family.name, family.example);
    return false;
  }
  out = *value;
  return true;
}

inline bool read_job_key(const RunVerbOptions& options, std::optional<net::Key>& key, Console& console) {
  if (options.key.empty()) return true;
  const auto read = net::read_key(options.key);
  if (!read) {
    console.err << read.error() << "\n";
    return false;
  }
  key = *read;
  return true;
}

int run_all_reduce(const RunVerbOptions& options, Console& console);

}  // namespace weft::app
