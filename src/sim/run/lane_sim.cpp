#include "sim/run/lane_sim.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/digest.hpp"
#include "base/hash.hpp"
#include "schedule/schedule.hpp"

namespace weft::sim {
namespace {

using schedule::Instruction;
using schedule::kMostOutstanding;

constexpr std::uint64_t kMessagesBetweenQuestions = 1 << 16;
// A lane that could go on for ever gives way now and then, so that those it sends to take what waits for them.
constexpr std::uint32_t kTurn = 256;
constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

// What is on its way from one rank to another under one tag: arrivals in order, those taken already dropped.
class Stream {
 public:
  std::uint32_t waiter = kNobody;  // lane that needs an arrival that is not known yet

  std::uint64_t post() { return posted_++; }  // the number of the message that a recv will get
  bool known(std::uint64_t number) const { return number < first_ + (arrivals_.size() - head_); }
  std::int64_t arrival(std::uint64_t number) const { return arrivals_[head_ + (number - first_)]; }
  void add(std::int64_t time) { arrivals_.push_back(time); }
  // All before that number are never asked for again.
  void drop_until(std::uint64_t number) {
    head_ += number - first_;
    first_ = number;
    if (head_ == arrivals_.size()) {
      arrivals_.clear();
      head_ = 0;
    }
  }

 private:
  std::vector<std::int64_t> arrivals_;
  std::size_t head_ = 0;
  std::uint64_t first_ = 0;  // number of the arrival at head_
  std::uint64_t posted_ = 0;
};

// Streams by (source, destination, tag); open addressing over the whole key, so that no two are mistaken for one.
class Streams {
 public:
  std::uint32_t find(std::uint32_t from, std::uint32_t to, std::uint64_t tag) {
    if ((streams_.size() + 1) * 2 > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(from, to, tag) & mask;
    for (; slots_[at] != kNobody; at = (at + 1) & mask) {
      const Key& key = keys_[slots_[at]];
      if (key.tag == tag && key.from == from && key.to == to) return slots_[at];
    }
    slots_[at] = static_cast<std::uint32_t>(streams_.size());
    keys_.push_back({tag, from, to});
    streams_.emplace_back();
    return slots_[at];
  }
  Stream& operator[](std::uint32_t index) { return streams_[index]; }

 private:
  struct Key {
    std::uint64_t tag;
    std::uint32_t from;
    std::uint32_t to;
  };
  static std::uint64_t hash(std::uint32_t from, std::uint32_t to, std::uint64_t tag) {
    return mix64(mix64(tag) ^ (std::uint64_t{from} << 32 | to));
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, kNobody);
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = hash(keys_[i].from, keys_[i].to, keys_[i].tag) & mask;
      while (slots_[at] != kNobody) at = (at + 1) & mask;
      slots_[at] = i;
    }
  }

  std::vector<std::uint32_t> slots_;
  std::vector<Key> keys_;
  std::vector<Stream> streams_;
};

class LaneSim {
 public:
  LaneSim(schedule::Schedule& schedule, const LaneConfig& config) : schedule_(schedule), config_(config) {}

  LaneResult run() {
    set_up();
    while (!runnable_.empty()) {
      const std::uint32_t lane = runnable_.back();
      runnable_.pop_back();
      const bool more = advance(lane);
      if (stopped_) break;
      if (more) behind_.push_back(lane);
      // Lanes that used up their turn go on when nobody else can.
      if (runnable_.empty()) runnable_.swap(behind_);
    }
    return finish();
  }

 private:
  // An operation that is not done by the lane's clock: at a known time, or when a message of a stream has come.
  struct Open {
    std::uint64_t operation = 0;  // counted by the lane
    std::int64_t time = 0;
    std::uint32_t stream = kNobody;
    std::uint64_t number = 0;  // of the message in its stream
  };
  struct Lane {
    std::uint32_t rank = 0;
    std::uint32_t number = 0;  // of the rank
    std::int64_t clock = 0;
    std::int64_t busy = 0;  // until when its sends occupy it
    Digest digest;
    std::uint64_t begun = 0;        // operations
    std::uint64_t wait_before = 0;  // operations from wait_from to here are waited for
    std::uint64_t wait_from = 0;
    bool ended = false;
    std::vector<Open> open;  // in order
  };

