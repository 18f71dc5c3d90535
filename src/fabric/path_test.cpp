// GPU to GPU: which links of the server a path takes, and how much bandwidth a fabric carries.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

std::vector<std::string> names(const Fabric& fabric, const Path& path) {
  std::vector<std::string> out;
  for (const Link& link : path.links) {
    if (out.empty()) out.push_back(fabric.name(link.from));
    out.push_back(fabric.name(link.to));
  }
  return out;
}

Path path_of(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::uint32_t entropy = 0) {
  const auto path = fabric.path(from, to, entropy, fabric.no_failures());
  EXPECT_TRUE(path.has_value()) << from << " -> " << to;
  return path.value_or(Path{});
}

std::string acp(int count) {
  return "version: 1\nservers: {kind: hgx-h100, nics: 2, count: " + std::to_string(count) +
         "}\nfabric: {kind: rail-optimized, scalable_unit: 4, spines: 2, oversubscription: 1}\n";
}

// Rails are fabrics of their own: GPU 1 hands over to GPU 6, which stands at rail 6.
//
//   s0 gpu1 ==NVLink== gpu6 -- nic6 --- rail6/leaf0 --- nic6 -- gpu6 s1
TEST(Path, CrossRailGoesOverTheGpuOfTheDestinationsRail) {
  const Built built(cluster_of("version: 1\nservers: {kind: hgx-h100, count: 3}\nfabric: {kind: rail-only}\n"));
  const Fabric& fabric = built.fabric;
  for (std::uint32_t a = 0; a < 8; ++a)
    for (std::uint32_t b = 0; b < 8; ++b) {
      const Path path = path_of(fabric, a, 8 + b);
      const auto walked = names(fabric, path);
      EXPECT_EQ(path.relay.has_value(), a != b);
      if (path.relay) {
        EXPECT_EQ(*path.relay, fabric.gpu(b));
      }
      EXPECT_FALSE(path.host_memory);
      const std::string leaf = "rail" + std::to_string(b) + "/leaf0";
      EXPECT_EQ(std::count(walked.begin(), walked.end(), leaf), 1) << a << " -> " << b;
    }
  const auto walked = names(fabric, path_of(fabric, 1, 8 + 6));
  ASSERT_EQ(walked.size(), 9u);
  EXPECT_EQ(walked[0], "s0/gpu1");
  EXPECT_TRUE(walked[1].starts_with("s0/nvswitch")) << walked[1];
  EXPECT_EQ(
      (std::vector<std::string>(walked.begin() + 2, walked.end())),
      (std::vector<std::string>{"s0/gpu6", "s0/pcie6", "s0/nic6", "rail6/leaf0", "s1/nic6", "s1/pcie6", "s1/gpu6"}));
}

// Two NICs beside GPU 0 and GPU 4; the others meet theirs only above the root complexes.
//
//      CPU0 ------------------ CPU1
//   SW0   SW1  SW2  SW3    SW4    SW5 ..
//  G0 N0   G1   G2   G3   G4 N1    G5 ..
TEST(Path, AGpuWithoutANicBesideItBouncesThroughHostMemory) {
  const Built built(cluster_of(acp(8)));
  const Fabric& fabric = built.fabric;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    const Path path = path_of(fabric, gpu, 8 + (gpu < 4 ? 0 : 4));
    EXPECT_EQ(path.host_memory, gpu != 0 && gpu != 4) << gpu;
    const auto walked = names(fabric, path);
    const std::string cpu = gpu < 4 ? "s0/cpu0" : "s0/cpu1";
    EXPECT_EQ(std::count(walked.begin(), walked.end(), cpu), path.host_memory ? 1 : 0) << gpu;
  }
  EXPECT_TRUE(path_of(fabric, 0, 9).host_memory) << "the far end counts too";
}

// The NIC is beside it and cannot reach it: up to the socket's memory and down again, at both ends.
TEST(Path, WithoutGpudirectEveryGpuBouncesThroughHostMemory) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, gpudirect: false, count: 4}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 2, oversubscription: 1}\n"));
  const auto walked = names(built.fabric, path_of(built.fabric, 1, 9));
  EXPECT_EQ(walked, (std::vector<std::string>{"s0/gpu1", "s0/pcie1", "s0/rc1", "s0/cpu0", "s0/rc1", "s0/pcie1",
                                              "s0/nic1", "leaf1", "s1/nic1", "s1/pcie1", "s1/rc1", "s1/cpu0", "s1/rc1",
                                              "s1/pcie1", "s1/gpu1"}));
}

