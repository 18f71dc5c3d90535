// What SRD makes of packets that do not arrive: loss by time, silence, and paths on which packets vanish.

#include <algorithm>

#include "transport/srd/srd.hpp"

namespace weft::transport {
namespace {

// Where packets have vanished before, silence means that more have: so many of the oldest are sent again at once.
constexpr std::uint32_t kAskAfterLoss = 16;
constexpr std::uint32_t kOneLost = 1u << 11;  // of a path's

}  // namespace

// ---- loss

void Srd::lose(Sender& sender, std::uint32_t sequence) {
  const Slots slots = slots_of(sender);
  note_lost(sender, slots, sequence);
  sender.trying &= ~(std::uint64_t{1} << slots[sequence].path);
  land(sender, slots[sequence].path);
}

// It may have arrived for all that: which of its transmissions is answered will not be known.
void Srd::give_up_on(Sender& sender, std::uint32_t sequence) {
  if (sender.drops) slots_of(sender)[sequence].resent = 1;
  lose(sender, sequence);
}

// A packet vanished.
void Srd::miss(Sender& sender, std::uint32_t sequence) {
  const std::uint32_t path = slots_of(sender)[sequence].path;
  // What vanishes on a path where nothing came through twice before tells of that path, and not of queues.
  const bool dead = (sender.unproven >> path & 1) && sender.paths.lag[path] > kUnproven;
  bury(sender, path);
  give_up_on(sender, sequence);
  if (sender.drops && !dead && !blame_path(sender, path)) be_less_eager(sender, true);
}

// By how much a later packet may overtake.
std::int32_t Srd::tolerance(const Sender& sender) const {
  if (!sender.drops || config_.reorder.count() > 0) return static_cast<std::int32_t>(reorder_);
  const std::uint32_t mean = std::max(mean_of(sender), base_of(sender));
  const std::uint32_t spread = std::max(mean / 4, sender.spread / (kMeanOf / 4));
  const std::int64_t most = (mean + spread) * std::int64_t{4u + sender.late} / 4 + longest_wait_;
  return static_cast<std::int32_t>(std::min(most, longest_flight_ >> time_shift_));
}

// A packet sent well before one that has arrived is lost; sent half a round trip before, it shows that its path lags
// or is dead, and that is no place for another. Usually a look at the oldest tells that there is none; where it was
// sent again, others may be older than it. When there is nothing else to send, a copy costs little, and whoever lags
// by two round trips is sent again, or by one where packets have vanished before;
// unless the fabric loses none, where it only waits.
void Srd::find_lost(Sender& sender) {
  const std::uint32_t mean = mean_of(sender);
  const std::int32_t most = tolerance(sender);
  const std::uint32_t base = base_of(sender);
  const auto soon = static_cast<std::int32_t>(sender.buried ? base : 2 * std::max(base, mean));
  const std::int32_t at_the_end = config_.longest_wait.count() > 0 ? most : std::min(most, soon);
  std::int32_t patient = sender.next == sender.end ? at_the_end : most;
  // Before all waits for one, a copy is cheaper; and its path has brought nothing for so long that it is no place for
  // others until it does. One that lives shows it soon.
  const bool closing = sender.drops && sender.next - sender.una > kFarOpen * 3 / 4;
  if (closing) patient = std::min(patient, static_cast<std::int32_t>(std::max(base, mean)));
  const Slots slots = slots_of(sender);
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const Slot& slot = slots[s];
    if (!slot.is(State::flying)) continue;
    const std::int32_t overtaken = since(sender.latest_sent, slot.sent);
    if (overtaken > patient) {
      if (overtaken > most) {
        miss(sender, s);
      } else {
        if (closing && !(sender.unproven >> slot.path & 1)) bury(sender, slot.path);
        give_up_on(sender, s);
      }
    } else if (2 * overtaken > static_cast<std::int32_t>(mean)) {
      std::uint8_t& lag = sender.paths.lag[slot.path];  // of an unproven one above all others
      const std::uint32_t least = std::min(lag_of(static_cast<std::uint32_t>(overtaken), mean), leave_lag_ - 1);
      lag = std::max(lag, static_cast<std::uint8_t>(least));
    } else if (!slot.resent) {
      return;
    }
  }
}

