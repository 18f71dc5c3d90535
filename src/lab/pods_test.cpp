#include "lab/pods.hpp"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

// s0 and s1 are research's, s2 anybody's; one rail of 16 addresses a server.
Plan plan_of_three() {
  Plan plan;
  plan.name = "test";
  for (const std::string name : {"s0", "s1", "s2"})
    plan.devices.push_back({name,
                            "server",
                            true,
                            {},
                            {{"pf1", "10.128.0.1", "10.128.0.0/28", "10.128.0.0/9"}},
                            name == "s2" ? "" : "research"});
  return plan;
}

TEST(LabPods, GetFunctionsThatNobodyOnTheirServerHas) {
  const Plan plan = plan_of_three();
  const auto first = plan_pod(plan, {}, "a0", "research", "s0");
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(first->interfaces[0].function, "pf1v0");
  EXPECT_EQ(first->interfaces[0].representor, "pf1v0rep");
  EXPECT_EQ(first->interfaces[0].name, "net1");
  EXPECT_EQ(plan_pod(plan, {*first}, "a1", "research", "s0")->interfaces[0].function, "pf1v1");
  EXPECT_EQ(plan_pod(plan, {*first}, "a1", "research", "s1")->interfaces[0].function, "pf1v0");
}

TEST(LabPods, RefusesServersOfOthersAndNamesThatAreTaken) {
  const Plan plan = plan_of_three();
  EXPECT_EQ(plan_pod(plan, {}, "b0", "production", "s0").error(),
            "s0 belongs to tenant 'research': --tenant research, or a server that nobody owns (`tenants` of the "
            "cluster file)");
  EXPECT_TRUE(plan_pod(plan, {}, "b0", "production", "s2"));
  EXPECT_TRUE(plan_pod(plan, {{"a0", "research", "s2", {}}}, "b0", "production", "s2")) << "nobody's is shared";
  EXPECT_FALSE(plan_pod(plan, {}, "s1", "research", "s0")) << "a device has that name";
  EXPECT_FALSE(plan_pod(plan, {{"a0", "research", "s0", {}}}, "a0", "research", "s1"));
  for (const std::string bad : {"", "a/b", "A", "a b", "../x", "a=b;K8S_POD_NAMESPACE=x"}) {
    EXPECT_FALSE(plan_pod(plan, {}, bad, "research", "s0")) << bad;
    EXPECT_FALSE(plan_pod(plan, {}, "a0", bad, "s2")) << bad;
  }
}

TEST(LabPods, GoToTheTenantsOwnServersFirst) {
  const Plan plan = plan_of_three();
  EXPECT_EQ(server_for(plan, {}, "research"), "s0");
  EXPECT_EQ(server_for(plan, {{"a0", "research", "s0", {}}}, "research"), "s1");
  EXPECT_EQ(server_for(plan, {}, "production"), "s2");
}

TEST(LabPods, TooLargeAClusterLeavesThemNoAddresses) {
  Plan plan = plan_of_three();
  plan.devices[0].rails[0].block = "10.128.0.0/31";
  EXPECT_FALSE(plan_pod(plan, {}, "a0", "research", "s0"));
}

}  // namespace
}  // namespace weft::lab
