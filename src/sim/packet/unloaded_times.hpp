#pragma once
// What a flow takes when nothing else is on its way: what slowdown is measured against.
//
// Out of its server a stripe goes part by part (packet_run.hpp). Where the way to the NIC is faster than the NIC, the
// NIC begins with the first part and never waits again; where it is slower, the NIC waits for each part, and sends
// the last one when all is there. Data that rest on their way, and reads, are taken to cost their latency inside: what
// that costs beyond shows as slowdown.

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/result.hpp"
#include "sim/host/host_route.hpp"
#include "sim/host/stripes.hpp"
#include "sim/packet/packet_sim.hpp"

namespace weft::sim {

class UnloadedTimes {
 public:
  // `routes`: null where nothing inside servers counts.
  UnloadedTimes(PacketSim& engine, HostRoutes* routes) : engine_(engine), routes_(routes) {}

  std::int64_t of(const schedule::FlowRecord& flow);

 private:
  struct PathOut {  // of a stripe, to its NIC
    Duration latency;
    Bandwidth rate;  // that it has; 0: it takes no time
    bool rests = false;
    std::uint64_t bytes = 0;  // at least, of each stripe
  };
  PathOut path_out(std::uint32_t from, std::uint64_t bytes, std::uint64_t stripes);
  PacketSim::Cut cut_of(const schedule::FlowRecord& flow, std::uint64_t bytes, std::span<const NicPair> stripes) const;
  std::int64_t of_send(const schedule::FlowRecord& flow, const Flow& stripe, const PacketSim::Cut& cut,
                       const PathOut& out);
  std::int64_t of_read(const schedule::FlowRecord& flow, const Flow& stripe, const PacketSim::Cut& cut,
                       const PathOut& out);
  std::int64_t sooner(const schedule::FlowRecord& flow, std::int64_t alone, const Flow& stripe,
                      const PacketSim::Cut& cut) const;
  fabric::NodeId nic(std::uint32_t endpoint) const { return engine_.layout().fabric().nic_of(endpoint); }

  PacketSim& engine_;
  HostRoutes* routes_;
  std::vector<NicPair> pairs_;  // of the flow at hand
};

}  // namespace weft::sim
