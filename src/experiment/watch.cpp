#include "experiment/watch.hpp"

namespace weft::experiment {
namespace {

constexpr std::chrono::nanoseconds kWeighEvery = std::chrono::milliseconds(20);  // asking for memory is a system call

}  // namespace

Watch::Watch(const Limits& limits, const Observer& observer)
    : limits_(limits), observer_(observer), started_(observer.clock()) {}

bool Watch::operator()(const schedule::Progress& progress) {
  if (!stopped_by_.empty()) return false;
  const std::chrono::nanoseconds elapsed = observer_.clock() - started_;
  if (observer_.stopped()) {
    stopped_by_ = kStoppedByObserver;
    return false;
  }
  for (const Limit& limit : limits_) {
    if (!exceeds(limit, progress, elapsed)) continue;
    stopped_by_ = limit.text;
    return false;
  }
  if (observer_.progress) observer_.progress(progress, elapsed);
  return true;
}

schedule::Horizon Watch::horizon() const {
  schedule::Horizon horizon;
  for (const Limit& limit : limits_) {
    if (limit.kind == Limit::Kind::time) horizon.time = Duration(limit.most);
    if (limit.kind == Limit::Kind::events) horizon.events = static_cast<std::uint64_t>(limit.most);
  }
  return horizon;
}

bool Watch::exceeds(const Limit& limit, const schedule::Progress& progress, std::chrono::nanoseconds elapsed) {
  switch (limit.kind) {
    case Limit::Kind::time:
      return progress.now.count() >= limit.most;
    case Limit::Kind::events:
      return progress.events >= static_cast<std::uint64_t>(limit.most);
    case Limit::Kind::wall:
      return elapsed.count() >= limit.most / 1000;
    case Limit::Kind::memory:
      break;
  }
  if (!observer_.memory || elapsed < next_weighing_) return false;
  next_weighing_ = elapsed + kWeighEvery;
  const auto growth = progress.growth_bytes ? static_cast<std::int64_t>(progress.growth_bytes()) : 0;
  return observer_.memory() + growth >= limit.most;
}

}  // namespace weft::experiment
