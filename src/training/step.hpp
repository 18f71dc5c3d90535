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

// What a GPU and its server bring to a step.
struct Hardware {
  const compute::Kernels& kernels;
  std::int64_t multiprocessors = 1;
  Bandwidth host = gigabits_per_second(100);  // between a GPU and host memory while all GPUs of the server copy
};

// A pass as the clock sees it.
struct TimedPass {
  Duration computing;
  std::array<Duration, kParts> busy = {};
  Duration tensor;  // of it, on tensor cores
  std::array<Duration, kGroups> exposed = {};
  std::array<Duration, kGroups> communicating = {};
  Duration beside;
  Duration launching;
  Duration gaps;
  Duration host;

  Duration time() const {
    Duration sum = computing + beside + launching + gaps + host;
    for (const Duration each : exposed) sum += each;
    return sum;
  }
};

// Of the stage that computes longest. Everything together is the step.
struct Breakdown {
  std::array<Duration, kParts> computing = {};  // by kind of kernel
  std::array<Duration, kGroups> exposed = {};   // communication that computing waits for, by group
  Duration beside;                              // what computing takes longer beside communication
  Duration launching;                           // kernels that the host is late with
  Duration gaps;                                // between kernels, by the framework
  Duration host;                                // waiting for host memory, and for CPUs that update parameters
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
  std::int64_t longest = 0;  // the stage that computes longest
  Duration hop;              // from one stage to the next

  // Where they were wanted: passes in time, and what each is made of, as the layout's chunks: forward, backward,
  // weights.
  std::vector<Slot> slots;
  std::vector<std::array<TimedPass, 3>> passes;
};

struct SlowRank {
  std::int64_t rank = 0;
  std::int64_t speed_per_mille = 1'000;
};

// Clocks follow from how much of the computing is on tensor cores.
Step time_step(const model::TrainingRun& run, const Layout& layout, const Hardware& hardware,
               const std::vector<SlowRank>& slow, Communication& communication, bool keep_slots);

// The most that a GPU of any stage needs: cheap, for layouts that do not fit.
Memory most_memory(const model::TrainingRun& run, const Layout& layout, const Work& work);

}  // namespace weft::training
