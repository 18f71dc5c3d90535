// Every program moves every byte to where it belongs, for any number of ranks, size and chunk.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "collective/direct.hpp"
#include "collective/hierarchical.hpp"
#include "collective/pat.hpp"
#include "collective/ring.hpp"
#include "collective/testing_dataflow.hpp"
#include "collective/tree.hpp"

namespace weft::collective {
namespace {

using testing::Dataflow;

const auto everything = [](std::uint32_t, std::uint32_t) { return true; };

std::vector<std::uint32_t> any_order(std::uint32_t ranks) {
  std::vector<std::uint32_t> order(ranks);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = ranks; i-- > 1;) std::swap(order[i], order[*rc::gen::inRange(0u, i + 1)]);
  return order;
}

Rounds any_rounds() {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 3000);
  return {bytes, *rc::gen::inRange<std::uint64_t>(std::max<std::uint64_t>(1, bytes / 6), 3001)};
}

// `nodes` domains of `local` ranks each.
Pairs even_pairs(std::uint32_t nodes, std::uint32_t local) {
  Pairs pairs;
  for (std::uint32_t rank = 0; rank < nodes * local; ++rank) pairs.node.push_back(rank / local);
  for (std::uint32_t node = 0; node <= nodes; ++node) pairs.first.push_back(node * local);
  pairs.within.resize(pairs.node.size());
  pairs.across.resize(pairs.node.size());
  return pairs;
}

Ring any_ring(Operation operation, std::uint32_t ranks) {
  return Ring({.operation = operation,
               .order = any_order(ranks),
               .edges = std::vector<Edge>(ranks),
               .rounds = any_rounds(),
               .slices = *rc::gen::inRange(1u, 4u)});
}

RC_GTEST_PROP(Ring, AllReduceSumsEverybodyOnceEverywhere, ()) {
  const auto ranks = *rc::gen::inRange(2u, 18u);
  const Ring ring = any_ring(Operation::all_reduce, ranks);
  Dataflow flow(ring, ranks, ranks, everything);
  RC_ASSERT(flow.run());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t block = 0; block < ranks; ++block) RC_ASSERT(flow.has_all(rank, block));
    // 2 (n - 1) / n of all bytes, which are n blocks.
    RC_ASSERT(flow.sent_bytes(rank) == 2 * (ranks - 1) * ring.shape().rounds.bytes);
    RC_ASSERT(flow.sent_messages(rank) == 2 * (ranks - 1) * ring.rounds());
  }
}

RC_GTEST_PROP(Ring, AllGatherBringsEveryBlockEverywhere, ()) {
  const auto ranks = *rc::gen::inRange(2u, 18u);
  const Ring ring = any_ring(Operation::all_gather, ranks);
  const auto& order = ring.shape().order;
  Dataflow flow(ring, ranks, ranks, [&](std::uint32_t rank, std::uint32_t block) { return order[block] == rank; });
  RC_ASSERT(flow.run());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t block = 0; block < ranks; ++block) RC_ASSERT(flow.has_only(rank, block, order[block]));
    RC_ASSERT(flow.sent_bytes(rank) == (ranks - 1) * ring.shape().rounds.bytes);
  }
}

RC_GTEST_PROP(Ring, ReduceScatterLeavesEachItsOwnSum, ()) {
  const auto ranks = *rc::gen::inRange(2u, 18u);
  const Ring ring = any_ring(Operation::reduce_scatter, ranks);
  Dataflow flow(ring, ranks, ranks, everything);
  RC_ASSERT(flow.run());
  for (std::uint32_t place = 0; place < ranks; ++place) {
    RC_ASSERT(flow.has_all(ring.shape().order[place], place));
    RC_ASSERT(flow.sent_bytes(place) == (ranks - 1) * ring.shape().rounds.bytes);
  }
}

RC_GTEST_PROP(Pat, GathersEveryBlockInLogarithmicallyManySteps, ()) {
  const auto ranks = *rc::gen::inRange(2u, 40u);
  const Rounds rounds = any_rounds();
  const Pat pat({.operation = Operation::all_gather, .pairs = even_pairs(ranks, 1), .rounds = rounds});
  Dataflow flow(pat, ranks, ranks, [](std::uint32_t rank, std::uint32_t block) { return block == rank; });
  RC_ASSERT(flow.run());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t block = 0; block < ranks; ++block) RC_ASSERT(flow.has_only(rank, block, block));
    RC_ASSERT(flow.sent_bytes(rank) == (ranks - 1) * rounds.bytes);
    RC_ASSERT(flow.sent_messages(rank) == static_cast<std::uint64_t>(std::bit_width(ranks - 1)) * rounds.count());
  }
}

