// SRD's sending half: windows, acknowledgements, loss and silence. Paths are chosen in srd_paths.cpp.

#include <algorithm>
#include <bit>
#include <utility>

#include "transport/srd.hpp"
#include "transport/srd_numbers.hpp"

namespace weft::transport {
namespace {

// Packets that ask after silence, each on another path. The waits between questions double, and at first so do the
// questions: where half of the ways are dead, three of four questions die or their answers do. They begin with two:
// with four, the silence of a receiver that serves many costs short all-to-alls 3 %.
constexpr std::uint32_t questions_after(std::uint32_t silent) { return 2u << std::min(silent - 1, 2u); }

// Where packets have vanished before, silence means that more have: so many of the oldest are sent again at once.
constexpr std::uint32_t kAskAfterLoss = 16;

}  // namespace

void Srd::activate(std::uint32_t index) {
  Sender& sender = senders_[index];
  if (sender.next_active != kNone) return;
  EndpointState& state = state_of(sender.endpoint);
  ++state.working;
  if (state.active == kNone) {
    sender.next_active = index;
    state.active = index;
  } else {
    sender.next_active = senders_[state.active].next_active;
    senders_[state.active].next_active = index;
  }
}

bool Srd::enqueue(Instant now, std::uint32_t index, const Operation& operation) {
  Sender& sender = senders_[index];
  const std::uint32_t packets = packets_of(operation.op, operation.bytes);
  if (packets == 0 || sender.end - sender.una + packets > (1u << 31) - kOpen) return false;
  if (operation.op == Op::read) {
    // More would wait in the stream, and what answers the peer's reads behind them: both could wait for ever.
    std::uint32_t open = 0;
    for (std::uint32_t read = sender.reads; read != kNone; read = reads_[read].next) ++open;
    if (open >= config_.reads) return false;
  }
  if (idle(sender)) sender.heard = now;
  if (sender.first_message == kNone) {
    sender.deadline = now + 2 * config_.base_rtt + config_.longest_wait;
    sender.latest_sent = stamp(now);  // after a long pause the old one may have wrapped
  }
  const std::uint32_t slot = send_messages_.take();
  send_messages_[slot] = {operation.bytes, operation.tag, operation.context, sender.end, packets,
                          packets,         kNone,         operation.op};
  if (operation.op == Op::read) {
    const std::uint32_t read = reads_.take();
    reads_[read] = {operation.bytes, sender.end + (std::uint32_t{sender.stream} << 16),
                    operation.tag,   operation.context,
                    index,           sender.reads};
    sender.reads = read;
  }
  sender.end += packets;
  if (sender.last_message == kNone) {
    sender.first_message = slot;
  } else {
    send_messages_[sender.last_message].next = slot;
  }
  sender.last_message = slot;
  if (sender.sending == kNone) sender.sending = slot;
  activate(index);
  return true;
}

// ---- acknowledgements

// A packet of it is no longer in flight.
void Srd::land(Sender& sender, std::uint32_t path) {
  --sender.flying;
  --sender.paths.flying[path];
  set_cost(sender, path);
}

void Srd::handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  const std::uint32_t index = sender_index_.find(pair_key(endpoint, header.source));
  if (index == kNone) return;
  Sender& sender = senders_[index];
  if (header.peer_generation != config_.generation ||
      (header.generation != sender.peer_generation && !meet(now, endpoint, header.source, header.generation)) ||
      header.stream != sender.stream || before(sender.next, header.sequence)) {
    ++counters_.ignored;
    return;
  }
  if (flags & kStale) {
    fail(now, index);
    return;
  }
  if (sender.fan_in != header.fan_in) {
    sender.fan_in = std::max<std::uint16_t>(1, header.fan_in);
    set_allowed(sender);
  }
  const Slots slots = slots_of(sender);
  const std::uint32_t echo = header.echoed();
  const bool echo_known = before(echo, sender.next) && !before(echo, sender.una);
  // One that others have overtaken by a round trip tells of its path, not of the typical one.
  if (const Slot& slot = slots[echo];
      echo_known && slot.is(State::flying) && !slot.resent && !(flags & kTrimmed) &&
      since(sender.latest_sent, slot.sent) <= static_cast<std::int32_t>(mean_of(sender)))
    sample(sender, static_cast<std::uint32_t>(std::max(0, since(stamp(now), slot.sent))));
  const auto marked = [&](std::uint32_t sequence) {
    const std::uint32_t back = echo - sequence;
    return back < 64 && (header.ack.marked >> back & 1);
  };
  std::uint32_t message = sender.first_message;
  const std::uint32_t una = sender.una;
  const std::uint32_t open = sender.flying + sender.lost;
  for (std::uint32_t s = una; before(s, header.sequence); ++s)
    if (Slot& slot = slots[s]; !slot.is(State::arrived)) acknowledge(sender, slot, s, marked(s), stamp(now), message);
  const std::uint32_t from = header.arrived_from();
  for (std::uint64_t bits = header.ack.arrived; bits != 0; bits &= bits - 1) {
    const std::uint32_t s = from + static_cast<std::uint32_t>(std::countr_zero(bits));
    if (Slot& slot = slots[s]; before(s, sender.next) && !before(s, una) && !slot.is(State::arrived))
      acknowledge(sender, slot, s, marked(s), stamp(now), message);
  }
  while (sender.una != sender.next && slots[sender.una].is(State::arrived)) {
    slots[sender.una].become(State::empty);
    ++sender.una;
  }
  bool news = sender.flying + sender.lost != open;
  if ((flags & (kTrimmed | kNotReady)) && echo_known && slots[echo].is(State::flying)) {
    refuse(now, sender, echo, flags);
    news = true;
  }
  sender.heard = now;
  sender.heard_path = header.path;
  // What repeats old news does not end the wait for new ones.
  if (news) {
    sender.deadline = now + patience(sender);
    if (sender.silent > 0) {
      sender.silent = sender.questions = 0;
      set_allowed(sender);
    }
  }
  find_lost(sender);
  if (sender.epoch_acked >= sender.allowed) end_epoch(sender);
  finish_messages(sender);
  if (sender.una == sender.next && sender.wide != kNone) narrow(sender);
  if (sender.first_message == kNone) sender.deadline = sender.reads == kNone ? kNever : now + 2 * config_.give_up;
}

