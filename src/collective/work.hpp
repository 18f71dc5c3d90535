#pragma once
// Programs as a schedule, for any executor.
//
// A message executor shares nothing, so there a send occupies its lane for as long as its share of the links needs, and
// the message takes only its latency. Executors that know how links are shared are told what the links will not tell
// them: by which NICs a message goes, how many bytes it has with the protocol's flags, what the GPU does for it, and
// the latency of protocol and proxy.

#include <memory>
#include <vector>

#include "collective/plan.hpp"
#include "schedule/schedule.hpp"

namespace weft::collective {

class Work final : public schedule::Schedule {
 public:
  // Whether a GPU's lanes begin with the launch, and take the least time of the whole: as a step among others.
  enum class Launch : std::uint8_t { left_out, included };

  // Timed: some of a plan's programs. The plan outlives it.
  Work(const Plan& plan, std::vector<std::shared_ptr<const Program>> programs, Launch launch = Launch::left_out);
  // Carried: all of them, on the NICs of the team.
  Work(const Plan& plan, const Team& team, Launch launch = Launch::left_out);

  std::uint32_t ranks() const override { return plan_.ranks; }
  std::uint32_t lanes(std::uint32_t rank) const override { return first_lane_[rank + 1] - first_lane_[rank]; }
  // A lane begins anew after its end.
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

 private:
  static constexpr std::uint32_t kNoProgram = 0xFFFFFFFFu;
  struct Cursor {
    std::uint32_t program = 0;  // kNoProgram: the lane that takes the least time
    std::uint32_t lane = 0;     // within the program
    std::uint64_t at = 0;
    bool takes = false;  // the step before was a recv, and is waited for
    bool here = false;   // the rank has come
    bool room = false;   // there is room for the next send
    std::uint32_t since_pace =
        0;                      // operations begun since a computation that the next send waits for; 0: there is none
    std::int64_t pace = 0;      // how long that is to be
    std::int64_t occupied = 0;  // by the last send and those joined to it, ps,
    std::int64_t ahead = 0;     // of which they have left so long before the end
  };
  void set_up();
  std::int64_t start_of(std::uint32_t rank, std::uint32_t program) const;
  bool wait_for_room(std::uint32_t rank, Cursor& cursor, const Step& step, schedule::Instruction& out) const;
  std::uint32_t room_of(std::uint32_t rank, std::uint32_t peer, std::int64_t takes) const;
  schedule::Instruction send(std::uint32_t rank, Cursor& cursor, const Step& step) const;

  const Plan& plan_;
  std::vector<std::shared_ptr<const Program>> programs_;
  const Team* team_ = nullptr;  // carried
  Launch launch_;
  std::vector<std::uint32_t> first_lane_;  // by rank, and one behind the last
  std::vector<Cursor> cursors_;            // by lane
};

}  // namespace weft::collective