RC_GTEST_PROP(Pat, ReducesEveryBlockToItsRank, ()) {
  const auto ranks = *rc::gen::inRange(2u, 40u);
  const Rounds rounds = any_rounds();
  const Pat pat({.operation = Operation::reduce_scatter, .pairs = even_pairs(ranks, 1), .rounds = rounds});
  Dataflow flow(pat, ranks, ranks, everything);
  RC_ASSERT(flow.run());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RC_ASSERT(flow.has_all(rank, rank));
    RC_ASSERT(flow.sent_bytes(rank) == (ranks - 1) * rounds.bytes);
  }
}

RC_GTEST_PROP(Hierarchical, AllReduceSumsEverybodyOnceEverywhere, ()) {
  const auto nodes = *rc::gen::inRange(1u, 6u);
  const auto local = *rc::gen::inRange(1u, 6u);
  const Rounds rounds = any_rounds();
  const Hierarchical program({.operation = Operation::all_reduce, .pairs = even_pairs(nodes, local), .rounds = rounds});
  Dataflow flow(program, nodes * local, nodes * local, everything);
  RC_ASSERT(flow.run());
  for (std::uint32_t rank = 0; rank < nodes * local; ++rank) {
    for (std::uint32_t block = 0; block < nodes * local; ++block) RC_ASSERT(flow.has_all(rank, block));
    RC_ASSERT(flow.sent_bytes(rank) == (2 * (local - 1) * nodes + 2 * (nodes - 1)) * rounds.bytes);
  }
}

RC_GTEST_PROP(Hierarchical, GathersAndScattersByNode, ()) {
  const auto nodes = *rc::gen::inRange(1u, 6u);
  const auto local = *rc::gen::inRange(1u, 6u);
  const Rounds rounds = any_rounds();
  const auto owner = [&](std::uint32_t block) { return block % nodes * local + block / nodes; };
  const Hierarchical gather({.operation = Operation::all_gather, .pairs = even_pairs(nodes, local), .rounds = rounds});
  Dataflow gathering(gather, nodes * local, nodes * local, [&](auto rank, auto block) { return owner(block) == rank; });
  RC_ASSERT(gathering.run());
  const Hierarchical scatter(
      {.operation = Operation::reduce_scatter, .pairs = even_pairs(nodes, local), .rounds = rounds});
  Dataflow scattering(scatter, nodes * local, nodes * local, everything);
  RC_ASSERT(scattering.run());
  for (std::uint32_t block = 0; block < nodes * local; ++block) {
    RC_ASSERT(scattering.has_all(owner(block), block));
    for (std::uint32_t rank = 0; rank < nodes * local; ++rank) RC_ASSERT(gathering.has_only(rank, block, owner(block)));
  }
}

