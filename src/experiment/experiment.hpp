#pragma once
// A run as a value: a workload on a design, under conditions, at a fidelity, with a seed and limits; and what came of
// it. Nothing here reads files, prints, or knows of a terminal: verbs, tests and whoever else embeds weft call the
// same.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "experiment/collectives.hpp"
#include "experiment/design.hpp"
#include "experiment/fidelity.hpp"
#include "experiment/limits.hpp"
#include "experiment/observer.hpp"
#include "experiment/traffic.hpp"
#include "experiment/training.hpp"
#include "experiment/workload.hpp"
#include "schedule/collective_row.hpp"
#include "schedule/result.hpp"
#include "transport/capture.hpp"
#include "transport/stack.hpp"

namespace weft::experiment {

// What is looked at beside the result: each of it costs time or memory.
struct Wanted {
  Duration sample = {};                   // interval of the time series of links; 0: none
  std::vector<std::string> capture = {};  // links whose packets are kept: "leaf0:spine1", or "leaf0" for all of its
  bool links = false;                     // what they carried; else of traffic the one with the longest queue
  std::size_t messages = 0;               // of a collective's last size, at most so many
};

struct Experiment {
  std::shared_ptr<const Workload> workload;   // runs share it: a matrix may be large
  std::vector<model::FaultSpec> faults = {};  // beside those of the design's file
  Fidelity fidelity = Fidelity::packet;
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;  // that share the work; the result is the same
  Limits limits = {};
  Wanted wanted = {};
};

// Packets that were seen on links.
struct Capture {
  std::vector<std::string> links;  // what a packet's `link` counts
  std::vector<transport::Captured> packets;
  transport::StackConfig stack;  // what their headers depend on
};

// What a group did together, all times of it.
struct TogetherTime {
  std::uint64_t times = 0;
  Duration busy = {};  // during which some of it was under way
};

struct Outcome {
  std::string
      stopped_by;  // empty: it came to its end; else a limit, kStoppedByObserver or "deadlock", and it is partial
  // Of traffic.
  schedule::RunResult result;     // flows in the order of the traffic's; of collectives the links of the last run
  std::int64_t fullest_link = 0;  // see sim/link_balance.hpp; 0 also where there are no packets
  Capture capture;
  std::vector<TogetherTime> together;  // of a graph, by collective
  // Of collectives.
  std::vector<std::vector<schedule::CollectiveRow>> rows;  // by job, size by size
  std::vector<LeftOut> left_out;                           // sizes of which there are no rows
  std::vector<CollectiveMessage> messages;                 // of the last run, where they were wanted
  bool more_messages = false;                              // there were more than that
  // Of training.
  std::optional<TrainingResult> training;
  bool stuck = false;  // somebody waits for what never comes
};

// All that is wrong with an experiment, before it runs: errors go into the design's diagnostics. `fidelities` are those
// that it will be run with, whatever it says itself.
void check(Design& design, const Experiment& experiment, const std::vector<Fidelity>& fidelities);
inline void check(Design& design, const Experiment& experiment) { check(design, experiment, {experiment.fidelity}); }

// Until everything is done, a limit is reached or the observer stops it. check() had nothing to say.
Outcome run(const Design& design, const Experiment& experiment, const Observer& observer);

}  // namespace weft::experiment
