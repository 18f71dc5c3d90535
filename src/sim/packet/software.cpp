#include "sim/packet/software.hpp"

#include <algorithm>

namespace weft::sim {

void Software::stand_still(std::int64_t from, std::int64_t to) {
  pauses_.push_back({from, to});
  std::sort(pauses_.begin(), pauses_.end(), [](const Pause& a, const Pause& b) { return a.from < b.from; });
}

void Software::jump(std::int64_t at, std::int64_t by) {
  jumps_.push_back({at, by});
  std::sort(jumps_.begin(), jumps_.end(), [](const Jump& a, const Jump& b) { return a.at < b.at; });
}

std::int64_t Software::awake(std::int64_t when) const {
  for (const Pause& each : pauses_)
    if (each.from <= when && when < each.to) when = each.to;
  return when;
}

std::int64_t Software::take(std::int64_t now, std::uint32_t source, std::uint16_t path, std::int64_t bytes) {
  if (waiting_ + bytes > costs_.buffer) return kLost;
  waiting_ += bytes;
  // A call takes all that is there when it begins.
  const bool joins = now <= call_;
  const bool merges = joins && source == source_ && path == path_ && run_ + bytes <= costs_.merged;
  if (!joins) call_ = awake(std::max(now, free_));
  run_ = merges ? run_ + bytes : bytes;
  source_ = source;
  path_ = path;
  free_ = std::max(free_, call_) + (joins ? 0 : costs_.call) + (merges ? 0 : costs_.packet);
  return free_;
}

void Software::send_for(std::int64_t now, std::int64_t time) {
  sent_ = now + time;
  free_ = std::max(free_, now) + time;
}

std::int64_t Software::clock(std::int64_t now) const {
  std::int64_t shown = now;
  for (const Jump& each : jumps_)
    if (each.at <= now) shown += each.by;
  return shown;
}

std::int64_t Software::when_clock_shows(std::int64_t time) const {
  std::int64_t ahead = 0;
  for (const Jump& each : jumps_) {
    if (time - ahead < each.at) break;
    ahead = std::min(ahead + each.by, time - each.at);
  }
  return time == INT64_MAX ? time : time - ahead;
}

}  // namespace weft::sim
