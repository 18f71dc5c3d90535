#pragma once
// Keeps the bridges of a server told which addresses of the fabric are whose: what BGP announces with a tenant's
// community, for the tenants that have pods here. It polls bgpd; flows that it stops to repeat expire, so that without
// it nothing opens, and an address does not stay a tenant's for longer than kAnnouncedExpire.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cni/flows.hpp"
#include "cni/record.hpp"

namespace weft::cni {

struct AgentOptions {
  std::filesystem::path state;
  std::filesystem::path ovs;
  std::filesystem::path frr;
};
// Until `stop`; the text says why it cannot.
std::string run_agent(const AgentOptions& options, const volatile bool& stop);

// By which MAC the kernel reaches addresses over one interface, from `ip -j route show` and `ip -j neigh show`, both of
// all families. Addresses that it reaches in another way, or by a neighbour that it does not know, are not there.
std::map<std::string, std::string> next_hops(const std::string& routes, const std::string& neighbours,
                                             const std::string& interface);

// Addresses of a tenant, from `show bgp ipv4 unicast large-community ... json`.
std::vector<std::string> parse_announced(const std::string& json);

}  // namespace weft::cni
