#include "why/what_if.hpp"

#include <map>
#include <string>

#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using collective::Operation;
using testing::Bench;

// What is offered to an all-to-all of 64 GPUs: its text, and the words that repeat it.
std::map<std::string, std::string> offered(const std::string& servers, const std::string& rest) {
  Bench bench(servers, rest);
  std::map<std::string, std::string> out;
  for (const WhatIf& each : what_ifs(bench.job(64, Operation::all_to_all), Algorithm::direct, true, *bench.machine))
    out[each.text] = each.command;
  return out;
}

TEST(WhatIf, UplinksThatWereSavedAreOffered) {
  const auto at = [](const char* ratio) {
    return offered("{kind: hgx-h200, count: 16}",
                   std::string("fabric: {kind: rail-optimized, scalable_unit: 4") + ratio + "}\n");
  };
  const char* text = "no oversubscription above leaves";
  EXPECT_EQ(at(", oversubscription: 2").at(text), "--set fabric.oversubscription=1");
  EXPECT_EQ(at(", oversubscription: 1").count(text), 0u);
  EXPECT_EQ(at("").count(text), 0u);
  const auto pods = at(", pod: 2, super_oversubscription: 4");
  EXPECT_EQ(pods.at("no oversubscription above spines"), "--set fabric.super_oversubscription=1");
  EXPECT_EQ(pods.count(text), 0u);
}

TEST(WhatIf, MoreSpinesAreOfferedOnlyWhereTheyAreMoreBandwidth) {
  const auto at = [](const char* spines) {
    return offered("{kind: hgx-h200, count: 16}",
                   std::string("fabric: {kind: tor-clos, servers_per_leaf: 4, ") + spines + "}\n");
  };
  const char* text = "twice the spines";
  EXPECT_EQ(at("spines: 4, parallel_links: 4").at(text), "--set fabric.spines=8");
  EXPECT_EQ(at("spines: 4, oversubscription: 2").count(text), 0u);
  EXPECT_EQ(at("oversubscription: 2").count(text), 0u);
}

TEST(WhatIf, AFabricThatIsTheBottleneckIsFasterWithoutOversubscription) {
  Bench bench("{kind: hgx-h200, count: 16}", "fabric: {kind: rail-optimized, scalable_unit: 4, oversubscription: 4}\n");
  const Job job = bench.job(128, Operation::all_to_all);
  const auto time = [&](const Variant& variant) {
    return bench.machine->predict(job, variant, {256 << 20}).at(0).time.count();
  };
  for (const WhatIf& each : what_ifs(job, Algorithm::direct, true, *bench.machine)) {
    if (each.text != "no oversubscription above leaves") continue;
    EXPECT_GT(time({}), 2 * time(each.variant));
    return;
  }
  ADD_FAILURE() << "not offered";
}

TEST(WhatIf, OffersWhatThisMachineLacks) {
  Bench bench("{kind: acp-h100-2nic, count: 4}");
  const Job job = bench.job(32);
  const auto has = [&](const std::string& text) {
    for (const WhatIf& each : what_ifs(job, Algorithm::ring, true, *bench.machine))
      if (each.text == text) return true;
    return false;
  };
  EXPECT_TRUE(has("4 NICs per server"));
  EXPECT_TRUE(has("8 NICs per server"));
  EXPECT_TRUE(has("GPUs on the PCIe switch of a NIC"));
  EXPECT_TRUE(has("without PXN"));
  EXPECT_TRUE(has("Tree"));
  EXPECT_FALSE(has("Ring")) << "that is what it does";
  Bench full("{kind: hgx-h100, count: 4}");
  for (const WhatIf& each : what_ifs(full.job(32), Algorithm::ring, true, *full.machine))
    EXPECT_EQ(each.text.find("NICs per server"), std::string::npos) << "it has one for each GPU";
}

TEST(WhatIf, OffersCollNetOnlyWhereSwitchesReduce) {
  const auto offered = [](const std::string& server, const std::string& fabric) {
    Bench bench(server, fabric);
    const Job job = bench.job(32);
    for (const WhatIf& each : what_ifs(job, Algorithm::ring, true, *bench.machine))
      if (each.text.starts_with("CollNet") && !bench.machine->predict(job, each.variant, {64 << 20}).empty())
        return true;
    return false;
  };
  const auto clos = [](const std::string& box) {
    return "fabric: {kind: tor-clos, servers_per_leaf: 2, switch: " + box + "}\n";
  };
  EXPECT_TRUE(offered("{kind: hgx-h100, count: 4}", clos("quantum-2")));
  EXPECT_FALSE(offered("{kind: hgx-h100, count: 4}", clos("tomahawk-5")));
  EXPECT_FALSE(offered("{kind: p5.48xlarge, count: 4}", clos("tomahawk-5")));
  EXPECT_FALSE(
      offered("{kind: hgx-h100, count: 4}", clos("quantum-2, spine_switch: {kind: quantum-2, reduces: false}")));
}

// PXN is off, a rank is slow and another late: each change but those that are about it leaves that so.
TEST(WhatIf, ChangesOneThingAtATime) {
  Bench bench("{kind: acp-h100-2nic, count: 4}");
  Job job = bench.job(32);
  job.conditions.ranks.push_back({3, 500});
  job.conditions.starts.assign(32, Duration(0));
  job.conditions.starts[7] = microseconds(50);
  const auto time = [&](const Job& each, const Variant& variant) {
    return bench.machine->predict(each, variant, {64 << 20}).at(0).time.count();
  };
  std::size_t found = 0;
  for (const WhatIf& each : what_ifs(job, Algorithm::ring, false, *bench.machine)) {
    EXPECT_EQ(each.variant.pxn, each.text == "with PXN") << each.text;
    EXPECT_EQ(each.variant.even, each.text == "all ranks in time and equally fast") << each.text;
    if (!each.variant.even) continue;
    ++found;
    EXPECT_EQ(time(job, each.variant), time(bench.job(32), {.pxn = false}));
    EXPECT_LT(time(job, each.variant), time(job, {.pxn = false}));
  }
  EXPECT_EQ(found, 1u);
}

}  // namespace
}  // namespace weft::why
