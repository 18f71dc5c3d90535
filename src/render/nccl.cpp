// What NCCL should be told of the cluster: a topology per kind of server, and an environment whose every line has its
// reason. What NCCL finds out itself, and finds right, is not set.

#include <fmt/format.h>

#include <algorithm>

#include "measured/topology_writer.hpp"
#include "render/qos.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

class Environment {
 public:
  explicit Environment(std::string header) : text_(std::move(header)) {}
  void set(const std::string& name, const std::string& value, const std::string& why) {
    text_ += fmt::format("\n# {}\n{}={}\n", why, name, value);
  }
  void note(const std::string& text) { text_ += fmt::format("\n# {}\n", text); }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void efa(Environment& out) {
  out.set("FI_PROVIDER", "efa",
          "The aws-ofi-nccl plugin goes through libfabric; no other provider reaches these NICs.");
  out.set("FI_EFA_USE_DEVICE_RDMA", "1", "Lets NICs write into GPU memory where the instance has it (P4d and later).");
}

void infiniband(const fabric::Fabric& fabric, Environment& out) {
  const auto& kinds = fabric.cluster().shape.switches;
  if (std::any_of(kinds.begin(), kinds.end(), [](const model::SwitchKind& kind) { return kind.reduces; }))
    out.set("NCCL_COLLNET_ENABLE", "1",
            "The switches add up what passes (SHARP); needs NVIDIA's plugin and a running aggregation manager.");
}

void roce(const model::Cluster& cluster, std::uint32_t rails, Environment& out) {
  std::string devices;
  for (std::uint32_t i = 0; i < rails; ++i) devices += fmt::format("{}mlx5_{}", i > 0 ? "," : "", i);
  out.set("NCCL_IB_HCA", "=" + devices,
          "The backend's NICs pf1, pf2, ... and no others. `rdma link` tells whether they have these numbers: a\n"
          "# management NIC of the same make shifts them.");
  out.set(
      "NCCL_IB_GID_INDEX", "3",
      "RoCEv2 with the NIC's IPv4 address, which is routed; index 0 to 2 are link-local or RoCEv1. In a pod with its\n"
      "# own network namespace the index may differ (`show_gids`); NCCL from 2.21 on finds it itself.");
  out.set("NCCL_IB_TC", fmt::format("{}", kRdmaTrafficClass),
          fmt::format("DSCP {} and ECN-capable: what the switches' DSCP map puts into the lossless class {}.",
                      kRdmaDscp, kRdmaClass));
  const model::RoceSpec& spec = cluster.file.transport.rocev2;
  const bool hashed = cluster.file.transport.balance == model::Balance::ecmp ||
                      cluster.file.transport.balance == model::Balance::entropy;
  if (cluster.file.transport.kind == model::TransportKind::rocev2 && spec.qps > 1) {
    out.set("NCCL_IB_QPS_PER_CONNECTION", fmt::format("{}", spec.qps),
            "As the cluster file has it (transport.rocev2.qps): each queue pair is hashed to a path of its own.");
    out.set("NCCL_IB_SPLIT_DATA_ON_QPS", spec.split ? "1" : "0",
            "Likewise transport.rocev2.split: whether a message is cut over all queue pairs or they take turns.");
  } else if (hashed && cluster.file.transport.kind == model::TransportKind::rocev2) {
    out.note(
        "One queue pair per connection hashes all of it to one path (transport.rocev2.qps: 1). Where flows collide, "
        "more\n"
        "# of them spread it: set the key, compare with `weft sim`, render again.");
  }
}

void rails_apart(const fabric::Fabric& fabric, Environment& out) {
  using enum model::FabricKind;
  const model::FabricKind kind = fabric.cluster().file.fabric.kind;
  if (kind == rail_only)
    out.set("NCCL_CROSS_NIC", "0", "Rails are fabrics of their own: NIC i of a server reaches NIC i of others only.");
  else if (kind == rail_optimized)
    out.set("NCCL_CROSS_NIC", "0",
            "NIC i talks to NIC i, so that rings and trees turn at the rail's leaf and spare spines.");
}

std::string environment(const Addressing& plan, const model::Group& group, const Origin& origin) {
  const fabric::Fabric& fabric = plan.fabric();
  Environment out(
      header(origin, "nccl", fmt::format("environment of servers '{}' ({})", group.spec.name, group.spec.kind), "#") +
      "# For `export`, /etc/nccl.conf or a pod's env. Settings that NCCL chooses well itself are left out.\n");
  const bool on_infiniband =
      std::any_of(fabric.cluster().shape.switches.begin(), fabric.cluster().shape.switches.end(),
                  [](const model::SwitchKind& kind) { return kind.link_layer == model::LinkLayer::infiniband; });
  if (group.spec.nic.efa) {
    efa(out);
  } else if (on_infiniband) {
    infiniband(fabric, out);
  } else if (fabric.has_network()) {
    out.set("NCCL_SOCKET_IFNAME", "=pf1",
            "For bootstrap only. The server's own address is on lo, which NCCL does not take, and mgmt1 and mgmt2 are\n"
            "# unnumbered. In a pod it is eth0.");
    roce(fabric.cluster(), group.nics() * static_cast<std::uint32_t>(group.spec.nic.ports), out);
  }
  rails_apart(fabric, out);
  if (!group.spec.gpudirect)
    out.set("NCCL_NET_GDR_LEVEL", "LOC",
            "No GPUDirect RDMA on these servers (gpudirect: false): data goes by host memory.");
  return std::move(out).text();
}

constexpr std::string_view kOnTopologies =
    " Bus ids and names of NICs stand for the machine's own, which the cluster file does not know: on bare metal NCCL "
    "finds\n"
    " all of this itself. Where a hypervisor hides it, put the real ones in and name the file in NCCL_TOPO_FILE.\n";

std::string comment(std::string text) {
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) text.replace(at, 2, "- ");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return "<!--\n" + text + "\n-->\n";
}

}  // namespace

Result<std::vector<File>, Refusal> nccl_files(const Addressing& plan, const Origin& origin) {
  std::vector<File> files;
  for (const model::Group& group : plan.fabric().cluster().groups) {
    spec::Diagnostics diagnostics;
    const auto topology = measured::write_topology(group, diagnostics);
    if (!topology)
      return Failure<Refusal>(Refusal{fmt::format("NCCL does not run on {} ({})", group.spec.kind, group.spec.gpu.kind),
                                      "servers with NVIDIA GPUs; AWS's Neuron needs none of this"});
    const std::string name = fmt::format("nccl/{}-{}", group.spec.name, group.spec.kind);
    files.push_back({name + ".xml", comment(header(origin, "nccl", fmt::format("servers '{}'", group.spec.name), "") +
                                            std::string(kOnTopologies)) +
                                        *topology});
    files.push_back({name + ".env", environment(plan, group, origin)});
  }
  return files;
}

}  // namespace weft::render