// A path over the network is a way to a NIC, cables, and a way from a NIC.
TEST(Path, ItsEndsAreTheWaysInsideTheServers) {
  const auto same = [](const Link& a, const Link& b) { return a.from == b.from && a.to == b.to; };
  const auto wired = [](const Link& link) { return link.link == LinkClass::network; };
  std::size_t relays = 0;
  std::size_t bounces = 0;
  const std::string rail_only = "version: 1\nservers: {kind: hgx-h100, count: 8}\nfabric: {kind: rail-only}\n";
  for (const std::string& yaml : {acp(8), rail_only}) {
    const Built built(cluster_of(yaml));
    const Fabric& fabric = built.fabric;
    for (std::uint32_t a = 0; a < 8; ++a)
      for (std::uint32_t b = 8; b < 64; ++b) {
        const Path path = path_of(fabric, a, b, a * 64 + b);
        const auto leaves = std::find_if(path.links.begin(), path.links.end(), wired);
        const auto enters = std::find_if(path.links.rbegin(), path.links.rend(), wired).base();
        const auto out = fabric.path_inside(fabric.gpu(a), leaves->from, a * 64 + b);
        const auto in = fabric.path_inside((enters - 1)->to, fabric.gpu(b), a * 64 + b);
        ASSERT_TRUE(out && in);
        EXPECT_TRUE(std::equal(path.links.begin(), leaves, out->links.begin(), out->links.end(), same));
        EXPECT_TRUE(std::equal(enters, path.links.end(), in->links.begin(), in->links.end(), same));
        EXPECT_EQ(path.host_memory, out->host_memory || in->host_memory);
        EXPECT_EQ(path.relay, out->relay);
        relays += path.relay ? 1 : 0;
        bounces += path.host_memory ? 1 : 0;
      }
    EXPECT_FALSE(fabric.path_inside(fabric.gpu(0), fabric.node(NodeKind::nic, 8), 0));
    EXPECT_FALSE(fabric.path_inside(fabric.gpu(0), fabric.gpu(8), 0));
  }
  EXPECT_GT(relays, 0u);
  EXPECT_GT(bounces, 0u);
}

TEST(Path, ToItselfIsEmptyAndInsideAServerStaysThere) {
  const Built built(cluster_of("version: 1\nservers: {kind: h100-pcie-8, count: 1}\nfabric: {kind: single-chassis}\n"));
  const Fabric& fabric = built.fabric;
  EXPECT_TRUE(path_of(fabric, 3, 3).links.empty());
  // No NVLink: two GPUs of one PCIe switch, two switches of one socket, two sockets.
  EXPECT_EQ(names(fabric, path_of(fabric, 0, 1)), (std::vector<std::string>{"s0/gpu0", "s0/pcie0", "s0/gpu1"}));
  EXPECT_EQ(names(fabric, path_of(fabric, 0, 2)),
            (std::vector<std::string>{"s0/gpu0", "s0/pcie0", "s0/rc0", "s0/cpu0", "s0/rc1", "s0/pcie1", "s0/gpu2"}));
  EXPECT_EQ(path_of(fabric, 0, 7).links.size(), 7u);
  EXPECT_EQ(path_of(fabric, 0, 7).links[3].link, LinkClass::socket);
}

// 18 trays of 4 GPUs, every GPU on all 18 NVSwitches.
TEST(ScaleUp, AnyTwoGpusOfAnNvl72AreOneNvSwitchApart) {
  const Built built(cluster_of("version: 1\nservers: {kind: gb200-nvl72, count: 18}\nfabric: {kind: none}\n"));
  const Fabric& fabric = built.fabric;
  EXPECT_FALSE(fabric.has_network());
  EXPECT_EQ(fabric.count(NodeKind::gpu), 72u);
  EXPECT_EQ(fabric.count(NodeKind::scale_up_switch), 18u);
  std::set<NodeId> used;
  for (std::uint32_t a = 0; a < 72; ++a)
    for (std::uint32_t b = 0; b < 72; ++b) {
      if (a == b) continue;
      for (std::uint32_t entropy = 0; entropy < 4; ++entropy) {
        const Path path = path_of(fabric, a, b, entropy * 72 * 72 + a * 72 + b);
        ASSERT_EQ(path.links.size(), 2u);
        ASSERT_EQ(fabric.describe(path.links[0].to).kind, NodeKind::scale_up_switch);
        ASSERT_EQ(path.links[0].to, path.links[1].from);
        ASSERT_EQ(path.links[1].to, fabric.gpu(b));
        ASSERT_FALSE(path.relay || path.host_memory);
        used.insert(path.links[0].to);
      }
    }
  EXPECT_EQ(used.size(), 18u);
  // 18 links of NVLink 5 make 900 GB/s each way.
  std::int64_t bits = 0;
  fabric.for_each_link(fabric.gpu(0),
                       [&](const Link& link) { bits += link.link == LinkClass::scale_up ? link.rate.count() : 0; });
  EXPECT_EQ(bits, 7'200'000'000'000);
}

