// What SRD learns of a network, and how much it has in flight: round trips, the room of queues, windows.
//
// Where what finds no room vanishes, nobody says how long queues are. They are found out: the queueing that is fine
// (`target`) shrinks when more is lost than usual, to below what there was then, and grows back slowly. What is still
// lost however little is in flight is the network's own loss, and no reason to be slow. A window grows in proportion
// while it is small: steps of a whole packet from each of many senders are more than any queue holds.

#include <algorithm>

#include "base/hash.hpp"
#include "transport/srd/srd.hpp"

namespace weft::transport {
namespace {

constexpr std::uint32_t kGentle = 60;      // packets: windows much smaller than this grow in proportion
constexpr std::uint32_t kLookEvery = 256;  // round trips between two looks at the least of them
constexpr std::uint32_t kAll = 1u << 20;   // parts that loss is counted in
constexpr std::uint32_t kMostTrips = 64;
constexpr std::uint32_t kFewArrivals = 4;  // that say how often something arrives
constexpr std::uint32_t kNearlyAll = 95;   // percent of what got through lately that a window is not cut below
constexpr std::uint32_t kQuick = 8;        // where nothing waits, a window grows by that part of itself in a round trip
constexpr std::uint32_t kForgiven = 16;    // a part of the full round trips, for each in which little waits
constexpr std::uint32_t kHastened = 8;     // after kUsedTo so many more for each packet lost per packet not lost
constexpr std::uint32_t kMostFull = 1u << 20;
constexpr std::uint32_t kSmallest = 8;  // a part of a packet: of smaller windows steps are as long as of that
constexpr std::uint32_t kBearable = 4;  // a part of what was sent: more lost than that, and the window itself is cut

}  // namespace

// ---- round trips

// A header came without its payload: this network says what it loses, and what it loses are not packets that vanish.
void Srd::know_of_trimming(Sender& sender) {
  sender.drops = sender.starting = false;
  sender.target = target_;
  sender.most = std::min(full_window_, kMostSrdWindow * kFixed);
  sender.window = std::clamp(sender.window, kFixed, sender.most);
  use_paths(sender, config_.paths);
}

// A packet has told a round trip. On slow links shorter packets are much quicker, and say nothing of full ones.
void Srd::sample_packet(Sender& sender, std::uint32_t sequence, std::int32_t flight) {
  if (flight <= 0) return;  // so long that times have wrapped
  const auto rtt = static_cast<std::uint32_t>(flight);
  if (sender.drops) {
    const SendMessage& message = send_messages_[message_with(send_messages_, sequence, sender.first_message)];
    const bool full = sequence + 1 != message.first + message.packets || message.bytes % sender.payload == 0;
    if (!full && sender.full_seen) return;
    if (full && !sender.full_seen) {
      sender.full_seen = true;
      sender.least_rtt = std::max(sender.least_rtt, base_);
      if (rtt / kNotCredible > sender.least_rtt) {
        begin_with(sender, rtt);
      } else if (sender.fan_in <= 1 && rtt / 3 * 2 > sender.least_rtt) {
        // Who is alone at the receiver, and whose first packet took half as long again as the driver said: what it said
        // was of another network, or of shorter packets.
        sender.least_rtt = rtt;
      }
    }
    // Half the least so far is what a packet tells that flew until times had wrapped; unless the next says it, too.
    if (2 * rtt < sender.least_rtt && (2 * rtt < sender.doubted || 2 * sender.doubted < rtt)) {
      sender.doubted = rtt;
      return;
    }
  }
  sample(sender, rtt);
}

void Srd::sample(Sender& sender, std::uint32_t rtt) {
  sender.least_rtt = std::max(1u, std::min(sender.least_rtt, rtt));
  sender.lately_least = std::min(sender.lately_least, rtt);
  sender.epoch_rtt += std::min(rtt, sender.least_rtt + 2 * room_of(sender));
  ++sender.epoch_samples;
}

// What was known of round trips is wrong, or no longer true.
void Srd::begin_with(Sender& sender, std::uint32_t rtt) {
  sender.least_rtt = rtt;
  sender.mean_rtt = rtt * kMeanOf;
  sender.spread = rtt / 4 * kMeanOf;
  sender.target = room_of(sender);
  sender.window = std::max(sender.window, std::min(first_window_, sender.most));
  sender.starting = true;
}

// The peer has got a packet twice: it was not lost, only late, or its answer was.
void Srd::hear_of_copy(Sender& sender) {
  sender.unheard = true;
  sender.late = static_cast<std::uint8_t>(std::min(sender.late + 1, 12));
  if (!sender.full_seen) sender.mean_rtt += std::min(sender.mean_rtt / 8, kTimeMask);
}

// Hosts are not always there: what came waits until one runs again. Silence of that length means nothing. Longer waits
// are not for queues to bridge, and who is away for long once is not to be waited for as long when something is lost.
void Srd::hear_of_wait(Sender& sender, Instant waited) const {
  const auto wait = static_cast<std::uint32_t>(std::min(waited, longest_flight_) >> time_shift_);
  if (wait > sender.host_wait)
    sender.host_wait = std::max(sender.host_wait, std::min(wait, kLongWait * base_of(sender)));
}

// ---- windows

// How often something arrives, over the last few times.
void Srd::note_arrivals(Sender& sender, std::uint32_t arrived, std::uint32_t now) {
  const auto took = static_cast<std::uint32_t>(std::max(0, since(now, sender.epoch_began)));
  const std::uint32_t each = std::max(1u, took / std::max(1u, arrived));
  const std::uint32_t weight = std::min(arrived, kFewArrivals);
  sender.gap =
      sender.gap == 0
          ? each
          : static_cast<std::uint32_t>(
                (std::uint64_t{sender.gap} * (kFewArrivals - weight) + std::uint64_t{each} * weight) / kFewArrivals);
}

// What all senders of an incast would have in flight together if each got as much through as this one does. A
// receiver's link that loses what comes too fast is full all the same: who gets a share of it through knows its share,
// and to send less than nearly that leaves the link idle. Without this, the losses of the first burst cost windows so
// much that links of receivers stood idle for half of the next ten round trips.
std::uint32_t Srd::delivered_window(const Sender& sender) const {
  if (!sender.drops || sender.fan_in <= 1 || sender.gap == 0) return 0;
  const std::uint64_t share = std::uint64_t{mean_of(sender)} * kFixed / sender.gap;
  const std::uint64_t all = std::min<std::uint64_t>(share, kFixed) * sender.fan_in * kNearlyAll / 100;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, sender.window));
}

