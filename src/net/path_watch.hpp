#pragma once
// What became of the packets of one connection, path by path: for whoever wants to know which one is ill.
//
// SRD itself keeps of a path only what it needs to choose the next one. This sees what goes out and what is
// acknowledged, and keeps round trips, losses and since when a path is ill. A packet that is sent again was lost on the
// path that it took before; each time that the receiver then says that it came once more, one of those was late and not
// lost: which, nobody knows, and the newest is excused first. Of which packet it was a copy is known only while SRD
// still waits for some before it; else it was of one that arrived lately.
//
// A path is
//   dead    three packets in a row were lost, over 5 ms, and nothing has arrived since the first of them was sent
//   losing  it lost packets at five times that are 5 ms apart, one in 200, and four times the share that the better
//           half of the paths loses; this is over after a thousand packets that arrived
//   slow    its round trips are twice the median of all paths' and 200 us longer

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "transport/operation.hpp"

namespace weft::net {

enum class PathState : std::uint8_t { healthy, slow, losing, dead };
const char* name_of(PathState state);

struct PathHealth {
  std::uint64_t packets = 0;  // that were sent, copies among them
  std::uint64_t bytes = 0;
  std::uint64_t arrived = 0;  // of them, as far as the receiver said
  std::uint64_t lost = 0;
  std::uint64_t late = 0;  // taken for lost, and arrived
  Duration least_rtt;      // 0: none was measured
  Duration smooth_rtt;     // mean of the last sixteen or so
  Duration longest_rtt;
  PathState state = PathState::healthy;
  transport::Instant since = 0;  // when the state began, where it is not healthy
  transport::Instant heard = 0;  // when the receiver last said that something of it came
};

class PathWatch {
 public:
  using Instant = transport::Instant;
  explicit PathWatch(std::size_t paths) : paths_(paths), slots_(kSlots) {}

  void sent(Instant now, std::uint32_t sequence, std::uint32_t path, std::uint64_t bytes, bool again);
  // `at`: when it came, less what it waited at either end.
  void acknowledged(Instant at, std::uint8_t flags, const transport::Header& header);

  // All paths as of now.
  std::vector<PathHealth> look(Instant now);

 private:
  static constexpr std::uint32_t kSlots = 2048;  // more than SRD has numbers open
  static constexpr std::uint32_t kInARow = 3;
  static constexpr std::uint32_t kLeastTimes = 5;
  static constexpr Instant kApart = 5'000'000'000;  // 5 ms: what a full queue dropped at once is one loss
  static constexpr std::uint32_t kCleanAgain = 1000;
  static constexpr std::uint8_t kNoPath = 0xFF;
  static constexpr std::uint8_t kMostCopies = 9;
  static constexpr Instant kLately = 200'000'000'000;  // 200 ms: no host stands still for longer
  static constexpr std::size_t kMostArrived = 256;
  static constexpr Instant kLookEvery = 50'000'000'000;  // 50 ms: as well as is known since when one is slow

  struct Slot {
    std::uint32_t sequence = 0;
    std::uint8_t path = kNoPath;  // of the last transmission; kNoPath: it has arrived, or there is none
    bool again = false;
    std::uint8_t copies = 0;                         // before it, which were taken for lost
    std::array<std::uint8_t, kMostCopies> before{};  // their paths; of more, the newest
    Instant at = 0;
  };
  struct Path : PathHealth {
    std::uint32_t in_a_row = 0;  // lost since the last that arrived
    Instant silent_since = 0;    // when the first of those was sent
    Instant last_lost = 0;       // when the newest of them was sent
    Instant spell_last = 0;      // when the newest time of loss began
    std::uint32_t times = 0;     // of loss, in the spell
    Instant spell_since = 0;     // of the spell of losses
    std::uint64_t spell_lost = 0;
    std::uint64_t spell_arrived = 0;
    std::uint32_t clean = 0;  // arrived since the last loss
    Instant slow_since = 0;   // 0: it is not
  };
  void arrive(Slot& slot, Instant at);
  void lose(Path& path, Instant sent);
  Slot* came_once_more(std::uint32_t echo, Instant at);
  void judge(Path& path, double others, Duration median, Instant now);

  std::vector<Path> paths_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> copied_;  // that arrived after more than one transmission, the newest last
  std::uint32_t below_ = 0;            // all before it have arrived
  std::uint32_t next_ = 0;             // behind the last that was sent
  bool begun_ = false;
  Instant looked_ = 0;
};

}  // namespace weft::net
