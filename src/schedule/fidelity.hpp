#pragma once
// How closely a network is simulated: a run is asked for one, and its result says which it had.

#include <array>
#include <cstdint>

#include "base/names.hpp"

namespace weft::schedule {

enum class Fidelity : std::uint8_t {
  packet,   // every packet on every link
  flow,     // rates that links share fairly
  message,  // latency and bytes over rate
};

inline constexpr std::array kFidelities = {Fidelity::packet, Fidelity::flow, Fidelity::message};

constexpr auto names_of(Fidelity) {
  using enum Fidelity;
  return std::to_array<EnumName<Fidelity>>({{packet, "packet"}, {flow, "flow"}, {message, "message"}});
}

constexpr std::string_view name(Fidelity fidelity) { return enum_name(fidelity); }

}  // namespace weft::schedule
