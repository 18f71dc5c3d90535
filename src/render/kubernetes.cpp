// Kubernetes: where nodes stand, a network per rail for Multus with its CNI chain, addresses that are those FRR lets
// out, and what a tenant may have.
//
// Names are those of LINE Yahoo's talk on ACP (resource nvidia.com/mlnx_sriov_pf1_vf, plugins ovs-provider and
// frr-provider); its network sriov_pf1_vf is sriov-pf1-vf here, because names of objects have no underscore.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fabric/position.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

using fabric::Position;
using fabric::position_of;
using fabric::unit_name;

using Json = nlohmann::ordered_json;

constexpr std::string_view kSystem = "kube-system";  // where nvidia-k8s-ipam and the device plugin run
constexpr int kMtu = 9000;

struct Tenant {
  std::string name;  // its namespace; empty: nobody's
  std::vector<std::uint32_t> servers;
};

std::string namespace_of(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    out += letter ? c : capital ? static_cast<char>(c - 'A' + 'a') : '-';
  }
  while (!out.empty() && out.front() == '-') out.erase(0, 1);
  out.resize(std::min<std::size_t>(out.size(), 63));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::vector<Tenant> tenants_of(const model::Cluster& cluster) {
  std::vector<Tenant> tenants;
  for (const model::TenantSpec& spec : cluster.file.tenants) {
    Tenant tenant{namespace_of(spec.name), {}};
    for (const Indices::Range& range : spec.servers.ranges)
      for (std::int64_t i = range.first; i <= range.last; ++i) tenant.servers.push_back(static_cast<std::uint32_t>(i));
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

std::string network(std::uint32_t rail) { return fmt::format("sriov-pf{}-vf", rail + 1); }
std::string resource(std::uint32_t rail) { return fmt::format("mlnx_sriov_pf{}_vf", rail + 1); }
std::string pool(std::uint32_t rail) { return fmt::format("rail{}", rail); }
// Of a NIC that carries pods' packets by itself: the bridge has the name that FRR's files know, the port another.
std::string wire(std::uint32_t rail) { return fmt::format("wire{}", rail + 1); }

// Pods that a server has addresses for on a rail: its block without the network's own and the NIC's.
std::size_t most_pods(const Addressing& plan, std::uint32_t rail) {
  return (std::size_t{1} << (32 - plan.pods(0, rail).length)) - 2;
}

std::string nodes(const Addressing& plan, const std::vector<Tenant>& tenants, const Origin& origin) {
  const fabric::Fabric& fabric = plan.fabric();
  std::string text =
      header(origin, "kubernetes", "labels of nodes", "#") + "# kubectl apply --server-side -f nodes.yaml\n";
  std::vector<const Tenant*> owner(plan.servers());
  for (const Tenant& tenant : tenants)
    for (const std::uint32_t server : tenant.servers) owner[server] = &tenant;
  for (std::uint32_t i = 0; i < plan.servers(); ++i) {
    const Position at = position_of(fabric, i);
    text += fmt::format(
        "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {}\n  labels:\n    weft.dev/scalable-unit: {}\n"
        "    weft.dev/pod: \"{}\"\n",
        plan.server_name(i), unit_name(fabric, i), at.pod);
    if (at.rack) text += fmt::format("    weft.dev/rack: \"{}\"\n", *at.rack);
    if (fabric.cluster().sites.size() > 1)
      text += fmt::format("    topology.kubernetes.io/zone: {}\n", namespace_of(fabric.cluster().sites[at.site]));
    for (const Port& port : plan.server_ports(i))
      if (port.connected) text += fmt::format("    weft.dev/rail-{}: {}\n", port.rail, port.peer);
    if (owner[i] != nullptr) text += fmt::format("    weft.dev/tenant: {}\n", owner[i]->name);
  }
  return text;
}

// A network of a rail: a port of the OvS bridge that the VF's representor is on, an address of the node's own block,
// the tenant's flows, and the address told to the leaf.
std::string networks(const Addressing& plan, const std::vector<std::string>& namespaces, const Origin& origin,
                     bool offloaded) {
  std::string text = header(origin, "kubernetes", "networks of the rails, for Multus", "#");
  if (offloaded) text += "# Instead of networks.yaml, on servers where offload.sh has run.\n";
  for (const std::string& space : namespaces)
    for (std::uint32_t rail = 0; rail < plan.rails(); ++rail) {
      const std::string bridge = fmt::format("{}pf{}", offloaded ? "" : "br-", rail + 1);
      Json provider = {{"type", "ovs-provider"}, {"bridge", bridge}};
      if (offloaded) provider["uplink"] = wire(rail);
      const Json config = {
          {"cniVersion", "1.0.0"},
          {"name", network(rail)},
          {"plugins",
           Json::array({{{"type", "ovs"},
                         {"bridge", bridge},
                         {"mtu", kMtu},
                         {"ipam", {{"type", "nv-ipam"}, {"poolName", pool(rail)}, {"poolType", "cidrpool"}}}},
                        provider,
                        {{"type", "frr-provider"}}})}};
      text += fmt::format(
          "---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata:\n  name: {}\n  namespace: "
          "{}\n"
          "  annotations:\n    k8s.v1.cni.cncf.io/resourceName: nvidia.com/{}\nspec:\n  config: '{}'\n",
          network(rail), space, resource(rail), config.dump());
    }
  return text;
}

// Each node has the block that its FRR lets out and no other; its first two addresses are the network's and the NIC's.
std::string pools(const Addressing& plan, const Origin& origin) {
  std::string text = header(origin, "kubernetes", "addresses of pods, for nvidia-k8s-ipam", "#");
  for (std::uint32_t rail = 0; rail < plan.rails(); ++rail) {
    std::string exclusions;
    std::string allocations;
    for (std::uint32_t i = 0; i < plan.servers(); ++i) {
      if (rail >= plan.server_ports(i).size()) continue;
      const Prefix own = plan.pods(i, rail);
      exclusions += fmt::format("    - {{startIP: {}, endIP: {}}}\n", dotted(own.address), dotted(plan.nic(i, rail)));
      allocations += fmt::format("    - {{nodeName: {}, prefix: {}}}\n", plan.server_name(i), own.text());
    }
    text += fmt::format(
        "---\napiVersion: nv-ipam.nvidia.com/v1alpha1\nkind: CIDRPool\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n"
        "  cidr: {}\n  perNodeNetworkPrefix: {}\n  exclusions:\n{}  staticAllocations:\n{}",
        pool(rail), kSystem, plan.rail(rail).text(), plan.pods(0, rail).length, exclusions, allocations);
  }
  return text;
}

// What a server needs so that its NICs carry pods' packets by themselves. Steps are those of the kernel's and Open
// vSwitch's own documents for mlx5 NICs.
std::string offload(const Addressing& plan, const Origin& origin) {
  std::string rails;
  for (std::uint32_t rail = 0; rail < plan.rails(); ++rail) rails += fmt::format(" {}", rail + 1);
  return "#!/bin/sh\n" + header(origin, "kubernetes", "Open vSwitch in the NIC, on every server", "#") +
         fmt::format(
             R"sh(# At every start, as root, before FRR and the kubelet. What it takes for granted:
# - NICs of mlx5 (ConnectX-5 and later) whose firmware has SR-IOV on: mlxconfig -d DEVICE set SRIOV_EN=1 NUM_OF_VFS={1}
# - their ports are called{2} (systemd's .link files): the bridges take over the names that FRR's files have
# - a kernel with cls_flower and act_mirred, and Open vSwitch with the kernel's datapath, not the one in user space
# To see that it works: `ovs-appctl dpctl/dump-flows type=offloaded`, and `tc -s filter show dev wire1 ingress` says in_hw.
set -eu
vfs={1}
mtu={0}

# Virtual functions, and a representor for each: what the NIC's switch does not carry comes out there.
functions() {{ # port
  device=/sys/class/net/$1/device
  pci=$(basename "$(readlink -f "$device")")
  driver=$(readlink -f "$device/driver")
  case $(devlink dev eswitch show "pci/$pci") in *switchdev*) return ;; esac # it has run before
  echo "$vfs" >"$device/sriov_numvfs"
  # The mode changes while no function is in use.
  for function in "$device"/virtfn*; do basename "$(readlink -f "$function")" >"$driver/unbind"; done
  devlink dev eswitch set "pci/$pci" mode switchdev
  ethtool -K "$1" hw-tc-offload on
  for function in "$device"/virtfn*; do basename "$(readlink -f "$function")" >"$driver/bind"; done
}}

# The NIC's port is the uplink of a bridge, whose own port is what the server and its BGP session speak by. Until pods come,
# and ovs-provider with flows of its own, the two are one wire. Without flows nothing passes, rather than everything.
bridge() {{ # port, bridge
  mac=$(cat "/sys/class/net/$1/address")
  ovs-vsctl --may-exist add-br "$2" -- set bridge "$2" fail_mode=secure "other-config:hwaddr=\"$mac\"" \
    -- --may-exist add-port "$2" "$1" -- set interface "$2" mtu_request=$mtu
  ip link set "$1" mtu $mtu up
  ip link set "$2" up
  ovs-ofctl add-flow "$2" "priority=50,in_port=$1,actions=LOCAL"
  ovs-ofctl add-flow "$2" "priority=50,in_port=LOCAL,actions=output:$1"
}}

case $(ovs-vsctl --if-exists get Open_vSwitch . other_config:hw-offload) in
  *true*) ;;
  *)
    ovs-vsctl set Open_vSwitch . other_config:hw-offload=true
    systemctl restart openvswitch-switch # it looks at this when it starts
    ;;
esac
for rail in{3}; do
  functions "wire$rail"
  bridge "wire$rail" "pf$rail"
done
)sh",
             kMtu, most_pods(plan, 0), plan.rails() > 1 ? " wire1, wire2, ..." : " wire1", rails);
}

