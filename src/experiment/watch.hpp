#pragma once
// Stops a run at its limits, or when its observer asks for it, and tells the observer how far it is.

#include <chrono>
#include <string>

#include "experiment/limits.hpp"
#include "experiment/observer.hpp"
#include "schedule/horizon.hpp"

namespace weft::experiment {

class Watch {
 public:
  // The observer outlives the watch.
  Watch(const Limits& limits, const Observer& observer);

  // To be called about once per window; false: stop now.
  bool operator()(const schedule::Progress& progress);
  // Where limits of time and events will stop it.
  schedule::Horizon horizon() const;
  // Empty while nothing stopped it; else kStoppedByObserver or the limit as it was written.
  const std::string& stopped_by() const { return stopped_by_; }

 private:
  bool exceeds(const Limit& limit, const schedule::Progress& progress, std::chrono::nanoseconds elapsed);

  Limits limits_;
  const Observer& observer_;
  std::chrono::nanoseconds started_;
  std::chrono::nanoseconds next_weighing_{0};
  std::string stopped_by_;
};

}  // namespace weft::experiment
