#pragma once
// What breaks during a run: from the cluster file, from the experiment and from a connection matrix.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiment/design.hpp"
#include "sim/conditions.hpp"
#include "sim/layout.hpp"
#include "sim/packet/software.hpp"
#include "workload/matrix.hpp"

namespace weft::experiment {

// An executor before its run, who is to be told of faults.
struct FaultTaker {
  const sim::Layout& layout;
  std::function<bool(std::uint32_t port, const sim::Condition& condition)> add;  // false: it cannot show such a fault
  std::function<void(std::uint32_t port)> remove_link;
  std::function<bool(std::uint32_t endpoint, std::uint32_t millionths)>
      slow_receiver;                                               // of the line rate; false likewise
  std::function<sim::Software*(std::uint32_t endpoint)> software;  // the program that is its transport; null likewise
  std::string why_not;                                             // it cannot, and what can
  std::string instead;
};

// Complains about parts that are not there, keys that do not fit the kind, and what the executor cannot show.
void add_faults(const std::vector<model::FaultSpec>& faults, const FaultTaker& taker, spec::Diagnostics& diagnostics);

// Millionths of its rate that the slowest part has for good.
std::int64_t least_rate(const std::vector<model::FaultSpec>& faults);

// Whether a part that a fault names is a NIC, or nothing but cables of NICs.
bool is_host_link(const fabric::Fabric& fabric, const std::string& part);

// GPUs of the servers whose cables, or whose leaf's, faults are of, each once. Nothing: some are higher up, where
// everybody meets them.
std::optional<std::vector<std::uint32_t>> gpus_near(const fabric::Fabric& fabric,
                                                    const std::vector<model::FaultSpec>& faults);

// GPUs of the servers that meet the first one where the network may be narrow: those with a NIC on its first leaf, and
// where pods have less upwards than downwards those of its pod. None: there is no network.
std::vector<std::uint32_t> gpus_beside_first(const fabric::Fabric& fabric);

// Those of the file, before anything runs: parts that are not there, and keys that do not fit the kind.
void check_faults(Design& design);

// Links that are gone from the start, and that routing knows of.
void add_failures(const workload::Matrix& matrix, const FaultTaker& taker, spec::Diagnostics& diagnostics);

}  // namespace weft::experiment
