// Dragonfly: channels in rising order make it free of deadlock, and the detour's arithmetic.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

Built dragonfly(int servers, int routers, int globals, const std::string& routing) {
  return Built(cluster_of("version: 1\nservers: {kind: hgx-h100, nics: 1, count: " + std::to_string(servers) +
                          "}\nfabric: {kind: dragonfly, routers_per_group: " + std::to_string(routers) +
                          ", global_links: " + std::to_string(globals) + ", routing: " + routing + "}\n"));
}

// Which buffer waits for which: an edge from the channel a packet holds to the one it asks for
// (Dally and Seitz, 1987). A cycle can lock up.
class Waiting {
 public:
  explicit Waiting(bool channels) : channels_(channels) {}
  void route(const std::vector<std::uint32_t>& routers, const std::vector<std::uint32_t>& ports,
             const std::vector<std::uint32_t>& channels) {
    for (std::size_t i = 1; i < routers.size(); ++i)
      edges_[key(routers[i - 1], ports[i - 1], channels[i - 1])].insert(key(routers[i], ports[i], channels[i]));
  }
  bool cyclic() const {
    std::map<Key, int> colour;
    for (const auto& [node, next] : edges_)
      if (visit(node, colour)) return true;
    return false;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  Key key(std::uint32_t router, std::uint32_t port, std::uint32_t channel) const {
    return {router, port, channels_ ? channel : 0};
  }
  bool visit(const Key& node, std::map<Key, int>& colour) const {
    int& mine = colour[node];
    if (mine != 0) return mine == 1;
    mine = 1;
    if (const auto found = edges_.find(node); found != edges_.end())
      for (const Key& next : found->second)
        if (visit(next, colour)) return true;
    colour[node] = 2;
    return false;
  }
  bool channels_;
  std::map<Key, std::set<Key>> edges_;
};

// Adds every route from every router to every other in every state a packet may start with.
struct Routes {
  std::uint32_t most_local = 0;  // channel
  std::uint32_t most_global = 0;
  std::size_t count = 0;
};

Routes add_all_routes(const Fabric& fabric, bool valiant, Waiting& waiting) {
  const Dragonfly& fly = *fabric.dragonfly();
  Routes routes;
  std::vector<std::uint32_t> routers, ports, channels;
  const auto follow = [&](auto&& self, std::uint32_t at, const Target& target, RouteState state) -> void {
    fly.for_each_port(at, target, state, [&](std::uint32_t port) {
      routers.push_back(at);
      ports.push_back(port);
      channels.push_back(state.global_hops);
      const Peer next = fly.peer(at, port);
      if (next.kind == Peer::Kind::nic) {
        waiting.route(routers, ports, channels);
        ++routes.count;
      } else {
        std::uint32_t& most = next.tier == LinkTier::global ? routes.most_global : routes.most_local;
        most = std::max<std::uint32_t>(most, state.global_hops);
        RouteState after = state;
        after.global_hops = static_cast<std::uint8_t>(after.global_hops + (next.tier == LinkTier::global));
        self(self, next.switch_index, target, after);
      }
      routers.pop_back();
      ports.pop_back();
      channels.pop_back();
    });
  };
  for (std::uint32_t from = 0; from < fly.switches(); ++from)
    for (std::uint32_t to = 0; to < fly.switches(); ++to) {
      const Target target{to, 0};
      follow(follow, from, target, {});
      if (!valiant || fly.group_of(from) == fly.group_of(to)) continue;
      for (std::uint32_t via = 0; via < fly.shape().groups; ++via)
        if (via != fly.group_of(from) && via != fly.group_of(to)) follow(follow, from, target, {via, 0});
    }
  return routes;
}

struct Size {
  int servers, routers, globals;
};

class DragonflyChannels : public ::testing::TestWithParam<Size> {};
// One link per pair of groups; one round and some left over; several links per pair.
INSTANTIATE_TEST_SUITE_P(Dragonfly, DragonflyChannels,
                         ::testing::Values(Size{36, 4, 2}, Size{15, 3, 2}, Size{12, 4, 3}));

TEST_P(DragonflyChannels, RiseSoThatNothingWaitsInACircle) {
  const auto [servers, routers, globals] = GetParam();
  for (const bool valiant : {false, true}) {
    const Built built = dragonfly(servers, routers, globals, valiant ? "valiant" : "minimal");
    Waiting waiting(true);
    const Routes routes = add_all_routes(built.fabric, valiant, waiting);
    EXPECT_GT(routes.count, 0u);
    EXPECT_FALSE(waiting.cyclic()) << (valiant ? "valiant" : "minimal");
    EXPECT_EQ(routes.most_local + 1, built.fabric.dragonfly()->local_channels());
    EXPECT_EQ(routes.most_global + 1, built.fabric.dragonfly()->global_channels());
  }
}

TEST_P(DragonflyChannels, AreNeededByDetours) {
  const auto [servers, routers, globals] = GetParam();
  const Built built = dragonfly(servers, routers, globals, "valiant");
  Waiting waiting(false);
  add_all_routes(built.fabric, true, waiting);
  EXPECT_TRUE(waiting.cyclic());
}

TEST(Dragonfly, WalksUseTheChannelsTheyDeclare) {
  const Built built = dragonfly(36, 4, 2, "valiant");
  const Fabric& fabric = built.fabric;
  const Failures none = fabric.no_failures();
  for (std::uint32_t to = 0; to < 36; ++to)
    for (std::uint32_t entropy = 0; entropy < 32; ++entropy) {
      const Walk w = walk(fabric, 5, to, entropy, none);
      ASSERT_TRUE(w.arrived);
      std::uint32_t globals = 0;
      for (std::size_t i = 0; i + 1 < w.switches.size(); ++i) {
        ASSERT_EQ(w.channels[i], globals);
        globals += fabric.peer(w.switches[i], w.ports[i]).tier == LinkTier::global;
      }
      // Out of the group: exactly the two global links of a detour; inside: none.
      ASSERT_EQ(globals, to / 4 == 5 / 4 ? 0u : 2u);
    }
}

TEST(Dragonfly, ADetourIsNeitherEnd) {
  const Built built = dragonfly(36, 4, 2, "ugal");
  const Dragonfly& fly = *built.fabric.dragonfly();
  for (std::uint32_t from = 0; from < 9; ++from)
    for (std::uint32_t to = 0; to < 9; ++to) {
      std::map<std::uint32_t, int> drawn;
      for (std::uint32_t entropy = 0; entropy < 1400; ++entropy)
        ++drawn[fly.detour(from * 4, {to * 4, 0}, entropy).via];
      if (from == to) {
        EXPECT_EQ(drawn.size(), 1u);
        EXPECT_TRUE(drawn.contains(kNone));
        continue;
      }
      EXPECT_EQ(drawn.size(), 7u);
      EXPECT_FALSE(drawn.contains(from) || drawn.contains(to) || drawn.contains(kNone));
      for (const auto& [via, count] : drawn) EXPECT_NEAR(count, 200, 75) << via;
    }
}

TEST(Dragonfly, UgalComparesQueueTimesHops) {
  EXPECT_FALSE(ugal_prefers_detour(0, 3, 0, 5));   // idle: the short way
  EXPECT_FALSE(ugal_prefers_detour(10, 3, 6, 5));  // a tie: the short way
  EXPECT_TRUE(ugal_prefers_detour(10, 3, 5, 5));
  EXPECT_TRUE(ugal_prefers_detour(1, 3, 0, 6));
  EXPECT_FALSE(ugal_prefers_detour(10, 3, 10, 6));
  // Queues in bytes of a large buffer times hops pass 32 bits.
  EXPECT_TRUE(ugal_prefers_detour(3'000'000'000, 3, 1'000'000'000, 5));
}

TEST(Dragonfly, CountsItsPathsByArithmetic) {
  for (const auto& [servers, routers, globals] : {std::tuple{24, 4, 2}, {20, 5, 3}, {9, 3, 4}, {72, 8, 1}}) {
    const Built built = dragonfly(servers, routers, globals, "minimal");
    for (std::uint32_t from = 0; from < built.fabric.endpoints(); ++from)
      for (std::uint32_t to = 0; to < built.fabric.endpoints(); ++to)
        EXPECT_EQ(built.fabric.path_count(from, to), built.fabric.all_paths(from, to, 1'000).size())
            << servers << " servers, " << from << " to " << to;
  }
}

}  // namespace
}  // namespace weft::fabric
