#include "experiment/network.hpp"

#include <optional>

#include "collective/constants.hpp"
#include "experiment/packet_config.hpp"
#include "sim/packet/packet_run.hpp"
#include "workload/beside.hpp"

namespace weft::experiment {
namespace {

// A flow is one path where hosts do not change it and switches only hash.
bool is_split(model::Balance balance, transport::Protocol protocol) {
  if (balance == model::Balance::ecmp || balance == model::Balance::pinned) return false;
  return balance != model::Balance::entropy || transport::describe(protocol).many_paths;
}

}  // namespace

sim::SimConfig config_for(const model::Cluster& cluster, const Traffic& traffic, const Experiment& experiment) {
  sim::SimConfig config = packet_config(cluster, traffic.named());
  if (traffic.named().empty() && !traffic.streams.empty()) {
    config.verbs = {op_of(traffic.streams[0].run.verb)};
    config.tagged = {traffic.streams[0].run.verb == model::Verb::tagged};
  }
  config.seed = experiment.seed;
  config.threads = experiment.threads;
  config.sample = experiment.wanted.sample;
  // Triggers act on other hosts without delay, which only a run in time order can keep exact.
  config.in_time_order = traffic.matrix && !traffic.matrix->triggers.empty();
  return config;
}

sim::FlowConfig flow_config(const model::Cluster& cluster, const Traffic& traffic, const Experiment& experiment) {
  const sim::SimConfig packets = packet_config(cluster, traffic.named());
  sim::FlowConfig config;
  config.seed = experiment.seed;
  config.payload = packets.payload();
  config.header = packets.header;
  config.cut_through = packets.cut_through;
  const transport::Protocol protocol = packets.streams.empty() ? packets.protocol : packets.streams[0];
  const model::Balance balance = cluster.file.transport.balance;
  config.split = is_split(balance, protocol);
  if (packets.balance == sim::Balance::pinned) config.pins = packets.pins;
  const transport::Connections connections = transport::connections_of(protocol, packets.stack);
  config.queues = connections.count;
  if (connections.split_above) config.whole = *connections.split_above;
  config.path_of = connections.path;
  // SRD and UET leave slow paths where the choice is theirs, adaptive switches long queues.
  config.adapts = balance == model::Balance::entropy || balance == model::Balance::adaptive;
  config.hosts = has_hosts(cluster, traffic);
  return config;
}

bool has_hosts(const model::Cluster& cluster, const Traffic& traffic) {
  return traffic.hosts && cluster.file.fabric.kind != model::FabricKind::topo;
}

std::vector<model::FaultSpec> all_faults(const Design& design, const Experiment& experiment) {
  std::vector<model::FaultSpec> faults = design.cluster().file.faults;
  faults.insert(faults.end(), experiment.faults.begin(), experiment.faults.end());
  return faults;
}

FaultTaker taker_of(sim::PacketSim& engine) {
  const auto add = [&engine](std::uint32_t port, const sim::Condition& condition) {
    // Cells of one packet are on all links between switches at once.
    const sim::Layout& layout = engine.layout();
    const bool of_a_host = layout.is_host(layout.owner(port)) || layout.is_host(layout.far(port).entity);
    if (engine.config().exact.is_scheduled() && !of_a_host) return false;
    // What is dead from the start and for good, routing protocols know everywhere, as at the other levels.
    const bool always = condition.from == 0 && condition.to == sim::kForever && condition.period == 0;
    if (always && condition.kind == sim::Condition::Kind::down && !of_a_host && layout.fabric().clos() != nullptr)
      engine.remove_link(port);
    else
      engine.add_condition(port, condition);
    return true;
  };
  const auto slow = [&engine](std::uint32_t endpoint, std::uint32_t millionths) {
    if (engine.config().exact.on) engine.slow_receiver(endpoint, millionths);
    return engine.config().exact.on;
  };
  const auto software = [&engine](std::uint32_t endpoint) {
    return engine.config().exact.on ? nullptr : &engine.software_of(endpoint);
  };
  return {engine.layout(),
          add,
          [&engine](std::uint32_t port) { engine.remove_link(port); },
          slow,
          software,
          "a scheduled fabric",
          "a fault of a host's link, or another flow_control"};
}

FaultTaker taker_of(sim::FlowRoutes& routes) {
  const auto add = [&routes](std::uint32_t port, const sim::Condition& condition) {
    return routes.add_condition(port, condition);
  };
  return {routes.layout(),
          add,
          [&routes](std::uint32_t port) { routes.remove_link(port); },
          [](std::uint32_t, std::uint32_t) { return false; },
          [](std::uint32_t) { return nullptr; },
          "flows",
          "down or slow from the start and for good, or --fidelity packet"};
}

void set_up_hosts(const Design& design, sim::PacketSim& engine) {
  for (std::uint32_t endpoint = 0; endpoint < engine.layout().endpoints(); ++endpoint) {
    const fabric::Fabric& fabric = design.fabric();
    const auto& host = design.cluster().groups[fabric.describe(fabric.nic_of(endpoint)).group].spec.host;
    if (host)
      engine.software_of(endpoint).set_costs(
          {host->call.count(), host->packet.count(), host->train.count(), host->merged.count(), host->buffer.count()});
  }
}

void set_up_faults(const Design& design, const Traffic& traffic, const Experiment& experiment, const FaultTaker& taker,
                   spec::Diagnostics& diagnostics) {
  add_faults(all_faults(design, experiment), taker, diagnostics);
  if (traffic.matrix) add_failures(*traffic.matrix, taker, diagnostics);
}

Traffic work_and(const Traffic* beside) {
  Traffic all;
  if (beside == nullptr) return all;
  all.streams.emplace_back().run.name = "work";
  all.streams.insert(all.streams.end(), beside->streams.begin(), beside->streams.end());
  return all;
}

sim::HostRates rates_of_kernels(const model::Group& group) {
  return {collective::generation_of(group.spec.gpu.kind).scale_up_per_mille, collective::kPciePerMille};
}

schedule::RunResult run_schedule(const Design& design, schedule::Schedule& schedule, const Traffic* beside,
                                 const Experiment& experiment, const sim::HostRates& rates, Watch& watch) {
  const Traffic all = work_and(beside);
  spec::Diagnostics nothing;  // what could be wrong was said before
  const auto keep_going = [&](const schedule::Progress& progress) { return watch(progress); };
  std::optional<workload::Beside> both;
  if (beside != nullptr) both.emplace(schedule, beside->make());
  schedule::Schedule& work = both ? static_cast<schedule::Schedule&>(*both) : schedule;
  schedule::RunResult result;
  if (experiment.fidelity == Fidelity::flow) {
    sim::FlowConfig config = flow_config(design.cluster(), all, experiment);
    config.rates = rates;
    sim::FlowRoutes routes(design.fabric(), config);
    set_up_faults(design, all, experiment, taker_of(routes), nothing);
    result = sim::run_flows(work, routes, {experiment.wanted.links, keep_going, watch.horizon()});
  } else {
    sim::PacketSim engine(design.fabric(), config_for(design.cluster(), all, experiment));
    set_up_hosts(design, engine);
    set_up_faults(design, all, experiment, taker_of(engine), nothing);
    engine.on_progress = keep_going;
    sim::PacketRun run(work, engine, has_hosts(design.cluster(), all), rates);
    result = both ? run.run([&](std::uint32_t rank) { return both->lanes_of_work(rank); }) : run.run();
    if (experiment.wanted.links) engine.collect_links(result, SIZE_MAX);
  }
  std::erase_if(result.flows, [](const schedule::FlowRecord& flow) { return flow.stream != 0; });
  return result;
}

}  // namespace weft::experiment