void Srd::acknowledge(Sender& sender, Slot& slot, std::uint32_t sequence, bool marked, std::uint32_t now,
                      std::uint32_t& message) {
  const std::uint32_t path = slot.path;
  if (slot.is(State::flying)) {
    --sender.flying;
    --sender.paths.flying[path];
  }
  if (slot.is(State::lost)) --sender.lost;
  slot.become(State::arrived);
  if (sender.unproven != 0) prove(sender, path);
  // Which transmission of a packet sent twice arrived, nobody knows.
  if (slot.resent) {
    set_cost(sender, path);
  } else {
    judge(sender, path, marked, static_cast<std::uint32_t>(std::max(0, since(now, slot.sent))));
  }
  ++sender.epoch_acked;
  if (since(slot.sent, sender.latest_sent) > 0) sender.latest_sent = slot.sent;
  // Messages are runs of sequences, and acknowledgements go upwards from one to the next.
  while (sequence - send_messages_[message].first >= send_messages_[message].packets)
    message = send_messages_[message].next;
  --send_messages_[message].left;
}

// The echoed packet got there without its payload, or there was no room for it.
void Srd::refuse(Instant now, Sender& sender, std::uint32_t sequence, std::uint8_t flags) {
  const Slot& slot = slots_of(sender)[sequence];
  lose(sender, sequence);
  if (since(slot.sent, sender.latest_sent) > 0) sender.latest_sent = slot.sent;
  prove(sender, slot.path);
  if (flags & kNotReady) {
    sender.paced_until = now + config_.not_ready_wait;
    return;
  }
  raise_price(sender, slot.path);
  ++sender.epoch_acked;
  sender.window = std::max(kFixed, sender.window - std::min(sender.window, config_.trim_cut));
  set_allowed(sender);
}

void Srd::finish_messages(Sender& sender) {
  std::uint32_t* link = &sender.first_message;
  std::uint32_t last = kNone;
  // Behind the one being sent, none has begun.
  while (*link != kNone) {
    SendMessage& message = send_messages_[*link];
    if (message.left > 0) {
      if (!before(message.first, sender.next)) return;
      last = *link;
      link = &message.next;
      continue;
    }
    if (message.op == Op::send || message.op == Op::write)
      completions_.push_back(
          {sender.endpoint, sender.peer, message.tag, message.context, message.bytes, Completion::Kind::sent});
    sender.responses -= message.op == Op::response;
    const std::uint32_t done = *link;
    *link = message.next;
    send_messages_.give_back(done);
  }
  sender.last_message = last;
}

