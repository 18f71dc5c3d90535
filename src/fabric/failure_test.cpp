// Every single failure, and random pairs of failures: routing goes around what is dead whenever the
// graph without it still has a way, never uses it, and never loops.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

struct Fault {
  enum class Kind { link, network_switch, nic } kind;
  std::uint32_t index;  // switch over all planes, or NIC
  std::uint32_t port = 0;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  static constexpr const char* kNames[] = {"link of switch ", "switch ", "NIC "};
  return out << kNames[static_cast<int>(fault.kind)] << fault.index << " port " << fault.port;
}

std::vector<Fault> every_fault(const Fabric& fabric) {
  std::vector<Fault> all;
  for (std::uint32_t at = 0; at < fabric.planes() * fabric.switches_per_plane(); ++at) {
    all.push_back({Fault::Kind::network_switch, at});
    for (std::uint32_t port = 0; port < fabric.ports(at); ++port)
      if (fabric.peer(at, port).kind != Peer::Kind::nothing) all.push_back({Fault::Kind::link, at, port});
  }
  for (std::uint32_t nic = 0; nic < fabric.count(NodeKind::nic); ++nic) all.push_back({Fault::Kind::nic, nic});
  return all;
}

// The faults twice: for the routing as `Failures`, for the reference as plain sets.
struct Damage {
  const Fabric& fabric;
  Failures failures;
  std::set<std::uint32_t> switches;                         // over all planes
  std::set<std::pair<std::uint32_t, std::uint32_t>> ports;  // both ends
  std::set<std::uint32_t> nics;

  Damage(const Fabric& f, const std::vector<Fault>& faults) : fabric(f), failures(f.no_failures()) {
    for (const Fault& fault : faults) {
      if (fault.kind == Fault::Kind::network_switch) {
        f.fail_switch(failures, fault.index);
        switches.insert(fault.index);
      } else if (fault.kind == Fault::Kind::nic) {
        f.fail_nic(failures, fault.index);
        nics.insert(fault.index);
      } else {
        f.fail_link(failures, fault.index, fault.port);
        ports.insert({fault.index, fault.port});
        const Peer peer = f.peer(fault.index, fault.port);
        const std::uint32_t first = fault.index / f.switches_per_plane() * f.switches_per_plane();
        if (peer.kind == Peer::Kind::other_switch) ports.insert({first + peer.switch_index, peer.port});
      }
    }
  }
  Dead dead(std::uint32_t plane) const {
    const std::uint32_t first = plane * fabric.switches_per_plane();
    return {[this, first](std::uint32_t at) { return switches.contains(first + at); },
            [this, first](std::uint32_t at, std::uint32_t port) {
              return ports.contains({first + at, port});
            }};
  }
  bool cut_off(std::uint32_t endpoint) const {
    const Attachment at = fabric.attachment(endpoint);
    const std::uint32_t leaf = at.plane * fabric.switches_per_plane() + at.target.leaf;
    return switches.contains(leaf) || ports.contains({leaf, at.target.port}) ||
           nics.contains(value(fabric.nic_of(endpoint)) - value(fabric.node(NodeKind::nic, 0)));
  }
};

// A Dragonfly crosses at most two global links, so that its channels suffice; what only a longer
// way joins counts as cut off there.
std::uint32_t global_limit(const Fabric& fabric) { return fabric.dragonfly() != nullptr ? 2 : kFar; }

void walk_avoids_damage(const Damage& damage, std::uint32_t from, std::uint32_t to, std::uint32_t entropy) {
  const Fabric& fabric = damage.fabric;
  const Attachment a = fabric.attachment(from);
  const Dead dead = damage.dead(a.plane);
  const Walk w = walk(fabric, from, to, entropy, damage.failures);
  RC_ASSERT(w.arrived);
  for (std::size_t i = 0; i < w.switches.size(); ++i) {
    RC_ASSERT(!dead.node(w.switches[i]));
    RC_ASSERT(!dead.port(w.switches[i], w.ports[i]));
  }
}

