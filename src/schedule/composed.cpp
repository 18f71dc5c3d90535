#include "schedule/composed.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weft::schedule {
namespace {

// From one lane of a rank to another.
Instruction tell(std::uint32_t rank, std::uint64_t tag) {
  Instruction made = Instruction::send(rank, 0, tag);
  made.detached = true;
  return made;
}

}  // namespace

bool WrittenSteps::next(std::uint32_t rank, std::uint32_t track, Step& out) {
  Track& from = tracks_[rank][track];
  if (from.pulled == from.all.size()) return false;
  out = from.all[from.pulled++];
  return true;
}

bool WrittenSteps::runs(std::uint32_t rank, std::uint32_t track, std::uint32_t part) const {
  const std::vector<Step>& all = tracks_[rank][track].all;
  return std::any_of(all.begin(), all.end(), [part](const Step& each) { return each.part == part; });
}

Composed::Composed(std::uint32_t ranks, std::vector<Part> parts, std::unique_ptr<Steps> steps)
    : parts_(std::move(parts)), steps_(std::move(steps)), members_(ranks) {
  if (parts_.size() + 2 > std::uint64_t{1} << (64 - kTagBits))
    throw std::logic_error("more parts than tags tell apart");
  for (std::uint32_t part = 0; part < parts_.size(); ++part)
    for (std::uint32_t rank = 0; rank < parts_[part].places.size(); ++rank)
      members_[parts_[part].places[rank]].push_back({part, rank, parts_[part].work->lanes(rank)});
  first_lane_.push_back(0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t number = 0; number < steps_->tracks(rank); ++number) {
      Track track{.number = number, .width = 1};
      for (const Member& each : members_[rank])
        if (steps_->runs(rank, number, each.part)) track.width = std::max(track.width, each.lanes);
      track.last = !steps_->next(rank, track.number, track.ahead);
      go_on(rank, track);
      track.first = true;
      for (std::uint32_t lane = 0; lane < track.width; ++lane)
        lanes_.push_back(
            {static_cast<std::uint32_t>(tracks_.size()), lane, 1, lane == 0 ? State::enters : State::called});
      tracks_.push_back(track);
    }
    first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
  }
}

Composed::Member Composed::member(std::uint32_t rank, std::uint32_t part) const {
  const std::vector<Member>& mine = members_[rank];
  const auto found = std::lower_bound(mine.begin(), mine.end(), part,
                                      [](const Member& each, std::uint32_t wanted) { return each.part < wanted; });
  if (found == mine.end() || found->part != part)
    throw std::logic_error("a rank runs a part that it does not belong to");
  return *found;
}

// To the step ahead.
void Composed::go_on(std::uint32_t rank, Track& track) {
  track.first = false;
  track.over = track.last;
  if (track.over) return;
  track.step = track.ahead;
  track.last = !steps_->next(rank, track.number, track.ahead);
  if (track.step.part == Step::kNoPart) return;
  track.member = member(rank, track.step.part);
  if (track.member.lanes > track.width) throw std::logic_error("a track runs a part that it said it would not");
}

bool Composed::next(std::uint32_t rank, std::uint32_t lane, Instruction& out) {
  Lane& mine = lanes_[first_lane_[rank] + lane];
  Track& track = tracks_[mine.track];
  return mine.number == 0 ? lead(rank, mine, track, out) : follow(rank, mine, track, out);
}

bool Composed::lead(std::uint32_t rank, Lane& lane, Track& track, Instruction& out) {
  using Kind = Instruction::Kind;
  const bool part = track.step.part != Step::kNoPart;
  switch (lane.state) {
    case State::enters:
      lane.told = 1;
      if (part || track.over) {
        // Those of a first part begin by themselves.
        lane.state = track.first && !track.over ? State::runs : State::calls;
        return lead(rank, lane, track, out);
      }
      out = own(rank, track.step.own);
      lane.state = State::waits;
      return true;
    case State::waits: {
      const Instruction& begun = track.step.own;
      const bool operation = begun.kind <= Kind::reduce && !begun.detached;
      go_on(rank, track);
      lane.state = State::enters;
      if (!operation) return lead(rank, lane, track, out);
      out = Instruction::wait(1);
      return true;
    }
    case State::calls:
      if (lane.told < (track.last ? track.width : track.member.lanes)) {
        out = tell(rank, tag(track, lane.told++, false));
        return true;
      }
      if (track.over) return false;
      lane.state = State::runs;
      [[fallthrough]];
    case State::runs:
      if (run(lane, track, out)) return true;
      if (track.last) return false;
      lane.state = State::joins;
      lane.told = 1;
      out = Instruction::wait_all();
      return true;
    case State::joins:
      if (lane.told < track.member.lanes) {
        out = Instruction::recv(rank, tag(track, lane.told++, true));
        return true;
      }
      lane.state = State::joined;
      out = Instruction::wait_all();
      return true;
    default:  // joined
      go_on(rank, track);
      lane.state = State::enters;
      return lead(rank, lane, track, out);
  }
}

bool Composed::follow(std::uint32_t rank, Lane& lane, Track& track, Instruction& out) {
  switch (lane.state) {
    case State::called: {
      const bool whole = track.first && !track.over && track.step.part != Step::kNoPart;  // the track may be one part
      if (whole && lane.number < track.member.lanes) {
        lane.state = State::runs;
        return follow(rank, lane, track, out);
      }
      if (whole && track.last) return false;
      out = Instruction::recv(rank, tag(track, lane.number, false));
      lane.state = State::answered;
      return true;
    }
    case State::answered:
      out = Instruction::wait(1);
      lane.state = State::runs;
      return true;
    case State::runs:
      if (track.over || lane.number >= track.member.lanes) return false;
      if (run(lane, track, out)) return true;
      if (track.last) return false;
      lane.state = State::settles;
      out = Instruction::wait_all();
      return true;
    case State::settles:
      lane.state = State::settled;
      out = tell(rank, tag(track, lane.number, true));
      return true;
    default:  // settled
      lane.state = State::answered;
      out = Instruction::recv(rank, tag(track, lane.number, false));
      return true;
  }
}

// The part's next instruction for a lane.
bool Composed::run(Lane& lane, const Track& track, Instruction& out) {
  const Member& member = track.member;
  const Part& part = parts_[member.part];
  if (lane.number >= member.lanes || !part.work->next(member.rank, lane.number, out)) return false;
  using Kind = Instruction::Kind;
  if (out.kind != Kind::send && out.kind != Kind::recv) return true;
  const auto place = [&](std::uint32_t& of) {
    if (of != kItself) of = part.places[of];
  };
  place(out.peer);
  place(out.leaves);
  place(out.enters);
  out.tag |= std::uint64_t{member.part} << kTagBits;
  return true;
}

Instruction Composed::own(std::uint32_t rank, const Instruction& each) const {
  Instruction made = each;
  if (made.peer == kItself) made.peer = rank;
  if (made.tag != kOneSided) made.tag |= std::uint64_t{parts_.size()} << kTagBits;
  return made;
}

std::uint64_t Composed::tag(const Track& track, std::uint32_t lane, bool answer) const {
  return std::uint64_t{parts_.size() + 1} << kTagBits | (std::uint64_t{track.number} * kMostLanes + lane) << 1 |
         (answer ? 1 : 0);
}

}  // namespace weft::schedule
