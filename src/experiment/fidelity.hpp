#pragma once
// How closely a network is simulated.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::experiment {

enum class Fidelity : std::uint8_t {
  packet,   // every packet on every link
  flow,     // rates that links share fairly
  message,  // latency and bytes over rate
};

inline constexpr std::array kFidelities = {Fidelity::packet, Fidelity::flow, Fidelity::message};

constexpr std::string_view name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::packet:
      return "packet";
    case Fidelity::flow:
      return "flow";
    case Fidelity::message:
      break;
  }
  return "message";
}

constexpr std::optional<Fidelity> fidelity_named(std::string_view text) {
  for (const Fidelity each : kFidelities)
    if (name(each) == text) return each;
  return std::nullopt;
}

}  // namespace weft::experiment
