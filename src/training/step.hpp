#pragma once
// One step of training: how long it takes, and where the time goes.

#include <array>
#include <cstdint>
#include <vector>

#include "training/memory.hpp"
#include "training/pipeline.hpp"
#include "training/work.hpp"

namespace weft::training {

// What a collective takes when all groups of its kind do it at the same time.
struct Exchange {
  Duration time;
  std::int64_t multiprocessors = 0;  // that it takes of a GPU: one for each channel
};

class Communication {
 public:
  virtual ~Communication() = default;
  virtual Exchange exchange(Group group, collective::Operation operation, std::uint64_t bytes) = 0;
};

// Of the stage that computes longest. Everything together is the step.
struct Breakdown {
  std::array<Duration, kParts> computing = {};  // by kind of kernel
  std::array<Duration, kGroups> exposed = {};   // communication that computing waits for, by group
  Duration beside;                              // what computing takes longer beside communication
  Duration launching;                           // kernels that the host is late with
  Duration slow;                                // waiting for slow ranks
  Duration bubble;                              // waiting for other stages

  Duration sum() const;
  Duration network() const;
};

struct Step {
  Duration time;
  Breakdown parts;
  std::array<Duration, kGroups> communicating = {};  // exposed or not
  double tokens_per_second = 0;
  double flops_per_gpu = 0;  // per second, of the model: without anything computed twice, attention counted whole
  Memory memory;             // of the stage that needs most
  std::vector<Slot> slots;   // where they were wanted
};

struct SlowRank {
  std::int64_t rank = 0;
  std::int64_t speed_per_mille = 1'000;
};

Step time_step(const model::TrainingRun& run, const Layout& layout, const compute::Kernels& kernels,
               std::int64_t multiprocessors, const std::vector<SlowRank>& slow, Communication& communication,
               bool keep_slots);

// The most that a GPU of any stage needs: cheap, for layouts that do not fit.
Memory most_memory(const model::TrainingRun& run, const Layout& layout, const Work& work);

}  // namespace weft::training
