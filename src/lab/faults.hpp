#pragma once
// What can be broken in a lab, and how.

#include <cstdint>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "base/result.hpp"
#include "lab/plan.hpp"

namespace weft::lab {

enum class FaultKind { dead, silent, loss, rate };
constexpr auto names_of(FaultKind) {
  using enum FaultKind;
  return std::to_array<EnumName<FaultKind>>({{dead, "dead"}, {silent, "silent"}, {loss, "loss"}, {rate, "rate"}});
}

enum class FaultPlace { link, network_switch, nic };
constexpr auto names_of(FaultPlace) {
  using enum FaultPlace;
  return std::to_array<EnumName<FaultPlace>>({{link, "link"}, {network_switch, "switch"}, {nic, "nic"}});
}

// dead: down at both ends, and seen at once. silent: sessions stay, packets vanish. loss: a share of what arrives
// vanishes, sessions' packets too. rate: a share of the rate is left.
struct Fault {
  FaultPlace what = FaultPlace::link;
  std::string name;  // leaf0:spine1, spine0, s0/pf1
  FaultKind kind = FaultKind::dead;
  std::uint32_t per_mille = 0;  // of loss and rate
  std::vector<std::uint32_t> links;

  std::string text() const;  // "link leaf0:spine1 loss 5%"
};

// The fault that these words name: {"link", "leaf0:spine1", "loss", "5%"}.
Result<Fault, std::string> parse_fault(const Plan& plan, const std::vector<std::string>& words);

// One that has the same name; what `heal` looks for.
bool same_place(const Fault& fault, const std::string& what, const std::string& name);

// What an end of a link must do with these faults of its link.
struct LinkState {
  bool up = true;
  bool silent = false;
  std::uint32_t loss_per_mille = 0;
  std::uint32_t rate_per_mille = 1000;

  bool operator==(const LinkState&) const = default;
};
LinkState state_of_link(const std::vector<Fault>& faults, std::uint32_t link);

// For nft -f in the device's namespace: all rules of the lab there, instead of those that were.
std::string filter_rules(const Plan& plan, const std::vector<Fault>& faults, std::uint32_t device);

// Makes the machine as `after` says where that differs from `before`. What failed; empty: nothing.
std::string apply_faults(const Plan& plan, const std::vector<Fault>& before, const std::vector<Fault>& after);

}  // namespace weft::lab
