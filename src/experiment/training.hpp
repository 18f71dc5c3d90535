#pragma once
// A step of training as an experiment: what runs, what came of it, its check and its run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/fidelity.hpp"
#include "model/load.hpp"
#include "training/step.hpp"

namespace weft::experiment {

struct Training {
  model::TrainingRun run;
};

// A collective of a step, as it was timed.
struct TrainingExchange {
  training::Group group = training::Group::tensor;
  std::string operation;
  std::uint64_t bytes = 0;
  std::uint32_t ranks = 0;
  std::uint32_t groups = 0;  // that do it at the same time
  std::uint32_t nodes = 0;   // scale-up domains that a group reaches over
  std::string algorithm;
  Duration time;
};

struct TrainingResult {
  std::string model;
  Fidelity fidelity = Fidelity::message;
  training::Layout layout;
  training::Step step;
  std::vector<TrainingExchange> exchanges;
  Bytes memory;           // of a GPU
  double peak_flops = 0;  // of a GPU, at the job's precision
  double joules_per_token = 0;
  std::optional<double> dollars_per_million;  // tokens; of the cluster, as many as the job has of its GPUs
  std::string basis;                          // where kernel times come from
  std::string not_known;                      // of the network, at this level; empty: nothing
  std::string faults;                         // what stands for them, where not each is looked at
  bool drawn = false;                         // by the seed, at message level
  std::optional<Duration> by_messages;        // the step at message level, where another one was asked for

  // Of the step, that computing waits for communication.
  double network_percent() const {
    return 100 * static_cast<double>(step.parts.network().count()) / static_cast<double>(step.time.count());
  }
};

// What the cluster's file asks for.
std::vector<Training> training_of(const model::Cluster& cluster);

}  // namespace weft::experiment
