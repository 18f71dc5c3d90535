#pragma once
// Pods of tenants in a lab. A pod is a namespace with an interface on every rail of its server, made by a chain of CNI
// plugins in the server's namespace: host-device with host-local (Debian's), then weft's own ovs-provider and
// frr-provider. What Kubernetes, Multus and the SR-IOV device plugin would do, the lab does: it gives out virtual
// functions and calls.
//
// A server gets Open vSwitch with its first pod: a bridge per rail (br-pf1), whose own port the kernel routes to the
// NIC.

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cni/flows.hpp"
#include "lab/plan.hpp"
#include "lab/state.hpp"

namespace weft::lab {

// What is not installed; empty: pods can be had. `cni`: the program weft-cni.
std::string why_no_pods(const std::string& cni);

// A pod that may be made, with names for its interfaces; or why not.
Result<Pod, std::string> plan_pod(const Plan& plan, const std::vector<Pod>& pods, const std::string& name,
                                  const std::string& tenant, const std::string& server);
// The server that has the fewest pods, of those that the tenant may use: its own, else nobody's.
std::optional<std::string> server_for(const Plan& plan, const std::vector<Pod>& pods, const std::string& tenant);
nlohmann::ordered_json chain_of(const Plan& plan, const State& state, const Pod& pod, const PodInterface& interface);

// What failed; empty: nothing. A pod that could not be made whole is removed again.
std::string add_pod(const Plan& plan, State& state, Pod& pod, const std::string& cni);
std::string delete_pod(const Plan& plan, State& state, const Pod& pod);
std::string check_pod(const Plan& plan, const State& state, const Pod& pod);

// Until every switch that reaches the server's NICs reaches the pod (or no longer does), and the servers of its
// tenant's other pods know whose its addresses are. The first that does not; empty: all do.
std::string wait_for_pod(const Plan& plan, const State& state, const Pod& pod, bool there, std::chrono::seconds most);

std::string bridge_of(const RailOfServer& rail);
std::filesystem::path ovs_folder(const State& state, const std::string& server);

// What Open vSwitch has dropped on a server, by tenant.
std::map<std::string, cni::Drops> drops_by_tenant(const Plan& plan, const State& state, const std::string& server,
                                                  const std::vector<Pod>& pods);

}  // namespace weft::lab
