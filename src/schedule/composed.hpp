#pragma once
// Schedules as steps of a larger one: collectives and computations after each other and beside each other, on the same
// ranks.
//
//   rank 0   track 0   compute ─► part 0 ─► compute ──────────► part 0 ...
//            track 1                 record ┴─► await ─► part 1 ...
//
// A rank has tracks, which run beside each other as the streams of a GPU do. A track is a sequence of steps; each
// begins on its rank when the one before it is over there. A step is
//   - a part: a schedule with ranks of its own, each of them at a rank of this one. All its lanes begin at once, and it
//     is over when they have ended and all they began is finished. Who runs a part more than once needs one whose lanes
//     begin anew after their end. `at` counts from the beginning of the whole, so parts use `pause`.
//   - an instruction. An operation is waited for, a detached send is not.
// Steps of different tracks of a rank wait for each other by events: `record` lets one `await` of its number go on.
// An event is recorded by one track and awaited by one.
//
// Messages of a part match those of the same part only. At one time a part is run by one track of a rank.
//
// A track is its leading lane and as many others as its widest part has. That they begin and end together is said by
// messages of the rank to itself (schedule.hpp), which take no time. Steps are pulled one ahead of the one that runs,
// so a track of any length costs the same. A track of one part has that part's own instructions and no others.

#include <cstdint>
#include <memory>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::schedule {

struct Step {
  static constexpr std::uint32_t kNoPart = 0xFFFFFFFFu;

  std::uint32_t part = kNoPart;  // by number; else
  Instruction own;               // tags below 2^48; peer kItself: the rank itself

  static Step run(std::uint32_t part) { return {part, {}}; }
  static Step compute(Duration time) { return {kNoPart, Instruction::pause(time)}; }
  static Step record(std::uint64_t event) {
    Step made{kNoPart, Instruction::send(kItself, 0, event)};
    made.own.detached = true;
    return made;
  }
  static Step await(std::uint64_t event) { return {kNoPart, Instruction::recv(kItself, event)}; }
};

// What ranks do. The same threads ask as of a Schedule.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual std::uint32_t tracks(std::uint32_t rank) const = 0;
  // The next step of a track; false at its end, after which it is not asked again.
  virtual bool next(std::uint32_t rank, std::uint32_t track, Step& out) = 0;
  // Whether the track may run that part: it has lanes for it.
  virtual bool runs(std::uint32_t rank, std::uint32_t track, std::uint32_t part) const = 0;
};

// Written out in full.
class WrittenSteps final : public Steps {
 public:
  explicit WrittenSteps(std::uint32_t ranks) : tracks_(ranks) {}
  void add(std::uint32_t rank, std::vector<Step> track) { tracks_[rank].push_back({std::move(track), 0}); }

  std::uint32_t tracks(std::uint32_t rank) const override { return static_cast<std::uint32_t>(tracks_[rank].size()); }
  bool next(std::uint32_t rank, std::uint32_t track, Step& out) override;
  bool runs(std::uint32_t rank, std::uint32_t track, std::uint32_t part) const override;

 private:
  struct Track {
    std::vector<Step> all;
    std::size_t pulled;
  };
  std::vector<std::vector<Track>> tracks_;
};

class Composed final : public Schedule {
 public:
  // `places`: the ranks of the whole by rank of the part.
  struct Part {
    std::unique_ptr<Schedule> work;
    std::vector<std::uint32_t> places;
  };
  Composed(std::uint32_t ranks, std::vector<Part> parts, std::unique_ptr<Steps> steps);

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(first_lane_.size() - 1); }
  std::uint32_t lanes(std::uint32_t rank) const override { return first_lane_[rank + 1] - first_lane_[rank]; }
  bool next(std::uint32_t rank, std::uint32_t lane, Instruction& out) override;

  // To which part a message belongs, or the number behind the last for steps of their own, and what its tag was there.
  static std::uint32_t part_of(std::uint64_t tag) { return static_cast<std::uint32_t>(tag >> kTagBits); }
  static std::uint64_t tag_of(std::uint64_t tag) { return tag & ((std::uint64_t{1} << kTagBits) - 1); }

 private:
  static constexpr std::uint32_t kTagBits = 48;
  static constexpr std::uint32_t kMostLanes = 1u << 22;  // of a track
  // A part's rank that is at a rank of the whole.
  struct Member {
    std::uint32_t part;
    std::uint32_t rank;
    std::uint32_t lanes;
  };
  struct Track {
    std::uint32_t number = 0;  // of its rank
    std::uint32_t width = 1;   // lanes
    bool first = true;         // the step is the track's first,
    bool last = false;         // or its last
    bool over = false;         // there was none behind the last
    Step step = {};            // that runs
    Step ahead = {};           // that follows
    Member member = {};        // of the step, where it is a part
  };
  enum class State : std::uint8_t {
    enters,    // leading: the step begins
    waits,     //   for its operation
    calls,     //   the other lanes
    joins,     //   them after its own end,
    joined,    //   and all of them
    called,    // other lanes: they wait for the leading one,
    answered,  //   which has called
    runs,      // a lane of a part
    settles,   //   whose operations go on
    settled,
  };
  struct Lane {
    std::uint32_t track;   // of all
    std::uint32_t number;  // of the track; 0 leads
    std::uint32_t told;    // of the other lanes, how many
    State state;
  };

  Member member(std::uint32_t rank, std::uint32_t part) const;
  void go_on(std::uint32_t rank, Track& track);
  bool lead(std::uint32_t rank, Lane& lane, Track& track, Instruction& out);
  bool follow(std::uint32_t rank, Lane& lane, Track& track, Instruction& out);
  bool run(Lane& lane, const Track& track, Instruction& out);
  Instruction own(std::uint32_t rank, const Instruction& each) const;
  std::uint64_t tag(const Track& track, std::uint32_t lane, bool answer) const;

  std::vector<Part> parts_;
  std::unique_ptr<Steps> steps_;
  std::vector<std::vector<Member>> members_;  // by rank, then by part
  std::vector<Track> tracks_;                 // of all ranks
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> first_lane_;  // by rank, and one behind the last
};

}  // namespace weft::schedule