std::string device_plugin(const Addressing& plan, const Origin& origin) {
  Json list = Json::array();
  for (std::uint32_t rail = 0; rail < plan.rails(); ++rail)
    list.push_back({{"resourcePrefix", "nvidia.com"},
                    {"resourceName", resource(rail)},
                    // By either name: a bridge is no function of a NIC.
                    {"selectors", {{"pfNames", {fmt::format("pf{}", rail + 1), wire(rail)}}, {"isRdma", true}}}});
  return header(origin, "kubernetes", "VFs as resources, for the SR-IOV device plugin", "#") +
         fmt::format(
             "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sriovdp-config\n  namespace: {}\ndata:\n"
             "  config.json: '{}'\n",
             kSystem, Json({{"resourceList", list}}).dump());
}

std::string tenant_objects(const Addressing& plan, const Tenant& tenant) {
  std::uint64_t gpus = 0;
  for (const std::uint32_t server : tenant.servers) gpus += plan.group_of(server).gpus();
  std::string quota = fmt::format("    requests.nvidia.com/gpu: \"{}\"\n", gpus);
  for (std::uint32_t rail = 0; rail < plan.rails(); ++rail)
    quota += fmt::format("    requests.nvidia.com/{}: \"{}\"\n", resource(rail),
                         tenant.servers.size() * most_pods(plan, rail));
  return fmt::format(
      "---\n"
      "apiVersion: v1\n"
      "kind: Namespace\n"
      "metadata:\n"
      "  name: {0}\n"
      "  labels: {{weft.dev/tenant: {0}}}\n"
      "  annotations:\n"
      "    # Needs the PodNodeSelector admission plugin: pods of this tenant run on its own servers.\n"
      "    scheduler.alpha.kubernetes.io/node-selector: weft.dev/tenant={0}\n"
      "---\n"
      "apiVersion: v1\n"
      "kind: ResourceQuota\n"
      "metadata:\n"
      "  name: servers\n"
      "  namespace: {0}\n"
      "spec:\n"
      "  hard:\n"
      "{1}"
      "---\n"
      "# The frontend only: rails are kept apart by ovs-provider's flows.\n"
      "apiVersion: networking.k8s.io/v1\n"
      "kind: NetworkPolicy\n"
      "metadata:\n"
      "  name: tenant-only\n"
      "  namespace: {0}\n"
      "spec:\n"
      "  podSelector: {{}}\n"
      "  policyTypes: [Ingress, Egress]\n"
      "  ingress:\n"
      "    - from:\n"
      "        - podSelector: {{}}\n"
      "  egress:\n"
      "    - to:\n"
      "        - podSelector: {{}}\n"
      "    - to:\n"
      "        - namespaceSelector:\n"
      "            matchLabels: {{kubernetes.io/metadata.name: kube-system}}\n"
      "      ports:\n"
      "        - {{protocol: UDP, port: 53}}\n"
      "        - {{protocol: TCP, port: 53}}\n",
      tenant.name, quota);
}