// A packet found no room, or vanished.
void Srd::be_less_eager(Sender& sender, bool) {
  ++sender.epoch_lost;
  std::uint32_t cut = std::min(config_.trim_cut, sender.window * config_.trim_cut / kFixed);
  std::uint32_t least = sender.window > kFixed ? kFixed : least_window(sender);  // one packet first, then less
  if (sender.drops) {
    // Of more, what was lost is judged at the end of a round trip; of a packet at a time, each is several of them.
    if (sender.allowed > 1) return;
    cut = std::min(sender.window / 2, kFixed * sender.fan_in);
    least = least_window(sender);
  }
  sender.window = std::max({least, delivered_window(sender), sender.window - std::min(sender.window, cut)});
  set_allowed(sender);
}

void Srd::end_epoch(Sender& sender, std::uint32_t now) {
  if (sender.epoch_samples > 0) {
    const std::uint32_t rtt = sender.epoch_rtt / sender.epoch_samples;
    const std::uint32_t fine = sender.least_rtt + sender.target;
    if (sender.drops) {
      learn_room(sender, rtt, now);
    } else {
      note_congestion(sender, rtt);
    }
    if (rtt > fine) {
      sender.starting = false;
      const auto scaled = static_cast<std::uint32_t>(std::uint64_t{sender.window} * fine / rtt);
      sender.window = std::max({scaled, delivered_window(sender), sender.window * (100 - config_.most_cut) / 100});
    }
    sender.window = std::clamp(sender.window + step_of(sender, rtt, now), least_window(sender), sender.most);
    if (sender.drops) look_at_least(sender);
  } else if (!sender.drops && sender.window < kFixed) {
    // What is sent twice tells no round trip, and where most is trimmed hardly anything else arrives: that it did tells
    // that there is room.
    note_congestion(sender, sender.least_rtt + sender.target + 1);
    if (sender.epoch_lost == 0)
      sender.window = std::min(sender.window + step_where_trimmed(sender, mean_of(sender)), sender.most);
  }
  if (sender.drops) look_at_paths(sender);
  sender.epoch_acked = sender.epoch_rtt = sender.epoch_samples = 0;
  sender.epoch_lost = 0;
  sender.epoch_began = now;
  set_allowed(sender);
}

// Steps that make shares alike within tens of round trips are more than a queue holds where many take them: with five
// packets, four flows that shared a link sent 71 % again, for ever. Short ones need them and long ones have time, so a
// step is the shorter the longer the network was full. All who began together count the same: steps that each learnt by
// what it lost drifted apart, and so did shares. So it is only later, when shares are alike, that what is lost says how
// much too long steps still are: with hundreds of flows they are to be a hundredth of a packet.
void Srd::note_congestion(Sender& sender, std::uint32_t rtt) {
  if (sender.epoch_lost > 0 || rtt > sender.least_rtt + sender.target) {
    ++sender.congested;
    if (sender.congested > kUsedTo) {
      const std::uint32_t through = std::max(1u, sender.epoch_acked - sender.epoch_lost);
      sender.congested = std::min(sender.congested + kHastened * sender.epoch_lost / through, kMostFull);
    }
  } else if (rtt < sender.least_rtt + sender.target / 2) {
    sender.congested -= (sender.congested + kForgiven - 1) / kForgiven;
  }
}