// ---- windows

void Srd::sample(Sender& sender, std::uint32_t rtt) {
  sender.least_rtt = std::max(1u, std::min(sender.least_rtt, rtt));
  sender.epoch_rtt += std::min(rtt, sender.least_rtt + 2 * target_);
  ++sender.epoch_samples;
}

void Srd::end_epoch(Sender& sender) {
  if (sender.epoch_samples > 0) {
    const std::uint32_t rtt = sender.epoch_rtt / sender.epoch_samples;
    const std::uint32_t fine = sender.least_rtt + target_;
    if (rtt > fine) {
      const auto scaled = static_cast<std::uint32_t>(std::uint64_t{sender.window} * fine / rtt);
      sender.window = std::max(scaled, sender.window * (100 - config_.most_cut) / 100);
    }
    sender.window = std::clamp(sender.window + kFixed * config_.increase, kFixed, most_window(sender));
  }
  sender.epoch_acked = sender.epoch_rtt = sender.epoch_samples = 0;
  set_allowed(sender);
}

// In proportion to the peer's own round trip, where the whole is for the farthest: a near one with more in flight than
// fills its way would take the share of others. With fewer than two acknowledgements' worth it would wait for them.
std::uint32_t Srd::most_window(const Sender& sender) const {
  const std::uint64_t own = std::uint64_t{full_window_} * std::min(sender.least_rtt, base_) / base_;
  return std::max(static_cast<std::uint32_t>(own), std::min(full_window_, 2 * kFixed * config_.ack_every));
}

void Srd::set_allowed(Sender& sender) const {
  const std::uint32_t share = sender.fan_in > 1 ? full_window_ / sender.fan_in : full_window_;
  sender.allowed = std::max(1u, std::min(sender.window, share) / kFixed);
  if (sender.silent > 1) sender.allowed = std::min(sender.allowed, questions_after(sender.silent));
}

// ---- open numbers

void Srd::widen(Sender& sender) {
  sender.wide = wide_.take();
  Wide& wide = wide_[sender.wide];
  wide = {};
  for (std::uint32_t s = sender.una; s != sender.next; ++s) wide[s % kOpen] = std::exchange(sender.near[s % kWindow], {});
}

// With nothing open, all slots are empty.
void Srd::narrow(Sender& sender) {
  wide_.give_back(sender.wide);
  sender.wide = kNone;
}

// ---- loss and silence

void Srd::lose(Sender& sender, std::uint32_t sequence) {
  Slot& slot = slots_of(sender)[sequence];
  slot.become(State::lost);
  sender.trying &= ~(std::uint64_t{1} << slot.path);
  land(sender, slot.path);
  if (sender.lost++ == 0 || before(sequence, sender.lost_scan)) sender.lost_scan = sequence;
}

// A packet sent well before one that has arrived is lost; sent half a round trip before, it shows that its path lags
// or is dead, and that is no place for another. Usually a look at the oldest tells that there is none; where it was
// sent again, others may be older than it. When there is nothing else to send, a copy costs little, and whoever lags
// by two round trips is sent again, or by one where packets have vanished before.
void Srd::find_lost(Sender& sender) {
  const std::uint32_t mean = mean_of(sender);
  const std::uint32_t at_the_end = std::min(reorder_, sender.buried ? base_ : 2 * std::max(base_, mean));
  const auto patient = static_cast<std::int32_t>(sender.next == sender.end ? at_the_end : reorder_);
  const Slots slots = slots_of(sender);
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const Slot& slot = slots[s];
    if (!slot.is(State::flying)) continue;
    const std::int32_t overtaken = since(sender.latest_sent, slot.sent);
    if (overtaken > patient) {
      if (overtaken > static_cast<std::int32_t>(reorder_)) bury(sender, slot.path);
      lose(sender, s);
    } else if (2 * overtaken > static_cast<std::int32_t>(mean)) {
      std::uint16_t& price = sender.paths.price[slot.path];
      price = std::max(price, price_of(mean + static_cast<std::uint32_t>(overtaken), mean));
      set_cost(sender, slot.path);
    } else if (!slot.resent) {
      return;
    }
  }
}

// How long to wait for news.
Instant Srd::patience(const Sender& sender) const {
  return std::min(2 * (config_.base_rtt + config_.packet_time * (sender.fan_in + config_.ack_every)) + config_.longest_wait, kLongestFlight);
}

