#include "cni/agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "cni/ovs.hpp"
#include "host/frr_socket.hpp"

namespace weft::cni {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAskEvery{250};
constexpr std::chrono::seconds kRepeatEvery{kAnnouncedExpire / 4};

// nullopt: bgpd does not answer, and nobody knows.
std::optional<std::vector<Announced>> ask(const AgentOptions& options, const std::set<std::string>& tenants) {
  std::map<std::string, std::optional<Tenant>> by_address;  // nullopt: two announce it for different tenants
  for (const std::string& name : tenants) {
    const Tenant tenant = tenant_of(name);
    const auto told = host::ask_daemon(
        options.frr, "bgpd", fmt::format("show bgp ipv4 unicast large-community {} json", tenant.community()));
    if (!told) return std::nullopt;
    for (const std::string& address : parse_announced(*told))
      if (const auto [at, is_new] = by_address.emplace(address, tenant); !is_new) at->second.reset();
  }
  std::vector<Announced> all;
  for (const auto& [address, tenant] : by_address)
    if (tenant) all.push_back({address, *tenant});
  return all;
}

struct Told {
  std::vector<Announced> all;
  Clock::time_point when;
};

}  // namespace

std::vector<std::string> parse_announced(const std::string& text) {
  std::vector<std::string> addresses;
  const auto from = nlohmann::json::parse(text, nullptr, false);
  if (!from.is_object() || !from.contains("routes") || !from["routes"].is_object()) return addresses;
  for (const auto& [prefix, paths] : from["routes"].items()) {
    if (!prefix.ends_with("/32") || !paths.is_array()) continue;
    const bool best = std::any_of(paths.begin(), paths.end(), [](const nlohmann::json& path) {
      return path.is_object() && path.value("valid", false);
    });
    if (best) addresses.push_back(prefix.substr(0, prefix.size() - 3));
  }
  return addresses;
}

std::string run_agent(const AgentOptions& options, const volatile bool& stop) {
  const Records records(options.state);
  const host::Descriptor alone = records.become_agent();
  if (!alone) return fmt::format("another agent is at work in {}, or it cannot be written", options.state.string());
  const Ovs ovs(options.ovs);
  std::map<std::string, Told> told;  // by bridge
  for (bool ended = stop; !ended; std::this_thread::sleep_for(kAskEvery), ended = stop) {
    std::set<std::string> tenants;
    std::set<std::string> bridges;
    for (const Record& record : records.all(Role::ovs)) {
      tenants.insert(record.tenant);
      bridges.insert(record.bridge);
    }
    const auto all = ask(options, tenants);
    if (!all) continue;
    for (const auto& [bridge, was] : told) bridges.insert(bridge);  // of which the last pod has gone
    for (const std::string& bridge : bridges) {
      const auto was = told.find(bridge);
      const bool fresh = was != told.end() && Clock::now() - was->second.when < kRepeatEvery;
      if (was != told.end() && was->second.all == *all && (fresh || all->empty())) continue;
      if (ovs.change_flows(bridge, announced_flows(*all)).empty()) told[bridge] = {*all, Clock::now()};
    }
  }
  return "";
}

}  // namespace weft::cni