class UnderFailure : public ::testing::TestWithParam<Sample> {
 protected:
  UnderFailure() {
    for (std::uint32_t plane = 0; plane < fabric.planes(); ++plane) graphs.push_back(graph_of(fabric, plane));
  }
  // Whether the graph without the damage still joins two endpoints of a plane.
  bool joined(const Damage& damage, std::uint32_t from, std::uint32_t to) const {
    const Attachment a = fabric.attachment(from);
    const Attachment b = fabric.attachment(to);
    if (a.plane != b.plane || damage.cut_off(from) || damage.cut_off(to)) return false;
    return search(graphs[a.plane], a.target.leaf, damage.dead(a.plane), global_limit(fabric)).hops[b.target.leaf] !=
           kFar;
  }
  Built built{cluster_of(GetParam().yaml)};
  const Fabric& fabric = built.fabric;
  std::vector<Graph> graphs;
};

INSTANTIATE_TEST_SUITE_P(Routing, UnderFailure, ::testing::ValuesIn(samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(UnderFailure, EverySingleFaultIsRoutedAround) {
  const std::vector<Fault> faults = every_fault(fabric);
  constexpr std::size_t kEachTime = 60;
  const std::size_t step = (faults.size() + kEachTime - 1) / kEachTime;
  EXPECT_TRUE(rc::check("pairs around each fault", [&] {
    // rapidcheck draws the pairs, 100 times; the faults are all tried over those rounds.
    const auto from = *rc::gen::inRange(0u, fabric.endpoints());
    const auto to = *rc::gen::inRange(0u, fabric.endpoints());
    const auto first = *rc::gen::inRange<std::size_t>(0, step);
    for (std::size_t f = first; f < faults.size(); f += step) {
      const Damage damage(fabric, {faults[f]});
      const bool is_joined = joined(damage, from, to);
      if (fabric.reachable(from, to, damage.failures) != is_joined)
        RC_FAIL("reachable() says " + std::string(is_joined ? "no" : "yes") + " against the graph, from " +
                std::to_string(from) + " to " + std::to_string(to) + " without " + ::testing::PrintToString(faults[f]));
      if (!is_joined) continue;
      for (std::uint32_t entropy = 0; entropy < 4; ++entropy) walk_avoids_damage(damage, from, to, entropy);
    }
  }));
}

TEST_P(UnderFailure, ReachableTellsHowTheWalkOfTwoFaultsEnds) {
  const std::vector<Fault> faults = every_fault(fabric);
  EXPECT_TRUE(rc::check("random pairs of faults", [&] {
    const auto draw = [&] { return faults[*rc::gen::inRange<std::size_t>(0, faults.size())]; };
    const std::vector<Fault> two = {draw(), draw()};
    const Damage damage(fabric, two);
    for (int i = 0; i < 20; ++i) {
      const auto from = *rc::gen::inRange(0u, fabric.endpoints());
      const auto to = *rc::gen::inRange(0u, fabric.endpoints());
      const auto entropy = *rc::gen::arbitrary<std::uint32_t>();
      if (fabric.attachment(from).plane != fabric.attachment(to).plane) continue;
      if (fabric.reachable(from, to, damage.failures)) {
        RC_ASSERT(joined(damage, from, to));
        walk_avoids_damage(damage, from, to, entropy);
      } else if (!damage.cut_off(from)) {
        RC_ASSERT(!walk(fabric, from, to, entropy, damage.failures).arrived);
      }
    }
  }));
}

// A path of GPUs: contiguous, of links that exist, none of them dead.
void path_is_sound(const Damage& damage, const Path& path, NodeId from, NodeId to) {
  const Fabric& fabric = damage.fabric;
  NodeId at = from;
  for (const Link& link : path.links) {
    RC_ASSERT(link.from == at);
    bool exists = false;
    fabric.for_each_link(at, [&](const Link& other) {
      exists |= other.to == link.to && other.port == link.port && other.link == link.link && other.rate == link.rate;
    });
    RC_ASSERT(exists);
    for (const NodeId end : {link.from, link.to}) {
      const Node node = fabric.describe(end);
      if (node.kind == NodeKind::network_switch) RC_ASSERT(!damage.switches.contains(node.local));
      if (node.kind == NodeKind::nic)
        RC_ASSERT(!damage.nics.contains(value(end) - value(fabric.node(NodeKind::nic, 0))));
    }
    // A link's port is that of the switch it leaves, or, from a NIC, of the one it enters.
    const Node source = fabric.describe(link.from);
    const Node sink = fabric.describe(link.to);
    if (source.kind == NodeKind::network_switch) RC_ASSERT(!damage.ports.contains({source.local, link.port}));
    if (source.kind == NodeKind::nic && sink.kind == NodeKind::network_switch)
      RC_ASSERT(!damage.ports.contains({sink.local, link.port}));
    at = link.to;
  }
  RC_ASSERT(at == to);
}

TEST_P(UnderFailure, GpusFindAPathOverAnyNicThatIsLeft) {
  const std::vector<Fault> faults = every_fault(fabric);
  const auto endpoints_of = [&](const Node& gpu) {
    std::vector<std::uint32_t> ends;
    const model::Group& group = fabric.cluster().groups[gpu.group];
    for (std::uint32_t nic = 0; nic < group.nics(); ++nic)
      for (std::uint32_t port = 0; port < group.spec.nic.ports; ++port)
        ends.push_back(fabric.endpoint(group.first_nic + (gpu.server - group.first_server) * group.nics() + nic, port));
    return ends;
  };
  EXPECT_TRUE(rc::check("GPU pairs under up to two faults", [&] {
    std::vector<Fault> some;
    const int many = *rc::gen::inRange(0, 3);
    for (int i = 0; i < many; ++i) some.push_back(faults[*rc::gen::inRange<std::size_t>(0, faults.size())]);
    const Damage damage(fabric, some);
    for (int i = 0; i < 10; ++i) {
      const auto from = *rc::gen::inRange(0u, fabric.count(NodeKind::gpu));
      const auto to = *rc::gen::inRange(0u, fabric.count(NodeKind::gpu));
      const auto entropy = *rc::gen::arbitrary<std::uint32_t>();
      const Node a = fabric.describe(fabric.gpu(from));
      const Node b = fabric.describe(fabric.gpu(to));
      const auto path = fabric.path(from, to, entropy, damage.failures);
      if (path) path_is_sound(damage, *path, fabric.gpu(from), fabric.gpu(to));
      bool any = a.server == b.server;
      for (const std::uint32_t out : endpoints_of(a))
        for (const std::uint32_t in : endpoints_of(b)) {
          if (any) break;
          // With two faults the graph may hold a way that is not up and down; reachable() is then
          // what routing can do, and the other tests hold it against the graph.
          any = many < 2 ? joined(damage, out, in) : fabric.reachable(out, in, damage.failures);
        }
      RC_ASSERT(path.has_value() == any);
    }
  }));
}

// Port 0 of a's NIC is cut; its port 1 reaches the one port of b's NIC.
//
//   a0 nic0 =x= leaf0
//           === leaf0 --- nic0 b0
TEST(Failure, ACutPortLeavesTheOtherPortsOfItsNic) {
  const Built built(
      cluster_of("version: 1\nservers:\n"
                 "  - {kind: hgx-h100, name: a, count: 1, nics: 1, nic: {kind: connectx-7, ports: 2}}\n"
                 "  - {kind: hgx-h100, name: b, count: 1, nics: 1}\n"
                 "fabric: {kind: single-chassis}\n"));
  const Fabric& fabric = built.fabric;
  Failures failures = fabric.no_failures();
  const Attachment cut = fabric.attachment(fabric.endpoint(0, 0));
  fabric.fail_link(failures, cut.target.leaf, cut.target.port);
  const auto path = fabric.path(0, 8, 0, failures);
  ASSERT_TRUE(path.has_value());
  EXPECT_TRUE(fabric.path(8, 0, 0, failures).has_value());
}

//   gateway a --x-- gateway b
//        \           /
//         gateway c
TEST(Failure, AThirdSiteStandsInForALostLinkBetweenTwo) {
  const auto triangle =
      std::find_if(samples().begin(), samples().end(), [](const Sample& s) { return s.name == "sites_triangle"; });
  const Built built(cluster_of(triangle->yaml));
  const Fabric& fabric = built.fabric;
  Failures failures = fabric.no_failures();
  const std::uint32_t gateway_a = 3;
  for (std::uint32_t port = 0; port < fabric.ports(gateway_a); ++port)
    if (fabric.peer(gateway_a, port).tier == LinkTier::site && fabric.peer(gateway_a, port).switch_index == 4)
      fabric.fail_link(failures, gateway_a, port);
  const std::uint32_t in_b = 4;  // a has 2 servers of 2 NICs
  const Walk w = walk(fabric, 0, in_b, 0, failures);
  EXPECT_TRUE(w.arrived);
  EXPECT_EQ(w.switches, (std::vector<std::uint32_t>{0, 3, 5, 4, 1}));
}

// Work is counted, not timed: however many ways lead to a target that is cut off, each switch is
// looked at once per query.
TEST(FailureCost, OfATargetThatIsCutOffIsBoundedByTheSwitches) {
  const Built built(cluster_of(
      "version: 1\nservers: {kind: hgx-h100, nics: 1, count: 512}\nfabric: {kind: tor-clos, servers_per_leaf: 8, "
      "pod: 8, spines: 64, parallel_links: 1, super_spines: 64, oversubscription: 1:8, super_oversubscription: 1:8, "
      "switch: {kind: tomahawk-5, ports: 1024}}\n"));
  const Clos& tree = *built.fabric.clos();
  const Target target = built.fabric.attachment(511).target;
  Broken broken;
  for (std::uint32_t port = 0; port < tree.ports(target.leaf); ++port)
    if (tree.peer(target.leaf, port).kind == Peer::Kind::other_switch) {
      const Peer above = tree.peer(target.leaf, port);
      broken.fail_port(target.leaf, port);
      broken.fail_port(above.switch_index, above.port);
    }
  Search search;
  EXPECT_FALSE(tree.reaches(0, target, broken, search));
  EXPECT_GT(search.expanded(), 64U);
  EXPECT_LE(search.expanded(), tree.switches());

  Broken dead;
  dead.fail_switch(target.leaf);
  Search none;
  EXPECT_FALSE(tree.reaches(0, target, dead, none));
  EXPECT_EQ(none.expanded(), 0U);
}

TEST(FailureCost, OfADragonflyIsBoundedByTheRouters) {
  const Built built(cluster_of(
      "version: 1\nservers: {kind: hgx-h100, nics: 1, count: 800}\nfabric: {kind: dragonfly, routers_per_group: 200, "
      "global_links: 4, groups: 4, routing: valiant, switch: {kind: tomahawk-5, ports: 1024}}\n"));
  const Dragonfly& network = *built.fabric.dragonfly();
  const Target target = built.fabric.attachment(799).target;
  Broken broken;  // the target's router is cut off from its group, and has no global links
  for (std::uint32_t port = network.shape().router_down; port < network.ports(target.leaf); ++port) {
    const Peer other = network.peer(target.leaf, port);
    broken.fail_port(target.leaf, port);
    if (other.kind == Peer::Kind::other_switch) broken.fail_port(other.switch_index, other.port);
  }
  for (const std::uint32_t via : {kNone, 1U, 2U}) {
    Search search;
    EXPECT_FALSE(network.reaches(0, target, {via, 0}, broken, search));
    // By router: with and without a spare hop, before and behind each of two global links.
    EXPECT_LE(search.expanded(), 6 * network.switches());
  }
}

}  // namespace
}  // namespace weft::fabric
