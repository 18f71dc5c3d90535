#pragma once
// What the tests of this folder share: a machine from YAML, and jobs on it.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "collective/timing.hpp"
#include "sim/lane_sim.hpp"
#include "why/machine.hpp"

namespace weft::why::testing {

// Read once: it is the same for all.
struct Shared {
  spec::Diagnostics notes;
  model::Catalog catalog;
  Shared() : catalog(model::Catalog::embedded(notes)) {}
};
inline const Shared& shared() {
  static const Shared one;
  return one;
}

struct Bench {
  explicit Bench(const std::string& servers, const std::string& rest = kOneSwitch)
      : notes(shared().notes), catalog(shared().catalog) {
    source = notes.sources().add("test.weft.yaml", "version: 1\nservers: " + servers + "\n" + rest);
    machine = std::make_unique<Machine>(source, "test", std::vector<std::string>{}, catalog, notes);
    EXPECT_NE(machine->cluster(), nullptr) << servers;
  }

  static constexpr const char* kOneSwitch =
      "fabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}\n";

  Job job(std::uint32_t gpus, collective::Operation operation = collective::Operation::all_reduce) const {
    return {operation, gpus, 0, collective::stack_named("roce")};
  }

  spec::Diagnostics notes;
  const model::Catalog& catalog;
  std::uint32_t source = 0;
  std::unique_ptr<Machine> machine;
};

inline collective::Ends by_lanes(schedule::Schedule& work, const collective::Plan&) {
  sim::LaneResult result = sim::run_lanes(work, {});
  return {std::move(result.ends), result.messages, result.run.stopped_by};
}

}  // namespace weft::why::testing
