#include "collective/work.hpp"

#include <algorithm>
#include <utility>

#include "collective/gates.hpp"

namespace weft::collective {

using schedule::Instruction;

namespace {

constexpr std::int64_t kBlocksBegin = 1'000'000;  // ps, from the first block of a kernel to the last

}  // namespace

Work::Work(const Plan& plan, std::vector<std::shared_ptr<const Program>> programs, Launch launch)
    : plan_(plan), programs_(std::move(programs)), launch_(launch) {
  set_up();
}

Work::Work(const Plan& plan, const Team& team, Launch launch)
    : plan_(plan), programs_(plan.programs), team_(&team), launch_(launch) {
  set_up();
}

void Work::set_up() {
  first_lane_.reserve(plan_.ranks + std::size_t{1});
  first_lane_.push_back(0);
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    for (std::uint32_t program = 0; program < programs_.size(); ++program)
      for (std::uint32_t lane = 0; lane < programs_[program]->lanes(rank); ++lane) cursors_.push_back({program, lane});
    if (launch_ == Launch::included && rank < plan_.gpus && plan_.least > plan_.launch)
      cursors_.push_back({kNoProgram, 0});
    first_lane_.push_back(static_cast<std::uint32_t>(cursors_.size()));
  }
}

bool Work::next(std::uint32_t rank, std::uint32_t lane, Instruction& out) {
  Cursor& cursor = cursors_[first_lane_[rank] + lane];
  if (!cursor.here) {
    cursor.here = true;
    if (const std::int64_t start = start_of(rank, cursor.program); start > 0) {
      out = Instruction::pause(start);
      return true;
    }
  }
  if (cursor.takes) {
    cursor.takes = false;
    out = Instruction::wait(1);
    return true;
  }
  if (cursor.pace > 0) {
    out = Instruction::compute(std::exchange(cursor.pace, 0));
    ++cursor.since_last;
    cursor.since_pace = 1;
    return true;
  }
  Step step;
  if (cursor.program == kNoProgram || !programs_[cursor.program]->step(rank, cursor.lane, cursor.at, step)) {
    cursor = {cursor.program, cursor.lane};
    return false;
  }
  if (wait_for_room(cursor, step, out)) return true;
  ++cursor.at;
  ++cursor.since_last;
  if (cursor.since_pace > 0) ++cursor.since_pace;
  if (step.kind == Step::Kind::send) {
    out = send(rank, cursor, step);
    cursor.outside |= plan_.node[rank] != plan_.node[step.peer];
  } else {
    cursor.takes = true;
    out = Instruction::recv(step.peer, step.tag);
  }
  return true;
}

// Carried: channels are blocks of a kernel, which do not begin at the same instant. If they did, rings that do the same
// would go on in step, and all links idle at once whenever all of them wait for a latency. The least disturbance ends
// that (how large it is hardly matters), but fluids have none of their own. Trees get out of step by themselves, as
// their ranks wait for several others.
std::int64_t Work::start_of(std::uint32_t rank, std::uint32_t program) const {
  if (program == kNoProgram) return plan_.least.count();
  const bool launched = launch_ == Launch::included && rank < plan_.gpus;
  const std::int64_t comes =
      (rank < plan_.starts.size() ? plan_.starts[rank].count() : 0) + (launched ? plan_.launch.count() : 0);
  if (team_ == nullptr || plan_.choice.algorithm != Algorithm::ring) return comes;
  return comes + kBlocksBegin * std::int64_t{program} / static_cast<std::int64_t>(programs_.size());
}

// Carried: a connection keeps the order of its messages. Within a domain that is one after another; on the network one
// follows while the one before it is being acknowledged. With more on the links at a time they would share them instead
// of taking turns, and a lane that has much to say would get more than others.
bool Work::wait_for_room(Cursor& cursor, const Step& step, Instruction& out) const {
  if (team_ == nullptr || step.kind != Step::Kind::send || step.joined) return false;
  if (cursor.since_pace > 0) {
    out = Instruction::wait(std::exchange(cursor.since_pace, 0));
    return true;
  }
  cursor.room = !cursor.room;
  if (cursor.room) {
    out = Instruction::wait_older(cursor.outside ? cursor.since_last : 0);
    return true;
  }
  cursor.since_last = 0;
  cursor.outside = false;
  return false;
}

// A message does not wait for the threads that are slower than links: what they cannot do at once, the next send waits
// for, and the receiver.
Instruction Work::send(std::uint32_t rank, Cursor& cursor, const Step& step) const {
  Instruction made = Instruction::send(step.peer, step.bytes, step.tag);
  // What a slow rank loses is the same to every executor.
  const std::int64_t whole = step.joined ? 0 : occupancy(step.edge, step.bytes);
  const std::int64_t lost = plan_.lost(rank, whole);
  if (team_ == nullptr) {
    made.detached = true;
    made.time = whole + lost;
    made.lag = plan_.latency(rank, step.peer).count();
    return made;
  }
  made.bytes = wire_bytes(step.edge, step.bytes);
  const bool outside = plan_.node[rank] != plan_.node[step.peer];
  // The thread that posts for a port is behind what is on the wire, and not before it.
  const bool posting = outside && step.edge.overhead.count() > 0;
  made.time = step.joined ? 0 : (posting ? 0 : step.edge.overhead.count()) + lost;
  made.lag = (outside ? plan_.outside_lag : plan_.inside_lag).count();
  if (const std::int64_t threads = posting ? whole : pace(step.edge, step.bytes); threads > 0) {
    made.lag += threads - occupancy({step.edge.links, {}, {}, 1000}, step.bytes);
    cursor.pace = std::max(cursor.pace, threads);
  }
  if (!outside) return made;
  const Gates by = gates(*team_, rank, step.peer, plan_.port_of[cursor.program], plan_.pxn, plan_.alternate);
  made.leaves = by.leaves;
  made.enters = by.enters;
  made.handed = by.handed;
  return made;
}

}  // namespace weft::collective
