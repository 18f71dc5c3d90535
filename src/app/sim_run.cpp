#include "app/sim_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/build_info.hpp"
#include "app/fingerprint.hpp"
#include "sim/packet_sim.hpp"

namespace weft::app {
namespace {

using schedule::FlowRecord;
using schedule::RunResult;
using spec::Complaint;

// The NIC port a GPU sends and receives with: the first of its nearest card.
std::uint32_t endpoint_of_gpu(const fabric::Fabric& fabric, std::uint32_t gpu) {
  const fabric::Node at = fabric.describe(fabric.gpu(gpu));
  const model::Group& group = fabric.cluster().groups[at.group];
  const std::uint32_t nic = group.diagram.near_nics[at.local][0];
  return fabric.endpoint(group.first_nic + (at.server - group.first_server) * group.nics() + nic, 0);
}

std::vector<sim::Flow> flows_between_endpoints(const fabric::Fabric& fabric, const workload::Matrix& matrix) {
  std::vector<sim::Flow> flows;
  flows.reserve(matrix.flows.size());
  for (const workload::MatrixFlow& flow : matrix.flows)
    flows.push_back({endpoint_of_gpu(fabric, flow.source), endpoint_of_gpu(fabric, flow.destination), flow.bytes, flow.start});
  return flows;
}

sim::SimConfig config_for(const model::Cluster& cluster, const workload::Matrix& matrix, std::uint64_t seed) {
  sim::SimConfig config;
  config.seed = seed;
  // Triggers act on other hosts without delay, which only a run in time order can keep exact.
  config.in_time_order = !matrix.triggers.empty();
  const model::TransportSpec& transport = cluster.file.transport;
  if (transport.mtu.count() > 0) config.srd.payload = static_cast<std::uint32_t>(transport.mtu.count());
  config.srd.paths = static_cast<std::uint32_t>(std::clamp<std::int64_t>(transport.paths, 1, 64));
  return config;
}

// Starts the flows of a matrix on an engine and writes down what becomes of them.
class Driver {
 public:
  Driver(sim::PacketSim& engine, const workload::Matrix& matrix, std::vector<sim::Flow> flows)
      : engine_(engine), matrix_(matrix), flows_(std::move(flows)), triggers_(matrix), records_(flows_.size()) {
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const workload::MatrixFlow& flow = matrix.flows[i];
      records_[i] = {flow.source, flow.destination, flow.bytes, schedule::kNotYet, schedule::kNotYet, schedule::kNotYet, engine.unloaded(flows_[i])};
      if (flow.started_by == workload::kNoTrigger) begin(i, flow.start);
    }
    engine.on_sent = [this](std::uint32_t index, std::int64_t now) {
      records_[index].sent = now;
      end_ = std::max(end_, now);
      delivered_ += records_[index].bytes;
      fire(matrix_.flows[index].when_sent, now);
    };
    engine.on_received = [this](std::uint32_t index, std::int64_t now) {
      records_[index].received = now;
      fire(matrix_.flows[index].when_received, now);
    };
  }
  std::uint64_t delivered() const { return delivered_; }
  std::int64_t end() const { return end_; }
  std::vector<FlowRecord> take_records() { return std::move(records_); }

 private:
  void begin(std::uint32_t index, std::int64_t now) {
    records_[index].start = now;
    sim::Flow flow = flows_[index];
    flow.start = now;
    engine_.start(index, flow);
  }
  void fire(std::uint32_t trigger, std::int64_t now) {
    if (trigger == workload::kNoTrigger) return;
    for (const std::uint32_t next : triggers_.fire(trigger)) begin(next, now);
  }

  sim::PacketSim& engine_;
  const workload::Matrix& matrix_;
  std::vector<sim::Flow> flows_;
  workload::Triggers triggers_;
  std::vector<FlowRecord> records_;
  std::uint64_t delivered_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace

void check_coverage(Session& session, const Traffic& traffic) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const fabric::Fabric& fabric = session.fabric();
  if (!fabric.has_network()) {
    diagnostics.add(Complaint::not_simulated, {}, "this cluster has no network", "a fabric other than none");
    return;
  }
  if (const auto* dragonfly = fabric.dragonfly(); dragonfly && dragonfly->shape().routing != model::DragonflyRouting::minimal)
    diagnostics.add(Complaint::not_simulated, session.place("fabric", "routing"), "only minimal Dragonfly routes are simulated so far",
                    "routing: minimal");
  if (session.cluster().file.transport.kind != "srd" && session.cluster().file.fabric.kind != "topo")
    diagnostics.add(Complaint::not_simulated, session.place("transport", "kind"),
                    fmt::format("transport '{}' is not simulated yet", session.cluster().file.transport.kind), "--set transport.kind=srd");
  const auto site_of = [&](std::uint32_t endpoint) {
    return fabric.cluster().groups[fabric.describe(fabric.nic_of(endpoint)).group].site;
  };
  const sim::PacketSim engine(fabric, config_for(session.cluster(), traffic.matrix, 0));
  for (const sim::Flow& flow : flows_between_endpoints(fabric, traffic.matrix)) {
    if (site_of(flow.source) != site_of(flow.destination)) {
      diagnostics.add(Complaint::srd_between_sites, {}, "a flow goes from one site to another", "keep the traffic within a site");
      return;
    }
    if (!engine.reachable(flow.source, flow.destination)) {
      diagnostics.add(Complaint::not_simulated, {}, "a flow needs NVLink to change its rail, which is not simulated yet",
                      "traffic within a rail, or another fabric");
      return;
    }
  }
}

RunResult run_packets(const Session& session, const Traffic& traffic, std::uint64_t seed, Watch& watch) {
  sim::PacketSim engine(session.fabric(), config_for(session.cluster(), traffic.matrix, seed));
  Driver driver(engine, traffic.matrix, flows_between_endpoints(session.fabric(), traffic.matrix));
  engine.on_window = [&](std::int64_t now) { watch({now, 0, driver.delivered()}); };
  const sim::SimResult counted = engine.run();
  watch.finish();

  RunResult result;
  result.executor = "packet";
  result.seed = seed;
  result.digest = counted.digest;
  result.end = driver.end();
  result.stopped_by = watch.stopped_by();
  result.counters = {counted.events, counted.packet_hops, counted.data_sent, counted.data_resent, counted.acks_sent,
                     counted.marked, counted.trimmed,     counted.dropped,   0,                   counted.timeouts};
  result.flows = driver.take_records();
  return result;
}

report::RunInfo run_info(Session& session, const InputOptions& input, const Traffic& traffic) {
  const spec::Sources& sources = session.diagnostics().sources();
  Fingerprint fingerprint;
  if (const std::uint32_t file = sources.find(session.file().string()); file != 0) fingerprint.add(sources.text(file));
  for (const std::string& change : input.set) fingerprint.add(change);
  fingerprint.add(input.catalog);
  fingerprint.add(traffic.fingerprint);
  report::RunInfo info;
  info.cluster = session.cluster().name;
  info.traffic = traffic.name;
  info.version = build_info().version;
  info.commit = build_info().commit;
  info.configuration = fingerprint.value();
  return info;
}

}  // namespace weft::app
