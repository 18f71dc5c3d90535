#include "net/path_watch.hpp"

#include <algorithm>

#include "transport/numbers.hpp"

namespace weft::net {

const char* name_of(PathState state) {
  constexpr std::array<const char*, 4> kNames = {"healthy", "slow", "losing", "dead"};
  return kNames[static_cast<std::size_t>(state)];
}

void PathWatch::sent(Instant now, std::uint32_t sequence, std::uint32_t path, std::uint64_t bytes, bool again) {
  if (!begun_) below_ = next_ = sequence;
  begun_ = true;
  if (!transport::before(sequence, next_)) next_ = sequence + 1;
  Slot& slot = slots_[sequence % kSlots];
  if (!again || slot.sequence != sequence) {
    slot = {.sequence = sequence};
  } else if (slot.path != kNoPath) {
    lose(paths_[slot.path], slot.at);
    if (slot.copies == kMostCopies) std::shift_left(slot.before.begin(), slot.before.end(), 1);
    slot.copies = std::min<std::uint8_t>(slot.copies + 1, kMostCopies);
    slot.before[slot.copies - 1] = slot.path;
  }
  slot.path = static_cast<std::uint8_t>(path);
  slot.again = again;
  slot.at = now;
  ++paths_[path].packets;
  paths_[path].bytes += bytes;
}

void PathWatch::lose(Path& path, Instant sent) {
  ++path.lost;
  // Not always in the order in which they were sent.
  path.silent_since = path.in_a_row++ == 0 ? sent : std::min(path.silent_since, sent);
  path.spell_since = path.spell_lost == 0 ? sent : std::min(path.spell_since, sent);
  path.last_lost = path.in_a_row == 1 ? sent : std::max(path.last_lost, sent);
  if (path.spell_lost++ == 0 || sent - path.spell_last >= kApart) {
    ++path.times;
    path.spell_last = sent;
  }
  path.clean = 0;
}

void PathWatch::arrive(Slot& slot, Instant at) {
  Path& path = paths_[slot.path];
  ++path.arrived;
  path.heard = at;
  path.in_a_row = 0;
  ++path.spell_arrived;
  if (++path.clean >= kCleanAgain || path.spell_lost == 0) path.spell_lost = path.spell_arrived = path.times = 0;
  slot.path = kNoPath;
  if (slot.copies == 0) return;
  if (copied_.size() == kMostArrived) copied_.erase(copied_.begin());
  copied_.push_back(slot.sequence);
}

PathWatch::Slot* PathWatch::came_once_more(std::uint32_t echo, Instant at) {
  if (Slot& echoed = slots_[echo % kSlots]; echoed.sequence == echo && echoed.copies > 0) return &echoed;
  for (; !copied_.empty(); copied_.pop_back()) {
    Slot& slot = slots_[copied_.back() % kSlots];
    if (slot.sequence == copied_.back() && slot.copies > 0 && at - slot.at < kLately) return &slot;
  }
  return nullptr;
}

void PathWatch::acknowledged(Instant at, std::uint8_t flags, const transport::Header& header) {
  using transport::before;
  if (!begun_ || before(next_, header.sequence)) return;
  const std::uint32_t echo = header.echoed();
  Slot& echoed = slots_[echo % kSlots];
  constexpr std::uint8_t kTwice = transport::kTrimmed | transport::kNotReady;
  const bool twice = (flags & kTwice) == kTwice;
  if (Slot* const slot = twice ? came_once_more(echo, at) : nullptr) {
    Path& path = paths_[slot->before[--slot->copies]];
    --path.lost;
    ++path.late;
    path.spell_lost -= path.spell_lost > 0;
    path.in_a_row = 0;
  }
  if (echoed.sequence == echo && !twice && echoed.path != kNoPath && !echoed.again && at > echoed.at) {
    Path& path = paths_[echoed.path];
    const Duration trip(at - echoed.at);
    path.least_rtt = path.least_rtt == Duration(0) ? trip : std::min(path.least_rtt, trip);
    path.smooth_rtt = path.smooth_rtt == Duration(0) ? trip : path.smooth_rtt + (trip - path.smooth_rtt) / 16;
    path.longest_rtt = std::max(path.longest_rtt, trip);
  }
  const auto take = [&](std::uint32_t sequence) {
    Slot& slot = slots_[sequence % kSlots];
    if (slot.sequence == sequence && slot.path != kNoPath) arrive(slot, at);
  };
  for (; before(below_, header.sequence); ++below_) take(below_);
  const std::uint32_t from = header.arrived_from();
  for (std::uint32_t i = 0; i < 64; ++i)
    if (header.ack.arrived >> i & 1) take(from + i);
  if (at - looked_ > kLookEvery) look(at);
}

std::vector<PathHealth> PathWatch::look(Instant now) {
  looked_ = now;
  std::vector<Duration> trips;
  for (const Path& path : paths_)
    if (path.smooth_rtt > Duration(0)) trips.push_back(path.smooth_rtt);
  Duration median;
  if (!trips.empty()) {
    std::ranges::nth_element(trips, trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2));
    median = trips[trips.size() / 2];
  }
  // What is usual: of the better half, together. Some that lose must not excuse the others.
  std::vector<const Path*> used;
  for (const Path& path : paths_)
    if (path.arrived + path.lost > 0) used.push_back(&path);
  const auto share = [](const Path* path) {
    return static_cast<double>(path->lost) / static_cast<double>(path->arrived + path->lost);
  };
  std::ranges::sort(used, {}, share);
  double lost = 0;
  double all = 0;
  for (std::size_t i = 0; 2 * i < used.size(); ++i) {
    lost += static_cast<double>(used[i]->lost);
    all += static_cast<double>(used[i]->arrived + used[i]->lost);
  }
  const double usual = all > 0 ? lost / all : 0;
  std::vector<PathHealth> out;
  for (Path& path : paths_) {
    judge(path, usual, median, now);
    out.push_back(path);
  }
  return out;
}

void PathWatch::judge(Path& path, double others, Duration median, Instant now) {
  constexpr Duration kMuch = microseconds(200);
  const bool slow = path.smooth_rtt > median * 2 && path.smooth_rtt > median + kMuch;
  if (!slow) {
    path.slow_since = 0;
  } else if (path.slow_since == 0) {
    path.slow_since = now;
  }
  const auto all = static_cast<double>(path.spell_lost + path.spell_arrived);
  const double share = all > 0 ? static_cast<double>(path.spell_lost) / all : 0;
  if (path.in_a_row >= kInARow && path.last_lost - path.silent_since >= kApart) {
    path.state = PathState::dead;
    path.since = path.silent_since;
  } else if (path.times >= kLeastTimes && share >= 0.005 && share >= 4 * others) {
    path.state = PathState::losing;
    path.since = path.spell_since;
  } else if (slow) {
    path.state = PathState::slow;
    path.since = path.slow_since;
  } else {
    path.state = PathState::healthy;
    path.since = 0;
  }
}

}  // namespace weft::net
