#pragma once
// A lab on this machine: made from a plan, looked at, and removed. Each step says how far it is, and what failed.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "host/netlink.hpp"
#include "lab/plan.hpp"
#include "lab/state.hpp"
#include "render/rendered.hpp"

namespace weft::lab {

// Why this machine cannot have a lab of this size: privilege, programs, memory. Empty: it can.
std::string why_not_here(std::size_t devices);
// The same for who only enters or looks.
std::string why_not_enter();

struct Progress {
  std::string step;
  std::size_t done = 0;
  std::size_t total = 0;
};
using OnProgress = std::function<void(const Progress&)>;

// Namespaces, cables, shaping and FRR's daemons with their configuration. What failed; empty: nothing.
std::string make(const Plan& plan, const std::vector<render::File>& frr, const std::string& hosts, State& state,
                 const OnProgress& progress);

// ---- how it is

struct SessionStatus {
  std::uint32_t device = 0;
  std::string interface;
  std::string peer;   // device at the other end
  std::string state;  // Established, Active, no answer
  bool up = false;
};

struct DeviceStatus {
  std::uint32_t sessions_up = 0;
  std::uint32_t sessions = 0;
  std::uint32_t width = 0;         // equal paths towards what it should reach by most; the least of them
  std::uint32_t routes_right = 0;  // addresses that are reached as planned
  std::uint32_t routes = 0;
  std::string first_wrong;  // "10.128.0.33 by Ethernet16 instead of Ethernet16, Ethernet24"
};

struct Status {
  std::vector<SessionStatus> sessions;
  std::vector<DeviceStatus> devices;  // as in the plan
  std::size_t sessions_up() const;
  std::size_t routes_wrong() const;
};

// Sessions from FRR, routes from the kernel.
class Observer {
 public:
  Observer(const Plan& plan, const State& state);

  Status look();
  // By device, then as the kernel lists them.
  std::vector<std::vector<host::InterfaceCounters>> counters();

 private:
  const Plan& plan_;
  const State& state_;
  std::vector<std::optional<host::Netlink>> kernels_;  // by device
};

// What routes should be and are not: compares one device.
DeviceStatus compare_routes(const Device& device, const host::Routes& routes);

// Until every session is up and every device has its planned paths. The last look tells whether.
Status wait_until_up(const Plan& plan, const State& state, std::chrono::milliseconds most, const OnProgress& progress);

// ---- its end

// Processes and namespaces of the lab, then its folder. What could not be removed; empty: nothing is left.
std::string remove(State& state);

}  // namespace weft::lab
