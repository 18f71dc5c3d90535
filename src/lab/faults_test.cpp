#include "lab/faults.hpp"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

//   s0 ── leaf0 ═══ spine0        leaf0 has two cables to spine0 and one to spine1
//             └──── spine1
Plan small_plan() {
  Plan plan;
  plan.name = "t";
  plan.devices = {{"leaf0", "leaf", false, {}},
                  {"spine0", "spine", false, {}},
                  {"spine1", "spine", false, {}},
                  {"s0", "server", true, {}}};
  const Bandwidth rate(500'000'000);
  plan.links = {{{3, "pf1"}, {0, "Ethernet0"}, rate, rate, true},
                {{0, "Ethernet8"}, {1, "Ethernet0"}, rate, rate, false},
                {{0, "Ethernet16"}, {1, "Ethernet8"}, rate, rate, false},
                {{0, "Ethernet24"}, {2, "Ethernet0"}, rate, rate, false}};
  return plan;
}

Fault fault_of(const std::vector<std::string>& words) {
  const auto fault = parse_fault(small_plan(), words);
  EXPECT_TRUE(fault) << fault.error();
  return fault.value_or(Fault());
}

std::string refusal(const std::vector<std::string>& words) {
  const auto fault = parse_fault(small_plan(), words);
  return fault ? "taken: " + fault->text() : fault.error();
}

using Links = std::vector<std::uint32_t>;

TEST(LabFaults, NamesMeanAllLinksBetweenTwoDevicesOrOnePort) {
  EXPECT_EQ(fault_of({"link", "leaf0:spine0"}).links, (Links{1, 2}));
  EXPECT_EQ(fault_of({"link", "spine0:leaf0"}).links, (Links{1, 2}));
  EXPECT_EQ(fault_of({"link", "leaf0/Ethernet16"}).links, Links{2});
  EXPECT_EQ(fault_of({"switch", "leaf0"}).links, (Links{0, 1, 2, 3}));
  EXPECT_EQ(fault_of({"nic", "s0/pf1"}).links, Links{0});
  EXPECT_EQ(fault_of({"nic", "s0/nic0"}).links, Links{0});
}

TEST(LabFaults, SharesAreReadAndShownAlike) {
  EXPECT_EQ(fault_of({"link", "leaf0:spine1", "loss", "0.5%"}).text(), "link leaf0:spine1 loss 0.5%");
  EXPECT_EQ(fault_of({"switch", "spine0", "rate", "10%"}).per_mille, 100u);
  EXPECT_EQ(fault_of({"switch", "spine0"}).kind, FaultKind::dead);
}

TEST(LabFaults, SaysWhatIsWrong) {
  EXPECT_NE(refusal({"switch", "spine7"}).find("did you mean 'spine0'"), std::string::npos);
  EXPECT_NE(refusal({"switch", "s0"}).find("no switch"), std::string::npos);
  EXPECT_NE(refusal({"nic", "s0/pf9"}).find("no NIC"), std::string::npos);
  EXPECT_NE(refusal({"link", "spine0:spine1"}).find("named by their ends"), std::string::npos);
  EXPECT_NE(refusal({"server", "s0"}).find("link, switch or nic"), std::string::npos);
  EXPECT_NE(refusal({"link", "leaf0:spine0", "loss"}).find("needs a share"), std::string::npos);
  for (const std::string share : {"5", "0%", "101%", "0.01%", "-1%", "x%"})
    EXPECT_NE(refusal({"link", "leaf0:spine0", "loss", share}).find("no share"), std::string::npos) << share;
  EXPECT_NE(refusal({"link", "leaf0:spine0", "dead", "5%"}).find("takes nothing"), std::string::npos);
  EXPECT_NE(refusal({"link", "leaf0:spine0", "sick"}).find("dead, silent"), std::string::npos);
}

TEST(LabFaults, TheWorstOfAllFaultsOfALinkCounts) {
  const std::vector<Fault> faults = {fault_of({"switch", "spine0", "rate", "50%"}),
                                     fault_of({"link", "leaf0/Ethernet8", "rate", "10%"}),
                                     fault_of({"link", "leaf0:spine1", "silent"})};
  EXPECT_EQ(state_of_link(faults, 1).rate_per_mille, 100u);
  EXPECT_EQ(state_of_link(faults, 2).rate_per_mille, 500u);
  EXPECT_TRUE(state_of_link(faults, 3).silent);
  EXPECT_EQ(state_of_link(faults, 0), LinkState());
}

TEST(LabFaults, SilenceSparesSessionsAndLossDoesNot) {
  const std::vector<Fault> faults = {fault_of({"link", "leaf0:spine1", "silent"}),
                                     fault_of({"nic", "s0/pf1", "loss", "5%"})};
  const std::string leaf = filter_rules(small_plan(), faults, 0);
  EXPECT_NE(
      leaf.find("chain Ethernet24 {\n    type filter hook ingress device \"Ethernet24\" priority 0; policy accept;\n"
                "    counter\n    meta protocol ip counter drop\n  }"),
      std::string::npos)
      << leaf;
  EXPECT_NE(
      leaf.find("chain Ethernet0 {\n    type filter hook ingress device \"Ethernet0\" priority 0; policy accept;\n"
                "    counter\n    numgen random mod 1000 < 50 counter drop\n  }"),
      std::string::npos)
      << leaf;
  EXPECT_EQ(filter_rules(small_plan(), faults, 1), "table netdev weft\ndelete table netdev weft\n");
}

}  // namespace
}  // namespace weft::lab
