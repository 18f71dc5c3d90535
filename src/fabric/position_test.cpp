#include "fabric/position.hpp"

#include <gtest/gtest.h>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

TEST(Position, AUnitSharesItsLeaves) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 8, nics: 2}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, super_spines: 2, switch: tomahawk-4}\n"));
  EXPECT_EQ(units(built.fabric), 4u);
  EXPECT_EQ(position_of(built.fabric, 0), (Position{0, 0, 0, std::nullopt}));
  EXPECT_EQ(position_of(built.fabric, 5), (Position{2, 2, 0, std::nullopt}));
  EXPECT_EQ(unit_name(built.fabric, 5), "su2");
  EXPECT_EQ(positions_of(built.fabric)[5], position_of(built.fabric, 5));
}

TEST(Position, ATorIsARackAndHasItsOwnName) {
  const Built built(
      cluster_of("version: 1\nservers:\n  - {name: old, kind: dgx-a100, count: 3}\n"
                 "  - {name: new, kind: hgx-h200, count: 4}\n"
                 "fabric: {kind: tor-clos, switch: tomahawk-5, servers_per_leaf: 2, spines: 2}\n"));
  EXPECT_EQ(units(built.fabric), 4u);
  const Position at = position_of(built.fabric, 5);  // the third of the new ones: second ToR of its group
  EXPECT_EQ(at.unit, 3u);
  EXPECT_EQ(at.rack, 3u);
  EXPECT_EQ(unit_name(built.fabric, 5), "leaf3");
  EXPECT_EQ(unit_name(built.fabric, 2), "leaf1");
}

TEST(Position, AnNvLinkDomainIsARack) {
  const Built built(
      cluster_of("version: 1\nservers:\n  - {name: a, kind: gb200-nvl72, count: 18}\n"
                 "  - {name: b, kind: gb200-nvl72, count: 36}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 18, spines: 6, switch: tomahawk-5}\n"));
  EXPECT_EQ(position_of(built.fabric, 17).rack, 0u);
  EXPECT_EQ(position_of(built.fabric, 18).rack, 1u);
  EXPECT_EQ(position_of(built.fabric, 53).rack, 2u);
  EXPECT_EQ(position_of(built.fabric, 53).unit, 2u);
}

TEST(Position, AGroupOfADragonflyIsAPod) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 12}\n"
                 "fabric: {kind: dragonfly, switch: tomahawk-4, servers_per_router: 1, routers_per_group: 4,\n"
                 "         global_links: 2}\n"));
  EXPECT_EQ(position_of(built.fabric, 3).pod, 0u);
  EXPECT_EQ(position_of(built.fabric, 4).pod, 1u);
  EXPECT_EQ(position_of(built.fabric, 11).pod, 2u);
}

TEST(Position, WithoutANetworkAUnitIsADomain) {
  const Built built(cluster_of("version: 1\nservers: {kind: gb200-nvl72, count: 18}\nfabric: {kind: none}\n"));
  EXPECT_EQ(units(built.fabric), 1u);
  EXPECT_EQ(unit_name(built.fabric, 17), "su0");
}

}  // namespace
}  // namespace weft::fabric