// Who sends less than a packet in a round trip waits for several until the next.
std::uint32_t Srd::trips_of(const Sender& sender, std::uint32_t now) const {
  if (sender.allowed > 1) return 1;
  const auto passed = static_cast<std::uint32_t>(std::max(0, since(now, sender.epoch_began)));
  return std::clamp(passed / mean_of(sender), 1u, kMostTrips);
}

// Of less than a packet in proportion, so that they go on from those of one packet, but not down to nothing: steps of
// equal length are what makes shares alike. Where nothing waits, twice as much.
std::uint32_t Srd::step_where_trimmed(const Sender& sender, std::uint32_t rtt) const {
  const std::uint32_t step = kFixed * config_.increase * kUsedTo / (kUsedTo + sender.congested);
  if (sender.window >= kFixed) return step;
  if (rtt < sender.least_rtt + sender.target / kQuick) return std::max(step, sender.window);
  return step * std::max(sender.window, kFixed / kSmallest) / kFixed + 1;
}

std::uint32_t Srd::step_of(const Sender& sender, std::uint32_t rtt, std::uint32_t now) const {
  if (!sender.drops) return step_where_trimmed(sender, rtt);
  const std::uint32_t step = kFixed * config_.increase;
  if (sender.starting) return 8 * sender.window < sender.most ? 3 * sender.window : sender.window;
  const auto gentle =
      static_cast<std::uint32_t>(std::uint64_t{step} * sender.window / (sender.window + kGentle * kFixed));
  // The step follows what the queue says: it is long where nothing waits, and short where as much does as is fine.
  const std::uint32_t fine = sender.least_rtt + sender.target;
  const std::uint32_t room = fine - std::min(fine, rtt);
  const auto quick = static_cast<std::uint32_t>(std::uint64_t{sender.window} * room / (kQuick * sender.target + 1));
  return std::min(std::max(gentle + 1, quick) * trips_of(sender, now), sender.window);
}

// Whether more was lost than the network loses anyway.
bool Srd::too_much_lost(Sender& sender, std::uint32_t rtt) {
  const std::uint32_t all = std::max(1u, sender.epoch_acked + sender.epoch_lost);
  const std::uint32_t packets = std::min(128u, all);
  const std::uint32_t lost = sender.epoch_lost;
  const auto seen = static_cast<std::uint32_t>(std::uint64_t{lost} * packets * kAll / all);
  sender.loss = (sender.loss * (256 - packets) + seen) / 256;
  // What is still lost however short queues are is the network's own.
  const std::uint32_t least = least_room_of(sender);
  const bool yielded = sender.target <= least && rtt <= sender.least_rtt + least;
  if (sender.loss < sender.usual_loss) {
    sender.usual_loss -= (sender.usual_loss - sender.loss) * packets / 4096;
  } else if (yielded) {
    sender.usual_loss += (sender.loss - sender.usual_loss) * packets / 256;
  }
  return lost > 0 && sender.loss > 2 * sender.usual_loss + kAll / 64;
}

void Srd::learn_room(Sender& sender, std::uint32_t rtt, std::uint32_t now) {
  const std::uint32_t room = room_of(sender);
  const std::uint32_t base = base_of(sender);
  if (too_much_lost(sender, rtt)) {
    sender.starting = false;
    const std::uint32_t queue = rtt - std::min(rtt, sender.least_rtt);
    sender.target = std::max(least_room_of(sender), std::min(sender.target, queue * 3 / 4));
    // What was lost did not fit: of the share, as much.
    const std::uint32_t bearable = (sender.epoch_acked + sender.epoch_lost) / kBearable;
    if (sender.allowed > 1 && sender.epoch_lost > bearable) {
      const std::uint32_t cut = (sender.epoch_lost - bearable) * kFixed * sender.fan_in;
      sender.window =
          std::max({least_window(sender), delivered_window(sender), sender.window - std::min(sender.window / 2, cut)});
    }
  } else {
    // What hosts' waits need is known, but not whether queues have room for it: twice as much within 64 round trips.
    sender.target += ((base + std::min(sender.target, bridged_of(sender))) / 64 + 1) * trips_of(sender, now);
  }
  sender.target = std::min(sender.target, room);
  // A network that delivers more than it was said to.
  const std::uint32_t arrived = sender.epoch_acked - std::min<std::uint32_t>(sender.epoch_acked, sender.epoch_lost);
  if (arrived > 0) note_arrivals(sender, arrived, now);
  const auto took =
      static_cast<std::uint32_t>(std::max(since(now, sender.epoch_began), static_cast<std::int32_t>(base)));
  const std::uint32_t reach = base + bridged_of(sender);
  const auto delivered = static_cast<std::uint32_t>(std::uint64_t{arrived} * kFixed * reach / took);
  if (delivered / 5 * 6 > sender.most)
    sender.most = std::min(delivered / 2 * 3 + config_.ack_every * kFixed, kMostFarWindow * kFixed);
}

