#pragma once
// Where the time of a collective goes: the chain of sends and arrivals that the last rank waited for, step by step
// back to the launch, and what each of them was spent on. Nothing on that chain waits for anything else, so its parts
// add up to the whole.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "collective/plan.hpp"

namespace weft::why {

enum class Resource : std::uint8_t {
  launch,           // before the first step, and what the host takes to issue an operation
  protocol,         // fences and flags of each chunk
  scale_up,         // bytes over NVLink
  pcie,             // bytes over PCIe, where it is narrower than what follows
  host_memory,      // bytes that rest in host memory
  nic,              // bytes through NICs
  slow_nic,         // what those take longer that a fault slows down; of all NICs,
  fabric,           // what NICs lose to queues behind them,
  pause,            // while they may not send,
  resending,        // and to what they send again
  inside_latency,   // of steps within a server
  network_latency,  // of steps over the network: proxy, NICs, cables, switches
  waiting,          // for ranks that come late or are slow
};
inline constexpr std::size_t kResources = 13;
std::string_view name(Resource resource);

struct Breakdown {
  // What a rank keeps the others waiting for: that it came late, and what it takes longer than it should.
  struct Waited {
    std::uint32_t rank = 0;
    Duration late = {};
    Duration slow = {};
    Duration total() const { return late + slow; }
  };

  std::array<Duration, kResources> time{};
  std::vector<Waited> waited;  // longest first: what `waiting` is made of

  Duration& operator[](Resource resource) { return time[static_cast<std::size_t>(resource)]; }
  Duration operator[](Resource resource) const { return time[static_cast<std::size_t>(resource)]; }
  Duration total() const;
};

// What a fabric makes of the NICs' rate that the stack has, in thousandths of their time.
struct FabricLoss {
  std::int64_t left = 1'000;  // that bytes are sent in; of the rest,
  std::int64_t slow = 0;      // a NIC was slower than the others,
  std::int64_t paused = 0;    // NICs were told to wait,
  std::int64_t resent = 0;    // or sent again what was lost; queues take what remains
};

// nullopt when there are too many steps to keep.
std::optional<Breakdown> critical_path(const collective::Team& team, const collective::PlanOptions& options,
                                       const FabricLoss& loss = {});

}  // namespace weft::why
