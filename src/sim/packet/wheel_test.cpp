#include "sim/packet/wheel.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace weft::sim {
namespace {

Event at(std::int64_t time, std::uint32_t number) {
  Event event;
  event.time = time;
  event.number = number;
  return event;
}

// Whatever is put in comes out once, in the window of its time, windows in order; near, far beyond the wheel, and
// into windows that were used before.
RC_GTEST_PROP(Wheel, GivesEveryEventOnceInTheWindowOfItsTime, ()) {
  const std::int64_t width = *rc::gen::element<std::int64_t>(1, 2, 7, 8, 1000, 1'005'120);
  Wheel wheel(width);
  std::map<std::int64_t, std::set<std::uint32_t>> expected;  // by window
  std::uint32_t number = 0;
  std::int64_t window = 0;
  const auto add = [&](std::int64_t from) {
    const std::int64_t far = *rc::gen::element<std::int64_t>(3, 900, 1100, 5000);
    const std::int64_t time = from * width + *rc::gen::inRange<std::int64_t>(0, far * width);
    expected[time / width].insert(number);
    wheel.add(time) = at(time, number++);
  };
  for (int i = *rc::gen::inRange(0, 100); i > 0; --i) add(0);
  while (wheel.next() != Wheel::kNothing) {
    window = wheel.next();
    RC_ASSERT(window == expected.begin()->first);
    wheel.move_to(window);
    std::set<std::uint32_t> found;
    std::int64_t part = 0;
    wheel.for_each([&](const Event& event) {
      RC_ASSERT(wheel.window_of(event.time) == window);
      found.insert(event.number);
      // Parts are an eighth of the window at least, a quarter at most.
      RC_ASSERT(event.time > part - width / 4 - 1);
      part = std::max(part, event.time);
    });
    RC_ASSERT(found == expected.begin()->second);
    RC_ASSERT(wheel.size() == found.size());
    expected.erase(expected.begin());
    if (number < 300)
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) add(window + 1);
    wheel.clear();
  }
  RC_ASSERT(expected.empty());
}

TEST(Wheel, ShowsAllThatIsToCome) {
  Wheel wheel(10);
  for (const std::int64_t time : {5, 95, 1'000'000}) wheel.add(time) = at(time, 0);
  std::multiset<std::int64_t> times;
  wheel.for_all([&](const Event& event) { times.insert(event.time); });
  EXPECT_EQ(times, (std::multiset<std::int64_t>{5, 95, 1'000'000}));
}

}  // namespace
}  // namespace weft::sim
