// How many paths SRD has in use where packets vanish, and which. Known of a path is what its last packet told. On links
// of some hundred Mb/s a dozen packets are in flight: over 64 paths each has one in five round trips, and what is known
// of it is of a queue long gone. Then all went by two of four spines, again and again, and a spine at a tenth of its
// rate was found out once by each path. With as many paths as trains in flight all is of the last round trip.

#include <algorithm>
#include <bit>

#include "transport/srd/srd.hpp"

namespace weft::transport {

// Once in a round trip, where packets vanish.
void Srd::look_at_paths(Sender& sender) {
  // There was no other: in use after all.
  for (std::uint32_t i = 0; i < config_.paths; ++i)
    if (sender.paths.lag[i] == kResting && sender.paths.flying[i] > 0) wake_path(sender, i);
  // What a path was behind, its queue has sent some of. Looked at with each choice of a path, one at a time, as others
  // are, paths of a window of eight packets would be forgiven once in eight round trips.
  for (std::uint32_t i = 0; i < config_.paths; ++i)
    if (std::uint8_t& lag = sender.paths.lag[i]; lag <= kMostLag && sender.paths.flying[i] == 0)
      lag = static_cast<std::uint8_t>(lag - (lag + 7) / 8);
  // Not with every swing of the window.
  const std::uint32_t wanted = paths_for(sender);
  if (wanted > sender.in_use || wanted < sender.in_use * 3u / 4) use_paths(sender, wanted);
  const std::uint32_t last = last_path(sender);
  if (sender.in_use == config_.paths || last == config_.paths || sender.paths.lag[last] < leave_lag_) return;
  use_paths(sender, sender.in_use + 1u);
  rest_path(sender, last);
}

// One for each train in flight. Up to a quarter of them, as where one spine of four has died, may bring nothing without
// others in their place: those may be dead, too, and each finds out with a packet that does not come. All where several
// send to one receiver: its link is full whatever way they take.
std::uint32_t Srd::paths_for(const Sender& sender) const {
  if (sender.fan_in > 1) return config_.paths;
  const auto unproven = static_cast<std::uint32_t>(std::popcount(sender.unproven));
  const std::uint32_t wanted = std::max(sender.allowed / train_of(sender), kFewPaths);
  return std::min(std::max(wanted, wanted * 3 / 4 + unproven), config_.paths);
}

void Srd::use_paths(Sender& sender, std::uint32_t wanted) {
  for (std::uint32_t i = 0; i < config_.paths && sender.in_use < wanted; ++i) {
    sender.next_awake = static_cast<std::uint8_t>((sender.next_awake + 1) % config_.paths);
    if (sender.paths.lag[sender.next_awake] == kResting) wake_path(sender, sender.next_awake);
  }
  while (sender.in_use > wanted) {
    const std::uint32_t last = last_path(sender);
    if (last == config_.paths) return;
    rest_path(sender, last);
  }
}

// The one that lags most, of those on which nothing is in flight, nor about to be; `paths` where there is none.
std::uint32_t Srd::last_path(const Sender& sender) const {
  std::uint32_t last = config_.paths;
  for (std::uint32_t i = 0; i < config_.paths; ++i) {
    const std::uint8_t lag = sender.paths.lag[i];
    if (lag > kMostLag || sender.paths.flying[i] > 0 || (i == sender.path && sender.burst_left > 0)) continue;
    if (last == config_.paths || lag > sender.paths.lag[last]) last = i;
  }
  return last;
}

void Srd::wake_path(Sender& sender, std::uint32_t path) {
  sender.paths.lag[path] = 0;
  ++sender.in_use;
}

void Srd::rest_path(Sender& sender, std::uint32_t path) {
  sender.paths.lag[path] = kResting;
  --sender.in_use;
}

}  // namespace weft::transport
