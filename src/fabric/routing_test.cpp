// Every kind of fabric against breadth-first search over its links: the routing under test answers
// by arithmetic, the reference walks the graph.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

// What must hold of any fabric, whatever its size. `pairs` endpoints pairs are looked at.
struct Property {
  const Fabric& fabric;
  std::vector<Graph> graphs;

  explicit Property(const Fabric& f) : fabric(f) {
    for (std::uint32_t plane = 0; plane < f.planes(); ++plane) graphs.push_back(graph_of(f, plane));
  }
  std::uint32_t global_limit() const { return fabric.dragonfly() != nullptr ? 1 : kFar; }
  // Several links between two groups: a Dragonfly's minimal route may then be longer than BFS's,
  // because any link between the groups counts as minimal, not only the one that ends at the
  // target.
  bool parallel_groups() const {
    const Dragonfly* fly = fabric.dragonfly();
    return fly != nullptr && fly->shape().groups > 1 &&
           fly->shape().routers_per_group * fly->shape().global_links > fly->shape().groups - 1;
  }

  void peers_are_mutual() const {
    for (std::uint32_t at = 0; at < fabric.switches_per_plane(); ++at)
      for (std::uint32_t port = 0; port < fabric.ports(at); ++port) {
        const Peer there = fabric.peer(at, port);
        if (there.kind != Peer::Kind::other_switch) continue;
        ASSERT_LT(there.switch_index, fabric.switches_per_plane()) << at << ":" << port;
        ASSERT_LT(there.port, fabric.ports(there.switch_index)) << at << ":" << port;
        ASSERT_NE(there.switch_index, at);
        const Peer back = fabric.peer(there.switch_index, there.port);
        ASSERT_EQ(back.kind, Peer::Kind::other_switch) << at << ":" << port;
        ASSERT_EQ(back.switch_index, at) << "port " << port;
        ASSERT_EQ(back.port, port) << "of switch " << at;
        ASSERT_EQ(back.tier, there.tier);
      }
  }

  void waypoints_agree() const {
    const Clos* clos = fabric.clos();
    if (clos == nullptr) return;
    for (std::uint32_t at = 0; at < fabric.switches_per_plane(); ++at) {
      if (!clos->has_waypoint(at)) continue;
      const Waypoint waypoint = clos->waypoint(at);
      const std::uint32_t step = std::max(1u, fabric.endpoints() / 200);
      for (std::uint32_t end = 0; end < fabric.endpoints(); end += step) {
        const Target target = fabric.attachment(end).target;
        const PortRange slow = clos->towards(at, target);
        const PortRange fast = towards(waypoint, clos->destination(target));
        ASSERT_EQ(fast.first, slow.first) << at << " to " << end;
        ASSERT_EQ(fast.count, slow.count) << at << " to " << end;
        ASSERT_EQ(fast.salt, slow.salt) << at << " to " << end;
      }
    }
  }

  void attachments_are_mutual() const {
    std::uint32_t found = 0;
    for (std::uint32_t plane = 0; plane < fabric.planes(); ++plane)
      for (std::uint32_t leaf = 0; leaf < fabric.switches_per_plane(); ++leaf)
        for (std::uint32_t port = 0; port < fabric.ports(leaf); ++port) {
          if (fabric.peer(leaf, port).kind != Peer::Kind::nic) continue;
          const auto end = fabric.endpoint_at(plane, {leaf, port});
          if (!end) continue;
          ++found;
          ASSERT_LT(*end, fabric.endpoints());
          const Attachment back = fabric.attachment(*end);
          ASSERT_EQ(back.plane, plane) << "leaf " << leaf << " port " << port;
          ASSERT_EQ(back.target.leaf, leaf) << "port " << port;
          ASSERT_EQ(back.target.port, port) << "leaf " << leaf;
        }
    // Injective, and as many as there are: so every port without an endpoint said so.
    ASSERT_EQ(found, fabric.endpoints());
    for (std::uint32_t end = 0; end < fabric.endpoints(); ++end) {
      const Attachment at = fabric.attachment(end);
      ASSERT_LT(at.plane, fabric.planes());
      ASSERT_EQ(fabric.peer(at.target.leaf, at.target.port).kind, Peer::Kind::nic);
      ASSERT_EQ(fabric.endpoint_at(at.plane, at.target), end);
      const std::uint32_t nic = value(fabric.nic_of(end)) - value(fabric.node(NodeKind::nic, 0));
      bool own = false;
      const auto ports = fabric.cluster().groups[fabric.describe(fabric.nic_of(end)).group].spec.nic.ports;
      for (std::uint32_t port = 0; port < ports; ++port) own |= fabric.endpoint(nic, port) == end;
      ASSERT_TRUE(own) << "endpoint " << end << " is no port of its NIC";
    }
  }

