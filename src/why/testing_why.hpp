#pragma once
// What the tests of this folder share: a machine from YAML, and jobs on it.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "collective/timing.hpp"
#include "sim/run/lane_sim.hpp"
#include "why/machine.hpp"

namespace weft::why::testing {

// Read once: it is the same for all.
struct Shared {
  spec::Diagnostics notes;
  std::shared_ptr<const model::Catalog> catalog;
  Shared() : catalog(std::make_shared<const model::Catalog>(model::Catalog::embedded(notes))) {}
};
inline const Shared& shared() {
  static const Shared one;
  return one;
}

struct Bench {
  explicit Bench(const std::string& servers, const std::string& rest = kOneSwitch) : notes(shared().notes) {
    const std::uint32_t source = notes.sources().add("test.weft.yaml", "version: 1\nservers: " + servers + "\n" + rest);
    design = experiment::Design::read(source, "test", {}, shared().catalog, notes);
    EXPECT_NE(design, nullptr) << servers;
    machine = std::make_unique<Machine>(*design);
  }

  static constexpr const char* kOneSwitch =
      "fabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}\n";

  Job job(std::uint32_t gpus, collective::Operation operation = collective::Operation::all_reduce) const {
    return {operation, gpus, 0, collective::stack_named("roce")};
  }

  spec::Diagnostics notes;
  std::unique_ptr<experiment::Design> design;
  std::unique_ptr<Machine> machine;
};

inline collective::Ends by_lanes(schedule::Schedule& work, const collective::Plan&) {
  sim::LaneResult result = sim::run_lanes(work, {});
  return {std::move(result.ends), result.messages, result.run.stopped_by};
}

}  // namespace weft::why::testing
