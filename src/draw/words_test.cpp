#include "draw/words.hpp"

#include <gtest/gtest.h>

#include "draw/fabric_parts.hpp"
#include "draw/fabric_picture.hpp"
#include "draw/sample_clusters.hpp"
#include "draw/server_picture.hpp"

namespace weft::draw {
namespace {

TEST(Words, ChipsAreSaidForGpusButNotWithinWords) {
  EXPECT_EQ(chips_for_gpus("16 GPUs, every GPU direct (GPUDirect RDMA); GPU 0, 112GB/s/GPU"),
            "16 chips, every chip direct (GPUDirect RDMA); chip 0, 112GB/s/chip");
  EXPECT_EQ(chips_for_gpus("gpu0 MYGPU GPU"), "gpu0 MYGPU chip");
  EXPECT_TRUE(is_chip("trainium2"));
  EXPECT_FALSE(is_chip("h100-sxm"));
}

bool says(const Picture& picture, const std::string& text) { return to_svg(picture).find(text) != std::string::npos; }

TEST(Words, NoPictureOfTrainiumSaysGpu) {
  model::Cluster cluster = samples::clos({});
  for (model::Group& group : cluster.groups) group.spec.gpu.kind = "trainium2";
  EXPECT_FALSE(says(fabric_picture(fabric::Fabric(cluster)), "GPUs"));
  EXPECT_TRUE(says(fabric_picture(fabric::Fabric(cluster)), " chips"));
  EXPECT_FALSE(says(server_picture(cluster.groups[0]), "GPU 0"));
  EXPECT_TRUE(says(server_picture(cluster.groups[0]), "chip 0"));
}

// A label beside the drawing is of all groups, or it is wrong.
TEST(Words, GroupsWithDifferentLinksAreBothLabelled) {
  model::Cluster cluster = samples::clos({});
  const std::string one =
      bundle_text(static_cast<std::int64_t>(cluster.groups[0].nics()) * cluster.groups[0].spec.nic.ports,
                  cluster.shape.wiring[0].wire.rate);
  EXPECT_TRUE(says(fabric_picture(fabric::Fabric(cluster)), ">" + one + "<"));
  cluster.groups.push_back(cluster.groups[0]);
  cluster.shape.wiring.push_back(cluster.shape.wiring[0]);
  cluster.shape.wiring[1].wire.rate = cluster.shape.wiring[0].wire.rate / 2;
  EXPECT_FALSE(links_of_servers(cluster) == one);
  EXPECT_TRUE(links_of_servers(cluster).starts_with(one + " or ")) << links_of_servers(cluster);
}

TEST(Words, ATitleThatNamesTheFabricDoesNotRepeatIt) {
  model::Cluster cluster = samples::clos({});
  cluster.name = "acp";
  EXPECT_EQ(fabric_picture(fabric::Fabric(cluster)).title, "acp: rail-optimized");
  cluster.name = "rail-optimized, 32 servers";
  EXPECT_EQ(fabric_picture(fabric::Fabric(cluster)).title, "rail-optimized, 32 servers");
}

}  // namespace
}  // namespace weft::draw
