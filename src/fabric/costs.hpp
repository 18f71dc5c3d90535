#pragma once
// What a cluster takes: power, and money to rent or to buy, summed part by part. What nobody has priced stays visible
// as such, because a sum without it would pass for a whole one.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.hpp"
#include "fabric/fabric.hpp"

namespace weft::fabric {

// From NICs to switches and between switches; long links between sites are somebody else's.
std::vector<CableRun> cable_runs(const Fabric& fabric);

struct PartCosts {
  std::string_view name;  // "switches"
  std::uint64_t pieces = 0;
  std::uint64_t bought = 0;    // pieces whose purchase is known
  std::uint64_t rented = 0;    // pieces with a price per hour
  std::uint64_t unpriced = 0;  // pieces with neither
  Money purchase;
};

struct Costs {
  Power servers_power;
  Power scale_up_power;  // of domains, beside their servers
  Power switches_power;
  Power optics_power;                     // both ends of every cable
  bool power_is_partial = false;          // some servers or switches publish none
  std::vector<std::string> not_in_power;  // "servers beside their GPUs", "some optics": those and what else nobody measured
  std::optional<Price> price;             // of the servers and the storage that have one
  std::vector<PartCosts> parts;           // servers, NICs, switches, cables, storage: those that there are

  Power power() const;
  std::uint64_t pieces(std::string_view part) const;
  std::optional<Money> purchase() const;  // of everything that has one
};

// `switches`: how many there are of each kind in `Shape::switches`.
Costs costs_of(const Fabric& fabric, std::span<const std::uint64_t> switches);

}  // namespace weft::fabric