RC_GTEST_PROP(Direct, AllToAllSendsOnceToEveryOther, ()) {
  const auto nodes = *rc::gen::inRange(1u, 6u);
  const auto local = *rc::gen::inRange(1u, 6u);
  const std::uint32_t ranks = nodes * local;
  const Rounds rounds = any_rounds();
  const Direct program({.operation = Operation::all_to_all, .pairs = even_pairs(nodes, local), .rounds = rounds});
  std::vector<std::vector<std::uint64_t>> sent(ranks, std::vector<std::uint64_t>(ranks));
  auto taken = sent;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t lane = 0; lane < program.lanes(rank); ++lane) {
      Step step;
      for (std::uint64_t at = 0; program.step(rank, lane, at, step); ++at)
        if (step.kind == Step::Kind::send)
          sent[rank][step.peer] += step.bytes + (step.round == 0 ? 10'000 : 0);
        else
          taken[step.peer][rank] += step.bytes + (step.round == 0 ? 10'000 : 0);
    }
  for (std::uint32_t from = 0; from < ranks; ++from)
    for (std::uint32_t to = 0; to < ranks; ++to) RC_ASSERT(sent[from][to] == (from == to ? 0 : rounds.bytes + 10'000));
  RC_ASSERT(taken == sent);
}

TEST(Direct, SendRecvGoesToTheNext) {
  const Direct program({.operation = Operation::send_recv, .pairs = even_pairs(2, 2), .rounds = {100, 60}});
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    std::uint64_t bytes = 0;
    std::uint64_t taken = 0;
    Step step;
    for (std::uint32_t lane = 0; lane < program.lanes(rank); ++lane)
      for (std::uint64_t at = 0; program.step(rank, lane, at, step); ++at) {
        EXPECT_EQ(step.peer, step.kind == Step::Kind::send ? (rank + 1) % 4 : (rank + 3) % 4);
        (step.kind == Step::Kind::send ? bytes : taken) += step.bytes;
      }
    EXPECT_EQ(bytes, 100u);
    EXPECT_EQ(taken, 100u);
  }
}

// Every member reaches the one root, children and parents agree, and the way is short.
RC_GTEST_PROP(DoubleTree, IsTwoTreesOfLogarithmicDepth, ()) {
  const auto members = *rc::gen::inRange(1u, 600u);
  const auto which = *rc::gen::inRange(0u, 2u);
  std::uint32_t roots = 0;
  for (std::uint32_t member = 0; member < members; ++member) {
    const TreePlace place = double_tree(members, member, which);
    roots += place.parent == kNobody;
    for (const std::uint32_t child : place.children)
      if (child != kNobody) RC_ASSERT(double_tree(members, child, which).parent == member);
    std::uint32_t depth = 0;
    for (std::uint32_t at = member; at != kNobody; at = double_tree(members, at, which).parent)
      RC_ASSERT(++depth <= 12);
    if (place.parent != kNobody) {
      const TreePlace above = double_tree(members, place.parent, which);
      RC_ASSERT(std::count(above.children.begin(), above.children.end(), member) == 1);
    }
  }
  RC_ASSERT(roots == 1);
}

RC_GTEST_PROP(DoubleTree, NobodyHasTwoChildrenInBoth, ()) {
  const auto members = *rc::gen::inRange(1u, 600u);
  for (std::uint32_t member = 0; member < members; ++member) {
    const auto has_two = [&](std::uint32_t which) {
      return double_tree(members, member, which).children[1] != kNobody;
    };
    RC_ASSERT(!(has_two(0) && has_two(1)));
  }
}

// A random tree: each vertex hangs below one before it.
std::vector<Vertex> any_tree(std::uint32_t ranks) {
  const auto order = any_order(ranks);
  std::vector<Vertex> vertices;
  for (std::uint32_t i = 0; i < ranks; ++i)
    vertices.push_back({.rank = order[i], .parent = i == 0 ? kNobody : *rc::gen::inRange(0u, i), .up = {}, .down = {}});
  return vertices;
}

RC_GTEST_PROP(Tree, UpAndDownSumsEverybodyOnceEverywhere, ()) {
  const auto ranks = *rc::gen::inRange(1u, 20u);
  const Rounds rounds = any_rounds();
  const Tree tree({.vertices = any_tree(ranks), .rounds = rounds});
  Dataflow flow(tree, ranks, ranks, everything);
  RC_ASSERT(flow.run());
  std::uint64_t bytes = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RC_ASSERT(flow.has_all(rank, 0));
    bytes += flow.sent_bytes(rank);
  }
  RC_ASSERT(bytes == 2 * (ranks - 1) * rounds.bytes);
}

RC_GTEST_PROP(Tree, DownSpreadsAndUpCollects, ()) {
  const auto ranks = *rc::gen::inRange(1u, 20u);
  const std::vector<Vertex> vertices = any_tree(ranks);
  const std::uint32_t root = vertices[0].rank;
  const Tree down({.vertices = vertices, .direction = Tree::Direction::down, .rounds = any_rounds()});
  Dataflow spreading(down, ranks, ranks, [&](std::uint32_t rank, std::uint32_t) { return rank == root; });
  RC_ASSERT(spreading.run());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) RC_ASSERT(spreading.has_only(rank, 0, root));
  const Tree up({.vertices = vertices, .direction = Tree::Direction::up, .rounds = any_rounds()});
  Dataflow collecting(up, ranks, ranks, everything);
  RC_ASSERT(collecting.run());
  RC_ASSERT(collecting.has_all(root, 0));
}

// NVLS: GPUs 0..n-1 give to the switch, which is rank n; a head takes the sum from it and gives it back.
TEST(Tree, ASwitchThatReducesServesItsHead) {
  constexpr std::uint32_t kGpus = 5;
  std::vector<Vertex> vertices = {{.rank = 2, .gives = false, .up = {}, .down = {}},
                                  {.rank = kGpus, .parent = 0, .gives = false, .up = {}, .down = {}}};
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) vertices.push_back({.rank = gpu, .parent = 1, .up = {}, .down = {}});
  const Tree tree({.vertices = vertices, .rounds = {1000, 300}});
  Dataflow flow(tree, kGpus + 1, kGpus, everything);
  ASSERT_TRUE(flow.run());
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) EXPECT_TRUE(flow.has_all(gpu, 0)) << gpu;
  EXPECT_EQ(flow.sent_bytes(2), 2000u);  // its own part, and the sum
  EXPECT_EQ(flow.sent_bytes(0), 1000u);
  EXPECT_EQ(flow.sent_bytes(kGpus), 6000u);  // to the head, and to all five
}

}  // namespace
}  // namespace weft::collective
