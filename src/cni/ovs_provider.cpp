#include <fmt/format.h>

#include <algorithm>

#include "cni/flows.hpp"
#include "cni/ovs.hpp"
#include "cni/plugin.hpp"
#include "host/netlink.hpp"
#include "host/process.hpp"

namespace weft::cni {
namespace {

Error io(const std::string& message) { return {Code::io_failure, message}; }

// One bridge of this server, and what is kept of its pods.
struct Place {
  Ovs ovs;
  Records records;
  std::string bridge;
  std::string uplink;  // empty: none
};

Result<Place, Error> place_of(const Request& request) {
  const auto ovs = directory(request, "ovsDir", kOvsFolder);
  if (!ovs) return Failure<Error>(ovs.error());
  const auto state = directory(request, "stateDir", kStateFolder);
  if (!state) return Failure<Error>(state.error());
  const auto bridge = request.config.find("bridge");
  if (bridge == request.config.end() || !bridge->is_string() || !is_interface_name(bridge->get<std::string>()))
    return Failure<Error>({Code::invalid_configuration, "bridge: which one is missing"});
  std::string uplink;
  if (const auto named = request.config.find("uplink"); named != request.config.end()) {
    if (!named->is_string() || !is_interface_name(named->get<std::string>()))
      return Failure<Error>({Code::invalid_configuration, "uplink: the name of the bridge's port to the leaf"});
    uplink = named->get<std::string>();
  }
  return Place{Ovs(*ovs), Records(*state), bridge->get<std::string>(), uplink};
}

host::Finished ip(std::vector<std::string> words) {
  words.insert(words.begin(), "ip");
  return host::run({words, "", ""});
}

// The kernel hands packets for the pod to the bridge, and asks nobody for its MAC.
std::string route_to(const Record& record) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"link", "set", record.port, "up"},
        {"neigh", "replace", record.address, "lladdr", record.mac, "dev", record.bridge, "nud", "permanent"},
        {"route", "replace", record.address + "/32", "dev", record.bridge}})
    if (const host::Finished done = ip(words); done.code != 0)
      return fmt::format("ip {}: {}", fmt::join(words, " "), done.text);
  return "";
}

std::string attach(const Place& place, const Record& record) {
  const std::string mac = place.ovs.mac_of(place.bridge);
  if (mac.empty()) return fmt::format("{} has no MAC", place.bridge);
  const auto port = place.ovs.add_port(place.bridge, record.port);
  if (!port) return port.error();
  std::optional<std::uint32_t> uplink;
  if (!place.uplink.empty()) {
    const auto number = place.ovs.number_of(place.uplink);
    if (!number) return number.error();
    uplink = *number;
  }
  const PodPort pod{record.cookie(), *port, record.address, record.mac, tenant_of(record.tenant)};
  if (std::string failed = place.ovs.change_flows(
          place.bridge, base_flows(uplink) + without_pod(pod.cookie) + tenant_flows(pod.tenant) + pod_flows(pod, mac));
      !failed.empty())
    return failed;
  return route_to(record);
}

// However much of it there is. What failed; empty: nothing is left.
std::string detach(const Place& place, const Record& record) {
  if (!place.ovs.has_bridge(record.bridge)) {
    // Without the bridge there are no flows; without the database nobody knows.
    if (place.ovs.database({"list-br"}).code != 0) return "Open vSwitch does not answer";
  } else {
    const auto others = place.records.all(Role::ovs);
    const bool last = std::none_of(others.begin(), others.end(), [&](const Record& other) {
      return other.bridge == record.bridge && other.tenant == record.tenant && other.cookie() != record.cookie();
    });
    std::string changes = without_pod(record.cookie());
    if (last) changes += without_tenant(tenant_of(record.tenant));
    if (std::string failed = place.ovs.change_flows(record.bridge, changes); !failed.empty()) return failed;
    if (place.ovs.database({"--if-exists", "del-port", record.bridge, record.port}).code != 0)
      return fmt::format("ovs-vsctl cannot remove {}", record.port);
  }
  ip({"route", "del", record.address + "/32", "dev", record.bridge});
  ip({"neigh", "del", record.address, "dev", record.bridge});
  place.records.erase(Role::ovs, record);
  return "";
}

// Nobody fills in checksums behind a bridge in user space, and nobody cuts segments.
std::string finish_packets_in_pod(const Request& request) {
  auto kernel = host::Netlink::open(request.netns);
  if (!kernel) return "cannot enter " + request.netns;
  return kernel->turn_checksums_off(request.interface) && kernel->turn_offloads_off(request.interface)
             ? ""
             : fmt::format("cannot turn offloads of {} off", request.interface);
}

