#include "sim/run/runner.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::sim {

using schedule::Instruction;

namespace {

constexpr std::uint32_t kSlots = schedule::kMostOutstanding;
static_assert(kSlots == 64, "a lane's slots are the bits of a word");

constexpr std::int64_t kWord = 0xFFFFFFFF;
constexpr std::uint64_t bit(std::uint32_t slot) { return std::uint64_t{1} << slot; }

// An operation is named by its lane and slot; the wake-up of a message that leaves or is there later, or is copied, by
// its number.
constexpr std::uint32_t context_of(std::uint32_t lane, std::uint32_t slot) { return lane << 8 | slot; }
constexpr std::uint32_t kLeaves = 2u << 30;
constexpr std::uint32_t kArrives = 1u << 30;
constexpr std::uint32_t kCopied = 3u << 30;
[[maybe_unused]] constexpr std::uint32_t kMostLanes = 1u << 22;  // without assertions nobody asks

}  // namespace

Runner::Runner(schedule::Schedule& schedule, Network& network)
    : schedule_(schedule), network_(network), signals_(schedule.has_signals()) {
  const std::uint32_t ranks = schedule.ranks();
  assert(ranks <= kMostRanks);
  first_lane_.reserve(ranks + std::size_t{1});
  first_lane_.push_back(0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    assert(schedule.lanes(rank) < kMostLanes);
    first_lane_.push_back(first_lane_.back() + schedule.lanes(rank));
  }
  lanes_.resize(first_lane_.back());
  logs_.resize(ranks);
  matching_.resize(ranks);
}

template <class Entry>
std::uint32_t Runner::Waiting<Entry>::add(const Entry& entry) {
  if (free.empty()) {
    entries.push_back(entry);
    return static_cast<std::uint32_t>(entries.size() - 1);
  }
  const std::uint32_t number = free.back();
  free.pop_back();
  entries[number] = entry;
  return number;
}

template <class Entry>
Entry Runner::Waiting<Entry>::take(std::uint32_t number) {
  free.push_back(number);
  return entries[number];
}

Runner::MatchingState& Runner::matching(std::uint32_t rank) {
  if (!matching_[rank]) matching_[rank] = std::make_unique<MatchingState>();
  return *matching_[rank];
}

Runner::Delayed& Runner::delayed(std::uint32_t rank) {
  std::unique_ptr<Delayed>& mine = matching(rank).delayed;
  if (!mine) mine = std::make_unique<Delayed>();
  return *mine;
}

void Runner::sleep(std::int64_t until, std::uint32_t rank, std::uint32_t number) {
  lane_of(rank, number).asleep = true;
  network_.wake(until, rank, context_of(number, kAlarm));
}

void Runner::start(std::int64_t now, std::uint32_t rank) {
  const std::uint32_t lanes = first_lane_[rank + 1] - first_lane_[rank];
  for (std::uint32_t lane = 0; lane < lanes; ++lane) advance(now, rank, lane);
}

void Runner::advance(std::int64_t now, std::uint32_t rank, std::uint32_t number) {
  Lane& lane = lane_of(rank, number);
  while (!lane.ended && !lane.asleep && (lane.outstanding & (lane.awaited | bit(lane.next))) == 0) {
    lane.awaited = 0;
    Instruction each;
    if (schedule_.next(rank, number, each)) {
      begin(now, rank, number, each);
    } else {
      lane.ended = true;
      lane.busy = std::max(lane.busy, now);
    }
  }
}

