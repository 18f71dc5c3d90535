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

// Constants belong to a generation, a network or a launch mode; a stack is a network with a launch mode, of the newest
// NCCL or an older one.
TEST(Constants, AStackIsANetworkAndALaunchMode) {
  EXPECT_EQ(stacks().size(), constants().networks.size() * constants().launches.size());
  const Stack* stack = stack_named("efa-pytorch");
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->network.name, "efa");
  EXPECT_EQ(stack->launch.name, "pytorch");
  EXPECT_EQ(stack_named("efa-2023"), nullptr);
  EXPECT_TRUE(stack->release.tuned_anew());
  const Stack* older = stack_named("efa-pytorch-nccl2.26");
  ASSERT_NE(older, nullptr);
  EXPECT_EQ(older->launch.name, "pytorch");
  EXPECT_FALSE(older->release.tuned_anew());
  EXPECT_EQ(older->text, stack->text + ", " + std::string(older->release.text)) << "only what is old is said";
  EXPECT_EQ(default_stack(model::TransportKind::rocev2, "efa-v2").name, "efa");
  EXPECT_EQ(default_stack(model::TransportKind::tcp, "connectx-7").name, "tcp");
  EXPECT_EQ(default_stack(model::TransportKind::infiniband, "connectx-7").name, "ib");
}

// Any release is accepted, and says whose rules it gets.
TEST(Constants, AnyReleaseHasTheRulesOfOneThatIsKnown) {
  EXPECT_EQ(stack_named("ib-nccl2.21.5"), stack_named("ib-nccl2.21"));
  EXPECT_EQ(stack_named("ib-nccl2.21")->release.text, "NCCL 2.21 by the rules of 2.20 to 2.21");
  EXPECT_EQ(stack_named("ib-nccl2.4.8")->release.text, "NCCL 2.4 by the rules of 2.8 or older");
  EXPECT_EQ(stack_named("ib-nccl2.28.9")->release.text, "NCCL 2.28 by the rules of 2.28");
  EXPECT_EQ(stack_named("ib-nccl2.35")->release.text, "NCCL 2.35 by the rules of 2.30 or newer");
  EXPECT_TRUE(stack_named("ib")->release.wide_nvls_tree());
  EXPECT_EQ(stack_named("ib-nccl3.1"), nullptr);
}

// What a network has in common with another is one number, which follows the other's.
TEST(Constants, NetworksShareWhatIsTheSame) {
  EXPECT_EQ(stack_named("roce")->network.message_ns, stack_named("ib")->network.message_ns);
  EXPECT_EQ(stack_named("roce")->network.hop_ns, stack_named("ib")->network.hop_ns);
  EXPECT_NE(stack_named("roce")->network.nic_per_mille, stack_named("ib")->network.nic_per_mille);
  // What one like another is like counts, too: gIB runs over RoCE, whose plugin's messages are InfiniBand's.
  EXPECT_NE(stack_named("gib1.0.5")->network.hop_ns, stack_named("roce")->network.hop_ns);
  EXPECT_EQ(stack_named("gib")->network.nic_per_mille, stack_named("roce")->network.nic_per_mille);
  EXPECT_EQ(stack_named("gib")->network.message_ns, stack_named("ib")->network.message_ns);
  EXPECT_EQ(stack_named("efa1.7")->network.hop_ns, stack_named("efa")->network.hop_ns);
  EXPECT_EQ(stack_named("efa1.7")->network.simple_ns, stack_named("efa")->network.simple_ns);
  EXPECT_EQ(stack_named("ib")->network.simple_ns, 0);
  Constants changed = constants();
  changed.networks[0].message_ns += 5;
  EXPECT_EQ(make_stack(changed, "roce").network.message_ns, stack_named("ib")->network.message_ns + 5);
}

TEST(Constants, GpusAreOfTheirGeneration) {
  EXPECT_EQ(generation_of("h200-sxm").name, "Hopper");
  EXPECT_EQ(generation_of("gb200").name, "Blackwell in racks");
  EXPECT_EQ(generation_of("tpu").name, "other");
}

// GB/s that NCCL takes an NVLink for (src/graph/topo.h), of those that a link has one way.
TEST(Constants, NvlinksAreWhatNcclTakesThemFor) {
  EXPECT_EQ(generation_of("a100-sxm").scale_up_per_mille, 1000 * 200 / 250);
  EXPECT_EQ(generation_of("h100-sxm").scale_up_per_mille, 1000 * 206 / 250);
  EXPECT_EQ(generation_of("b200").scale_up_per_mille, 1000 * 401 / 500);
  EXPECT_EQ(generation_of("gb200").scale_up_per_mille, 1000 * 401 / 500);
}

}  // namespace
}  // namespace weft::collective
