#include "draw/server_picture.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

#include "draw/picture_checks.hpp"
#include "draw/sample_clusters.hpp"

namespace weft::draw {
namespace {

using samples::ServerOptions;

const Box& box(const Picture& picture, const std::string& id) {
  for (const Box& each : picture.boxes)
    if (each.id == id) return each;
  throw std::runtime_error("no box " + id);
}

std::size_t styled(const Picture& picture, const std::string& style) {
  return static_cast<std::size_t>(
      std::count_if(picture.boxes.begin(), picture.boxes.end(), [&](const Box& each) { return each.style == style; }));
}

const ServerOptions kServers[] = {
    {},                          // hgx-h100
    {.nics = 2},                 // ACP as built
    {.nics = 4},                 // on 8 switches
    {.nics = 4, .switches = 4},  // on 4
    {.nics = 1},                 // over the sockets
    {.nics = 32},                // P5
    {.gpus = 4, .nics = 4, .switches = 0, .scale_up_switches = 18, .domain = 18, .host_link = true},  // NVL72
    {.gpus = 4, .nics = 4, .switches = 4, .scale_up_switches = 18, .domain = 18, .host_link = true},
    {.gpus = 16, .nics = 16, .torus = {4, 4}},                      // trn2
    {.gpus = 16, .nics = 8, .switches = 4, .torus = {4, 4}},        // trn1
    {.gpus = 8, .nics = 8, .switches = 4, .scale_up_switches = 6},  // dgx-a100
    {.gpus = 1, .nics = 0, .switches = 0, .sockets = 1, .scale_up_switches = 0},
    {.gpus = 8, .nics = 8, .switches = 0, .sockets = 4},
    {.gpus = 2, .nics = 2, .switches = 2, .sockets = 4},  // CPUs without devices
};

TEST(ServerPicture, NothingCollides) {
  for (const ServerOptions& options : kServers) {
    const Picture picture = server_picture(samples::group(1, options));
    EXPECT_EQ(checks::wrong(picture), "") << options.gpus << " GPUs, " << options.nics << " NICs";
    EXPECT_EQ(checks::xml_fault(to_svg(picture)), "");
  }
}

RC_GTEST_PROP(ServerPicture, NothingCollidesInAnyServer, ()) {
  ServerOptions options;
  options.gpus = *rc::gen::inRange(1, 40);
  options.nics = *rc::gen::inRange(0, 70);
  options.switches = *rc::gen::inRange(0, 10);
  options.sockets = *rc::gen::inRange(1, 5);
  options.scale_up_switches = *rc::gen::inRange(0, 20);
  const Picture picture = server_picture(samples::group(1, options));
  RC_ASSERT(checks::wrong(picture) == "");
  RC_ASSERT(picture.boxes.size() <= 250u);
}

//   SW0: GPU0 NIC0   SW1: GPU1   SW2: GPU2   SW3: GPU3   SW4: GPU4 NIC1   SW5: GPU5 ...
TEST(ServerPicture, GpusFarFromTheirNicSaySo) {
  const Picture picture = server_picture(samples::group(1, {.nics = 2}));
  EXPECT_EQ(box(picture, "gpu0").style, "near");
  EXPECT_EQ(box(picture, "gpu0").notes, (std::vector<std::string>{"h100-sxm", "NIC 0", "direct"}));
  EXPECT_EQ(box(picture, "gpu1").style, "far");
  EXPECT_EQ(box(picture, "gpu1").notes, (std::vector<std::string>{"h100-sxm", "NIC 0 via", "host memory"}));
  EXPECT_EQ(box(picture, "gpu5").notes[1], "NIC 1 via");
  EXPECT_EQ(box(picture, "nic0").notes, (std::vector<std::string>{"400G", "for 4 GPUs"}));
  EXPECT_EQ(styled(picture, "near"), 2u);
  EXPECT_EQ(styled(picture, "far"), 6u);
  EXPECT_EQ(styled(picture, "bounce"), 2u);
  EXPECT_EQ(picture.caption.back(),
            "6 of 8 GPUs (1-3, 5-7) reach their NIC only through host memory, without GPUDirect RDMA");
}

TEST(ServerPicture, FourSwitchesBringEveryGpuNear) {
  const Picture wide = server_picture(samples::group(1, {.nics = 4}));
  const Picture narrow = server_picture(samples::group(1, {.nics = 4, .switches = 4}));
  EXPECT_EQ(styled(wide, "far"), 4u);
  EXPECT_EQ(styled(narrow, "near"), 8u);
  for (const Line& line : narrow.lines) EXPECT_NE(line.style, "faraway");
}

TEST(ServerPicture, TheOtherCpuIsNamed) {
  const Picture picture = server_picture(samples::group(1, {.nics = 1}));
  EXPECT_EQ(box(picture, "gpu7").style, "cross");
  EXPECT_EQ(box(picture, "gpu7").notes.back(), "and other CPU");
}

TEST(ServerPicture, LinksTellGenerationAndWidth) {
  const std::string svg = to_svg(server_picture(samples::group(1)));
  for (const char* part : {"PCIe 5 x16", "63GB/s each way", "450GB/s per GPU, one way", "128GB/s each way"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST(ServerPicture, ARackDomainIsNoted) {
  const Picture picture = server_picture(samples::group(18, kServers[6]));
  ASSERT_FALSE(picture.frames.empty());
  EXPECT_EQ(picture.frames[0].label, "nvlink4: every GPU to each of 18 switches; 18 servers with 72 GPUs share it");
}

TEST(ServerPicture, ManyScaleUpSwitchesAreFolded) {
  const Picture few = server_picture(samples::group(1, {.scale_up_switches = 2}));
  EXPECT_EQ(box(few, "nvswitch1").label, "switch 1");
  EXPECT_EQ(styled(few, "more"), 0u);
  const Picture many = server_picture(samples::group(1, {.scale_up_switches = 100}));
  EXPECT_EQ(box(many, "nvswitch99").label, "switch 99");
  EXPECT_EQ(styled(many, "more"), 1u);
}

TEST(ServerPicture, IsTheSameEveryTime) {
  const model::Group group = samples::group(1, {.nics = 2});
  EXPECT_EQ(to_svg(server_picture(group)), to_svg(server_picture(group)));
  EXPECT_EQ(to_json(server_picture(group)), to_json(server_picture(group)));
}

// A root complex without switches takes their place: it is as wide as what hangs below it.
TEST(ServerPicture, ARootWithoutSwitchesCoversItsDevices) {
  const Picture picture = server_picture(samples::group(1, {.gpus = 8, .nics = 8, .switches = 0, .sockets = 4}));
  std::set<double> lefts;
  std::set<double> rights;
  for (const Box& each : picture.boxes) {
    if (each.id.starts_with("gpu")) lefts.insert(each.at.x);
    if (each.id.starts_with("nic")) rights.insert(each.at.right());
  }
  std::size_t roots = 0;
  for (const Box& each : picture.boxes) {
    if (each.style != "root") continue;
    ++roots;
    EXPECT_TRUE(lefts.contains(each.at.x)) << each.id;
    EXPECT_TRUE(rights.contains(each.at.right())) << each.id;
  }
  EXPECT_EQ(roots, 4u);
}

// What a row of links is stands beside it: of the scale-up network below the devices and above its switches.
TEST(ServerPicture, WordsOfTheScaleUpLinksStandBesideThem) {
  for (const ServerOptions& options :
       {ServerOptions{}, ServerOptions{.nics = 32}, ServerOptions{.gpus = 4, .switches = 0}}) {
    const Picture picture = server_picture(samples::group(1, options));
    double devices = 0;
    double switches = INFINITY;
    for (const Box& each : picture.boxes) {
      if (each.id.starts_with("gpu") || each.id.starts_with("nic")) devices = std::max(devices, each.at.bottom());
      if (each.style == "scaleup") switches = std::min(switches, each.at.y);
    }
    ASSERT_LT(devices, switches);
    std::size_t found = 0;
    for (const Text& text : picture.texts)
      if (text.text == "nvlink4" || text.text.find("per GPU, one way") != std::string::npos) {
        ++found;
        EXPECT_GE(text.at.y - kTextSize, devices) << text.text;
        EXPECT_LE(text.at.y, switches) << text.text;
      }
    EXPECT_EQ(found, 2u);
  }
}

}  // namespace
}  // namespace weft::draw
