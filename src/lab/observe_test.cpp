#include <gtest/gtest.h>

#include "host/frr_socket.hpp"
#include "lab/frr.hpp"
#include "lab/lab.hpp"

namespace weft::lab {
namespace {

const Device kLeaf{"leaf0",
                   "leaf",
                   false,
                   {{{"Ethernet0"}, {"10.128.0.1"}}, {{"Ethernet16", "Ethernet24"}, {"10.128.0.33", "10.128.0.49"}}}};

TEST(LabStatus, RoutesAreRightByTheirInterfacesNotByTheirNumber) {
  host::Routes routes = {{"10.128.0.1", {"Ethernet0"}},
                         {"10.128.0.33", {"Ethernet16", "Ethernet24"}},
                         {"10.128.0.49", {"Ethernet16", "Ethernet24"}},
                         {"10.64.0.9", {"Ethernet16"}}};
  EXPECT_EQ(compare_routes(kLeaf, routes).routes_right, 3u);
  EXPECT_EQ(compare_routes(kLeaf, routes).width, 2u);
  EXPECT_EQ(compare_routes(kLeaf, routes).first_wrong, "");
  routes["10.128.0.49"] = {"Ethernet16", "Ethernet32"};
  EXPECT_EQ(compare_routes(kLeaf, routes).routes_right, 2u);
  EXPECT_EQ(compare_routes(kLeaf, routes).first_wrong,
            "10.128.0.49 by Ethernet16, Ethernet32 instead of Ethernet16, Ethernet24");
}

TEST(LabStatus, OneOfSeveralShortestWaysIsRightWhereAnyIs) {
  const Device router{"router0", "router", false, {{{"Ethernet16", "Ethernet8"}, {"10.128.0.49"}, true}}};
  EXPECT_EQ(compare_routes(router, {{"10.128.0.49", {"Ethernet8"}}}).routes_right, 1u);
  EXPECT_EQ(compare_routes(router, {{"10.128.0.49", {"Ethernet8"}}}).width, 1u);
  EXPECT_EQ(compare_routes(router, {{"10.128.0.49", {"Ethernet0"}}}).first_wrong,
            "10.128.0.49 by Ethernet0 instead of Ethernet16 or Ethernet8");
  EXPECT_EQ(compare_routes(router, {}).routes_right, 0u);
}

TEST(LabStatus, TheNarrowestOfTheWidestCounts) {
  EXPECT_EQ(
      compare_routes(kLeaf, {{"10.128.0.33", {"Ethernet16", "Ethernet24"}}, {"10.128.0.49", {"Ethernet16"}}}).width,
      1u);
  const DeviceStatus nothing = compare_routes(kLeaf, {});
  EXPECT_EQ(nothing.width, 0u);
  EXPECT_EQ(nothing.first_wrong, "10.128.0.1 by nothing instead of Ethernet0");
}

TEST(LabFrr, ReadsSessionsOfASummary) {
  const auto all = parse_sessions(
      R"({"routerId":"10.64.0.1","peers":{"Ethernet0":{"state":"Established"},"Ethernet8":{"state":"Active"}}})");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].up);
  EXPECT_EQ(all[1].state, "Active");
  EXPECT_FALSE(all[1].up);
  EXPECT_TRUE(parse_sessions("% No BGP process is configured").empty());
}

TEST(LabFrr, StartsWhatTheRenderedFileSays) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(frr_daemons("# x\nbgpd=yes\nbfdd=yes\n", true), (Names{"zebra", "staticd", "bgpd", "bfdd"}));
  EXPECT_EQ(frr_daemons("# x\nbgpd=yes\nbfdd=no\n", false), (Names{"zebra", "bgpd"}));
}

TEST(LabFrr, FindsWhatItDoesNotLike) {
  EXPECT_EQ(host::complaints("line 3: % Unknown command: nonsense\n"), "line 3: % Unknown command: nonsense");
  EXPECT_EQ(host::complaints("\n"), "");
}

}  // namespace
}  // namespace weft::lab
