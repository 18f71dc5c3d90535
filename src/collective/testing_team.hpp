#pragma once
// What the tests of plans share: clusters from YAML, and the message executor.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "collective/timing.hpp"
#include "collective/work.hpp"
#include "model/load.hpp"
#include "sim/run/lane_sim.hpp"
#include "spec/diagnostics.hpp"

namespace weft::collective::testing {

inline const char* const kOneSwitch = "{kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}";

inline std::unique_ptr<model::Cluster> cluster_of(const std::string& servers, const std::string& fabric) {
  spec::Diagnostics diagnostics;
  static const model::Catalog catalog = [] {
    spec::Diagnostics none;
    return model::Catalog::embedded(none);
  }();
  const std::string yaml = "version: 1\nservers: " + servers + "\nfabric: " + fabric + "\n";
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", yaml);
  auto cluster = model::load_cluster(source, "test", {}, catalog, diagnostics);
  if (!cluster) throw std::runtime_error(yaml + spec::render_text(diagnostics, false));
  return std::make_unique<model::Cluster>(std::move(*cluster));
}

struct Machines {
  explicit Machines(const std::string& servers, const std::string& network = kOneSwitch)
      : cluster(cluster_of(servers, network)), fabric(*cluster) {}
  std::unique_ptr<model::Cluster> cluster;
  fabric::Fabric fabric;
};

inline Ends by_lanes(schedule::Schedule& work, const Plan&) {
  sim::LaneResult result = sim::run_lanes(work, {});
  EXPECT_EQ(result.run.unfinished, 0u);
  return {std::move(result.ends), result.messages, result.run.stopped_by};
}

}  // namespace weft::collective::testing
