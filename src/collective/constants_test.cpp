#include "collective/constants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace weft::collective {
namespace {

TEST(Constants, EveryNumberSaysWhereItComesFrom) {
  const std::vector<Number> all = numbers(constants());
  EXPECT_EQ(all.size(), count(Origin::published) + count(Origin::measured) + count(Origin::fitted));
  for (const Number& each : all) {
    EXPECT_FALSE(each.owner.empty()) << each.name;
    EXPECT_FALSE(each.source.empty()) << each.name;
    EXPECT_NE(each.value, 0) << each.name;
  }
}

// A number is fitted or it is not: which ones are is data, and they can be changed one by one.
TEST(Constants, KnobsAreTheFittedNumbers) {
  Constants copy = constants();
  const std::vector<Knob> fitted = knobs(copy, Origin::fitted);
  EXPECT_EQ(fitted.size(), count(Origin::fitted));
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const Knob& knob : fitted) {
    EXPECT_EQ(*knob.value, knob.number.value);
    EXPECT_TRUE(names.insert({knob.number.owner, knob.number.name}).second) << knob.number.owner << knob.number.name;
  }
  *fitted[0].value += 1;
  EXPECT_EQ(knobs(copy, Origin::fitted)[0].number.value, fitted[0].number.value + 1);
}

// Constants belong to a generation, a network or a launch mode; a stack is a network with a launch mode.
TEST(Constants, AStackIsANetworkAndALaunchMode) {
  EXPECT_EQ(stacks().size(), constants().networks.size() * constants().launches.size());
  const Stack* stack = stack_named("efa-pytorch");
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->network.name, "efa");
  EXPECT_EQ(stack->launch.name, "pytorch");
  EXPECT_EQ(stack_named("efa-2023"), nullptr);
  EXPECT_EQ(default_stack("rocev2", "efa-v2").name, "efa");
  EXPECT_EQ(default_stack("tcp", "connectx-7").name, "tcp");
}

TEST(Constants, GpusAreOfTheirGeneration) {
  EXPECT_EQ(generation_of("h200-sxm").name, "Hopper");
  EXPECT_EQ(generation_of("gb200").name, "Blackwell in racks");
  EXPECT_EQ(generation_of("tpu").name, "other");
}

}  // namespace
}  // namespace weft::collective
