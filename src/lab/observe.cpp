#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "lab/frr.hpp"
#include "lab/lab.hpp"

namespace weft::lab {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLookEvery{200};

}  // namespace

std::size_t Status::sessions_up() const {
  return static_cast<std::size_t>(std::count_if(sessions.begin(), sessions.end(), [](const auto& s) { return s.up; }));
}

std::size_t Status::routes_wrong() const {
  std::size_t wrong = 0;
  for (const DeviceStatus& device : devices) wrong += device.routes - device.routes_right;
  return wrong;
}

DeviceStatus compare_routes(const Device& device, const host::Routes& routes) {
  DeviceStatus status;
  const std::uint32_t widest = device.planned_width();
  status.width = widest;
  for (const Reach& reach : device.reach)
    for (const std::string& address : reach.addresses) {
      ++status.routes;
      const auto found = routes.find(address);
      const std::vector<std::string> now = found == routes.end() ? std::vector<std::string>() : found->second;
      if ((reach.any ? 1 : reach.interfaces.size()) == widest)
        status.width = std::min(status.width, static_cast<std::uint32_t>(now.size()));
      const bool right = reach.any ? !now.empty() && std::includes(reach.interfaces.begin(), reach.interfaces.end(),
                                                                   now.begin(), now.end())
                                   : now == reach.interfaces;
      if (right)
        ++status.routes_right;
      else if (status.first_wrong.empty())
        status.first_wrong = fmt::format("{} by {} instead of {}", address,
                                         now.empty() ? "nothing" : fmt::format("{}", fmt::join(now, ", ")),
                                         fmt::join(reach.interfaces, reach.any ? " or " : ", "));
    }
  return status;
}

Observer::Observer(const Plan& plan, const State& state) : plan_(plan), state_(state) {
  for (std::uint32_t i = 0; i < plan.devices.size(); ++i) kernels_.push_back(host::Netlink::open(plan.netns(i)));
}

Status Observer::look() {
  Status status;
  std::vector<std::map<std::string, Session>> known(plan_.devices.size());
  for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
    for (Session& each : sessions(state_.folder(plan_.devices[i].name))) known[i][each.interface] = std::move(each);
    status.devices.push_back(kernels_[i] ? compare_routes(plan_.devices[i], kernels_[i]->host_routes())
                                         : DeviceStatus());
  }
  const auto add = [&](const End& end, const End& peer) {
    const auto found = known[end.device].find(end.interface);
    const bool up = found != known[end.device].end() && found->second.up;
    const std::string state = found == known[end.device].end() ? "no answer" : found->second.state;
    status.sessions.push_back({end.device, end.interface, plan_.devices[peer.device].name, state, up});
    status.devices[end.device].sessions += 1;
    status.devices[end.device].sessions_up += up ? 1 : 0;
  };
  for (const Link& link : plan_.links) {
    add(link.a, link.b);
    add(link.b, link.a);
  }
  return status;
}

std::vector<std::vector<host::InterfaceCounters>> Observer::counters() {
  std::vector<std::vector<host::InterfaceCounters>> all;
  for (std::optional<host::Netlink>& kernel : kernels_)
    all.push_back(kernel ? kernel->interfaces() : std::vector<host::InterfaceCounters>());
  return all;
}

Status wait_until_up(const Plan& plan, const State& state, milliseconds most, const OnProgress& progress) {
  Observer observer(plan, state);
  const Clock::time_point until = Clock::now() + most;
  for (;;) {
    Status status = observer.look();
    std::size_t routes = 0;
    for (const DeviceStatus& device : status.devices) routes += device.routes;
    const std::size_t up = status.sessions_up();
    if (progress && up < status.sessions.size())
      progress({"sessions", up, status.sessions.size()});
    else if (progress)
      progress({"routes", routes - status.routes_wrong(), routes});
    const bool done = up == status.sessions.size() && status.routes_wrong() == 0;
    if (done || Clock::now() > until) return status;
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace weft::lab
