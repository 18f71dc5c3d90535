#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cni/plugin.hpp"
#include "host/frr_socket.hpp"
#include "host/netlink.hpp"

namespace weft::cni {
namespace {

constexpr const char* kDaemon = "bgpd";
constexpr std::chrono::seconds kMayTake{20};  // until bgpd has found the route that it announces
constexpr std::chrono::milliseconds kLookEvery{20};

struct Place {
  std::filesystem::path frr;
  Records records;
};

Result<Place, Error> place_of(const Request& request) {
  const auto frr = directory(request, "frrDir", kFrrFolder);
  if (!frr) return Failure<Error>(frr.error());
  const auto state = directory(request, "stateDir", kStateFolder);
  if (!state) return Failure<Error>(state.error());
  return Place{*frr, Records(*state)};
}

std::string announce(const Place& place, const Record& record) {
  const Tenant tenant = tenant_of(record.tenant);
  return host::configure_daemon(
      place.frr, kDaemon,
      {fmt::format("route-map {} permit 10", tenant.route_map()),
       fmt::format("set large-community {}", tenant.community()), "exit", "router bgp", "address-family ipv4 unicast",
       fmt::format("network {}/32 route-map {}", record.address, tenant.route_map())});
}

std::string withdraw(const Place& place, const Record& record) {
  const auto others = place.records.all(Role::frr);
  const auto told = host::ask_daemon(place.frr, kDaemon, "show running-config");
  if (!told) return fmt::format("{} does not answer in {}", kDaemon, place.frr.string());
  const Tenant tenant = tenant_of(record.tenant);
  std::vector<std::string> lines;
  // Only what is there: FRR refuses to take back what it does not have.
  if (const std::string network = fmt::format("network {}/32", record.address);
      told->find(network) != std::string::npos)
    lines = {"router bgp", "address-family ipv4 unicast", "no " + network, "exit", "exit"};
  const bool last = std::none_of(others.begin(), others.end(), [&](const Record& other) {
    return other.tenant == record.tenant && other.cookie() != record.cookie();
  });
  if (last && told->find("route-map " + tenant.route_map() + " permit") != std::string::npos)
    lines.push_back("no route-map " + tenant.route_map());
  const std::string failed = lines.empty() ? "" : host::configure_daemon(place.frr, kDaemon, lines);
  if (failed.empty()) place.records.erase(Role::frr, record);
  return failed;
}

// bgpd announces what is in the routing table, and only then.
bool is_announced(const Place& place, const Record& record) {
  const auto told =
      host::ask_daemon(place.frr, kDaemon, fmt::format("show bgp ipv4 unicast {}/32 json", record.address));
  const auto from = nlohmann::json::parse(told.value_or(""), nullptr, false);
  if (!from.is_object() || !from.contains("paths") || !from["paths"].is_array()) return false;
  const std::string community = tenant_of(record.tenant).community();
  return std::any_of(from["paths"].begin(), from["paths"].end(), [&](const nlohmann::json& path) {
    return path.value("sourced", false) && path.value("valid", false) &&
           path.value("largeCommunity", nlohmann::json::object()).value("string", "") == community;
  });
}

}  // namespace

Done frr_add(const Request& request, const Attachment& attachment) {
  const auto place = place_of(request);
  if (!place) return place.error();
  const host::Descriptor alone = place->records.lock();
  if (!alone) return Error{Code::io_failure, "the state directory cannot be written"};
  const Record record{request.container, request.interface, request.pod_namespace, attachment.address, "", "", "", ""};
  for (const Record& other : place->records.all(Role::frr))
    if (other.cookie() != record.cookie() && other.address == record.address)
      return Error{Code::refused, fmt::format("{} is announced for {} already", other.address, other.container)};
  // bgpd would wait for the route, and nobody else could be added meanwhile.
  if (auto kernel = host::Netlink::open_here(); kernel && !kernel->host_routes().contains(record.address))
    return Error{Code::io_failure,
                 fmt::format("there is no route to {}, so bgpd would not announce it", record.address),
                 "a plugin before this one makes it: ovs-provider does"};
  if (const auto before = place->records.find(Role::frr, record.container, record.interface);
      before && *before != record)
    if (const std::string left = withdraw(*place, *before); !left.empty()) return Error{Code::io_failure, left};
  if (!place->records.save(Role::frr, record)) return Error{Code::io_failure, "the state directory cannot be written"};
  std::string failed = announce(*place, record);
  const auto until = std::chrono::steady_clock::now() + kMayTake;
  while (failed.empty() && !is_announced(*place, record)) {
    if (std::chrono::steady_clock::now() > until)
      failed = fmt::format("bgpd does not announce {}: is there a route to it?", record.address);
    std::this_thread::sleep_for(kLookEvery);
  }
  if (failed.empty()) return std::nullopt;
  const std::string left = withdraw(*place, record);
  return Error{Code::io_failure, failed, left.empty() ? "" : "and it could not be undone: " + left};
}

Done frr_check(const Request& request, const Attachment& attachment) {
  const auto place = place_of(request);
  if (!place) return place.error();
  const host::Descriptor alone = place->records.lock();
  const auto record = place->records.find(Role::frr, request.container, request.interface);
  if (!record) return Error{Code::unknown_container, "this interface was never added, or is deleted"};
  if (record->address != attachment.address || record->tenant != request.pod_namespace)
    return Error{Code::not_as_added, "address or tenant are not those of ADD"};
  if (is_announced(*place, *record)) return std::nullopt;
  return Error{Code::not_as_added, fmt::format("{} is not announced", record->address)};
}

Done frr_del(const Request& request) {
  const auto place = place_of(request);
  if (!place) return place.error();
  const host::Descriptor alone = place->records.lock();
  if (!alone) return Error{Code::io_failure, "the state directory cannot be written"};
  const auto record = place->records.find(Role::frr, request.container, request.interface);
  if (!record) return std::nullopt;
  const std::string failed = withdraw(*place, *record);
  if (failed.empty()) return std::nullopt;
  return Error{Code::try_again_later, failed};
}

}  // namespace weft::cni
