#include "dst/ledger.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::dst {
namespace {

using transport::Completion;
using transport::Op;
using transport::Placement;

// Node 0 sends to node 1 messages of one packet, each on the lanes given.
struct Fixture {
  explicit Fixture(const std::vector<std::uint32_t>& lanes) : ledger(100) {
    for (const std::uint32_t each : lanes)
      ledger.add({.op = Op::send, .poster = 0, .incarnation = 0, .peer = 1, .bytes = 10, .lanes = each});
  }
  void place(std::uint32_t tag) {
    Placement placement;
    placement.kind = Placement::Kind::place;
    placement.complete = true;
    placement.length = 10;
    placement.tag = tag;
    ledger.placed({1, 0}, 0, placement);
  }
  void receive(std::uint32_t tag) {
    place(tag);
    ledger.completed({1, 0}, {1, 0, tag, 0, 10, Completion::Kind::received});
  }
  void complete(std::uint32_t tag, Completion::Kind kind) {
    ledger.completed({0, 0}, {0, 1, tag, Ledger::context_of(tag), 10, kind});
  }
  Ledger ledger;
};

TEST(Ledger, NothingOvertakesOnOneLane) {
  Fixture received({1, 1});
  received.receive(1);
  EXPECT_EQ(received.ledger.problem(), "operation 1 received before 0");

  Fixture sent({1, 1});
  sent.receive(0);
  sent.receive(1);
  sent.complete(1, Completion::Kind::sent);
  EXPECT_EQ(sent.ledger.problem(), "operation 1 completed before 0");
}

TEST(Ledger, OnOtherLanesAndWithoutThemAnyOrderIsFine) {
  for (const auto& lanes : std::vector<std::vector<std::uint32_t>>{{1, 2}, {3, 1}, {0, 0}}) {
    Fixture pair(lanes);
    for (const std::uint32_t tag : {1u, 0u}) {
      pair.receive(tag);
      pair.complete(tag, Completion::Kind::sent);
    }
    EXPECT_EQ(pair.ledger.problem(), "");
  }
}

TEST(Ledger, WhatFailedNeedNotArriveFirst) {
  Fixture pair({1, 1});
  pair.complete(0, Completion::Kind::failed);
  pair.receive(1);
  pair.complete(1, Completion::Kind::sent);
  EXPECT_EQ(pair.ledger.problem(), "");
}

TEST(Ledger, APacketIsPlacedOnceAndAMessageCompletedOnce) {
  Fixture placed({1});
  placed.place(0);
  placed.place(0);
  EXPECT_EQ(placed.ledger.problem(), "operation 0: packet 0 placed twice");

  Fixture completed({1});
  completed.receive(0);
  completed.complete(0, Completion::Kind::sent);
  completed.complete(0, Completion::Kind::sent);
  EXPECT_EQ(completed.ledger.problem(), "operation 0 completed twice");

  Fixture early({1});
  early.complete(0, Completion::Kind::sent);
  EXPECT_EQ(early.ledger.problem(), "operation 0 completed, but it never arrived");
}

}  // namespace
}  // namespace weft::dst
