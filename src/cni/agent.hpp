#pragma once
// Keeps the bridges of a server told which addresses of the fabric are whose: what BGP announces with a tenant's
// community, for the tenants that have pods here. It polls bgpd; flows that it stops to repeat expire, so that without
// it nothing opens, and an address does not stay a tenant's for longer than kAnnouncedExpire.

#include <filesystem>
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

// Addresses of a tenant, from `show bgp ipv4 unicast large-community ... json`.
std::vector<std::string> parse_announced(const std::string& json);

}  // namespace weft::cni