TEST(ScaleUp, TwoRacksOfNvl72MeetOnlyOverTheNetwork) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: gb200-nvl72, count: 36}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 18, spines: 2, oversubscription: 1}\n"));
  const Fabric& fabric = built.fabric;
  EXPECT_EQ(path_of(fabric, 0, 71).links.size(), 2u);
  const Path across = path_of(fabric, 0, 72);
  EXPECT_TRUE(std::any_of(across.links.begin(), across.links.end(),
                          [](const Link& link) { return link.link == LinkClass::network; }));
  EXPECT_FALSE(std::any_of(across.links.begin(), across.links.end(),
                           [](const Link& link) { return link.link == LinkClass::scale_up; }));
}

std::vector<std::uint32_t> scale_up_distances(const Fabric& fabric, std::uint32_t from) {
  std::vector<std::uint32_t> hops(fabric.count(NodeKind::gpu), kFar);
  std::deque<std::uint32_t> queue = {from};
  hops[from] = 0;
  while (!queue.empty()) {
    const std::uint32_t at = queue.front();
    queue.pop_front();
    fabric.for_each_link(fabric.gpu(at), [&](const Link& link) {
      if (link.link != LinkClass::scale_up || hops[value(link.to)] != kFar) return;
      hops[value(link.to)] = hops[at] + 1;
      queue.push_back(value(link.to));
    });
  }
  return hops;
}

// A 4x4 torus, and the 4x4x4 one of four servers: dimension by dimension is shortest.
TEST(ScaleUp, TorusPathsAreAsLongAsSearchSays) {
  for (const auto& [kind, count, chips, farthest] :
       {std::tuple("trn2.48xlarge", 1, 16u, 4u), std::tuple("trn2u.48xlarge", 4, 64u, 6u)}) {
    const Built built(cluster_of(std::string("version: 1\nservers: {kind: ") + kind +
                                 ", count: " + std::to_string(count) + "}\nfabric: {kind: none}\n"));
    const Fabric& fabric = built.fabric;
    ASSERT_EQ(fabric.count(NodeKind::gpu), chips);
    std::uint32_t most = 0;
    for (std::uint32_t a = 0; a < chips; ++a) {
      const auto hops = scale_up_distances(fabric, a);
      for (std::uint32_t b = 0; b < chips; ++b) {
        ASSERT_EQ(path_of(fabric, a, b).links.size(), hops[b]) << a << " -> " << b;
        most = std::max(most, hops[b]);
      }
    }
    EXPECT_EQ(most, farthest);
  }
}

// ---- bandwidth

std::int64_t sum_of_rates(const Fabric& fabric, NodeId at, LinkTier tier) {
  std::int64_t bits = 0;
  fabric.for_each_link(at, [&](const Link& link) {
    if (link.link == LinkClass::network && link.tier == tier) bits += link.rate.count();
  });
  return bits;
}

//   2 spines
//   2 units x 2 rails: leaves of 4 servers, 4 x 400G down, 4 x 400G up
TEST(Bandwidth, LeavesWithoutOversubscriptionCarryAsMuchUpAsDown) {
  const Built built(cluster_of(acp(8)));
  for (std::uint32_t leaf = 0; leaf < built.fabric.clos()->count(Clos::Tier::leaf); ++leaf) {
    const NodeId at = built.fabric.node(NodeKind::network_switch, leaf);
    EXPECT_EQ(sum_of_rates(built.fabric, at, LinkTier::nic), 1'600'000'000'000);
    EXPECT_EQ(sum_of_rates(built.fabric, at, LinkTier::spine), 1'600'000'000'000);
  }
}

