#pragma once
// What the tests of hosts share: a cluster from YAML with its fabric and the ways inside its servers.

#include <memory>
#include <stdexcept>
#include <string>

#include "model/load.hpp"
#include "sim/host/host_route.hpp"
#include "spec/diagnostics.hpp"

namespace weft::sim::testing {

inline const model::Catalog& catalog() {
  static const model::Catalog embedded = [] {
    spec::Diagnostics diagnostics;
    return model::Catalog::embedded(diagnostics);
  }();
  return embedded;
}

inline std::unique_ptr<model::Cluster> cluster_of(const std::string& servers, const std::string& fabric) {
  spec::Diagnostics diagnostics;
  const std::string yaml = "version: 1\nservers: " + servers + "\nfabric: " + fabric + "\n";
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", yaml);
  auto cluster = model::load_cluster(source, "test", {}, catalog(), diagnostics);
  if (!cluster) throw std::runtime_error(yaml + spec::render_text(diagnostics, false));
  return std::make_unique<model::Cluster>(std::move(*cluster));
}

struct Hosts {
  // A switch large enough for any of them stands for the network.
  explicit Hosts(const std::string& servers)
      : cluster(cluster_of(servers, "{kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}")),
        fabric(*cluster),
        routes(fabric) {}

  fabric::NodeId gpu(std::uint32_t index) const { return fabric.gpu(index); }
  fabric::NodeId nic(std::uint32_t index) const { return fabric.node(fabric::NodeKind::nic, index); }

  std::unique_ptr<model::Cluster> cluster;
  fabric::Fabric fabric;
  HostRoutes routes;
};

}  // namespace weft::sim::testing
