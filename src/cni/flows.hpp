#pragma once
// The flows of a bridge, as texts for ovs-ofctl. The bridge's own port leads to the server's kernel, which routes
// between it and the NIC; every other port is a pod's.
//
// Where a NIC is to carry pods' packets by itself, its own port is one of the bridge, too: the uplink. Then what pods
// of one tenant say to each other goes between uplink and pod without the kernel: each such way is one datapath flow
// of addresses, new MACs and a port, which is what NICs can do. All else that comes by the uplink is the kernel's
// (BGP, the NIC's own address), and what the kernel sends there leaves by it.
//
//   0  where from: a pod with its own addresses ─► 10     5  from outside: whose is the sender? ─► 10
//                  a pod with others' ─► 30
//   10 to a pod here: of the same tenant ─► its port, of another ─► 31; else ─► 15
//   15 to the outside: an address of the same tenant ─► the bridge's own port, any other ─► 32
//   30 spoofed   31 from another tenant   32 to another tenant: counted by tenant and dropped
//
// The tenant's number is the packet's metadata, so registers need no numbers given out by anybody. Whose the addresses
// outside are is learnt from BGP (agent.hpp); what nobody announced is reached by nobody.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cni/tenant.hpp"

namespace weft::cni {

struct PodPort {
  std::uint64_t cookie = 0;  // of its flows, and no others'
  std::uint32_t port = 0;    // OpenFlow's number
  std::string address;
  std::string mac;
  Tenant tenant;
};

// What every bridge has, before the first pod; `uplink`: OpenFlow's number of that port, where there is one.
std::string base_flows(std::optional<std::uint32_t> uplink = std::nullopt);
std::string pod_flows(const PodPort& pod, const std::string& bridge_mac);
inline constexpr std::size_t kFlowsPerPod = 7;
std::string tenant_flows(const Tenant& tenant);

// Addresses that others announce, by tenant. Replaces all earlier ones at once; they expire where nobody repeats them.
struct Announced {
  std::string address;
  Tenant tenant;
  std::string way = kByKernel;  // actions that take packets there
  bool operator==(const Announced& other) const {
    return address == other.address && tenant.number == other.tenant.number && way == other.way;
  }
  static constexpr const char* kByKernel = "output:LOCAL";
};
// Past the kernel: to the next hop's MAC, which is the leaf's, by the uplink.
std::string by_uplink(std::uint32_t uplink, const std::string& bridge_mac, const std::string& next_hop);
std::string announced_flows(const std::vector<Announced>& all);
inline constexpr int kAnnouncedExpire = 60;  // seconds

// What deletes them again.
std::string without_pod(std::uint64_t cookie);
std::string without_tenant(const Tenant& tenant);

// What was dropped, from `ovs-ofctl dump-flows`, by the tenant's number.
struct Drops {
  std::uint64_t spoofed = 0;
  std::uint64_t from_others = 0;
  std::uint64_t to_others = 0;
};
std::map<std::uint64_t, Drops> parse_drops(const std::string& dump);

}  // namespace weft::cni