// Packets of one entropy stay in order: one that a later one of its path has overtaken is lost, whatever other paths
// do. Not by little, for hosts put in disorder what they have at hand; and copies that were sent for nothing say that
// this network does, too. The path lives, for something came through. All that is open is looked at, so only now and
// then.
void Srd::find_overtaken(Sender& sender, std::uint32_t now) {
  const std::uint32_t mean = mean_of(sender);
  if (since(now, sender.looked) < static_cast<std::int32_t>(mean / 8)) return;
  sender.looked = now;
  const auto little = static_cast<std::int32_t>(mean / 16 * (1 + sender.late) + 1);
  const Slots slots = slots_of(sender);
  std::uint32_t newest[kMaxPaths];
  std::uint64_t known = 0;
  std::uint32_t end = sender.una;
  for (; before(end, sender.next); ++end) {
    const Slot& slot = slots[end];
    // First sent after all that has arrived: so was what comes behind it, and nothing of that has overtaken anything.
    if (slot.is(State::flying) && !slot.resent && since(slot.sent, sender.latest_sent) > 0) break;
    if (!slot.is(State::arrived) || slot.resent) continue;
    const std::uint64_t bit = std::uint64_t{1} << slot.path;
    if (!(known & bit) || since(slot.sent, newest[slot.path]) > 0) newest[slot.path] = slot.sent;
    known |= bit;
  }
  known &= ~sender.mixed;
  for (std::uint32_t s = sender.una; known != 0 && before(s, end); ++s) {
    const Slot& slot = slots[s];
    if (!slot.is(State::flying) || !(known >> slot.path & 1) || since(newest[slot.path], slot.sent) <= little) continue;
    const std::uint32_t path = slot.path;
    give_up_on(sender, s);
    if (!blame_path(sender, path)) be_less_eager(sender, true);
  }
}

// A packet was lost on a path that lives. Whether that path is to blame: it loses more than others do.
bool Srd::blame_path(Sender& sender, std::uint32_t path) {
  std::uint16_t& loss = sender.paths.loss[path];
  const bool worse = loss > sender.all_loss * 2 / config_.paths + kOneLost;
  const std::uint32_t more = std::min<std::uint32_t>(kOneLost, 0xFFFF - loss);
  loss = static_cast<std::uint16_t>(loss + more);
  sender.all_loss += more;
  return worse;
}

// ---- silence

// What the driver said of round trips, where packets have not shown that it is far too long.
Instant Srd::credible_base(const Sender& sender) const {
  const Instant said = config_.base_rtt.count();
  return sender.drops ? std::min(said, (Instant{sender.least_rtt} << time_shift_) * kNotCredible) : said;
}

// How long to wait for news. Long waits for answers are a slow link's queue, not loss. But whatever round trips were
// like, a silence is asked about several times before it fails what waits: at 1/8, 2/8, 3/8, 5/8 and 7/8 of `give_up`.
Instant Srd::patience(const Sender& sender) const {
  const Instant usual = (Instant{mean_of(sender)} << time_shift_) * (4 + sender.late) / 4;
  const Instant host = Instant{sender.host_wait} << time_shift_;
  const Instant least =
      2 * (credible_base(sender) + config_.packet_time.count() * (sender.fan_in + config_.ack_every)) +
      config_.longest_wait.count();
  return std::min(host + std::max(least, std::min(usual + usual / 2, config_.give_up.count() >> 3)), longest_flight_);
}

// And once it was asked.
Instant Srd::next_patience(const Sender& sender) const {
  const Instant derived = 5 * credible_base(sender) + config_.longest_wait.count();
  const Instant said = rto_derived_ ? std::min(config_.rto.count(), derived) : config_.rto.count();
  const Instant host = Instant{sender.host_wait} << time_shift_;
  return host + std::max(said, std::min((Instant{mean_of(sender)} * 3 << time_shift_) * (4 + sender.late) / 4,
                                        config_.give_up.count() >> 3));
}

// When to look again after so long a wait. Waits double, and the last could be half of `give_up`: a peer that was there
// again all the while would be given up, and what was posted since with it, and nobody would have been asked. So the
// last question is asked just early enough for its answer.
Instant Srd::look_after(Instant now, Instant wait, const Sender& sender) const {
  const Instant end = sender.heard + config_.give_up.count();
  const Instant last = end - patience(sender);
  return now < last ? std::min(now + wait, last) : end;
}

// What was taken for lost was only late. Packets sent twice say nothing of round trips: without this, a link at a
// twentieth of its rate would have all sent twice for ever, and the window would never learn of its queue.
void Srd::be_more_patient(Sender& sender) {
  const std::uint32_t mean = mean_of(sender);
  const auto longest = static_cast<std::uint32_t>(longest_flight_ / 4 >> time_shift_);
  if (mean < longest) sender.mean_rtt += 7 * mean;
  sample(sender, 8 * mean);
}

// For how long at most the peer has sent no data: whoever sends other things first is there, and comes to the read.
Instant Srd::quiet_for(Instant now, const Sender& sender) const {
  const std::uint32_t receiver = receivers_.find(sender.endpoint, sender.peer);
  if (receiver == kNone) return kNever;
  const std::uint32_t units = static_cast<std::uint32_t>(now >> kHeardShift) - receivers_[receiver].heard;
  return (Instant{units} + 1) << kHeardShift;
}

