#pragma once
// The executors that know links, for tests of plans.

#include "collective/carried.hpp"
#include "collective/sharing.hpp"
#include "collective/testing_team.hpp"
#include "sim/flow/flow_sim.hpp"
#include "sim/packet/packet_run.hpp"

namespace weft::collective::testing {

// Four servers to a scalable unit: what stays in one crosses leaves and no spine.
inline const char* const kRails =
    "{kind: rail-optimized, scalable_unit: 4, spines: 4, link: {rate: 400Gbps, cable: 5m}}";

enum class Network : std::uint8_t { spread, hashed };  // packets over all paths, or each pair of NICs over one

inline sim::HostRates host_rates() { return {generation_of("h100").scale_up_per_mille, kPciePerMille}; }

inline Carry by_flows(const fabric::Fabric& fabric, Network network, std::uint64_t seed = 1) {
  return [&fabric, network, seed](schedule::Schedule& work) {
    sim::FlowConfig config;
    config.seed = seed;
    config.cut_through = true;
    config.split = network == Network::spread;
    config.hosts = true;
    config.rates = host_rates();
    sim::FlowRoutes routes(fabric, config);
    schedule::RunResult result = sim::run_flows(work, routes, {.with_links = true, .keep_going = {}});
    EXPECT_EQ(result.unfinished, 0u);
    return result;
  };
}

inline Carry by_packets(const fabric::Fabric& fabric, Network network, std::uint64_t seed = 1) {
  return [&fabric, network, seed](schedule::Schedule& work) {
    sim::SimConfig config;
    config.seed = seed;
    config.cut_through = true;
    config.balance = network == Network::spread ? sim::Balance::entropy : sim::Balance::ecmp;
    const sim::FlowConfig flows;  // packets of the same length
    config.stack.srd.payload = flows.payload;
    config.stack.srd.header = config.header = flows.header;
    config.full_packet = flows.payload + flows.header;
    sim::PacketSim engine(fabric, config);
    schedule::RunResult result = sim::PacketRun(work, engine, true, host_rates()).run();
    EXPECT_EQ(result.unfinished, 0u);
    return result;
  };
}

}  // namespace weft::collective::testing
