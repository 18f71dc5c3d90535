#include "transport/turns.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace weft::transport {
namespace {

struct Peer {
  std::uint32_t next_active = kNone;
  std::uint32_t next_owing = kNone;
  bool owing = false;
  int packets = 0;       // left to send
  bool blocked = false;  // may not send now
  Instant due = kNever;
};

// Whom a poll serves; kNone: nobody.
std::uint32_t serve(Turns& turns, std::vector<Peer>& peers) {
  std::uint32_t served = kNone;
  const bool any = turns.serve(peers, [&](std::uint32_t index) {
    Peer& peer = peers[index];
    if (peer.packets == 0) return Turn::over;
    if (peer.blocked) return Turn::passed;
    --peer.packets;
    served = index;
    return Turn::served;
  });
  EXPECT_EQ(any, served != kNone);
  return served;
}

std::vector<std::uint32_t> serve(Turns& turns, std::vector<Peer>& peers, int times) {
  std::vector<std::uint32_t> order;
  for (int i = 0; i < times; ++i) order.push_back(serve(turns, peers));
  return order;
}

TEST(Turns, PeersAreServedOneAfterTheOther) {
  std::vector<Peer> peers(3);
  Turns turns;
  for (std::uint32_t i = 0; i < 3; ++i) {
    peers[i].packets = 10;
    turns.join(peers, i);
    turns.join(peers, i);  // once is enough
  }
  const std::vector<std::uint32_t> order = serve(turns, peers, 6);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(order[i], order[i + 3]);
    EXPECT_EQ(std::count(order.begin(), order.end(), i), 2);
  }
}

TEST(Turns, WhoCannotSendIsPassedAndKeepsItsPlace) {
  std::vector<Peer> peers(2);
  Turns turns;
  for (std::uint32_t i = 0; i < 2; ++i) {
    peers[i].packets = 10;
    turns.join(peers, i);
  }
  peers[0].blocked = true;
  EXPECT_EQ(serve(turns, peers, 3), (std::vector<std::uint32_t>{1, 1, 1}));
  peers[1].blocked = true;
  EXPECT_EQ(serve(turns, peers), kNone);
  peers[0].blocked = peers[1].blocked = false;
  EXPECT_EQ(serve(turns, peers, 2), (std::vector<std::uint32_t>{0, 1}));
}

TEST(Turns, WhoHasNothingLeftLeavesAndMayComeAgain) {
  std::vector<Peer> peers(2);
  Turns turns;
  peers[0].packets = 1;
  turns.join(peers, 0);
  EXPECT_EQ(serve(turns, peers), 0u);
  EXPECT_EQ(serve(turns, peers), kNone);
  EXPECT_EQ(turns.last, kNone);
  peers[0].packets = peers[1].packets = 1;
  turns.join(peers, 1);
  turns.join(peers, 0);
  EXPECT_EQ(serve(turns, peers, 3), (std::vector<std::uint32_t>{0, 1, kNone}));
}

// With everything that can happen in any order, nobody who can send is served less often than another by two.
RC_GTEST_PROP(Turns, NobodyIsPassedOver, ()) {
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 8);
  std::vector<Peer> peers(count);
  Turns turns;
  for (std::uint32_t i = 0; i < count; ++i) {
    peers[i].packets = 1000;
    peers[i].blocked = *rc::gen::arbitrary<bool>();
    turns.join(peers, i);
    if (*rc::gen::arbitrary<bool>()) serve(turns, peers);
  }
  std::vector<int> served(count);
  const int polls = *rc::gen::inRange(0, 50);
  for (int i = 0; i < polls; ++i)
    if (const std::uint32_t who = serve(turns, peers); who != kNone) ++served[who];
  int least = polls;
  int most = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (peers[i].blocked) continue;
    least = std::min(least, served[i]);
    most = std::max(most, served[i]);
  }
  RC_ASSERT(most - least <= 1 || most == 0);
}

TEST(Turns, TheEarliestOfAllDecidesWhenToAskAgain) {
  std::vector<Peer> peers(3);
  Turns turns;
  const auto due = [](const Peer& peer) { return peer.due; };
  EXPECT_EQ(turns.earliest(peers, due), kNever);
  peers[0].due = 30;
  peers[1].due = 10;
  peers[2].due = 20;
  for (std::uint32_t i = 0; i < 3; ++i) turns.join(peers, i);
  EXPECT_EQ(turns.earliest(peers, due), 10);
}

TEST(Owed, EachIsInTheListOnceUntilItIsTaken) {
  std::vector<Peer> peers(3);
  Owed<&Peer::next_owing, &Peer::owing> owed;
  owed.add(peers, 1);
  owed.add(peers, 2);
  owed.add(peers, 1);
  EXPECT_EQ(&owed.take(peers), &peers[2]);
  owed.add(peers, 2);
  EXPECT_EQ(&owed.take(peers), &peers[2]);
  EXPECT_EQ(&owed.take(peers), &peers[1]);
  EXPECT_EQ(owed.first, kNone);
  EXPECT_FALSE(peers[1].owing || peers[2].owing);
}

}  // namespace
}  // namespace weft::transport
