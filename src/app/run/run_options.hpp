#pragma once
// What the roles of `weft run` read alike.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "base/units.hpp"
#include "net/address.hpp"
#include "net/seal.hpp"

namespace weft::app {

inline constexpr std::uint16_t kRunPort = 7791;

inline int wrong_run(const std::string& what, Console& console) {
  console.err << what << "\n";
  return kYourInput;
}

// Leaves `out` as it is where there is no text.
template <class Quantity>
bool read_quantity(const std::string& name, const std::string& text, Quantity& out, Console& console) {
  if (text.empty()) return true;
  const auto& family = unit_family<Quantity>();
  const auto value = parse_quantity(text, family);
  if (!value || *value < 0) {
    console.err << fmt::format("{} '{}' is no {}: for example {}\n", name, text, family.name, family.example);
    return false;
  }
  out = Quantity(*value);
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

// The first is where packets are taken, the others are used beside it.
inline bool read_nics(const RunVerbOptions& options, std::uint16_t port, std::vector<net::Address>& nics,
                      Console& console) {
  for (const std::string& text : options.nics) {
    const auto address = net::Address::parse(text, port);
    if (!address) {
      console.err << fmt::format("--nics: {}\n", address.error());
      return false;
    }
    nics.push_back(*address);
  }
  return true;
}

int run_all_reduce(const RunVerbOptions& options, Console& console);

}  // namespace weft::app
