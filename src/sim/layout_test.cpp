#include "base/testing_source_dir.hpp"
#include "sim/layout.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

constexpr std::int64_t kFull = 4160;
constexpr std::int64_t kHeader = 64;

Built example(const std::string& name) {
  std::ifstream file(std::string(base::kSourceDir) + "/examples/" + name + "/cluster.weft.yaml");
  std::ostringstream text;
  text << file.rdbuf();
  return build(name + ".weft.yaml", text.str());
}

Layout layout_of(const fabric::Fabric& fabric) { return Layout(fabric, {.full_packet = kFull, .header = kHeader}); }

// Windows, timers and queues are measured in it: one that is too short makes SRD send again what is only on its
// way, one that is too long lets queues fill.
TEST(Layout, TheBaseRoundTripIsTheLongestWithinASite) {
  for (const std::string name : {"04-rail-only", "05-p5-tor-clos", "06-nvl72-x8", "07-multi-plane", "08-two-sites",
                                 "09-dragonfly", "10-mixed-generations", "12-trn2-ultraserver"}) {
    const Built built = example(name);
    const Layout layout = layout_of(built.fabric);
    const auto site = [&](std::uint32_t end) {
      return built.cluster->groups[built.fabric.describe(built.fabric.nic_of(end)).group].site;
    };
    std::int64_t longest = 0;
    const std::uint32_t step = layout.endpoints() / 300 + 1;
    for (std::uint32_t from = 0; from < layout.endpoints(); from += step)
      for (std::uint32_t to = 0; to < layout.endpoints(); ++to)
        if (from != to && layout.reachable(from, to) && site(from) == site(to))
          longest = std::max(longest, *layout.one_way(from, to, kFull) + *layout.one_way(to, from, kHeader));
    EXPECT_EQ(layout.base_rtt(), longest) << name;
  }
}

TEST(Layout, WhereRemovedLinksLeaveNoWayThereIsNoTime) {
  Layout layout = layout_of(fat_tree());
  EXPECT_TRUE(layout.one_way(0, 63, kFull));
  for (std::uint32_t up = 4; up < 8; ++up) layout.remove_link(layout.port_of(0, up));
  EXPECT_FALSE(layout.one_way(0, 63, kFull));
  EXPECT_TRUE(layout.one_way(0, 1, kFull)) << "below one leaf nothing is missing";
}

}  // namespace
}  // namespace weft::sim