void Runner::begin(std::int64_t now, std::uint32_t rank, std::uint32_t number, const Instruction& each) {
  Lane& lane = lane_of(rank, number);
  switch (each.kind) {
    case Instruction::Kind::wait:
      // Further back than the slots reach everything is finished, or the lane would not have come here.
      if (each.back >= 1 && each.back <= kSlots) lane.awaited = bit((lane.next + kSlots - each.back) % kSlots);
      return;
    case Instruction::Kind::wait_older:
      lane.awaited = ~std::uint64_t{0};
      for (std::uint32_t back = 1; back <= std::min(each.back, kSlots); ++back)
        lane.awaited &= ~bit((lane.next + kSlots - back) % kSlots);
      return;
    case Instruction::Kind::wait_all:
      lane.awaited = ~std::uint64_t{0};
      if (lane.busy > now) sleep(lane.busy, rank, number);
      return;
    case Instruction::Kind::at:
      if (each.time.count() > now) sleep(each.time.count(), rank, number);
      return;
    case Instruction::Kind::pause:
      if (each.time > Duration(0)) sleep(now + each.time.count(), rank, number);
      return;
    default:
      break;
  }
  const std::uint32_t slot = lane.next;
  const std::uint32_t context = context_of(number, slot);
  lane.next = static_cast<std::uint8_t>((slot + 1) % kSlots);
  bool unfinished = true;
  switch (each.kind) {
    case Instruction::Kind::send:
      unfinished = !each.detached;
      if (each.time > Duration(0)) lane.busy = std::max(lane.busy, now) + each.time.count();
      send(now, std::max(now, lane.busy + std::min<std::int64_t>(0, each.lag.count())), rank, each,
           unfinished ? context : kNobody);
      break;
    case Instruction::Kind::recv:
      unfinished = !matching(rank).mailbox.post(each.peer, each.tag, context);
      break;
    case Instruction::Kind::compute:
      network_.wake(computed(now, rank, each), rank, context);
      break;
    default:
      network_.local(now, rank, each.kind, each.bytes, context);
      break;
  }
  if (unfinished) lane.outstanding |= bit(slot);
}

// When a computation that begins now, or when its processor is free, will be over.
std::int64_t Runner::computed(std::int64_t now, std::uint32_t rank, const Instruction& each) {
  if (each.peer == 0) return now + each.time.count();
  std::vector<std::int64_t>& busy = matching(rank).busy;
  if (busy.size() < each.peer) busy.resize(each.peer);
  std::int64_t& until = busy[each.peer - 1];
  return until = std::max(now, until) + each.time.count();
}

void Runner::send(std::int64_t now, std::int64_t leaves, std::uint32_t rank, const Instruction& each,
                  std::uint32_t context) {
  if (each.peer == rank) return copy(leaves, rank, each, context);
  Message made{.bytes = each.bytes,
               .tag = each.tag,
               .start = leaves,
               .sent = schedule::kNotYet.count(),
               .received = schedule::kNotYet.count(),
               .destination = each.peer & (kMostRanks - 1),
               .stream = each.stream,
               .context = context,
               .when_sent = each.when_sent,
               .when_received = each.when_received};
  if (!signals_) {
    const auto word = [](std::int64_t n) { return static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 0, kWord)); };
    made.least_ns = word((each.least.count() + 999) / 1000);
    made.lag_ps = word(each.lag.count());
  }
  const std::uint32_t message = logs_[rank].add(made);
  const Transfer transfer{rank, each.peer, each.bytes, message, each.leaves, each.enters, each.handed, each.channel};
  if (leaves > now)
    delay(leaves, rank, kLeaves, transfer);
  else
    hand_over(now, transfer);
}

void Runner::delay(std::int64_t until, std::uint32_t rank, std::uint32_t what, const Transfer& transfer) {
  network_.wake(until, rank, what | delayed(rank).transfers.add(transfer));
}

void Runner::copy(std::int64_t leaves, std::uint32_t rank, const Instruction& each, std::uint32_t context) {
  const std::int64_t lag = signals_ ? 0 : std::clamp<std::int64_t>(each.lag.count(), 0, schedule::kMostLag.count());
  const std::uint32_t number = delayed(rank).copies.add(
      {each.tag, lag, context, each.when_sent, signals_ ? each.when_received : schedule::kNoSignal});
  network_.local(leaves, rank, Instruction::Kind::copy, each.bytes, kCopied | number);
}

void Runner::copied(std::int64_t now, std::uint32_t rank, const Copy& copy) {
  if (copy.lag > 0) {
    const Copy late{copy.tag, 0, kNobody, schedule::kNoSignal, schedule::kNoSignal};
    network_.wake(now + copy.lag, rank, kCopied | delayed(rank).copies.add(late));
  } else {
    delayed(rank).last_copy = now;
    deliver(now, rank, rank, copy.tag);
    fire(now, copy.when_received);
  }
  if (copy.context != kNobody) done(now, rank, copy.context);
  fire(now, copy.when_sent);
}

// To the recv that waits for it.
void Runner::deliver(std::int64_t now, std::uint32_t rank, std::uint32_t from, std::uint64_t tag) {
  if (tag == schedule::kOneSided) return;
  const std::uint32_t context = matching(rank).mailbox.arrive(from, tag);
  if (context != kNobody) done(now, rank, context);
}

void Runner::hand_over(std::int64_t now, const Transfer& transfer) {
  const std::int64_t parts = network_.send(now, transfer);
  Message& sending = logs_[transfer.from][transfer.message];
  sending.sent = sending.received = -parts;
}