  void links_have_two_ends() const {
    using End = std::tuple<std::uint32_t, std::uint32_t, LinkClass, LinkTier, std::int64_t, std::int64_t>;
    std::map<End, int> ends;
    for (std::uint32_t n = 0; n < fabric.nodes(); ++n)
      fabric.for_each_link(NodeId{n}, [&](const Link& link) {
        ASSERT_EQ(value(link.from), n);
        ASSERT_LT(value(link.to), fabric.nodes());
        ASSERT_GT(link.rate.count(), 0);
        ASSERT_GE(link.latency.count(), 0);
        ++ends[{n, value(link.to), link.link, link.tier, link.rate.count(), link.latency.count()}];
      });
    for (const auto& [end, count] : ends) {
      const auto [from, to, link, tier, rate, latency] = end;
      const auto back = ends.find({to, from, link, tier, rate, latency});
      ASSERT_TRUE(back != ends.end()) << fabric.name(NodeId{from}) << " -> " << fabric.name(NodeId{to});
      ASSERT_EQ(back->second, count) << fabric.name(NodeId{from}) << " -> " << fabric.name(NodeId{to});
    }
  }

  void names_are_found() const {
    std::set<std::string> names;
    for (std::uint32_t n = 0; n < fabric.nodes(); ++n) {
      const std::string name = fabric.name(NodeId{n});
      ASSERT_TRUE(names.insert(name).second) << name << " twice";
      const auto found = fabric.find(name);
      ASSERT_TRUE(found.has_value()) << name;
      ASSERT_EQ(value(*found), n) << name;
      const Node node = fabric.describe(NodeId{n});
      ASSERT_LT(n - value(fabric.node(node.kind, 0)), fabric.count(node.kind)) << name;
    }
    for (const char* nobody :
         {"", "x", "leaf", "leaf99999", "s0/", "s0/gpu99", "s99999/gpu0", "s0/gpu-1", "/gpu0", "99999999999"})
      ASSERT_FALSE(fabric.find(nobody).has_value()) << nobody;
  }

  // One pair: distance, number of paths, and the walks of some entropies.
  void pair_agrees_with_search(std::uint32_t from, std::uint32_t to, const Distances& reference) const {
    const Attachment a = fabric.attachment(from);
    const Attachment b = fabric.attachment(to);
    const Failures none = fabric.no_failures();
    if (a.plane != b.plane) {
      RC_ASSERT(!fabric.reachable(from, to, none));
      RC_ASSERT(fabric.path_count(from, to) == 0u);
      RC_ASSERT(fabric.all_paths(from, to, 1).empty());
      return;
    }
    const std::uint32_t hops = reference.hops[b.target.leaf];
    RC_ASSERT(hops != kFar);
    RC_ASSERT(fabric.reachable(from, to, none));
    // Counts grow as products over the tiers; enough paths are listed to see their lengths.
    constexpr std::size_t kListed = 2000;
    const std::uint64_t count = fabric.path_count(from, to);
    const auto paths = fabric.all_paths(from, to, kListed);
    RC_ASSERT(paths.size() == std::min<std::uint64_t>(count, kListed));
    if (!parallel_groups()) RC_ASSERT(count == reference.walks[b.target.leaf]);
    for (const auto& path : paths) {
      RC_ASSERT(path.size() >= hops + 1);
      if (parallel_groups()) RC_ASSERT(path.size() <= 4u);  // local, global, local
      if (!parallel_groups()) RC_ASSERT(path.size() == hops + 1);
    }
    const bool detours =
        fabric.dragonfly() != nullptr && fabric.dragonfly()->shape().routing == model::DragonflyRouting::valiant;
    for (std::uint32_t entropy = 0; entropy < 24; ++entropy) {
      const Walk w = walk(fabric, from, to, entropy, none);
      RC_ASSERT(w.arrived);
      if (detours || parallel_groups()) {
        RC_ASSERT(w.switches.size() <= (detours ? 6u : 4u));
      } else {
        RC_ASSERT(w.switches.size() == hops + 1);
      }
    }
  }