// The deadline has passed without news.
void Srd::time_out(Instant now, std::uint32_t index) {
  Sender& sender = senders_[index];
  if (idle(sender)) {
    sender.deadline = kNever;
    return;
  }
  // Who was asked nothing keeps silent: a read is given the peer's own patience besides ours.
  const Instant limit = sender.first_message == kNone ? 2 * config_.give_up : config_.give_up;
  if (now - sender.heard >= limit) {
    fail(now, index);
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
    std::uint32_t left = sender.buried ? kAskAfterLoss : questions_after(1);
    for (std::uint32_t s = sender.una; before(s, sender.next) && left > 0; ++s) {
      if (!slots[s].is(State::flying)) continue;
      lose(sender, s);
      --left;
    }
    sender.questions = static_cast<std::uint8_t>(questions_after(1));
    sender.paced_until = now;
    sender.deadline = std::min(now + config_.rto, sender.heard + config_.give_up);
    return;
  }
  ++counters_.timeouts;
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const Slot& slot = slots[s];
    if (!slot.is(State::flying)) continue;
    bury(sender, slot.path);
    lose(sender, s);
  }
  sender.latest_sent = stamp(now);
  sender.questions = static_cast<std::uint8_t>(questions_after(sender.silent));
  set_allowed(sender);
  sender.deadline = std::min(now + std::min(config_.rto << std::min(6, sender.silent - 2), kLongestFlight), sender.heard + config_.give_up);
}

// ---- sending

void Srd::fill_data(Instant now, Sender& sender, std::uint32_t share, Transmit& out) {
  std::uint32_t sequence = sender.next;
  std::uint32_t index = sender.sending;
  std::uint32_t avoid = kNoPath;
  const bool resend = sender.lost > 0;
  if (!resend && sender.next - sender.una == kWindow && sender.wide == kNone) widen(sender);
  const Slots slots = slots_of(sender);
  out.flags = 0;
  if (resend) {
    sequence = sender.lost_scan;
    while (!slots[sequence].is(State::lost)) ++sequence;
    sender.lost_scan = sequence + 1;
    --sender.lost;
    ++counters_.data_resent;
    out.flags = kResent | kAckNow;
    avoid = slots[sequence].path;
    index = sender.first_message;
    while (sequence - send_messages_[index].first >= send_messages_[index].packets) index = send_messages_[index].next;
  } else {
    ++sender.next;
    if (sender.next == send_messages_[index].first + send_messages_[index].packets)
      sender.sending = send_messages_[index].next;
    ++counters_.data_sent;
  }
  const SendMessage& message = send_messages_[index];
  const std::uint32_t path = choose_path(sender, resend, avoid);
  slots[sequence] = {stamp(now) & kTimeMask, resend, path & (kMaxPaths - 1),
                                     static_cast<std::uint32_t>(State::flying)};
  ++sender.flying;
  ++sender.paths.flying[path];
  set_cost(sender, path);
  // After silence fewer packets may be left than questions: the same one asks again, by another way.
  if (resend && sender.questions > 0 && --sender.questions > 0 && sender.lost == 0) lose(sender, sequence);
  const bool last = sequence + 1 == message.first + message.packets;
  // A small window asks when a third of it is out: the answer comes before the rest is gone, also where it waits behind
  // those to others. With a half, who serves eight peers over short ways fell silent between answers: all-to-alls took up
  // to 12 % longer, and what had only not been answered was sent again.
  const std::uint32_t limit = std::min(sender.allowed, share);
  if (last || sender.flying >= limit || (limit < 2 * config_.ack_every && sequence % std::max(1u, limit / 3) == 0)) out.flags |= kAckNow;
  std::uint32_t bytes = config_.payload;
  if (last) {
    const std::uint64_t offset = std::uint64_t{sequence - message.first} * config_.payload;
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
  const bool trial = sender.unproven >> path & 1;
  const bool same_way = sender.silent > 0 ? sender.silent == 1 && sender.turn % 2 != 0 : sender.buried && !trial;
  header.echo = same_way ? static_cast<std::uint16_t>(sender.heard_path - header.path) : 0;
  header.stream = sender.stream;
  header.generation = config_.generation;
  header.peer_generation = sender.peer_generation;
  if (sender.fan_in > 1) {
    // A turn that came late, because other peers were served, is made up for by the next.
    const Instant turn = config_.packet_time * sender.fan_in;
    sender.paced_until = std::max(sender.paced_until, now - turn) + turn;
  }
}

}  // namespace weft::transport
