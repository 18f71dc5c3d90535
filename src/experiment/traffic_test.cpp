#include "experiment/traffic.hpp"

#include <gtest/gtest.h>

#include "sim/run/message_sim.hpp"

namespace weft::experiment {
namespace {

Traffic traffic_of(const std::vector<std::string>& texts) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  std::vector<model::TrafficRun> runs;
  for (const std::string& text : texts) runs.push_back(model::read_traffic(text, catalog, diagnostics));
  auto traffic = make_traffic(runs, {.gpus = 16, .line_rate = gigabits_per_second(100), .seed = 7}, diagnostics);
  EXPECT_TRUE(traffic) << spec::render_text(diagnostics, false);
  return traffic ? std::move(*traffic) : Traffic{};
}

struct Delivered {
  std::uint64_t flows = 0;
  std::uint64_t bytes = 0;
};
Delivered delivered_by(const Traffic& traffic) {
  sim::MessageConfig config;
  config.transfer = [](std::uint32_t, std::uint32_t) { return sim::TransferCost{}; };
  const auto schedule = traffic.make();
  const auto flows = sim::run_messages(*schedule, config).flows;
  Delivered all{flows.size(), 0};
  for (const schedule::FlowRecord& flow : flows) all.bytes += flow.bytes;
  return all;
}

// Progress is shown against it: what a run delivers, to the byte, although nobody has said how much that is.
TEST(Traffic, TheBytesOfRandomTrafficAreKnownBeforeTheRun) {
  for (const std::string sizes : {"fixed", "uniform", "web-search"}) {
    const Traffic traffic = traffic_of({"web,pattern=poisson,load=60%,duration=5ms,sizes=" + sizes});
    const Delivered delivered = delivered_by(traffic);
    EXPECT_GT(delivered.flows, 10u) << sizes;
    EXPECT_EQ(traffic.total_bytes(), delivered.bytes) << sizes;
  }
}

TEST(Traffic, TheBytesOfRandomStreamsBesideOthersAreKnownBeforeTheRun) {
  const Traffic traffic =
      traffic_of({"web,pattern=poisson,load=20%,duration=2ms", "training,pattern=all-to-all,size=10KB,nodes=8"});
  EXPECT_EQ(traffic.total_bytes(), delivered_by(traffic).bytes);
  EXPECT_GT(traffic.total_bytes(), 8u * 7 * 10'000);
}

TEST(Traffic, WhatIsKnownIsNotDrawn) {
  EXPECT_EQ(traffic_of({"x,pattern=permutation,size=1MB"}).total_bytes(), 16'000'000u);
}

TEST(Traffic, StreamsAreAsTheyWereAskedFor) {
  const Traffic traffic =
      traffic_of({"a,pattern=permutation,size=3kB,nodes=6,first=2,arrivals=paced,load=30%,duration=2ms",
                  "b,pattern=incast,size=1kB,nodes=4,transport=tcp,verb=write"});
  ASSERT_EQ(traffic.streams.size(), 2u);
  const TrafficStream& a = traffic.streams[0];
  EXPECT_EQ(a.run.name, "a");
  EXPECT_EQ(a.run.first, 2);
  EXPECT_EQ(a.ground.nodes, 6u);
  EXPECT_EQ(a.run.size, Bytes(3000));
  EXPECT_EQ(a.run.arrivals, model::FlowArrivals::paced);
  EXPECT_EQ(a.run.load, Share(300'000));
  EXPECT_EQ(a.run.duration, microseconds(2000));
  EXPECT_EQ(a.ground.line_rate, gigabits_per_second(100));
  EXPECT_EQ(a.ground.seed, 7u);
  EXPECT_EQ(a.flows, 0u);
  const TrafficStream& b = traffic.streams[1];
  EXPECT_EQ(b.run.transport, model::TransportKind::tcp);
  EXPECT_EQ(b.run.verb, model::Verb::write);
  EXPECT_EQ(b.flows, 3u);
  EXPECT_NE(b.ground.seed, 7u) << "each is drawn for itself";
  EXPECT_EQ(traffic.nodes, 8u) << "GPUs 2 to 7 and 0 to 3";
  EXPECT_EQ(traffic.flows, 0u) << "one of them is random";
  EXPECT_FALSE(traffic.is_open_loop()) << "one of them is not";
}

TEST(Traffic, OneStreamWithoutANameIsAllThereIs) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  model::TrafficRun run = model::read_traffic("x,pattern=ring,size=1MB", catalog, diagnostics);
  const TrafficGround ground{.gpus = 16, .line_rate = gigabits_per_second(100), .seed = 7};
  EXPECT_EQ(make_traffic({run}, ground, diagnostics)->named().size(), 1u);
  run.name.clear();
  const auto alone = make_traffic({run}, ground, diagnostics);
  EXPECT_TRUE(alone->named().empty());
  EXPECT_EQ(alone->name, "ring of 16 nodes, 1MB each");
}

}  // namespace
}  // namespace weft::experiment
