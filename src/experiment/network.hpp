#pragma once
// The network of a design as executors take it: configuration, faults, and a run of any schedule.

#include "experiment/experiment.hpp"
#include "experiment/faults.hpp"
#include "experiment/watch.hpp"
#include "sim/flow/flow_sim.hpp"
#include "sim/host/host_route.hpp"
#include "sim/packet/packet_sim.hpp"

namespace weft::experiment {

sim::SimConfig config_for(const model::Cluster& cluster, const Traffic& traffic, const Experiment& experiment);
sim::FlowConfig flow_config(const model::Cluster& cluster, const Traffic& traffic, const Experiment& experiment);

// htsim's hosts are a wire and nothing else.
bool has_hosts(const model::Cluster& cluster, const Traffic& traffic);

// Of the file and of the experiment.
std::vector<model::FaultSpec> all_faults(const Design& design, const Experiment& experiment);
FaultTaker taker_of(sim::PacketSim& engine);
FaultTaker taker_of(sim::FlowRoutes& routes);
// What transports that are programs cost their hosts.
void set_up_hosts(const Design& design, sim::PacketSim& engine);
// Tells an executor of faults; `diagnostics` hears what it cannot show.
void set_up_faults(const Design& design, const Traffic& traffic, const Experiment& experiment, const FaultTaker& taker,
                   spec::Diagnostics& diagnostics);

// A schedule as the first stream, of the file's transport and the first service, and those beside it. As traffic it
// says what travels how, and makes nothing.
Traffic work_and(const Traffic* beside);

// What kernels of collectives get of the links inside servers.
sim::HostRates rates_of_kernels(const model::Group& group);

// Any schedule as flows or packets, with what kernels get of the links inside servers. `beside`: streams that run at
// the same time and end with it; what comes back is of the schedule alone.
schedule::RunResult run_schedule(const Design& design, schedule::Schedule& schedule, const Traffic* beside,
                                 const Experiment& experiment, const sim::HostRates& rates, Watch& watch);

}  // namespace weft::experiment
