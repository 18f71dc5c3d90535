#include "why/network_probe.hpp"

#include <gtest/gtest.h>

#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using testing::Bench;

TEST(NetworkProbe, SaysWhatBecameOfThePackets) {
  Bench bench("{kind: hgx-h100, count: 2}");
  const NetworkProbe packets = probe_network(*bench.design, bench.job(16), false);
  ASSERT_TRUE(packets.done());
  EXPECT_EQ(packets.fidelity, experiment::Fidelity::packet);
  EXPECT_EQ(packets.cut_off, 0u);
  EXPECT_GT(packets.counters.data_sent, 0u);
  EXPECT_GE(packets.counters.packet_hops, packets.counters.data_sent);
  EXPECT_EQ(packets.counters.lost, 0u);
  EXPECT_GT(packets.left_per_mille, 900) << "nobody is in the way on one switch";
}

TEST(NetworkProbe, OneServerNeedsNone) {
  Bench bench("{kind: hgx-h100, count: 1}");
  const NetworkProbe none = probe_network(*bench.design, bench.job(8), false);
  EXPECT_FALSE(none.done());
  EXPECT_EQ(none.counters.data_sent, 0u);
  EXPECT_EQ(none.left_per_mille, 1'000);
}

TEST(NetworkProbe, WhereNothingIsPausedNobodyIsChargedForIt) {
  Bench bench("{kind: hgx-h100, count: 2}");
  const NetworkProbe packets = probe_network(*bench.design, bench.job(16), false);
  EXPECT_EQ(packets.counters.pauses, 0u);
  EXPECT_EQ(packets.paused_per_mille, 0);
  EXPECT_EQ(packets.resent_per_mille, 0);
}

TEST(NetworkProbe, WhatFaultsLoseIsSentAgain) {
  NetworkProbe probe;
  probe.left_per_mille = 400;
  probe.paused_per_mille = 100;
  probe.resent_per_mille = 50;
  NetworkProbe healthy;
  healthy.left_per_mille = 800;
  charge_loss(healthy, probe);
  EXPECT_EQ(probe.resent_per_mille, 500) << "it takes twice as long, and pauses have the rest";
  probe.resent_per_mille = 50;
  healthy.left_per_mille = 400;
  charge_loss(healthy, probe);
  EXPECT_EQ(probe.resent_per_mille, 50) << "no longer than without: as counted";
  probe.slow_per_mille = 450;
  healthy.left_per_mille = 1'000;
  charge_loss(healthy, probe);
  EXPECT_EQ(probe.resent_per_mille, 50) << "of 600 that are lost slow NICs and pauses have 550";
}

// Losses have one sum, whoever is charged first.
TEST(NetworkProbe, NobodyIsChargedForMoreThanIsLost) {
  NetworkProbe probe;
  probe.left_per_mille = 400;
  probe.paused_per_mille = 300;
  probe.resent_per_mille = 200;
  NetworkProbe healthy;
  healthy.left_per_mille = 800;
  charge_slow_nics(healthy, probe);
  EXPECT_EQ(probe.slow_per_mille, 500) << "it takes twice as long";
  EXPECT_EQ(probe.paused_per_mille, 100);
  EXPECT_EQ(probe.resent_per_mille, 0);
}

}  // namespace
}  // namespace weft::why
