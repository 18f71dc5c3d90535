#pragma once
// Who watches an experiment: hears how far it is, and can stop it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "schedule/collective_row.hpp"
#include "schedule/progress.hpp"

namespace weft::experiment {

struct Observer {
  // About once per window, so it has to return soon.
  std::function<void(const schedule::Progress& progress, std::chrono::nanoseconds elapsed)> progress = {};
  // A row of a collective is done; `job`: of the workload.
  std::function<void(std::size_t job, const schedule::CollectiveRow& row)> row = {};
  // Set from anywhere, also by a signal: the run ends as soon as it can, and what is done is kept.
  const std::atomic<bool>* stop = nullptr;
  // Bytes of this process, for limits of memory.
  std::function<std::int64_t()> memory = {};
  std::function<std::chrono::nanoseconds()> clock = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
  };

  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

}  // namespace weft::experiment
