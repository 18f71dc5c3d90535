#include "transport/turn_tree.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

namespace weft::transport {
namespace {

struct Peer {
  std::uint32_t next_active = kNone;
  Instant ready = 0;  // kNever: has nothing left to do
};

// A ring that looks at everybody, and a tree: whoever comes, waits and goes, both serve the same ones in the same
// order.
RC_GTEST_PROP(TurnTree, ServesAsTheRingDoes, ()) {
  constexpr std::uint32_t kPeers = 40;
  std::vector<Peer> peers(kPeers);
  Turns ring;
  TurnTree tree;
  TurnTree::Ring same;
  Instant now = 1;
  const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(400, rc::gen::arbitrary<std::uint32_t>());
  for (const std::uint32_t step : steps) {
    const std::uint32_t index = step / 8 % kPeers;
    if (step % 8 < 3) {
      peers[index].ready = now + step / 1024 % 8;
      ring.join(peers, index);
      tree.join(same, index);
    } else if (step % 8 == 3 && tree.has(index)) {
      peers[index].ready = step / 1024 % 2 == 0 ? kNever : now + step / 1024 % 64;
      tree.wait(index, 0);
    } else {
      now += step / 1024 % 4;
    }
    const auto ask = [&](std::uint32_t each) {
      if (peers[each].ready == kNever) return Turn::over;
      if (peers[each].ready > now) return Turn::passed;
      peers[each].ready = now + 1 + each % 5;
      return Turn::served;
    };
    std::vector<Peer> after = peers;
    std::swap(after, peers);
    const bool one = ring.serve(peers, ask);
    std::swap(after, peers);
    const bool other = tree.serve(same, now, [&](std::uint32_t each) {
      const Turn turn = ask(each);
      if (turn == Turn::passed) tree.wait(each, peers[each].ready);
      if (turn == Turn::served) tree.wait(each, 0);
      return turn;
    });
    RC_ASSERT(one == other);
    RC_ASSERT(ring.last == same.last);
    RC_ASSERT(tree.check(same) == "");
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      RC_ASSERT((after[i].next_active != kNone) == tree.has(i));
      peers[i].next_active = after[i].next_active;
      RC_ASSERT(peers[i].ready == after[i].ready);
    }
  }
}

TEST(TurnTree, WhoWantsAGreaterShareIsFound) {
  TurnTree tree;
  TurnTree::Ring ring;
  for (std::uint32_t i = 0; i < 100; ++i) {
    tree.join(ring, i);
    tree.wait(i, kNever, {static_cast<std::uint16_t>(200 - i), static_cast<std::uint16_t>(1 + i % 10)});
  }
  EXPECT_EQ(tree.earliest(ring), kNever);
  EXPECT_EQ(tree.find_wanting(ring, 101, 10), kNone);
  EXPECT_EQ(tree.find_wanting(ring, 102, 10), 99u);
  const std::uint32_t more = tree.find_wanting(ring, 0, 9);
  EXPECT_EQ(more % 10, 9u);
  tree.wait(99, 5);
  EXPECT_EQ(tree.find_wanting(ring, 102, 10), kNone);
  EXPECT_EQ(tree.find_earliest(ring), 99u);
}

TEST(TurnTree, WhoIsRemovedIsGoneAndMemoryReturns) {
  TurnTree tree;
  TurnTree::Ring ring;
  for (std::uint32_t i = 0; i < 1000; ++i) tree.join(ring, i);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    if (i % 7 == 0) continue;
    tree.leave(ring, i);
    EXPECT_FALSE(tree.has(i));
  }
  EXPECT_EQ(tree.size(ring), 143u);
  EXPECT_EQ(tree.check(ring), "");
  for (std::uint32_t i = 0; i < 1000; i += 7) tree.leave(ring, i);
  EXPECT_EQ(ring.last, kNone);
  EXPECT_EQ(tree.earliest(ring), kNever);
}

}  // namespace
}  // namespace weft::transport
