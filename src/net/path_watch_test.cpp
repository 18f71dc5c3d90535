#include "net/path_watch.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.hpp"

namespace weft::net {
namespace {

constexpr std::int64_t kMicro = 1'000'000;
constexpr std::int64_t kTrip = 100 * kMicro;

// A receiver behind paths that may lose, and a sender that sends what is lost once more by another path.
class Link {
 public:
  explicit Link(std::size_t paths) : watch(paths), paths_(paths) {}

  // `vanishes(path, time)` and `trip(path)`.
  template <class Vanishes, class Trip>
  void run(int packets, Vanishes vanishes, Trip trip) {
    for (int i = 0; i < packets; ++i) {
      const std::uint32_t sequence = next_++;
      std::uint32_t path = sequence % static_cast<std::uint32_t>(paths_);
      now += 10 * kMicro;
      watch.sent(now, sequence, path, 1000, false);
      while (vanishes(path, now)) {
        now += kTrip;
        path = (path + 1) % static_cast<std::uint32_t>(paths_);
        watch.sent(now, sequence, path, 1000, true);
      }
      acknowledge(now + trip(path), sequence, 0);
    }
  }
  void acknowledge(std::int64_t at, std::uint32_t sequence, std::uint8_t flags) {
    transport::Header header;
    header.sequence = sequence + 1;
    header.echo = static_cast<std::uint16_t>(sequence);
    header.ack = {};
    watch.acknowledged(at, flags, header);
  }

  PathWatch watch;
  std::int64_t now = 1000 * kMicro;