std::string example_pod(const Addressing& plan, const std::string& space, const Origin& origin) {
  std::string networks;
  std::string vfs;
  for (std::uint32_t rail = 0; rail < plan.rails(); ++rail) {
    networks += fmt::format("{}{}", rail > 0 ? "," : "", network(rail));
    vfs += fmt::format(", nvidia.com/{}: 1", resource(rail));
  }
  const std::uint32_t gpus = plan.fabric().cluster().groups.front().gpus();
  return header(origin, "kubernetes", "a pod on every rail, to start from", "#") +
         fmt::format(
             "---\n"
             "apiVersion: v1\n"
             "kind: Pod\n"
             "metadata:\n"
             "  name: gpu-pod\n"
             "  namespace: {}\n"
             "  annotations:\n"
             "    k8s.v1.cni.cncf.io/networks: {}\n"
             "spec:\n"
             "  containers:\n"
             "    - name: main\n"
             "      image: nvcr.io/nvidia/pytorch:24.10-py3\n"
             "      command: [sleep, infinity]\n"
             "      securityContext:\n"
             "        capabilities: {{add: [IPC_LOCK]}}\n"
             "      resources:\n"
             "        requests: {{nvidia.com/gpu: {}{}}}\n"
             "        limits: {{nvidia.com/gpu: {}{}}}\n",
             space, networks, gpus, vfs, gpus, vfs);
}

}  // namespace

