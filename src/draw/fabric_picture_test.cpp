#include "draw/fabric_picture.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "draw/picture_checks.hpp"
#include "draw/sample_clusters.hpp"

namespace weft::draw {
namespace {

using samples::ClosOptions;

Picture drawn(const model::Cluster& cluster) { return fabric_picture(fabric::Fabric(cluster)); }

bool has_box(const Picture& picture, const std::string& id) {
  return std::any_of(picture.boxes.begin(), picture.boxes.end(), [&](const Box& box) { return box.id == id; });
}

std::vector<model::Cluster> sample_fabrics() {
  return {
      samples::clos({}),
      samples::clos({.rails = 2}),
      samples::clos({.servers = 2, .unit = 16, .spines = 2}),
      samples::clos({.servers = 1, .unit = 1, .rails = 1, .spines = 0, .kind = model::FabricKind::tor_clos}),
      samples::clos({.servers = 10'000, .spines = 16, .pod = 8, .supers = 64, .super_groups = 16}),
      samples::clos({.servers = 131'072, .unit = 32, .spines = 32, .pod = 14, .supers = 14, .super_groups = 32}),
      samples::clos({.servers = 64, .unit = 2, .rails = 1, .spines = 8, .kind = model::FabricKind::tor_clos}),
      samples::clos({.servers = 144, .unit = 36, .rails = 4, .spines = 6, .domain = 18}),
      samples::clos({.planes = 2}),
      samples::clos({.servers = 1024, .spines = 8, .pod = 4, .planes = 4}),
      samples::clos({.sites = 2, .gateways = 2}),
      samples::clos({.servers = 500, .spines = 4, .pod = 4, .planes = 2, .sites = 3, .gateways = 8}),
      samples::clos({.servers = 16, .sites = 9}),
      samples::rail_only(64, 64, 0),
      samples::rail_only(256, 64, 2),
      samples::chassis(1),
      samples::chassis(3),
      samples::chassis(30),
      samples::dragonfly(1, 4, 2),
      samples::dragonfly(2, 4, 1),
      samples::dragonfly(3, 1, 1),
      samples::dragonfly(9, 4, 2),
      samples::dragonfly(500, 16, 4),
  };
}

TEST(FabricPicture, NothingCollides) {
  std::size_t which = 0;
  for (const model::Cluster& cluster : sample_fabrics()) {
    const Picture picture = drawn(cluster);
    EXPECT_EQ(checks::wrong(picture), "") << "sample " << which << ": " << picture.caption[0];
    EXPECT_EQ(checks::all_joined(picture), "") << "sample " << which << ": " << picture.caption[0];
    EXPECT_EQ(checks::xml_fault(to_svg(picture)), "");
    // Labels are bold, which is wider.
    if (cluster.file.fabric.kind != model::FabricKind::dragonfly) {
      for (const Box& box : picture.boxes) EXPECT_LE(label_width(box.label), box.at.w) << box.label;
    }
    EXPECT_LE(picture.boxes.size(), 250u);
    EXPECT_LE(picture.width, 3000) << "sample " << which;
    ++which;
  }
}

RC_GTEST_PROP(FabricPicture, NothingCollidesInAnyClos, ()) {
  ClosOptions options;
  options.servers = *rc::gen::inRange(1u, 3000u);
  options.unit = *rc::gen::inRange(1u, 40u);
  options.rails = *rc::gen::inRange(1u, 17u);
  options.spines = *rc::gen::inRange(1u, 20u);
  options.pod = *rc::gen::inRange(0u, 9u);
  options.super_groups = *rc::gen::element(1u, options.spines);
  options.planes = *rc::gen::inRange(1u, 5u);
  options.sites = *rc::gen::inRange(1u, 5u);
  options.gateways = *rc::gen::inRange(1u, 6u);
  const Picture picture = drawn(samples::clos(options));
  RC_ASSERT(checks::wrong(picture) == "");
  RC_ASSERT(picture.boxes.size() <= 250u);
}

RC_GTEST_PROP(FabricPicture, NothingCollidesInAnyDragonfly, ()) {
  const auto groups = *rc::gen::inRange(1u, 40u);
  const auto routers = *rc::gen::inRange(1u, 12u);
  RC_ASSERT(checks::wrong(drawn(samples::dragonfly(groups, routers, 2))) == "");
}

TEST(FabricPicture, AFewServersAreAllShown) {
  const Picture picture = drawn(samples::clos({.servers = 2, .spines = 2}));
  for (const char* id : {"s0", "s1", "leaf0", "leaf7", "spine0", "spine1"}) EXPECT_TRUE(has_box(picture, id)) << id;
  EXPECT_TRUE(
      std::none_of(picture.boxes.begin(), picture.boxes.end(), [](const Box& box) { return box.style == "more"; }));
}

TEST(FabricPicture, AFewBlocksBelowSeveralPlanesAreAllShown) {
  const Picture picture = drawn(samples::clos({.servers = 4, .unit = 2, .planes = 2}));
  for (const char* id : {"s0", "s3"}) EXPECT_TRUE(has_box(picture, id)) << id;
}

TEST(FabricPicture, ManyServersFoldToTheFirstAndTheLast) {
  const Picture picture =
      drawn(samples::clos({.servers = 10'000, .spines = 16, .pod = 8, .supers = 64, .super_groups = 16}));
  EXPECT_LE(picture.boxes.size(), 60u);
  for (const char* id : {"leaf0", "leaf4999", "super0", "super1023"}) EXPECT_TRUE(has_box(picture, id)) << id;
  EXPECT_NE(to_svg(picture).find("(79 in all)"), std::string::npos);
  EXPECT_EQ(picture.caption[0], "10,000 servers (hgx-h100), 80,000 GPUs, 80,000 NICs (connectx-7 400Gbps)");
}

//   spine0   spine1        group 0 of super-spines is joined to spine 0 of each pod, group 1 to
//   spine 1
TEST(FabricPicture, SuperSpinesJoinTheirGroupOnly) {
  const Picture picture = drawn(
      samples::clos({.servers = 4, .unit = 1, .rails = 1, .spines = 2, .pod = 2, .supers = 1, .super_groups = 2}));
  const auto joined = [&](const std::string& super) {
    std::vector<std::string> all;
    for (const Line& line : picture.lines)
      if (picture.boxes[line.from].id == super) all.push_back(picture.boxes[line.to].id);
    return all;
  };
  EXPECT_EQ(joined("super0"), (std::vector<std::string>{"spine0", "spine2"}));
  EXPECT_EQ(joined("super1"), (std::vector<std::string>{"spine1", "spine3"}));
}

TEST(FabricPicture, ParallelLinksAreOneLabelledLine) {
  const Picture picture = drawn(samples::clos({.rails = 1, .spines = 1}));
  const auto line = std::find_if(picture.lines.begin(), picture.lines.end(), [&](const Line& each) {
    return picture.boxes[each.from].id == "spine0" && picture.boxes[each.to].id == "leaf0";
  });
  ASSERT_NE(line, picture.lines.end());
  EXPECT_EQ(line->label, "4 x 400G");
  EXPECT_EQ(line->title, "spine0 to leaf0: 4 x 400G, 25ns of cable");
}

TEST(FabricPicture, SitesAreJoinedByALabelledLongLink) {
  const Picture picture = drawn(samples::clos({.sites = 2}));
  const auto line =
      std::find_if(picture.lines.begin(), picture.lines.end(), [](const Line& each) { return each.style == "site"; });
  ASSERT_NE(line, picture.lines.end());
  EXPECT_EQ(line->label, "2 x 400G, 4ms one way");
  EXPECT_TRUE(line->label_at.has_value());
}

TEST(FabricPicture, EachOfSeveralSitesIsFramed) {
  const auto framed = [](const Picture& picture) {
    return std::count_if(picture.frames.begin(), picture.frames.end(),
                         [](const Frame& frame) { return frame.label.starts_with("site "); });
  };
  EXPECT_EQ(framed(drawn(samples::clos({.sites = 1}))), 0);
  EXPECT_EQ(framed(drawn(samples::clos({.sites = 2}))), 2);
}

TEST(FabricPicture, OversubscriptionIsInTheCaption) {
  // 16 x 400G below a leaf; 2 spines x 4 x 400G above.
  EXPECT_EQ(drawn(samples::clos({.spines = 2})).caption.back(), "oversubscription at a leaf 2:1");
}

TEST(FabricPicture, HostileServerNamesStayText) {
  const Picture picture = drawn(samples::clos({.name = "<img onerror=\"x\">&'"}));
  EXPECT_EQ(checks::xml_fault(to_svg(picture)), "");
  EXPECT_EQ(to_svg(picture).find("<img"), std::string::npos);
}

TEST(FabricPicture, IsTheSameEveryTime) {
  const model::Cluster cluster = samples::clos({.servers = 1000, .spines = 8, .pod = 4});
  EXPECT_EQ(to_svg(drawn(cluster)), to_svg(drawn(cluster)));
  EXPECT_EQ(to_dot(drawn(cluster)), to_dot(drawn(cluster)));
}

TEST(FabricPicture, AScaleUpDomainStandsAlone) {
  const model::Cluster cluster =
      samples::cluster(model::FabricKind::none, {samples::group(18, {.gpus = 4, .nics = 4, .domain = 18})});
  const Picture picture = drawn(cluster);
  EXPECT_EQ(checks::wrong(picture), "");
  EXPECT_TRUE(has_box(picture, "scale-up"));
}

}  // namespace
}  // namespace weft::draw
