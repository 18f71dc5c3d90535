#include "app/sim_traffic.hpp"

#include <gtest/gtest.h>

#include "sim/run/message_sim.hpp"

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

}  // namespace
}  // namespace weft::app
