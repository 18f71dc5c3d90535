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
#include "host/process.hpp"

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

// How the kernel would reach each of them over the bridge, for the bridge to do it by itself.
std::vector<Announced> with_ways(std::vector<Announced> all, const Ovs& ovs, const std::string& bridge,
                                 const std::string& uplink) {
  const auto number = ovs.number_of(uplink);
  const std::string mac = ovs.mac_of(bridge);
  if (!number || mac.empty()) return all;
  const auto words = [](std::vector<std::string> of) {
    const host::Finished done = host::run({std::move(of), "", ""});
    return done.code == 0 ? done.text : "";
  };
  const auto hops = next_hops(words({"ip", "-j", "-4", "route", "show", "dev", bridge}),
                              words({"ip", "-j", "neigh", "show", "dev", bridge}), bridge);
  for (Announced& each : all)
    if (const auto hop = hops.find(each.address); hop != hops.end()) each.way = by_uplink(*number, mac, hop->second);
  return all;
}

struct Told {
  std::vector<Announced> all;
  Clock::time_point when;
};

}  // namespace

std::map<std::string, std::string> next_hops(const std::string& routes, const std::string& neighbours,
                                             const std::string& interface) {
  using nlohmann::json;
  const auto is = [&](const json& row, const char* key) {
    return row.is_object() && row.contains(key) && row[key].is_string();
  };
  const auto elsewhere = [&](const json& row) { return is(row, "dev") && row["dev"] != interface; };
  std::map<std::string, std::string> macs;  // of neighbours
  const json known = json::parse(neighbours, nullptr, false);
  for (const json& row : known.is_array() ? known : json::array())
    if (is(row, "dst") && is(row, "lladdr") && !elsewhere(row)) macs[row["dst"]] = row["lladdr"];
  std::map<std::string, std::string> hops;
  const json all = json::parse(routes, nullptr, false);
  for (const json& row : all.is_array() ? all : json::array()) {
    if (!is(row, "dst") || elsewhere(row)) continue;
    const bool of_ipv6 = row.contains("via") && is(row["via"], "host");
    if (!of_ipv6 && !is(row, "gateway")) continue;
    const auto mac = macs.find(of_ipv6 ? row["via"]["host"] : row["gateway"]);
    if (mac != macs.end()) hops[row["dst"]] = mac->second;
  }
  return hops;
}

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
    std::map<std::string, std::string> bridges;  // and their uplinks
    for (const Record& record : records.all(Role::ovs)) {
      tenants.insert(record.tenant);
      bridges[record.bridge] = record.uplink;
    }
    const auto announced = ask(options, tenants);
    if (!announced) continue;
    for (const auto& [bridge, was] : told) bridges.try_emplace(bridge);  // of which the last pod has gone
    for (const auto& [bridge, uplink] : bridges) {
      const std::vector<Announced> all = uplink.empty() ? *announced : with_ways(*announced, ovs, bridge, uplink);
      const auto was = told.find(bridge);
      const bool fresh = was != told.end() && Clock::now() - was->second.when < kRepeatEvery;
      if (was != told.end() && was->second.all == all && (fresh || all.empty())) continue;
      if (ovs.change_flows(bridge, announced_flows(all)).empty()) told[bridge] = {all, Clock::now()};
    }
  }
  return "";
}

}  // namespace weft::cni