// The deadline has passed without news.
void Srd::time_out(Instant now, std::uint32_t index) {
  Sender& sender = senders_[index];
  if (idle(sender)) {
    sender.deadline = kNever;
    return;
  }
  if (const Instant late = now - sender.deadline; late > (config_.give_up.count() >> 3)) {
    // Nobody asked us for so long: this process did not run, or its clock has jumped, and what came meanwhile has yet
    // to be handed in. The silence was our own, and of what is in flight times say nothing.
    sender.heard += late;
    for (std::uint32_t s = sender.una; before(s, sender.next); ++s)
      if (Slot& slot = slots_of(sender)[s]; slot.is(State::flying)) slot.resent = 1;
    sender.epoch_began = stamp_of(now);
    sender.deadline = now + patience(sender);
    return;
  }
  if (sender.paced && sender.first_message != kNone && sender.flying == 0 && sender.silent == 0) {
    // Nobody was asked anything: it is not our turn yet.
    sender.deadline = std::max(now, sender.paced_until) + patience(sender);
    return;
  }
  // Who was asked nothing keeps silent: a read is given the peer's own patience besides ours.
  const Instant limit = sender.first_message == kNone ? 2 * config_.give_up.count() : config_.give_up.count();
  if (now - sender.heard >= limit) {
    const Instant quiet = quiet_for(now, sender);
    if (sender.first_message != kNone || quiet >= limit) return fail(now, index);
    sender.deadline = now + limit - quiet;
    return;
  }
  if (sender.first_message == kNone) {
    sender.deadline = sender.heard + limit;
    return;
  }
  const Slots slots = slots_of(sender);
  if (sender.silent < 255) ++sender.silent;
  if (sender.silent == 1) {
    // Perhaps only nobody asked for an acknowledgement: the oldest packets ask again.
    std::uint32_t left = sender.buried ? kAskAfterLoss : questions_of(sender);
    for (std::uint32_t s = sender.una; before(s, sender.next) && left > 0; ++s) {
      if (!slots[s].is(State::flying)) continue;
      // A copy had asked. It is no sign of a path that there was no answer where many send to one receiver.
      if (slots[s].resent && sender.drops && sender.fan_in <= 1) bury(sender, slots[s].path);
      give_up_on(sender, s);
      --left;
    }
    if (sender.drops && sender.allowed == 1) be_less_eager(sender, true);
    sender.questions = static_cast<std::uint8_t>(questions_of(sender));
    if (sender.drops) set_allowed(sender);
    sender.paced_until = now;
    sender.deadline = look_after(now, next_patience(sender), sender);
    return;
  }
  ++counters_.timeouts;
  if (sender.drops) {
    sender.window = std::max(least_window(sender), sender.window / 2);
    sender.starting = false;
    sender.paced_until = now;
  }
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const Slot& slot = slots[s];
    if (!slot.is(State::flying)) continue;
    bury(sender, slot.path);
    give_up_on(sender, s);
  }
  sender.latest_sent = stamp_of(now);
  sender.questions = static_cast<std::uint8_t>(questions_of(sender));
  set_allowed(sender);
  const Instant wait = std::min(next_patience(sender) << std::min(6, sender.silent - 2), longest_flight_);
  sender.deadline = look_after(now, wait, sender);
}

// ---- paths on which packets vanish

// Something came through.
void Srd::prove(Sender& sender, std::uint32_t path) {
  const std::uint64_t bit = std::uint64_t{1} << path;
  if (!(sender.unproven & bit)) return;
  sender.paths.lag[path] = 0;
  sender.unproven &= ~bit;
  sender.trying &= ~bit;
}

// A packet vanished: perhaps the way is dead. Another entropy is tried, first soon, then ever more rarely.
void Srd::bury(Sender& sender, std::uint32_t path) {
  const std::uint64_t bit = std::uint64_t{1} << path;
  Paths& paths = sender.paths;
  const std::uint32_t failed = sender.unproven & bit ? std::min(7u, (paths.lag[path] & ~kUnproven) + 1u) : 0;
  ++counters_.paths_left;
  if (!sender.drops || failed >= 2) {
    sender.buried = true;
    take_other_entropy(sender, path);
  }
  sender.in_use = static_cast<std::uint8_t>(sender.in_use + (paths.lag[path] == kResting));
  paths.lag[path] = static_cast<std::uint8_t>(kUnproven | failed);
  paths.ready[path] = static_cast<std::uint16_t>(sender.turn + ((2u << failed) - 2) * config_.paths);
  sender.unproven |= bit;
  sender.trying &= ~bit;
  if (sender.drops) use_paths(sender, std::max<std::uint32_t>(sender.in_use, paths_for(sender)));
}

}  // namespace weft::transport
