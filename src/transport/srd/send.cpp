// SRD's sending half: acknowledgements, windows, paths.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "transport/srd/srd.hpp"

namespace weft::transport {
namespace {

constexpr std::uint32_t kNoPath = 0xFF;

std::uint64_t word_of(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The first zero of so many bytes from `at` on, around the end; kNoPath when there is none. Eight bytes at a time,
// word_at(first of them): in a word, the lowest byte that this finds is a zero, whatever the bytes above it are.
template <std::uint32_t kSize, class WordAt>
std::uint32_t first_zero(std::uint32_t at, WordAt word_at) {
  static_assert(std::endian::native == std::endian::little && kSize % 8 == 0);
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  std::uint64_t skipped = (std::uint64_t{1} << at % 8 * 8) - 1;
  for (std::uint32_t i = 0; i <= kSize / 8; ++i, skipped = 0) {
    const std::uint32_t from = (at / 8 + i) * 8 % kSize;
    const std::uint64_t word = word_at(from) | skipped;
    if (const std::uint64_t found = (word - kOnes) & ~word & (kOnes << 7); found != 0)
      return from + static_cast<std::uint32_t>(std::countr_zero(found)) / 8;
  }
  return kNoPath;
}

}  // namespace

bool Srd::enqueue(Instant now, std::uint32_t index, const Operation& operation) {
  Sender& sender = senders_[index];
  const std::uint32_t packets = packets_for(operation.op, operation.bytes, sender.payload);
  if (packets == 0 || sender.end - sender.una + packets > (1u << 31) - kFarOpen) return false;
  if (operation.op == Op::read) {
    // More would wait in the stream, and what answers the peer's reads behind them: both could wait for ever.
    std::uint32_t open = 0;
    for (std::uint32_t read = sender.reads; read != kNone; read = reads_[read].next) ++open;
    if (open >= config_.reads) return false;
  }
  if (idle(sender)) sender.heard = now;
  if (sender.first_message == kNone) {
    sender.deadline = now + 2 * config_.base_rtt.count() + config_.longest_wait.count();
    sender.latest_sent = sender.epoch_began = stamp_of(now);  // after a long pause the old one may have wrapped
    begin_work(sender);
  }
  if (operation.op == Op::read) {
    const std::uint32_t read = reads_.take();
    reads_[read] = {operation.bytes, sender.end + (std::uint32_t{sender.stream} << 16),
                    operation.tag,   operation.context,
                    index,           sender.reads};
    sender.reads = read;
  }
  append(send_messages_, sender,
         {.bytes = operation.bytes,
          .tag = operation.tag,
          .context = operation.context,
          .packets = packets,
          .left = packets,
          .op = operation.op});
  turns_.join(endpoints_.of(sender.endpoint).active, index);
  return true;
}

// ---- acknowledgements

void Srd::handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header, Instant waited) {
  const std::uint32_t index = senders_.find(endpoint, header.source);
  if (index == kNone) return;
  Sender& sender = senders_[index];
  if (header.peer_generation != config_.generation ||
      (header.generation != sender.peer_generation && !meet(now, endpoint, header.source, header.generation)) ||
      header.stream != sender.stream || before(sender.next, header.sequence)) {
    ++counters_.ignored;
    return;
  }
  if (flags != 0) [[unlikely]] {
    if (flags & kStale) return fail(now, index);
    if ((flags & kSeenBefore) == kSeenBefore) {
      flags &= static_cast<std::uint8_t>(~kSeenBefore);
      if (sender.drops) hear_of_copy(sender);
    }
    if ((flags & kTrimmed) && sender.drops) know_of_trimming(sender);
  }
  if (waited > 0) hear_of_wait(sender, waited);
  if (sender.fan_in != header.fan_in) change_fan_in(now, sender, std::max<std::uint16_t>(1, header.fan_in));
  if (now - sender.deadline > (config_.give_up.count() >> 3)) time_out(now, index);
  const Slots slots = slots_of(sender);
  const std::uint32_t echo = header.echoed();
  const bool echo_known = before(echo, sender.next) && !before(echo, sender.una);
  if (const Slot& slot = slots[echo]; echo_known && slot.is(State::flying) && !slot.resent && !(flags & kTrimmed))
    sample_packet(sender, echo, since(stamp_of(now), slot.sent));
  const auto marked = [&](std::uint32_t sequence) {
    const std::uint32_t back = echo - sequence;
    return back < 64 && (header.ack.marked >> back & 1);
  };
  std::uint32_t message = sender.first_message;
  const std::uint32_t open = sender.flying + sender.lost;
  take_news(sender, slots, header, [&](Slot& slot, std::uint32_t sequence) {
    acknowledge(sender, slot, sequence, marked(sequence), stamp_of(now), message);
  });
  bool news = sender.flying + sender.lost != open;
  if ((flags & (kTrimmed | kNotReady)) && echo_known && slots[echo].is(State::flying)) {
    refuse(now, sender, echo, flags);
    news = true;
  }
  sender.heard = now;
  sender.heard_path = header.path;
  // What repeats old news does not end the wait for new ones.
  if (news) {
    sender.deadline = now + waited + patience(sender);
    if (sender.silent > 0) {
      sender.silent = sender.questions = 0;
      // Of an incast, silence has told nothing but that there are many.
      if (sender.drops && sender.fan_in > 1)
        sender.window = std::max(sender.window, std::min(first_window_, sender.most));
      set_allowed(sender);
    }
  }
  // Nothing has arrived that was sent later than now: who did not run for long, or whose clock jumped, finds that this
  // time has wrapped, and would take each packet for one that was overtaken as soon as it is sent.
  if (since(stamp_of(now), sender.latest_sent) < 0) sender.latest_sent = stamp_of(now);
  if (sender.drops) find_overtaken(sender, stamp_of(now));
  find_lost(sender);
  if (sender.epoch_acked >= sender.allowed) end_epoch(sender, stamp_of(now));
  const bool working = sender.first_message != kNone;
  finish_messages(sender);
  if (working && sender.first_message == kNone) end_work(sender);
  if (sender.una == sender.next && sender.wide != kNone) narrow(sender);
  if (sender.first_message == kNone)
    sender.deadline = sender.reads == kNone ? kNever : now + 2 * config_.give_up.count();
  ask_again(index);
}

void Srd::acknowledge(Sender& sender, Slot& slot, std::uint32_t sequence, bool marked, std::uint32_t now,
                      std::uint32_t& message) {
  if (slot.is(State::flying)) land(sender, slot.path);
  if (slot.is(State::lost)) --sender.lost;
  slot.become(State::arrived);
  prove(sender, slot.path);
  // Which transmission of a packet sent twice arrived, nobody knows, unless the second cannot have been answered yet.
  const auto flight = static_cast<std::uint32_t>(std::max(0, since(now, slot.sent)));
  if (!slot.resent) {
    if (flight > 0) judge(sender, slot.path, marked, flight);  // else it flew for so long that times have wrapped
  } else if (flight < (sender.drops ? sender.least_rtt / 4 * 3 : sender.least_rtt)) {
    // Where round trips are measured, a short packet or an empty queue makes one a little less than the least so far.
    be_more_patient(sender);
  }
  ++sender.epoch_acked;
  if (since(slot.sent, sender.latest_sent) > 0) {
    sender.latest_sent = slot.sent;
    sender.works = static_cast<std::uint8_t>(slot.path);
  }
  // Messages are runs of sequences, and acknowledgements go upwards from one to the next.
  message = message_with(send_messages_, sequence, message);
  --send_messages_[message].left;
}

// The echoed packet got there without its payload, or there was no room for it.
void Srd::refuse(Instant now, Sender& sender, std::uint32_t sequence, std::uint8_t flags) {
  const Slot& slot = slots_of(sender)[sequence];
  lose(sender, sequence);
  if (since(slot.sent, sender.latest_sent) > 0) sender.latest_sent = slot.sent;
  prove(sender, slot.path);
  if (flags & kNotReady) {
    sender.paced_until = now + config_.not_ready_wait.count();
    return;
  }
  set_lag(sender, slot.path, sender.paths.lag[slot.path] + kTrimmedLag);
  ++sender.epoch_acked;
  be_less_eager(sender, false);
}

void Srd::finish_messages(Sender& sender) {
  finish_sent(send_messages_, sender, [&](const SendMessage& message) {
    if (message.op == Op::send || message.op == Op::write)
      completions_.push_back(end_of(sender, message, Completion::Kind::sent));
    sender.responses -= message.op == Op::response;
  });
}

// ---- paths

// How far a path lags whose packet came that far behind the mean: about as many packets as the sender could have
// sent meanwhile, more than in proportion for long ones, for such a queue is a slow link's.
std::uint32_t Srd::lag_of(std::uint32_t late, std::uint32_t mean) {
  const std::uint32_t behind = std::min(1024u, late * 256 / mean);
  return behind / 8 + behind * behind / 2048;
}

void Srd::judge(Sender& sender, std::uint32_t path, bool marked, std::uint32_t rtt) {
  const std::uint32_t mean = mean_of(sender);
  if (!sender.drops) [[likely]] {
    sender.mean_rtt += rtt - mean;
  } else {
    // A slow link's queue, of which the last packets come when all others have long been there, is no measure for all.
    const std::uint32_t counted = std::min(rtt, 2 * mean);
    sender.mean_rtt += counted - mean;
    sender.spread += (counted > mean ? counted - mean : mean - counted) - sender.spread / kMeanOf;
    const std::uint32_t faded = sender.paths.loss[path] / 128;
    sender.paths.loss[path] = static_cast<std::uint16_t>(sender.paths.loss[path] - faded);
    sender.all_loss -= faded;
    if (sender.paths.lag[path] == kResting) return;
  }
  const std::uint32_t seen = rtt > mean ? lag_of(rtt - mean, mean) : 0;
  const std::uint32_t lag = sender.paths.lag[path];
  if (seen > lag || !marked) set_lag(sender, path, (lag + seen + (seen > lag)) / 2);
}

// A path that stays behind is given up for another entropy, of which is not known whether it is any better: there
// are more ways than paths in use.
void Srd::set_lag(Sender& sender, std::uint32_t path, std::uint32_t lag) {
  if (lag >= leave_lag_ && !sender.buried) return leave(sender, path, lag);
  sender.paths.lag[path] = static_cast<std::uint8_t>(std::min<std::uint32_t>(lag, kMostLag));
}

// Rare, and out of the way of what every packet runs.
[[gnu::noinline]] void Srd::leave(Sender& sender, std::uint32_t path, std::uint32_t lag) {
  if (take_other_entropy(sender, path)) {
    ++counters_.paths_left;
    lag = kTrimmedLag / 2;
  }
  sender.paths.lag[path] = static_cast<std::uint8_t>(std::min<std::uint32_t>(lag, kMostLag));
}

// False: all that there are are in use.
bool Srd::take_other_entropy(Sender& sender, std::uint32_t path) {
  Paths& paths = sender.paths;
  const std::uint32_t tries = std::max(1u, config_.entropies);
  for (std::uint32_t i = 0; i < tries; ++i) {
    const std::uint16_t entropy = sender.fresh_entropy++;
    if (config_.entropies > 0) {
      if (sender.fresh_entropy >= config_.entropies) sender.fresh_entropy = 0;
      if (entropy >= config_.entropies) continue;
      if (std::find(paths.entropy, paths.entropy + config_.paths, entropy) != paths.entropy + config_.paths) continue;
    }
    paths.entropy[path] = entropy;
    if (paths.flying[path] > 0) sender.mixed |= std::uint64_t{1} << path;
    return true;
  }
  return false;
}

// A packet of it is no longer in flight.
void Srd::land(Sender& sender, std::uint32_t path) {
  --sender.flying;
  --sender.paths.flying[path];
}

std::uint32_t Srd::choose_path(Sender& sender, bool resend, std::uint32_t avoid) {
  if (sender.burst_left > 0 && !resend) {
    --sender.burst_left;
    return sender.path;
  }
  ++sender.turn;
  // In each round every path is looked at once: one that is left alone is forgiven a part of its lag, and one on
  // which nothing came through yet is tried when it is due. All at once, the trials would fill the window.
  const std::uint32_t look = sender.turn % kMaxPaths;
  const std::uint64_t bit = std::uint64_t{1} << look;
  std::uint32_t at = kNoPath;
  if (std::uint8_t& lag = sender.paths.lag[look]; lag <= kMostLag) {
    if (sender.paths.flying[look] == 0) lag = static_cast<std::uint8_t>(lag - (lag + 7) / 8);
  } else if ((sender.unproven & ~sender.trying & bit) && !resend && may_try(sender) &&
             !newer(sender.paths.ready[look], sender.turn)) {
    sender.trying |= bit;
    at = look;
  }
  sender.burst_left = static_cast<std::uint8_t>(config_.burst > 1 && at == kNoPath ? train_of(sender) - 1 : 0);
  if (resend && goes_where_it_works(sender, avoid)) at = sender.works;
  if (at == kNoPath) {
    // What is sent last must not arrive last by far.
    const std::uint32_t left = resend ? kMostPackets : sender.end - sender.next;
    at = take_quickest(sender, static_cast<std::uint8_t>(std::min<std::uint32_t>(left / 4, kMostLag)), avoid);
  }
  if (at == kNoPath) at = take_quickest(sender, kMostLag, avoid);
  if (at == kNoPath) at = take_any(sender, avoid);
  if (sender.paths.flying[at] == kMostOnPath) at = take_emptiest(sender);
  sender.path = static_cast<std::uint8_t>(at);
  return at;
}

// After silence the first copy goes by the path that brought something last: where a spine has died, those that seem
// quickest are those that nobody has used since, and one in four of them is dead. Other copies go other ways.
bool Srd::goes_where_it_works(const Sender& sender, std::uint32_t avoid) {
  return sender.drops && sender.silent > 0 && sender.questions == questions_of(sender) && sender.works != avoid &&
         sender.paths.lag[sender.works] <= kMostLag;
}

// Where lag and packets in flight are least; of equal ones the next behind the one used last. Written so that
// compilers look at eight paths at once.
std::uint32_t Srd::take_quickest(const Sender& sender, std::uint8_t most_lag, std::uint32_t avoid) const {
  const Paths& paths = sender.paths;
  const std::uint32_t start = (sender.path + 1u) % kMaxPaths;
  const std::uint32_t unused = first_zero<kMaxPaths>(
      start, [&](std::uint32_t from) { return word_of(paths.lag + from) | word_of(paths.flying + from); });
  if (unused != kNoPath && unused != avoid) return unused;  // none can be better
  constexpr std::int16_t kOut = 0x7FFF;
  std::int16_t cost[kMaxPaths];
  for (std::uint32_t i = 0; i < kMaxPaths; ++i) {
    const int out = paths.lag[i] > most_lag ? kOut : 0;
    cost[i] = static_cast<std::int16_t>(((paths.flying[i] + 2) * (paths.lag[i] + 32) | out) & kOut);
  }
  if (avoid != kNoPath) cost[avoid] = kOut;
  std::int16_t least = kOut;
  for (const std::int16_t each : cost) least = std::min(least, each);
  if (least == kOut) return kNoPath;
  std::uint8_t other[kMaxPaths];
  for (std::uint32_t i = 0; i < kMaxPaths; ++i) other[i] = cost[i] == least ? 0 : 1;
  return first_zero<kMaxPaths>(start, [&](std::uint32_t from) { return word_of(other + from); });
}

// When there is no other: nothing came through on any of them, but for those that rest.
std::uint32_t Srd::take_any(const Sender& sender, std::uint32_t avoid) const {
  std::uint32_t best = kNoPath;
  std::uint32_t least = kNone;
  for (std::uint32_t i = 1; i <= config_.paths; ++i) {
    const std::uint32_t at = (sender.path + i) % config_.paths;
    const std::uint32_t cost =
        sender.paths.lag[at] * kWindow + sender.paths.flying[at] + (at == avoid ? kWindow * kWindow : 0);
    if (cost < least) {
      least = cost;
      best = at;
    }
  }
  return best;
}

// Where the quickest has as many as can be counted. A proven one, where there is one: has_path() has seen that one of
// them, or of all, can take another.
std::uint32_t Srd::take_emptiest(const Sender& sender) const {
  std::uint32_t best = 0;
  std::uint32_t least = kNone;
  for (std::uint32_t i = 0; i < config_.paths; ++i) {
    const std::uint32_t cost = sender.paths.flying[i] + (sender.paths.lag[i] & kUnproven) * 2;
    if (sender.paths.flying[i] == kMostOnPath || sender.paths.lag[i] == kResting || cost >= least) continue;
    least = cost;
    best = i;
  }
  return best;
}

// ---- open numbers

void Srd::widen(Sender& sender) {
  const Slots from = slots_of(sender);
  Wide slots(sender.wide == kNone ? kOpen : kFarOpen);
  for (std::uint32_t s = sender.una; s != sender.next; ++s) slots[s % slots.size()] = std::exchange(from[s], {});
  if (sender.wide == kNone) {
    sender.wide = wide_.take();
  } else {
    elsewhere_ -= kOpen * sizeof(Slot);
  }
  elsewhere_ += slots.size() * sizeof(Slot);
  wide_[sender.wide] = std::move(slots);
}

// With nothing open, all slots are empty.
void Srd::narrow(Sender& sender) {
  elsewhere_ -= wide_[sender.wide].size() * sizeof(Slot);
  wide_[sender.wide] = Wide();
  wide_.give_back(sender.wide);
  sender.wide = kNone;
}

// ---- sending

// Out of the way of those that send no trains.
[[gnu::noinline]] bool Srd::has_room_for_whole(const Sender& sender, std::uint32_t limit) const {
  if (sender.burst_left > 0 || sender.flying == 0) return true;
  return limit - sender.flying >= std::min({train_of(sender), sender.end - sender.next, limit});
}

void Srd::fill_data(Instant now, Sender& sender, std::uint32_t share, Transmit& out) {
  std::uint32_t sequence = 0;
  std::uint32_t index = sender.sending;
  std::uint32_t avoid = kNoPath;
  const bool resend = sender.lost > 0;
  const std::uint32_t open = sender.next - sender.una;
  if (!resend && open >= kWindow && open > slots_of(sender).mask) [[unlikely]]
    widen(sender);
  const Slots slots = slots_of(sender);
  out.flags = 0;
  if (resend) {
    sequence = take_lost(sender, slots);
    ++counters_.data_resent;
    out.flags = kResent | kAckNow;
    avoid = slots[sequence].path;
    index = message_with(send_messages_, sequence, sender.first_message);
  } else {
    sequence = take_fresh(send_messages_, sender);
    ++counters_.data_sent;
  }
  const SendMessage& message = send_messages_[index];
  const std::uint32_t path = choose_path(sender, resend, avoid);
  slots[sequence] = {stamp_of(now) & kTimeMask, resend && (!sender.drops || slots[sequence].resent),
                     path & (kMaxPaths - 1), static_cast<std::uint32_t>(State::flying)};
  // Who sends rarely hears rarely: silence begins when somebody was asked.
  if (sender.flying++ == 0 && sender.paced) sender.deadline = std::max(sender.deadline, now + patience(sender));
  if (sender.mixed != 0 && sender.paths.flying[path] == 0) sender.mixed &= ~(std::uint64_t{1} << path);
  ++sender.paths.flying[path];
  // After silence fewer packets may be left than questions: the same one asks again, by another way.
  if (resend && sender.questions > 0 && --sender.questions > 0 && sender.lost == 0) give_up_on(sender, sequence);
  const bool last = sequence + 1 == message.first + message.packets;
  // A small window asks when a third of it is out: the answer comes before the rest is gone, also where it waits behind
  // those to others. With a half, who serves eight peers over short ways fell silent between answers: all-to-alls took
  // up to 12 % longer, and what had only not been answered was sent again.
  const std::uint32_t limit = std::min(sender.allowed, share);
  if (last || sender.flying >= limit || (limit < 2 * config_.ack_every && sequence % std::max(1u, limit / 3) == 0) ||
      (config_.burst > 1 && sender.burst_left == 0 && !has_room_for_train(sender, std::max(limit, sender.flying))))
    out.flags |= kAckNow;
  std::uint32_t bytes = sender.payload;
  if (last) {
    const std::uint64_t offset = std::uint64_t{sequence - message.first} * sender.payload;
    bytes = message.op == Op::read ? 0 : static_cast<std::uint32_t>(message.bytes - std::min(message.bytes, offset));
  }
  out.type = PacketType::data;
  out.wire_bytes = bytes + config_.header;
  Header& header = out.header;
  header.source = sender.endpoint;
  header.destination = sender.peer;
  header.path = sender.paths.entropy[path];
  header.op = message.op;
  header.sequence = sequence;
  header.data = {message.first, message.tag, message.bytes};
  // The way back of a path may be dead where the path is not, and an answer lost at the end costs a wait for silence.
  // Where ways have died, answers take the one that the last took; after silence that one is doubtful too.
  const auto trial = [&] { return (sender.unproven >> path & 1) != 0; };
  const bool asks_same_way =
      sender.silent == 1 && (sender.drops ? resend && path == sender.works : sender.turn % 2 != 0);
  const bool same_way =
      sender.silent > 0 ? asks_same_way : (sender.buried || (sender.unheard && sender.turn % 2 != 0)) && !trial();
  header.echo = same_way ? static_cast<std::uint16_t>(sender.heard_path - header.path) : 0;
  header.stream = sender.stream;
  header.generation = config_.generation;
  header.peer_generation = sender.peer_generation;
  // A turn that came late, because other peers were served, is made up for by the next.
  if (const Instant turn = turn_of(sender); turn > 0)
    sender.paced_until = std::max(sender.paced_until, now - turn) + turn;
}

}  // namespace weft::transport