//   super-spines
//     | 200G, 100 m
//   spines
//     | 800G, 20 m
//   leaves
//     | 400G, 3 m
//   NICs
TEST(Bandwidth, EachTierHasTheCablesTheFileGivesIt) {
  const auto unlike =
      std::find_if(samples().begin(), samples().end(), [](const Sample& s) { return s.name == "tor_unlike_cables"; });
  const Built built(cluster_of(unlike->yaml));
  const Fabric& fabric = built.fabric;
  std::map<LinkTier, std::set<std::pair<std::int64_t, std::int64_t>>> seen;  // rate, latency
  for (const NodeKind kind : {NodeKind::nic, NodeKind::network_switch})
    for (std::uint32_t i = 0; i < fabric.count(kind); ++i)
      fabric.for_each_link(fabric.node(kind, i), [&](const Link& link) {
        if (link.link == LinkClass::network) seen[link.tier].insert({link.rate.count(), link.latency.count()});
      });
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [tier, cables] : seen) EXPECT_EQ(cables.size(), 1u);
  const auto [nic_rate, nic_latency] = *seen[LinkTier::nic].begin();
  const auto [spine_rate, spine_latency] = *seen[LinkTier::spine].begin();
  const auto [super_rate, super_latency] = *seen[LinkTier::super_spine].begin();
  EXPECT_EQ(nic_rate, 400'000'000'000);
  EXPECT_EQ(spine_rate, 800'000'000'000);
  EXPECT_EQ(super_rate, 200'000'000'000);
  EXPECT_NEAR(static_cast<double>(spine_latency) / static_cast<double>(nic_latency), 20.0 / 3, 1e-3);
  EXPECT_NEAR(static_cast<double>(super_latency) / static_cast<double>(nic_latency), 100.0 / 3, 1e-3);
}

// Dinic's maximum flow over the network's links, capacities in bits per second.
class Flow {
 public:
  explicit Flow(std::size_t nodes) : out_(nodes) {}
  void add(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
    out_[from].push_back(edges_.size());
    edges_.push_back({to, capacity});
    out_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }
  std::int64_t between(std::uint32_t source, std::uint32_t sink) {
    std::int64_t total = 0;
    while (levels(source, sink)) {
      next_.assign(out_.size(), 0);
      while (const std::int64_t more = push(source, sink, INT64_MAX)) total += more;
    }
    return total;
  }

 private:
  struct Arc {
    std::uint32_t to;
    std::int64_t left;
  };
  bool levels(std::uint32_t source, std::uint32_t sink) {
    level_.assign(out_.size(), kFar);
    level_[source] = 0;
    std::deque<std::uint32_t> queue = {source};
    while (!queue.empty()) {
      const std::uint32_t at = queue.front();
      queue.pop_front();
      for (const std::size_t e : out_[at]) {
        if (edges_[e].left == 0 || level_[edges_[e].to] != kFar) continue;
        level_[edges_[e].to] = level_[at] + 1;
        queue.push_back(edges_[e].to);
      }
    }
    return level_[sink] != kFar;
  }
  std::int64_t push(std::uint32_t at, std::uint32_t sink, std::int64_t most) {
    if (at == sink) return most;
    for (std::size_t& i = next_[at]; i < out_[at].size(); ++i) {
      Arc& arc = edges_[out_[at][i]];
      if (arc.left == 0 || level_[arc.to] != level_[at] + 1) continue;
      const std::int64_t pushed = push(arc.to, sink, std::min(most, arc.left));
      if (pushed == 0) continue;
      edges_[out_[at][i]].left -= pushed;
      edges_[out_[at][i] ^ 1].left += pushed;
      return pushed;
    }
    return 0;
  }
  std::vector<std::vector<std::size_t>> out_;
  std::vector<Arc> edges_;
  std::vector<std::uint32_t> level_;
  std::vector<std::size_t> next_;
};

// What the NICs of the first servers can send to those of the others, over the network alone.
Bandwidth between_halves(const Fabric& fabric, std::uint32_t first_servers) {
  const std::uint32_t source = fabric.nodes();
  Flow flow(fabric.nodes() + 2);
  for (const NodeKind kind : {NodeKind::nic, NodeKind::network_switch})
    for (std::uint32_t i = 0; i < fabric.count(kind); ++i) {
      const NodeId at = fabric.node(kind, i);
      fabric.for_each_link(at, [&](const Link& link) {
        if (link.link == LinkClass::network) flow.add(value(at), value(link.to), link.rate.count());
      });
      if (kind != NodeKind::nic) continue;
      constexpr std::int64_t kUnbounded = 1'000'000'000'000'000;
      const bool sends = fabric.describe(at).server < first_servers;
      sends ? flow.add(source, value(at), kUnbounded) : flow.add(value(at), source + 1, kUnbounded);
    }
  return Bandwidth(flow.between(source, source + 1));
}

struct Bisection {
  std::string sample;
  std::uint32_t first_servers;
  std::int64_t gigabits;  // closed form in the comment beside it
};
void PrintTo(const Bisection& cut, std::ostream* out) { *out << cut.sample; }

class BandwidthBetweenHalves : public ::testing::TestWithParam<Bisection> {};
INSTANTIATE_TEST_SUITE_P(
    Bandwidth, BandwidthBetweenHalves,
    ::testing::Values(Bisection{"rail_two_tiers", 4, 16 * 400},            // 16 NICs, full bandwidth
                      Bisection{"rail_three_tiers_mesh", 8, 4 * 4 * 400},  // 4 spines x 4 links up
                      Bisection{"rail_three_tiers_pairs", 4, 16 * 400},    // one pod of 16 NICs against two
                      Bisection{"rail_only_one_tier", 2, 8 * 400},         // every rail crosses its leaf
                      Bisection{"tor_one_to_one", 4, 12 * 400},            // 3 servers receive
                      Bisection{"tor_two_to_one", 2, 4 * 400},             // one leaf with 4 uplinks
                      Bisection{"tor_three_to_one_parallel", 3, 4 * 400},  // one leaf with 4 uplinks
                      Bisection{"fat_tree_4", 8, 8 * 400},                 // rearrangeably free of blocking
                      Bisection{"tor_two_planes", 2, 4 * 2 * 200},         // 4 NICs of 2 x 200G
                      Bisection{"dragonfly_two_groups", 4, 4 * 400},       // 8 links, but 4 NICs
                      Bisection{"sites_one_tier", 3, 4 * 400},             // 4 links, 4 receiving NICs
                      Bisection{"sites_triangle", 2, 1 * 400},             // one link to the gateway
                      Bisection{"sites_two_tiers", 4, 4 * 400}),           // 2 gateways x 2 links
    [](const auto& sample) { return sample.param.sample; });

TEST_P(BandwidthBetweenHalves, IsTheClosedForm) {
  const auto sample =
      std::find_if(samples().begin(), samples().end(), [](const Sample& s) { return s.name == GetParam().sample; });
  ASSERT_NE(sample, samples().end());
  const Built built(cluster_of(sample->yaml));
  EXPECT_EQ(between_halves(built.fabric, GetParam().first_servers).count(), GetParam().gigabits * 1'000'000'000);
}

// ---- what cannot be built is refused

// k = 4 joins 16 nodes; a 17th would need a fifth pod on cores of four ports.
TEST(Budget, AFatTreeHoldsNoMoreThanItsKSays) {
  const auto tree = [](int count) {
    return "version: 1\nservers: {kind: hgx-h100, nics: 1, count: " + std::to_string(count) +
           "}\nfabric: {kind: fat-tree, k: 4}\n";
  };
  EXPECT_TRUE(loads(tree(16)));
  EXPECT_FALSE(loads(tree(17)));
}

// Group b has more cables, group a needs more ports: 60 x 400G are 60 ports of a Quantum-2, 75 x
// 200G only 38. With 8 uplinks a's leaves do not close.
TEST(Budget, EveryGroupsLeavesAreChecked) {
  const auto mixed = [](int spines) {
    return "version: 1\nservers:\n  - {kind: hgx-h100, nics: 4, count: 30, name: a}\n"
           "  - {kind: dgx-a100, nics: 5, nic: connectx-6, count: 30, name: b}\n"
           "fabric: {kind: tor-clos, switch: quantum-2, servers_per_leaf: 15, parallel_links: 1, "
           "spines: " +
           std::to_string(spines) + "}\n";
  };
  EXPECT_TRUE(loads(mixed(4)));
  EXPECT_FALSE(loads(mixed(8)));
}

TEST(Names, OfScaleUpSwitchesFollowTheirLinks) {
  const Built built(cluster_of("version: 1\nservers: {kind: trn3, count: 36}\nfabric: {kind: none}\n"));
  const NodeId first = built.fabric.node(NodeKind::scale_up_switch, 0);
  EXPECT_EQ(built.fabric.name(first), "s0/switch0");
  EXPECT_EQ(built.fabric.find("s0/switch0"), first);
  EXPECT_EQ(built.fabric.find("s0/nvswitch0"), std::nullopt);
}

}  // namespace
}  // namespace weft::fabric
