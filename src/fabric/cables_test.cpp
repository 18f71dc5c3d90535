#include "fabric/cables.hpp"

#include <gtest/gtest.h>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

TEST(Cables, ATierHasWhatTheFileSaysOfItOrOfTheOneBelow) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 8, nics: 2}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, super_spines: 2, switch: tomahawk-4,\n"
                 "         link: {rate: 400Gbps, cable: 3m}, spine_link: {rate: 400Gbps, cable: 20m}}\n"));
  const model::FabricSpec& spec = built.cluster->file.fabric;
  EXPECT_EQ(cable_length(LinkTier::nic, Duration(0), spec), metres(3));
  EXPECT_EQ(cable_length(LinkTier::spine, Duration(0), spec), metres(20));
  EXPECT_EQ(cable_length(LinkTier::super_spine, Duration(0), spec), metres(20));
}

TEST(Cables, BetweenSitesALatencyTellsTheLength) {
  const model::FabricSpec spec;
  EXPECT_EQ(cable_spec(LinkTier::site, spec), nullptr);
  EXPECT_EQ(cable_length(LinkTier::site, microseconds(5), spec), metres(1000));
}

}  // namespace
}  // namespace weft::fabric