Result<std::vector<File>, Refusal> kubernetes_files(const Addressing& plan, const Origin& origin) {
  const std::vector<Tenant> tenants = tenants_of(plan.fabric().cluster());
  std::set<std::string> taken = {"default", "kube-system", "kube-public", "kube-node-lease"};
  std::vector<std::string> namespaces;
  std::string objects = header(origin, "kubernetes", "tenants", "#");
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (tenants[i].name.empty() || !taken.insert(tenants[i].name).second)
      return Failure<Refusal>(Refusal{
          fmt::format("tenant '{}' cannot have a namespace of its name", plan.fabric().cluster().file.tenants[i].name),
          "names of lower-case letters, digits and '-', none twice, none of Kubernetes' own"});
    namespaces.push_back(tenants[i].name);
    objects += tenant_objects(plan, tenants[i]);
  }
  if (namespaces.empty()) namespaces.push_back("default");
  std::vector<File> files = {{"kubernetes/nodes.yaml", nodes(plan, tenants, origin)}};
  if (plan.rails() > 0) {
    files.push_back({"kubernetes/networks.yaml", networks(plan, namespaces, origin, false)});
    files.push_back({"kubernetes/pools.yaml", pools(plan, origin)});
    files.push_back({"kubernetes/device-plugin.yaml", device_plugin(plan, origin)});
    // EFA has no switch that could be told.
    const auto& groups = plan.fabric().cluster().groups;
    if (std::none_of(groups.begin(), groups.end(), [](const model::Group& group) { return group.spec.nic.efa; })) {
      files.push_back({"kubernetes/networks-offload.yaml", networks(plan, namespaces, origin, true)});
      files.push_back({"kubernetes/offload.sh", offload(plan, origin)});
    }
  }
  if (!tenants.empty()) files.push_back({"kubernetes/tenants.yaml", objects});
  files.push_back({"kubernetes/example-pod.yaml", example_pod(plan, namespaces.front(), origin)});
  return files;
}

}  // namespace weft::render