  void set_up() {
    for (std::uint32_t rank = 0; rank < schedule_.ranks(); ++rank)
      for (std::uint32_t number = 0; number < schedule_.lanes(rank); ++number) {
        Lane& lane = lanes_.emplace_back();
        lane.rank = rank;
        lane.number = number;
      }
    for (std::uint32_t i = static_cast<std::uint32_t>(lanes_.size()); i-- > 0;) runnable_.push_back(i);
  }

  // Whether an open operation can be closed: then the clock is at least at its end.
  bool close(std::uint32_t index, std::size_t at) {
    Lane& lane = lanes_[index];
    Open& open = lane.open[at];
    if (open.stream != kNobody) {
      Stream& stream = streams_[open.stream];
      if (!stream.known(open.number)) {
        stream.waiter = index;
        return false;
      }
      // Those before it in the same stream came earlier: they are done by then.
      for (std::size_t i = 0; i < at; ++i)
        if (lane.open[i].stream == open.stream) lane.open[i].stream = kNobody;
      open.time = std::max(open.time, stream.arrival(open.number));
      stream.drop_until(open.number + 1);
      lane.digest.add(static_cast<std::uint64_t>(open.time));
    }
    lane.clock = std::max(lane.clock, open.time);
    lane.open.erase(lane.open.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  // Closes what the lane waits for; false when some of it is still to come.
  bool catch_up(std::uint32_t index) {
    Lane& lane = lanes_[index];
    // The operation kMostOutstanding places back is waited for each time.
    for (std::size_t i = 0; i < lane.open.size();) {
      const std::uint64_t operation = lane.open[i].operation;
      const bool wanted =
          (operation >= lane.wait_from && operation < lane.wait_before) || operation + kMostOutstanding <= lane.begun;
      if (!wanted)
        ++i;
      else if (!close(index, i))
        return false;
    }
    return true;
  }

  // True: it could go on. False: it waits, or has ended.
  bool advance(std::uint32_t index) {
    Lane& lane = lanes_[index];
    for (std::uint32_t turn = 0; turn < kTurn; ++turn) {
      if (!lane.open.empty() && !catch_up(index)) return false;
      if (lane.ended) return false;
      Instruction each;
      if (schedule_.next(lane.rank, lane.number, each)) {
        begin(lane, each);
      } else {
        lane.ended = true;
        lane.wait_from = 0;
        lane.wait_before = lane.begun;
      }
      if (stopped_) return false;
    }
    return true;
  }

  void begin(Lane& lane, const Instruction& each) {
    Open open{lane.begun, lane.clock};
    switch (each.kind) {
      case Instruction::Kind::wait:
        lane.wait_from = each.back <= lane.begun ? lane.begun - each.back : 0;
        lane.wait_before = each.back >= 1 && each.back <= lane.begun ? lane.wait_from + 1 : lane.wait_from;
        return;
      case Instruction::Kind::wait_older:
        lane.wait_from = 0;
        lane.wait_before = each.back < lane.begun ? lane.begun - each.back : 0;
        return;
      case Instruction::Kind::wait_all:
        lane.wait_from = 0;
        lane.wait_before = lane.begun;
        lane.clock = std::max(lane.clock, lane.busy);
        return;
      case Instruction::Kind::at:
        lane.clock = std::max(lane.clock, each.time.count());
        return;
      case Instruction::Kind::pause:
        lane.clock += each.time.count();
        return;
      case Instruction::Kind::recv:
        open.stream = streams_.find(each.peer, lane.rank, each.tag);
        open.number = streams_[open.stream].post();
        break;
      case Instruction::Kind::send:
        open.time = send(lane, each);
        break;
      case Instruction::Kind::compute:
        if (each.peer != 0) throw std::logic_error("lanes by their own clocks share no processor");
        open.time += each.time.count();
        break;
      default:
        open.time += local_time(lane.rank, each.kind, each.bytes);
        break;
    }
    ++lane.begun;
    if (open.stream != kNobody || open.time > lane.clock) lane.open.push_back(open);
  }

  std::int64_t local_time(std::uint32_t rank, Instruction::Kind kind, std::uint64_t bytes) const {
    return config_.local ? config_.local(rank, kind, bytes).count() : 0;
  }

  // When the sender is done with it.
  std::int64_t send(Lane& lane, const Instruction& each) {
    const std::int64_t start = std::max(lane.busy, lane.clock);
    lane.busy = start + each.time.count();
    const bool itself = each.peer == lane.rank;
    const std::int64_t leaves = lane.busy + std::min<std::int64_t>(0, each.lag.count());
    std::int64_t comes = leaves;
    std::int64_t sent = leaves;
    if (itself) {
      sent = comes += local_time(lane.rank, Instruction::Kind::copy, each.bytes);
    } else if (config_.transfer) {
      const TransferCost cost = config_.transfer(lane.rank, each.peer);
      comes += cost.until_there(each.bytes).count();
      sent = comes + cost.acknowledgement.count();
    }
    const std::int64_t least = itself ? 0 : (each.least.count() + 999) / 1000 * 1000;
    const std::int64_t there = std::max(comes + std::max<std::int64_t>(0, each.lag.count()), leaves + least);
    last_ = std::max({last_, there, sent});
    if (each.tag != schedule::kOneSided) deliver(there, streams_[streams_.find(lane.rank, each.peer, each.tag)]);
    if (!itself) count(lane, each, start, there, sent);
    return each.detached ? lane.clock : sent;
  }

  void deliver(std::int64_t there, Stream& stream) {
    stream.add(there);
    if (stream.waiter == kNobody) return;
    runnable_.push_back(stream.waiter);
    stream.waiter = kNobody;
  }

  void count(Lane& lane, const Instruction& each, std::int64_t start, std::int64_t there, std::int64_t sent) {
    lane.digest.add(static_cast<std::uint64_t>(there));
    if (config_.sent)
      config_.sent({lane.rank, each.peer, each.bytes, Duration(start), Duration(sent), Duration(there), Duration(0), 0,
                    false, each.tag});
    bytes_ += each.bytes;
    if (++messages_ % kMessagesBetweenQuestions == 0 && config_.keep_going &&
        !config_.keep_going(there, messages_, bytes_))
      stopped_ = true;
  }

  LaneResult finish() {
    LaneResult result;
    result.run.fidelity = schedule::Fidelity::message;
    result.messages = result.run.counters.events = messages_;
    result.ends.resize(schedule_.ranks());
    result.run.end = Duration(last_);
    Digest all;
    for (const Lane& lane : lanes_) {
      const std::int64_t end = std::max(lane.clock, lane.busy);
      result.ends[lane.rank] = std::max(result.ends[lane.rank], Duration(end));
      result.run.end = Duration(std::max(result.run.end.count(), end));
      result.run.unfinished += !lane.ended || !lane.open.empty();
      all.add(lane.digest.value());
    }
    result.run.digest = all.value();
    if (stopped_) result.run.stopped_by = "request";
    return result;
  }

  schedule::Schedule& schedule_;
  const LaneConfig& config_;
  std::vector<Lane> lanes_;
  Streams streams_;
  std::vector<std::uint32_t> runnable_;  // lanes, the last goes first
  std::vector<std::uint32_t> behind_;    // lanes that gave way
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t last_ = 0;  // when a message was there, or its sender knew
  bool stopped_ = false;
};

}  // namespace

LaneResult run_lanes(schedule::Schedule& schedule, const LaneConfig& config) { return LaneSim(schedule, config).run(); }

}  // namespace weft::sim