// The end that is here of an interface that is in the pod.
std::string host_end(const Request& request, const Attachment& attachment) {
  if (!attachment.host_interface.empty()) return attachment.host_interface;
  auto inside = host::Netlink::open(request.netns);
  auto here = host::Netlink::open_here();
  if (!inside || !here) return "";
  const auto pod = inside->pair(request.interface);
  return pod ? here->interface_paired(pod->peer, pod->index).value_or("") : "";
}

}  // namespace

Done ovs_add(const Request& request, const Attachment& attachment) {
  const auto place = place_of(request);
  if (!place) return place.error();
  const host::Descriptor alone = place->records.lock();
  if (!alone) return io("the state directory cannot be written");
  const Record record{request.container, request.interface, request.pod_namespace,         attachment.address,
                      attachment.mac,    place->bridge,     host_end(request, attachment), place->uplink};
  if (record.port.empty())
    return Error{Code::invalid_configuration,
                 fmt::format("prevResult names no interface of the host, and {} is no end of a veth pair that is here",
                             request.interface)};
  if (!place->ovs.has_bridge(place->bridge))
    return Error{Code::try_again_later,
                 fmt::format("Open vSwitch has no bridge {}, or does not answer", place->bridge)};
  if (!place->uplink.empty() && place->ovs.bridge_of(place->uplink) != place->bridge)
    return Error{Code::invalid_configuration, fmt::format("uplink: {} is no port of {}", place->uplink, place->bridge)};
  for (const Record& other : place->records.all(Role::ovs))
    if (other.cookie() != record.cookie() && (other.address == record.address || other.port == record.port))
      return Error{Code::refused, fmt::format("{} has {} by {} already", other.container, other.address, other.port)};
  if (!place->records.has_agent())
    return Error{Code::try_again_later, "weft-cni agent is not running: the pod would reach nobody"};
  // Another ADD without a DEL between them: what the first one made otherwise goes.
  if (const auto before = place->records.find(Role::ovs, record.container, record.interface);
      before && *before != record)
    if (const std::string left = detach(*place, *before); !left.empty()) return io(left);
  if (!place->records.save(Role::ovs, record)) return io("the state directory cannot be written");
  std::string failed = place->ovs.is_in_user_space(place->bridge) ? finish_packets_in_pod(request) : "";
  if (failed.empty()) failed = attach(*place, record);
  if (failed.empty()) return std::nullopt;
  const std::string left = detach(*place, record);
  return Error{Code::io_failure, failed, left.empty() ? "" : "and it could not be undone: " + left};
}

Done ovs_check(const Request& request, const Attachment& attachment) {
  const auto place = place_of(request);
  if (!place) return place.error();
  const host::Descriptor alone = place->records.lock();
  const auto wrong = [](const std::string& message) { return Error{Code::not_as_added, message}; };
  const auto record = place->records.find(Role::ovs, request.container, request.interface);
  if (!record) return Error{Code::unknown_container, "this interface was never added, or is deleted"};
  if (record->address != attachment.address || record->mac != attachment.mac ||
      record->tenant != request.pod_namespace || record->bridge != place->bridge || record->uplink != place->uplink)
    return wrong("address, MAC, tenant, bridge or uplink are not those of ADD");
  if (place->ovs.bridge_of(record->port) != record->bridge)
    return wrong(fmt::format("{} is no port of {}", record->port, record->bridge));
  const std::string flows = place->ovs.dump_flows(record->bridge, fmt::format("cookie={:#x}/-1", record->cookie()));
  std::size_t count = 0;
  for (std::size_t at = flows.find("cookie="); at != std::string::npos; at = flows.find("cookie=", at + 1)) ++count;
  if (count != kFlowsPerPod) return wrong(fmt::format("{} of {} flows are there", count, kFlowsPerPod));
  if (ip({"route", "show", record->address + "/32", "dev", record->bridge}).text.empty())
    return wrong(fmt::format("there is no route to {} by {}", record->address, record->bridge));
  if (ip({"neigh", "show", record->address, "dev", record->bridge, "nud", "permanent"}).text.empty())
    return wrong(fmt::format("the MAC of {} is not known", record->address));
  if (!place->records.has_agent()) return wrong("weft-cni agent is not running");
  return std::nullopt;
}

Done ovs_del(const Request& request) {
  const auto place = place_of(request);
  if (!place) return place.error();
  const host::Descriptor alone = place->records.lock();
  if (!alone) return io("the state directory cannot be written");
  const auto record = place->records.find(Role::ovs, request.container, request.interface);
  if (!record) return std::nullopt;
  const std::string failed = detach(*place, *record);
  if (failed.empty()) return std::nullopt;
  return Error{Code::try_again_later, failed};
}

}  // namespace weft::cni