// The least round trip is that of a while ago where all since took much longer: paths change, and drivers err.
void Srd::look_at_least(Sender& sender) {
  if (sender.epochs % 16 == 15 && sender.late > 0) --sender.late;
  sender.host_wait -= (sender.host_wait + kLookEvery - 1) / kLookEvery;
  if (++sender.epochs < kLookEvery) return;
  if (sender.lately_least / 5 * 2 > sender.least_rtt) begin_with(sender, sender.lately_least);
  sender.lately_least = kTimeMask;
  sender.epochs = 0;
}

// ---- shares

// A newer count of senders. Who waits for a turn that was reckoned with more of them waits less.
void Srd::change_fan_in(Instant now, Sender& sender, std::uint16_t fan_in) {
  const Instant wait = sender.paced_until - now;
  if (sender.drops && wait > 0 && fan_in < sender.fan_in) sender.paced_until = now + wait / sender.fan_in * fan_in;
  // Who did not know of the others has counted for itself.
  if (sender.starting && sender.fan_in == 1)
    sender.window = std::clamp(sender.window * fan_in / 2, sender.window, std::max(sender.window, sender.most));
  sender.fan_in = fan_in;
  set_allowed(sender);
}

// The receiver's link is shared, or less than a packet may be in flight.
Instant Srd::shared_turn_of(const Sender& sender) const {
  Instant turn = sender.fan_in > 1 ? config_.packet_time.count() * sender.payload / config_.payload * sender.fan_in : 0;
  if (!sender.drops) {
    if (sender.window >= kFixed) return turn;
    // Hundreds of flows that began together would go on together, and those who come last to the queue each time would
    // be trimmed each time.
    const Instant wait = turn_of_part(sender, sender.window);
    turn = std::max(
        turn, wait * 7 / 8 + wait / 4 * pick(mix64(pair_key(sender.endpoint, sender.peer) ^ sender.turn), 256) / 256);
    return std::min({turn, config_.give_up.count() >> 3, longest_flight_ >> 3});
  }
  turn = turn * full_window_of(sender) / sender.most;
  const std::uint32_t share = sender.window / sender.fan_in;
  if (share >= kFixed) return turn;
  turn = std::max(turn, turn_of_part(sender, share));
  // Who waits longer than silence lasts would take its own silence for the peer's.
  return std::min({turn, config_.give_up.count() >> 3, longest_flight_ >> 3});
}

// Of a packet in a round trip.
Instant Srd::turn_of_part(const Sender& sender, std::uint32_t part) const {
  return (Instant{mean_of(sender)} * kFixed / std::max(1u, part)) << time_shift_;
}

// Counted at the endpoint are those with messages; how much they may send counts with them.
void Srd::begin_work(Sender& sender) {
  EndpointState& state = endpoints_.of(sender.endpoint);
  ++state.working;
  state.allowed += sender.allowed;
}

void Srd::end_work(Sender& sender) {
  EndpointState& state = endpoints_[sender.endpoint];
  --state.working;
  state.allowed -= sender.allowed;
  if (state.working <= 1 && turns_.somebody_wants(state.active)) share_more(state);  // one has all
}

void Srd::set_allowed(Sender& sender) {
  const std::uint32_t before_it = sender.allowed;
  sender.paced = sender.drops || sender.fan_in > 1 || sender.window < kFixed;
  // Where packets vanish, the window is what all senders of the peer may have in flight together, and each has its
  // part. Rounded: cut off, the shares of 64 that come to 1.95 packets would leave a sixth of the receiver's link
  // unused.
  const std::uint32_t whole = sender.drops ? sender.window : sender.most;
  const std::uint32_t share = sender.fan_in > 1 ? (whole / sender.fan_in + kFixed / 2) / kFixed * kFixed : whole;
  sender.allowed = std::max(1u, std::min(sender.window, share) / kFixed);
  if (sender.silent > 1) sender.allowed = std::min(sender.allowed, questions_of(sender));
  // Questions go several ways at a time, however little else may be in flight.
  if (sender.silent > 0 && sender.drops && sender.fan_in <= 1)
    sender.allowed = std::max(sender.allowed, questions_of(sender));
  if (sender.first_message != kNone) endpoints_[sender.endpoint].allowed += sender.allowed - before_it;
}

}  // namespace weft::transport
