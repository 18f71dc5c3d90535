#pragma once
// Where the time of a collective goes: the chain of sends and arrivals that the last rank waited for, step by step
// back to the launch, and what each of them was spent on. Nothing on that chain waits for anything else, so its parts
// add up to the whole.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "collective/plan.hpp"

namespace weft::why {

enum class Resource : std::uint8_t {
  launch,           // before the first step, and what the host takes to issue an operation
  protocol,         // fences and flags of each chunk
  scale_up,         // bytes over NVLink
  pcie,             // bytes over PCIe, where it is narrower than what follows
  host_memory,      // bytes that rest in host memory
  nic,              // bytes through network cards
  fabric,           // what cards lose to collisions, pauses and repetitions behind them
  inside_latency,   // of steps within a server
  network_latency,  // of steps over the network: proxy, cards, cables, switches
};
inline constexpr std::size_t kResources = 9;
std::string_view name(Resource resource);

struct Breakdown {
  std::array<std::int64_t, kResources> time{};  // ps

  std::int64_t& operator[](Resource resource) { return time[static_cast<std::size_t>(resource)]; }
  std::int64_t operator[](Resource resource) const { return time[static_cast<std::size_t>(resource)]; }
  std::int64_t total() const;
};

// nullopt when there are too many steps to keep. `fabric_per_mille`: of the cards' rate that the stack has, how much
// the fabric leaves; the rest is the fabric's.
std::optional<Breakdown> critical_path(const collective::Team& team, const collective::PlanOptions& options,
                                       std::int64_t fabric_per_mille = 1'000);

}  // namespace weft::why