  void pairs_agree_with_search(std::uint32_t most_sources) const {
    const std::uint32_t step = std::max(1u, fabric.endpoints() / most_sources);
    for (std::uint32_t from = 0; from < fabric.endpoints(); from += step) {
      const Attachment a = fabric.attachment(from);
      const Distances reference = search(graphs[a.plane], a.target.leaf, {}, global_limit());
      for (std::uint32_t to = 0; to < fabric.endpoints(); to += step) pair_agrees_with_search(from, to, reference);
    }
  }
};

class EveryFabric : public ::testing::TestWithParam<Sample> {
 protected:
  Built built{cluster_of(GetParam().yaml)};
  const Fabric& fabric = built.fabric;
};

INSTANTIATE_TEST_SUITE_P(Routing, EveryFabric, ::testing::ValuesIn(samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(EveryFabric, HasTheCountsOfItsDrawing) {
  EXPECT_EQ(fabric.planes(), GetParam().planes);
  EXPECT_EQ(fabric.switches_per_plane(), GetParam().switches);
  EXPECT_EQ(fabric.endpoints(), GetParam().endpoints);
}

TEST_P(EveryFabric, TiersHoldEverySwitchOnce) {
  std::uint32_t next = 0;
  for (const SwitchTier& tier : fabric.tiers()) {
    EXPECT_EQ(tier.first, next) << tier.name;
    EXPECT_TRUE(tier.count == 0 || tier.kind < fabric.cluster().shape.switches.size()) << tier.name;
    next += tier.count;
  }
  EXPECT_EQ(next, fabric.switches_per_plane());
}
TEST_P(EveryFabric, LinksBetweenSwitchesHaveWires) {
  for (std::uint32_t at = 0; at < fabric.switches_per_plane(); ++at)
    for (std::uint32_t port = 0; port < fabric.ports(at); ++port) {
      const Peer there = fabric.peer(at, port);
      if (there.kind != Peer::Kind::other_switch) continue;
      ASSERT_GT(fabric.wire(there.tier).rate.count(), 0) << at << ":" << port;
    }
}
TEST_P(EveryFabric, PeerIsAnInvolution) { Property(fabric).peers_are_mutual(); }
TEST_P(EveryFabric, AttachmentAndEndpointAtAreInverse) {
  Property(fabric).attachments_are_mutual();
  Property(fabric).waypoints_agree();
}
TEST_P(EveryFabric, LinksLeadBackAtTheSameRateAndLatency) { Property(fabric).links_have_two_ends(); }
TEST_P(EveryFabric, NamesAreFoundAgain) { Property(fabric).names_are_found(); }

TEST_P(EveryFabric, NicLinksAgreeWithAttachments) {
  for (std::uint32_t end = 0; end < fabric.endpoints(); ++end) {
    const Attachment at = fabric.attachment(end);
    int seen = 0;
    fabric.for_each_link(fabric.nic_of(end), [&](const Link& link) {
      const Node to = fabric.describe(link.to);
      seen += to.kind == NodeKind::network_switch && link.port == at.target.port &&
              to.local == at.plane * fabric.switches_per_plane() + at.target.leaf;
    });
    ASSERT_EQ(seen, 1) << "endpoint " << end;
  }
}

TEST_P(EveryFabric, RoutesAreShortestAndCountedAsSearchCounts) {
  const Property property(fabric);
  EXPECT_TRUE(rc::check("sampled pairs", [&] {
    const auto from = *rc::gen::inRange(0u, fabric.endpoints());
    const Attachment a = fabric.attachment(from);
    const Distances reference = search(property.graphs[a.plane], a.target.leaf, {}, property.global_limit());
    // A stride of the destinations, from a drawn one on: over the rounds all are tried.
    constexpr std::uint32_t kEachTime = 24;
    const std::uint32_t step = (fabric.endpoints() + kEachTime - 1) / kEachTime;
    for (auto to = *rc::gen::inRange(0u, step); to < fabric.endpoints(); to += step)
      property.pair_agrees_with_search(from, to, reference);
  }));
}

TEST_P(EveryFabric, EntropyReachesEveryShortestPathEvenly) {
  const Failures none = fabric.no_failures();
  const bool tree = fabric.clos() != nullptr;
  for (std::uint32_t to = 1; to < fabric.endpoints(); to += std::max(1u, fabric.endpoints() / 6)) {
    if (fabric.attachment(to).plane != fabric.attachment(0).plane) continue;
    const std::uint64_t paths = fabric.path_count(0, to);
    if (paths > 512) continue;  // too many draws
    // So that each is to be drawn 32 times, and 54 to 46 between two is seen.
    const std::uint32_t draws = std::max<std::uint32_t>(1 << 12, static_cast<std::uint32_t>(32 * paths));
    std::map<std::vector<std::uint32_t>, std::uint32_t> seen;
    std::set<std::uint32_t> vias;
    for (std::uint32_t entropy = 0; entropy < draws; ++entropy) {
      const Walk w = walk(fabric, 0, to, entropy, none);
      ++seen[w.ports];
      vias.insert(w.via);
    }
    if (!vias.contains(kNone)) {
      // Valiant: every third group serves as the place between, about equally often.
      EXPECT_EQ(vias.size(), fabric.dragonfly()->shape().groups - 2);
      continue;
    }
    EXPECT_EQ(seen.size(), paths) << "to " << to << ": some combinations of tiers are never chosen";
    // Chi-square over whole paths: uneven choices at a tier show, and so do two tiers that choose
    // alike. Dragonfly routers weigh owners and not links, so there no path may starve.
    const double expected = static_cast<double>(draws) / static_cast<double>(paths);
    double chi = 0;
    for (const auto& [path, count] : seen) {
      chi += (count - expected) * (count - expected) / expected;
      if (!tree) {
        EXPECT_GT(count, expected / 8);
      }
    }
    const double freedom = static_cast<double>(paths) - 1;
    if (tree && paths > 1) {
      EXPECT_LT(chi, freedom + 5 * std::sqrt(2 * freedom) + 8) << "to " << to;
    }
  }
}

// A Clos of any numbers, not only those somebody thought of.
//
//   sites x ( supers -- spines -- leaves -- servers )
TEST(Routing, AnyDrawnClosAgreesWithSearch) {
  EXPECT_TRUE(rc::check("drawn tor-clos", [] {
    const auto number = [](int low, int high) { return std::to_string(*rc::gen::inRange(low, high + 1)); };
    std::string yaml = "version: 1\nservers:\n";
    const int sites = *rc::gen::inRange(1, 4);
    for (int site = 0; site < sites; ++site)
      yaml += "  - {kind: hgx-h100, name: " + std::string(1, static_cast<char>('a' + site)) + ", site: z" +
              std::to_string(site) + ", nics: " + number(1, 3) + ", count: " + number(1, 9) + "}\n";
    yaml += "fabric: {kind: tor-clos, servers_per_leaf: " + number(1, 3) + ", spines: ";
    const int groups = *rc::gen::inRange(1, 3);
    yaml += std::to_string(groups * *rc::gen::inRange(1, 3)) + ", parallel_links: " + number(1, 3);
    if (*rc::gen::arbitrary<bool>())
      yaml += ", pod: " + number(1, 3) + ", super_spines: " + number(1, 4) + ", super_parallel_links: " + number(1, 2);
    if (sites > 1)
      yaml += ", sites: {gateways: " + number(1, 3) + ", links: " + number(1, 2) + ", uplinks: " + number(1, 2) + "}";
    yaml += "}\n";
    RC_LOG() << yaml;
    const Built built(cluster_of(yaml));
    const Property property(built.fabric);
    property.peers_are_mutual();
    property.waypoints_agree();
    property.attachments_are_mutual();
    property.pairs_agree_with_search(6);
    RC_ASSERT(!::testing::Test::HasFatalFailure());
  }));
}

//   groups x ( routers all to all ), the links left over as they fall
TEST(Routing, AnyDrawnDragonflyAgreesWithSearch) {
  EXPECT_TRUE(rc::check("drawn dragonfly", [] {
    const int routers = *rc::gen::inRange(1, 6);
    const int globals = *rc::gen::inRange(1, 5);
    const int groups = *rc::gen::inRange(1, routers * globals + 2);
    const std::string yaml =
        "version: 1\nservers: {kind: hgx-h100, nics: 1, count: " + std::to_string(std::min(40, routers * groups)) +
        "}\nfabric: {kind: dragonfly, routers_per_group: " + std::to_string(routers) +
        ", global_links: " + std::to_string(globals) + ", groups: " + std::to_string(groups) +
        ", routing: " + *rc::gen::element<std::string>("minimal", "valiant", "ugal") + "}\n";
    RC_LOG() << yaml;
    const Built built(cluster_of(yaml));
    const Property property(built.fabric);
    property.peers_are_mutual();
    property.waypoints_agree();
    property.attachments_are_mutual();
    property.pairs_agree_with_search(8);
    RC_ASSERT(!::testing::Test::HasFatalFailure());
  }));
}

// htsim's trees: 4 or 8 nodes a leaf, pods of 16 or 64, as many cores as the last tier's radix
// needs.
class TopoFile : public ::testing::TestWithParam<std::tuple<std::string, std::uint32_t, std::uint32_t>> {};

INSTANTIATE_TEST_SUITE_P(Routing, TopoFile,
                         ::testing::Values(std::tuple("fat_tree_128_1os.topo", 128u, 32u + 32 + 16),
                                           std::tuple("fat_tree_1024_1os.topo", 1024u, 128u + 128 + 64),
                                           std::tuple("fat_tree_8192_1os.topo", 8192u, 512u + 512 + 256)));

TEST_P(TopoFile, AgreesWithSearch) {
  const auto& [file, nodes, switches] = GetParam();
  auto cluster = topo_cluster(file);
  if (!cluster)
    GTEST_SKIP() << "skipped: routing of " << file
                 << " against search; the file is not there (set WEFT_SHARED to the folder that "
                    "has peers/htsim)";
  const Built built(std::move(*cluster));
  EXPECT_EQ(built.fabric.endpoints(), nodes);
  EXPECT_EQ(built.fabric.switches_per_plane(), switches);
  const Property property(built.fabric);
  property.peers_are_mutual();
  property.waypoints_agree();
  property.attachments_are_mutual();
  if (nodes <= 128) property.links_have_two_ends();
  EXPECT_TRUE(rc::check("sampled pairs", [&, nodes = nodes] {
    const auto from = *rc::gen::inRange(0u, nodes);
    const Distances reference = search(property.graphs[0], built.fabric.attachment(from).target.leaf);
    for (int i = 0; i < 4; ++i) property.pair_agrees_with_search(from, *rc::gen::inRange(0u, nodes), reference);
  }));
}

// The benchmark's fabric at a sixteenth: 8,192 servers, 64 units in 4 pods.
//
//   16,384 super-spines   one for each of 128 spine numbers and 128 uplinks
//   4 pods x 128 spines
//   4 pods x 16 units x 8 rails of 128 ports
TEST(Routing, CountsOfALargeRailFabricClose) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 8192}\n"
                 "fabric: {kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128, pod: 16, "
                 "spines: 128, super_spines: 16384}\n"));
  const Fabric& fabric = built.fabric;
  ASSERT_NE(fabric.clos(), nullptr);
  EXPECT_EQ(fabric.count(NodeKind::gpu), 65'536u);
  EXPECT_EQ(fabric.endpoints(), 65'536u);
  EXPECT_EQ(fabric.clos()->count(Clos::Tier::leaf), 512u);
  EXPECT_EQ(fabric.clos()->count(Clos::Tier::spine), 512u);
  EXPECT_EQ(fabric.clos()->count(Clos::Tier::super_spine), 16'384u);
  EXPECT_EQ(fabric.path_count(0, 65'535), 128u * 128u);
  EXPECT_EQ(fabric.path_count(0, 8), 1u);          // same rail, same unit
  EXPECT_EQ(fabric.path_count(0, 128 * 8), 128u);  // next unit
  const Failures none = fabric.no_failures();
  EXPECT_EQ(walk(fabric, 0, 65'535, 7, none).switches.size(), 5u);
  EXPECT_EQ(walk(fabric, 0, 128 * 8, 7, none).switches.size(), 3u);
}

}  // namespace
}  // namespace weft::fabric
