#include "experiment/run_traffic.hpp"

#include <algorithm>
#include <utility>

#include "experiment/graph_work.hpp"
#include "experiment/links.hpp"
#include "experiment/network.hpp"
#include "sim/flow/flow_sim.hpp"
#include "sim/host/local_work.hpp"
#include "sim/packet/link_balance.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/run/message_cost.hpp"

namespace weft::experiment {
namespace {

using schedule::RunResult;

void name_streams(const model::ClusterFile& file, std::span<const TrafficStream> streams,
                  std::vector<schedule::StreamRecord>& records) {
  records.resize(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    records[i].name = streams[i].run.name;
    records[i].open_loop = workload::is_open_loop(streams[i].run);
    records[i].transport = enum_name(streams[i].run.transport.value_or(file.transport.kind));
    records[i].flows = streams[i].flows;
    if (!file.switching.services.empty())
      records[i].service = streams[i].run.service.value_or(file.switching.services[0].name);
  }
}

RunResult run_as_flows(const Design& design, schedule::Schedule& schedule, const Traffic& traffic,
                       const Experiment& experiment, const sim::HostRates& rates, Watch& watch) {
  sim::FlowConfig config = flow_config(design.cluster(), traffic, experiment);
  config.rates = rates;
  sim::FlowRoutes routes(design.fabric(), config);
  spec::Diagnostics nothing;  // the names were checked before
  set_up_faults(design, traffic, experiment, taker_of(routes), nothing);
  const auto keep_going = [&](const schedule::Progress& progress) { return watch(progress); };
  return sim::run_flows(schedule, routes, {experiment.wanted.links, keep_going, watch.horizon()});
}

RunResult run_as_messages(const Design& design, schedule::Schedule& schedule, const GraphWork* graph,
                          const Experiment& experiment, Watch& watch) {
  const fabric::Fabric& fabric = design.fabric();
  sim::MessageConfig config;
  config.seed = experiment.seed;
  config.transfer = [&](std::uint32_t from, std::uint32_t to) {
    return sim::unloaded_cost(fabric, from, to).value_or(sim::TransferCost{});
  };
  config.local = [&](std::uint32_t rank, schedule::Instruction::Kind kind, std::uint64_t bytes) {
    return sim::local_time(fabric, rank, kind, bytes);
  };
  config.keep_going = [&](std::int64_t now, std::uint64_t events, std::uint64_t bytes) {
    return watch({Duration(now), events, bytes});
  };
  config.horizon = watch.horizon();
  if (graph == nullptr) return sim::run_messages(schedule, config);
  // Where a group meets nothing is sent.
  config.costs_itself = [&](std::uint64_t tag) { return graph->is_together(tag); };
  RunResult result = sim::run_messages(schedule, config);
  std::erase_if(result.flows, [&](const schedule::FlowRecord& flow) { return graph->is_together(flow.tag); });
  return result;
}

// The link with the longest queue, of those the busiest: what the summary says of links.
void keep_fullest(const sim::PacketSim& engine, RunResult& result) {
  const sim::Layout& layout = engine.layout();
  const auto link = [&](std::uint32_t port) -> const sim::Link& { return layout.link(layout.far(port).link); };
  const auto fullness = [&](std::uint32_t port) {
    const sim::Port& each = engine.port(port);
    return std::pair(link(port).bytes_in(each.peak), each.bytes * static_cast<std::uint64_t>(link(port).per_byte));
  };
  std::optional<std::uint32_t> fullest;
  for (std::uint32_t port = 0; port < layout.ports(); ++port)
    if (engine.port(port).packets > 0 && (!fullest || fullness(port) > fullness(*fullest))) fullest = port;
  if (!fullest) return;
  schedule::LinkRecord& record = result.links.emplace_back();
  record.from = layout.name_of_end(*fullest);
  record.to = layout.name_of_end(layout.reverse(*fullest));
  record.peak_bytes = fullness(*fullest).first;
}

void run_as_packets(const Design& design, schedule::Schedule& schedule, const Traffic& traffic,
                    const Experiment& experiment, const sim::HostRates& rates, Watch& watch, Outcome& out) {
  sim::PacketSim engine(design.fabric(), config_for(design.cluster(), traffic, experiment));
  spec::Diagnostics nothing;  // the names were checked before
  set_up_hosts(design, engine);
  set_up_faults(design, traffic, experiment, taker_of(engine), nothing);
  for (const NamedLink& link : find_links(engine.layout(), experiment.wanted.capture, {"--capture"}, nothing)) {
    engine.capture(link.port);
    out.capture.links.push_back(link.name);
  }
  out.capture.stack = engine.config().stack;
  engine.on_progress = [&](const schedule::Progress& progress) { return watch(progress); };
  out.result = sim::PacketRun(schedule, engine, has_hosts(design.cluster(), traffic), rates).run();
  out.capture.packets = engine.captured();
  out.fullest_link = sim::fullest_link(engine);
  if (experiment.wanted.links) {
    engine.collect_links(out.result, SIZE_MAX);
  } else {
    keep_fullest(engine, out.result);
  }
}

}  // namespace

Outcome run_traffic(const Design& design, const Traffic& traffic, const Experiment& experiment,
                    const Observer& observer) {
  Watch watch(experiment.limits, observer);
  Outcome out;
  std::optional<GraphWork> graph;
  if (traffic.graph) graph.emplace(design, *traffic.graph, experiment);
  const std::unique_ptr<schedule::Schedule> made = graph ? nullptr : traffic.make();
  schedule::Schedule& schedule = graph ? graph->schedule() : *made;
  sim::HostRates rates;
  if (graph && !traffic.graph->shared.empty()) rates = rates_of_kernels(design.cluster().groups[0]);
  switch (experiment.fidelity) {
    case Fidelity::message:
      out.result = run_as_messages(design, schedule, graph ? &*graph : nullptr, experiment, watch);
      break;
    case Fidelity::flow:
      out.result = run_as_flows(design, schedule, traffic, experiment, rates, watch);
      break;
    case Fidelity::packet:
      run_as_packets(design, schedule, traffic, experiment, rates, watch, out);
      break;
  }
  if (!watch.stopped_by().empty()) out.result.stopped_by = watch.stopped_by();
  out.stopped_by = out.result.stopped_by;
  if (graph) out.together = graph->together(out.result);
  out.result.all_flows = traffic.flows;
  name_streams(design.cluster().file, traffic.named(), out.result.streams);
  return out;
}

}  // namespace weft::experiment