 private:
  std::size_t paths_;
  std::uint32_t next_ = 0;
};

const auto kEqual = [](std::uint32_t) { return kTrip; };
const auto kNothing = [](std::uint32_t, std::int64_t) { return false; };

TEST(PathWatch, HealthyPathsAreHealthy) {
  Link link(8);
  link.run(10'000, kNothing, kEqual);
  for (const PathHealth& path : link.watch.look(link.now)) {
    EXPECT_EQ(path.state, PathState::healthy);
    EXPECT_EQ(path.packets, 1250u);
    EXPECT_EQ(path.arrived, 1250u);
    EXPECT_EQ(path.lost, 0u);
    EXPECT_EQ(path.least_rtt, Duration(kTrip));
    EXPECT_EQ(path.smooth_rtt, Duration(kTrip));
    EXPECT_EQ(path.bytes, 1'250'000u);
  }
}

TEST(PathWatch, OneThatDiesIsNamedWithTheTime) {
  Link link(8);
  link.run(1000, kNothing, kEqual);
  const std::int64_t died = link.now;
  link.run(
      1000, [](std::uint32_t path, std::int64_t) { return path == 3; }, kEqual);
  auto paths = link.watch.look(link.now);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(paths[i].state, i == 3 ? PathState::dead : PathState::healthy) << i;
  EXPECT_GE(paths[3].since, died);
  EXPECT_LE(paths[3].since, died + 8 * 10 * kMicro);
  EXPECT_EQ(paths[3].lost, 125u);
  link.run(10, kNothing, kEqual);
  EXPECT_NE(link.watch.look(link.now)[3].state, PathState::dead);
  // And healthy again when a thousand have come through.
  link.run(9000, kNothing, kEqual);
  EXPECT_EQ(link.watch.look(link.now)[3].state, PathState::healthy);
}

TEST(PathWatch, OneThatLosesIsNamedWithTheTime) {
  Link link(8);
  link.run(10'000, kNothing, kEqual);
  const std::int64_t began = link.now;
  Random random(1, 2, 3);
  link.run(
      8000, [&](std::uint32_t path, std::int64_t) { return path == 5 && random.below(50) == 0; }, kEqual);
  const auto paths = link.watch.look(link.now);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(paths[i].state, i == 5 ? PathState::losing : PathState::healthy) << i;
  EXPECT_GE(paths[5].since, began);
  EXPECT_LE(paths[5].since, began + 4000 * 10 * kMicro);
}

// Congestion loses everywhere: no path is to blame.
TEST(PathWatch, LossEverywhereIsNoPaths) {
  Link link(8);
  Random random(1, 2, 3);
  link.run(
      20'000, [&](std::uint32_t, std::int64_t) { return random.below(50) == 0; }, kEqual);
  for (const PathHealth& path : link.watch.look(link.now)) EXPECT_EQ(path.state, PathState::healthy);
}

TEST(PathWatch, OneThatIsSlowIsNamed) {
  Link link(8);
  link.run(8000, kNothing, kEqual);
  const std::int64_t began = link.now;
  link.run(8000, kNothing, [](std::uint32_t path) { return path == 2 ? 10 * kTrip : kTrip; });
  const auto paths = link.watch.look(link.now);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(paths[i].state, i == 2 ? PathState::slow : PathState::healthy) << i;
  EXPECT_GE(paths[2].since, began);
  EXPECT_LE(paths[2].since, link.now);
}

// A copy that was not needed takes back what it said of the path.
TEST(PathWatch, LateIsNotLost) {
  PathWatch watch(4);
  watch.sent(0, 0, 1, 1000, false);
  watch.sent(kTrip, 0, 2, 1000, true);
  EXPECT_EQ(watch.look(kTrip)[1].lost, 1u);
  transport::Header header;
  header.sequence = 1;
  header.ack = {};
  watch.acknowledged(2 * kTrip, 0, header);
  watch.acknowledged(2 * kTrip, transport::kTrimmed | transport::kNotReady, header);
  EXPECT_EQ(watch.look(kTrip)[1].lost, 0u);
  EXPECT_EQ(watch.look(kTrip)[1].late, 1u);
}

// Where the peer did not run for a while, several copies are sent, each by another path, and all of them come.
TEST(PathWatch, AsManyCopiesAsComeWereOnlyLate) {
  constexpr std::uint32_t kCopies = 5;
  transport::Header header;
  header.sequence = 1;
  for (std::uint32_t came = 1; came <= kCopies; ++came) {
    PathWatch watch(8);
    for (std::uint32_t path = 0; path < kCopies; ++path) watch.sent(path * kTrip, 0, path, 1000, path > 0);
    watch.acknowledged(kCopies * kTrip, 0, header);
    for (std::uint32_t i = 1; i < came; ++i)
      watch.acknowledged(kCopies * kTrip, transport::kTrimmed | transport::kNotReady, header);
    const auto paths = watch.look(kCopies * kTrip);
    for (std::uint32_t path = 0; path + 1 < kCopies; ++path) {
      EXPECT_EQ(paths[path].lost, path + came < kCopies ? 1u : 0u) << came << " came, path " << path;
      EXPECT_EQ(paths[path].late, path + came < kCopies ? 0u : 1u) << came << " came, path " << path;
    }
    EXPECT_EQ(paths[kCopies - 1].arrived, 1u);
  }
}

// A receiver that waits for nothing before the newest packet echoes that one, whatever came once more.
TEST(PathWatch, AnOldCopyIsOfWhatArrivedLately) {
  PathWatch watch(8);
  transport::Header header;
  for (std::uint32_t packet = 0; packet < 3; ++packet)
    for (std::uint32_t path = 0; path < 3; ++path)
      watch.sent((3 * packet + path) * kTrip, packet, path + packet, 1000, path > 0);
  header.sequence = 3;
  header.echo = 2;
  watch.acknowledged(10 * kTrip, 0, header);
  watch.sent(11 * kTrip, 3, 7, 1000, false);
  header.sequence = 4;
  header.echo = 3;
  watch.acknowledged(12 * kTrip, 0, header);
  for (std::uint32_t copy = 0; copy < 6; ++copy)
    watch.acknowledged(12 * kTrip, transport::kTrimmed | transport::kNotReady, header);
  for (const PathHealth& path : watch.look(12 * kTrip)) EXPECT_EQ(path.lost, 0u);
}

// What was lost long ago is no copy that comes now.
TEST(PathWatch, AnOldLossIsNotExcused) {
  PathWatch watch(4);
  transport::Header header;
  watch.sent(0, 0, 1, 1000, false);
  watch.sent(kTrip, 0, 2, 1000, true);
  header.sequence = 1;
  watch.acknowledged(2 * kTrip, 0, header);
  watch.acknowledged(1'000'000 * kMicro, transport::kTrimmed | transport::kNotReady, [] {
    transport::Header other;
    other.sequence = 1;
    other.echo = 500;
    return other;
  }());
  EXPECT_EQ(watch.look(1'000'000 * kMicro)[1].lost, 1u);
}

// Whatever an acknowledgement says, only what was sent counts.
TEST(PathWatch, AnyAcknowledgementIsHarmless) {
  PathWatch watch(4);
  Random random(7, 0, 0);
  std::uint32_t sequence = 0;
  for (int i = 0; i < 20'000; ++i) {
    watch.sent(i * kMicro, sequence++, random.below(4), 100, random.below(3) == 0);
    transport::Header header;
    header.sequence = random.below(2) == 0 ? static_cast<std::uint32_t>(random.next()) : sequence;
    header.echo = static_cast<std::uint16_t>(random.next());
    header.ack = {random.next(), random.next()};
    watch.acknowledged(i * kMicro, static_cast<std::uint8_t>(random.below(16)), header);
  }
  std::uint64_t arrived = 0;
  for (const PathHealth& path : watch.look(20'000 * kMicro)) arrived += path.arrived;
  EXPECT_LE(arrived, 20'000u);
}

}  // namespace
}  // namespace weft::net
