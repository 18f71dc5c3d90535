#include "app/sim_traffic.hpp"

#include <gtest/gtest.h>

#include "sim/message_sim.hpp"

namespace weft::app {
namespace {

Traffic traffic_of(const TrafficOptions& options) {
  spec::Diagnostics diagnostics;
  auto traffic = load_traffic(options, {.gpus = 16, .line_rate = gigabits_per_second(100), .seed = 7}, diagnostics);
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

TrafficOptions poisson(const std::string& sizes) {
  TrafficOptions options;
  options.pattern = "poisson";
  options.sizes = sizes;
  options.load = "60%";
  options.duration = "5ms";
  return options;
}

// Progress is shown against it: what a run delivers, to the byte, although nobody has said how much that is.
TEST(SimTraffic, TheBytesOfRandomTrafficAreKnownBeforeTheRun) {
  for (const std::string sizes : {"fixed", "uniform", "web-search"}) {
    const Traffic traffic = traffic_of(poisson(sizes));
    const Delivered delivered = delivered_by(traffic);
    EXPECT_GT(delivered.flows, 10u) << sizes;
    EXPECT_EQ(traffic.total_bytes(), delivered.bytes) << sizes;
  }
}

TEST(SimTraffic, TheBytesOfRandomStreamsBesideOthersAreKnownBeforeTheRun) {
  TrafficOptions options;
  options.streams = {"web,pattern=poisson,load=20%,duration=2ms", "training,pattern=all-to-all,size=10KB,nodes=8"};
  const Traffic traffic = traffic_of(options);
  EXPECT_EQ(traffic.total_bytes(), delivered_by(traffic).bytes);
  EXPECT_GT(traffic.total_bytes(), 8u * 7 * 10'000);
}

TEST(SimTraffic, WhatIsKnownIsNotDrawn) {
  TrafficOptions options;
  options.pattern = "permutation";
  options.size = "1MB";
  EXPECT_EQ(traffic_of(options).total_bytes(), 16'000'000u);
}

TEST(SimTraffic, APatternIsAsItWasAskedFor) {
  TrafficOptions options;
  options.pattern = "permutation";
  options.nodes = 6;
  options.size = "3kB";
  options.arrivals = "paced";
  options.load = "30%";
  options.duration = "2ms";
  options.verb = "write";
  const Traffic traffic = traffic_of(options);
  EXPECT_EQ(traffic.pattern.name, "permutation");
  EXPECT_EQ(traffic.pattern.nodes, 6u);
  EXPECT_EQ(traffic.nodes, 6u);
  EXPECT_EQ(traffic.pattern.bytes, 3000u);
  EXPECT_EQ(traffic.pattern.arrivals, "paced");
  EXPECT_EQ(traffic.pattern.load_per_mille, 300u);
  EXPECT_EQ(traffic.pattern.duration, microseconds(2000));
  EXPECT_EQ(traffic.pattern.line_rate, gigabits_per_second(100));
  EXPECT_EQ(traffic.pattern.seed, 7u);
  EXPECT_EQ(traffic.verb, "write");
  EXPECT_TRUE(traffic.is_open_loop());
}

TEST(SimTraffic, StreamsAreAsTheyWereAskedFor) {
  TrafficOptions options;
  options.streams = {"a,pattern=permutation,size=3kB,nodes=6,first=2,arrivals=paced,load=30%,duration=2ms",
                     "b,pattern=incast,size=1kB,nodes=4,transport=tcp,verb=write"};
  const Traffic traffic = traffic_of(options);
  ASSERT_EQ(traffic.streams.size(), 2u);
  const TrafficStream& a = traffic.streams[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.first, 2u);
  EXPECT_EQ(a.pattern.nodes, 6u);
  EXPECT_EQ(a.pattern.bytes, 3000u);
  EXPECT_EQ(a.pattern.arrivals, "paced");
  EXPECT_EQ(a.pattern.load_per_mille, 300u);
  EXPECT_EQ(a.pattern.duration, microseconds(2000));
  EXPECT_EQ(a.pattern.seed, 7u);
  EXPECT_EQ(a.flows, 0u);
  const TrafficStream& b = traffic.streams[1];
  EXPECT_EQ(b.transport, "tcp");
  EXPECT_EQ(b.verb, "write");
  EXPECT_EQ(b.flows, 3u);
  EXPECT_NE(b.pattern.seed, 7u) << "each is drawn for itself";
  EXPECT_EQ(traffic.nodes, 8u) << "GPUs 2 to 7 and 0 to 3";
  EXPECT_EQ(traffic.flows, 0u) << "one of them is random";
}

TEST(SimTraffic, NothingOfNoSizeIsSent) {
  for (const char* size : {"0B", "-1B", "much"}) {
    spec::Diagnostics diagnostics;
    TrafficOptions options;
    options.size = size;
    EXPECT_FALSE(load_traffic(options, {.gpus = 16, .line_rate = {}, .seed = 7}, diagnostics)) << size;
    EXPECT_NE(spec::render_text(diagnostics, false).find("--size cannot be '"), std::string::npos) << size;
  }
}

}  // namespace
}  // namespace weft::app
