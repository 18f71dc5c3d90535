#include "fabric/place_job.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

// Units of 2 servers with 8 GPUs each.
std::string acp(int servers, int nics) {
  return "version: 1\nservers: {kind: hgx-h100, count: " + std::to_string(servers) + ", nics: " + std::to_string(nics) +
         "}\nfabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, switch: tomahawk-4}\n";
}

JobNeed need(const Built& built, std::uint32_t gpus, std::int64_t nics_per_thousand = 0) {
  JobNeed made{gpus, nics_per_thousand, std::vector<std::uint32_t>(built.cluster->servers)};
  std::iota(made.servers.begin(), made.servers.end(), 0u);
  return made;
}

TEST(PlaceJob, TakesTheSmallestPlaceThatHoldsIt) {
  const Built built(cluster_of(acp(6, 8)));
  EXPECT_EQ(place_job(built.fabric, need(built, 8))->within, Within::server);
  EXPECT_EQ(place_job(built.fabric, need(built, 9))->within, Within::unit);
  EXPECT_EQ(place_job(built.fabric, need(built, 16))->units, std::vector<std::string>{"su0"});
  const auto two = place_job(built.fabric, need(built, 32));
  EXPECT_EQ(two->within, Within::pod);
  EXPECT_EQ(two->units.size(), 2u);
  ASSERT_EQ(two->traded.size(), 1u);
  EXPECT_EQ(two->traded[0], "crosses 2 units, so traffic passes spines: the largest unit has room for 16 GPUs");
}

// Of the second unit two servers are left, which is enough: the first one stays whole.
TEST(PlaceJob, LeavesLargerPlacesForLargerJobs) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 8}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 2, switch: tomahawk-4}\n"));
  JobNeed small = need(built, 12);
  small.servers = {0, 1, 2, 3, 6, 7};
  const auto placed = place_job(built.fabric, small);
  EXPECT_EQ(placed->within, Within::unit);
  EXPECT_EQ(placed->units, std::vector<std::string>{"su1"});
  small.gpus = 24;
  EXPECT_EQ(place_job(built.fabric, small)->units, std::vector<std::string>{"su0"});
}

TEST(PlaceJob, GpusNextToANicComeFirst) {
  const Built built(cluster_of(acp(4, 2)));
  const auto placed = place_job(built.fabric, need(built, 4, 1000));
  ASSERT_EQ(placed->servers.size(), 2u);
  EXPECT_EQ(placed->servers[0].gpus, (std::vector<std::uint32_t>{0, 4}));
  EXPECT_EQ(placed->servers[1].gpus, placed->servers[0].gpus);
  EXPECT_EQ(placed->far_gpus, 0u);
  const auto all = place_job(built.fabric, need(built, 16));
  EXPECT_EQ(all->far_gpus, 12u);
  EXPECT_EQ(all->traded.size(), 1u);
}

TEST(PlaceJob, ServersHaveAsManyGpusEachWhereThatCanBe) {
  const Built built(cluster_of(acp(4, 8)));
  const auto twelve = place_job(built.fabric, need(built, 12));
  ASSERT_EQ(twelve->servers.size(), 2u);
  EXPECT_EQ(twelve->servers[0].gpus.size(), 6u);
  EXPECT_EQ(twelve->servers[1].gpus.size(), 6u);
  const auto thirteen = place_job(built.fabric, need(built, 13));
  EXPECT_EQ(thirteen->servers[0].gpus.size(), 8u);
  EXPECT_EQ(thirteen->servers[1].gpus.size(), 5u);
}

TEST(PlaceJob, DoesNotMixServersWhileOneKindIsEnough) {
  const Built built(
      cluster_of("version: 1\nservers:\n  - {name: old, kind: dgx-a100, count: 2}\n"
                 "  - {name: new, kind: hgx-h200, count: 4}\n"
                 "fabric: {kind: tor-clos, switch: tomahawk-5, servers_per_leaf: 2, spines: 2}\n"));
  const auto placed = place_job(built.fabric, need(built, 24));
  for (const PlacedServer& each : placed->servers) EXPECT_GE(each.server, 2u);
  const auto mixed = place_job(built.fabric, need(built, 48));
  EXPECT_EQ(mixed->within, Within::cluster);
  EXPECT_NE(mixed->traded[1].find("mixes"), std::string::npos) << mixed->traded[1];
}

TEST(PlaceJob, ARackIsFilledBeforeTheNext) {
  const Built built(cluster_of("version: 1\nservers: {kind: gb200-nvl72, count: 36}\n"
                               "fabric: {kind: rail-optimized, scalable_unit: 36, spines: 4, switch: tomahawk-5}\n"));
  EXPECT_EQ(place_job(built.fabric, need(built, 72))->within, Within::domain);
  const auto more = place_job(built.fabric, need(built, 80));
  EXPECT_EQ(more->within, Within::unit);
  EXPECT_EQ(more->traded,
            std::vector<std::string>{"crosses 2 scale-up domains, so traffic leaves them: the largest has room for 72 GPUs"});
}

TEST(PlaceJob, SaysHowMuchThereIs) {
  const Built built(cluster_of(acp(2, 2)));
  const auto refused = place_job(built.fabric, need(built, 5, 1000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().available, 4u);
  JobNeed nothing = need(built, 1);
  nothing.servers.clear();
  EXPECT_EQ(place_job(built.fabric, nothing).error().available, 0u);
}

}  // namespace
}  // namespace weft::fabric