void Runner::sent(std::int64_t now, std::uint32_t rank, std::uint32_t message) {
  Message& each = logs_[rank][message];
  if (++each.sent < 0) return;
  each.sent = now;
  if (each.context != kNobody) done(now, rank, each.context);
  if (signals_) fire(now, each.when_sent);
}

void Runner::received(std::int64_t now, std::uint32_t rank, std::uint32_t from, std::uint32_t message) {
  Message& each = logs_[from][message];
  if (++each.received < 0) return;
  if (signals_) return arrive(now, rank, from, message);
  const std::int64_t there = std::max(now + each.lag_ps, each.start + std::int64_t{each.least_ns} * 1000);
  if (there <= now) return arrive(now, rank, from, message);
  each.received = schedule::kNotYet.count();
  delay(there, rank, kArrives, {.from = from, .to = rank, .message = message});
}

void Runner::arrive(std::int64_t now, std::uint32_t rank, std::uint32_t from, std::uint32_t message) {
  Message& each = logs_[from][message];
  each.received = now;
  deliver(now, rank, from, each.tag);
  if (signals_) fire(now, each.when_received);
}

void Runner::done(std::int64_t now, std::uint32_t rank, std::uint32_t context) {
  if (const std::uint32_t what = context & kCopied; what != 0) {
    Delayed& mine = *matching_[rank]->delayed;
    const std::uint32_t waited = context & ~kCopied;
    if (what == kCopied) return copied(now, rank, mine.copies.take(waited));
    const Transfer transfer = mine.transfers.take(waited);
    return what == kLeaves ? hand_over(now, transfer) : arrive(now, rank, transfer.from, transfer.message);
  }
  const std::uint32_t number = context >> 8;
  const std::uint32_t slot = context & 0xFF;
  Lane& lane = lane_of(rank, number);
  if (slot == kAlarm) {
    lane.asleep = false;
  } else {
    assert(lane.outstanding & bit(slot));
    lane.outstanding &= ~bit(slot);
    if (lane.ended) lane.busy = std::max(lane.busy, now);
  }
  advance(now, rank, number);
}

void Runner::fire(std::int64_t now, std::uint32_t signal) {
  if (signal == schedule::kNoSignal) return;
  signalled_.clear();
  schedule_.fire(signal, signalled_);
  for (const schedule::Start& each : signalled_) send(now, now, each.rank, each.send, kNobody);
}

std::uint64_t Runner::unfinished() const {
  std::uint64_t count = 0;
  for (const Lane& lane : lanes_) count += !lane.ended || lane.outstanding != 0;
  return count;
}

std::int64_t Runner::last() const {
  std::int64_t last = 0;
  for (const Lane& lane : lanes_)
    if (lane.ended) last = std::max(last, lane.busy);
  for (const MessageLog& log : logs_)
    for (std::uint32_t number = 0; number < log.size(); ++number)
      last = std::max({last, log[number].sent, log[number].received});
  for (const std::unique_ptr<MatchingState>& each : matching_)
    if (each && each->delayed) last = std::max(last, each->delayed->last_copy);
  return last;
}

bool Runner::have_ended(std::uint32_t& rank, const std::function<std::uint32_t(std::uint32_t)>& lanes) const {
  for (; rank < logs_.size(); ++rank)
    for (std::uint32_t i = 0; i < lanes(rank); ++i)
      if (const Lane& lane = lanes_[first_lane_[rank] + i]; !lane.ended || lane.outstanding != 0) return false;
  return true;
}

std::vector<schedule::FlowRecord> Runner::take_flows() {
  std::size_t count = 0;
  for (const MessageLog& log : logs_) count += log.size();
  std::vector<schedule::FlowRecord> flows;
  flows.reserve(count);
  for (std::uint32_t rank = 0; rank < logs_.size(); ++rank) {
    const MessageLog log = std::exchange(logs_[rank], {});  // freed rank by rank: never everything twice
    for (std::uint32_t number = 0; number < log.size(); ++number) {
      const Message& each = log[number];
      const auto when = [](std::int64_t time) { return time < 0 ? schedule::kNotYet.count() : time; };
      flows.push_back({rank, each.destination, each.bytes, Duration(each.start), Duration(when(each.sent)),
                       Duration(when(each.received)), Duration(0), each.stream, false, each.tag});
    }
  }
  return flows;
}

}  // namespace weft::sim
