#include "collective/work.hpp"

#include <algorithm>
#include <utility>

#include "collective/direct.hpp"
#include "collective/gates.hpp"

namespace weft::collective {

using schedule::Instruction;

namespace {

constexpr std::uint32_t kSteps = 8;       // that NCCL has buffers for between two ranks
constexpr std::uint32_t kMostSteps = 21;  // whose ends executors keep in mind
constexpr std::uint32_t kOfAStep = 3;     // operations
constexpr std::uint32_t kToMany = 2 * Direct::kInFlight;

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
      out = Instruction::pause(Duration(start));
      return true;
    }
  }
  if (cursor.takes) {
    cursor.takes = false;
    out = Instruction::wait(1);
    return true;
  }
  if (cursor.pace > 0) {
    out = Instruction::compute(Duration(std::exchange(cursor.pace, 0)));
    cursor.since_pace = 1;
    return true;
  }
  Step step;
  if (cursor.program == kNoProgram || !programs_[cursor.program]->step(rank, cursor.lane, cursor.at, step)) {
    cursor = {cursor.program, cursor.lane};
    return false;
  }
  if (wait_for_room(rank, cursor, step, out)) return true;
  ++cursor.at;
  if (cursor.since_pace > 0) ++cursor.since_pace;
  if (step.kind == Step::Kind::send) {
    out = send(rank, cursor, step);
  } else {
    cursor.takes = true;
    out = Instruction::recv(step.peer, step.tag);
  }
  return true;
}

std::int64_t Work::start_of(std::uint32_t rank, std::uint32_t program) const {
  if (program == kNoProgram) return plan_.least.count();
  const bool launched = launch_ == Launch::included && rank < plan_.gpus;
  return (rank < plan_.starts.size() ? plan_.starts[rank].count() : 0) + (launched ? plan_.launch.count() : 0);
}

// Carried: a send leaves when the one before it has had its share of the links, as it would where nothing else is on
// them, and when there is room in the buffers between the two. A step is a send, the time it takes and perhaps a recv.
bool Work::wait_for_room(std::uint32_t rank, Cursor& cursor, const Step& step, Instruction& out) const {
  if (team_ == nullptr || step.kind != Step::Kind::send || step.joined) return false;
  if (cursor.since_pace > 0) {
    out = Instruction::wait(std::exchange(cursor.since_pace, 0));
    return true;
  }
  cursor.room = !cursor.room;
  if (!cursor.room) return false;
  const bool to_many = plan_.choice.algorithm == Algorithm::direct;
  out = Instruction::wait_older(to_many ? kToMany
                                        : kOfAStep * room_of(rank, step.peer, occupancy(step.edge, step.bytes)));
  return true;
}

// A step's time and latency were fitted to whole operations: what a pair loses to full buffers on an idle network is in
// them. So there are at least as many steps as keep a pair at its pace while the first is on its way and its answer
// back. Where these are very many, nobody waits for any of them.
std::uint32_t Work::room_of(std::uint32_t rank, std::uint32_t peer, std::int64_t takes) const {
  const std::int64_t there_and_back = 2 * plan_.latency(rank, peer).count();
  const std::int64_t steps = there_and_back / std::max<std::int64_t>(1, takes) + 2;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(steps, kSteps, kMostSteps + 1));
}

// Timed, a send occupies its lane for as long as its share of the links needs, and arrives a latency later. Carried, it
// takes that long at least, and longer where the network has less for it than that.
Instruction Work::send(std::uint32_t rank, Cursor& cursor, const Step& step) const {
  Instruction made = Instruction::send(step.peer, step.bytes, step.tag);
  const std::int64_t whole = step.joined ? 0 : occupancy(step.edge, step.bytes);
  const std::int64_t occupies = whole + plan_.lost(rank, whole);
  if (!step.joined) cursor.ahead = whole - passage(step.edge, step.bytes);
  const std::int64_t latency = plan_.latency(rank, step.peer).count() - cursor.ahead;
  if (team_ == nullptr) {
    made.detached = true;
    made.time = Duration(occupies);
    made.lag = Duration(latency);
    return made;
  }
  if (!step.joined) cursor.pace = cursor.occupied = occupies;
  made.least = Duration(cursor.occupied + latency);
  made.bytes = wire_bytes(step.edge, step.bytes);
  made.detached = plan_.choice.algorithm == Algorithm::direct ? step.bytes < Direct::kSmall
                                                              : room_of(rank, step.peer, cursor.occupied) > kMostSteps;
  const bool outside = plan_.node[rank] != plan_.node[step.peer];
  made.lag = outside ? plan_.outside_lag : plan_.inside_lag;
  if (!outside) return made;
  const Gates by = gates(*team_, rank, step.peer, plan_.port_of[cursor.program], plan_.pxn, plan_.alternate);
  made.leaves = by.leaves;
  made.enters = by.enters;
  made.handed = by.handed;
  made.channel = cursor.program;
  return made;
}

}  // namespace weft::collective
