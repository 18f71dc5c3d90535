#include "app/sim_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/build_info.hpp"
#include "app/fingerprint.hpp"
#include "app/sim_capture.hpp"
#include "base/units.hpp"
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
    flows.push_back(
        {endpoint_of_gpu(fabric, flow.source), endpoint_of_gpu(fabric, flow.destination), flow.bytes, flow.start});
  return flows;
}

std::int64_t sample_interval(const std::string& text) {
  const auto interval = parse<DurationDimension>(text);
  return interval ? interval->count() : 0;
}

sim::SimConfig config_for(const model::Cluster& cluster, const workload::Matrix& matrix, const RunOptions& options) {
  sim::SimConfig config;
  config.seed = options.seed;
  config.threads = options.threads;
  config.sample = sample_interval(options.sample);
  // Triggers act on other hosts without delay, which only a run in time order can keep exact.
  config.in_time_order = !matrix.triggers.empty();
  const model::TransportSpec& transport = cluster.file.transport;
  const model::SwitchingSpec& switching = cluster.file.switching;
  config.srd.payload = static_cast<std::uint32_t>(transport.mtu.value_or(Bytes(4096)).count());
  config.srd.paths = static_cast<std::uint32_t>(transport.paths);
  config.cut_through = switching.forwarding.value_or("cut-through") == "cut-through";
  config.fifo = switching.classes == "one";
  config.trimming = switching.full == "trim";
  config.queue_bytes = switching.queue.value_or(Bytes(0)).count();
  config.mark_from = static_cast<std::uint32_t>(switching.mark_from.count());
  config.mark_to = static_cast<std::uint32_t>(switching.mark_to.count());
  if (transport.balance == "ecmp") config.balance = sim::Balance::ecmp;
  if (transport.balance == "spray") config.balance = sim::Balance::spray;
  return config;
}

// Starts the flows of a matrix on an engine and writes down what becomes of them. Calls about different hosts come
// from different threads: the two ends of a flow write different members of its record, and triggers, which
// reach across hosts, are run on one thread.
class Driver : public sim::Client {
 public:
  Driver(sim::PacketSim& engine, const workload::Matrix& matrix, std::vector<sim::Flow> flows)
      : engine_(engine), matrix_(matrix), flows_(std::move(flows)), triggers_(matrix), records_(flows_.size()) {
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const workload::MatrixFlow& flow = matrix.flows[i];
      records_[i] = {flow.source,       flow.destination,          flow.bytes, schedule::kNotYet, schedule::kNotYet,
                     schedule::kNotYet, engine.unloaded(flows_[i])};
      if (flow.started_by == workload::kNoTrigger) begin(i, flow.start);
    }
  }
  void completed(std::int64_t now, const transport::Completion& done) override {
    if (done.kind == transport::Completion::Kind::failed) return;  // shows as a flow that is not done
    const bool sent = done.kind == transport::Completion::Kind::sent;
    FlowRecord& record = records_[done.tag];
    (sent ? record.sent : record.received) = now;
    const workload::MatrixFlow& flow = matrix_.flows[done.tag];
    const std::uint32_t trigger = sent ? flow.when_sent : flow.when_received;
    if (trigger == workload::kNoTrigger) return;
    for (const std::uint32_t next : triggers_.fire(trigger)) begin(next, now);
  }
  void called(std::int64_t, std::uint32_t, std::uint32_t) override {}
  std::vector<FlowRecord> take_records() { return std::move(records_); }

 private:
  void begin(std::uint32_t index, std::int64_t now) {
    records_[index].start = now;
    engine_.post(now, flows_[index].source, flows_[index].destination, flows_[index].bytes, index);
  }

  sim::PacketSim& engine_;
  const workload::Matrix& matrix_;
  std::vector<sim::Flow> flows_;
  workload::Triggers triggers_;
  std::vector<FlowRecord> records_;
};

void check_transport(Session& session) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const model::TransportSpec& transport = session.cluster().file.transport;
  if (session.cluster().file.fabric.kind == "topo") return;  // htsim's files name no transport
  if (transport.kind != "srd")
    diagnostics.add(Complaint::not_simulated, session.place("transport", "kind"),
                    fmt::format("transport '{}' is not simulated yet", transport.kind), "--set transport.kind=srd");
  if (transport.balance != "entropy" && transport.balance != "ecmp" && transport.balance != "spray")
    diagnostics.add(Complaint::not_simulated, session.place("transport", "balance"),
                    fmt::format("balance '{}' is not simulated yet", transport.balance),
                    "--set transport.balance=entropy");
}

void check_flows(Session& session, const Traffic& traffic, const sim::PacketSim& engine) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const fabric::Fabric& fabric = session.fabric();
  const auto site_of = [&](std::uint32_t endpoint) {
    return fabric.cluster().groups[fabric.describe(fabric.nic_of(endpoint)).group].site;
  };
  for (const sim::Flow& flow : flows_between_endpoints(fabric, traffic.matrix)) {
    if (site_of(flow.source) != site_of(flow.destination)) {
      diagnostics.add(Complaint::srd_between_sites, {}, "a flow goes from one site to another",
                      "keep the traffic within a site");
      return;
    }
    if (!engine.layout().reachable(flow.source, flow.destination)) {
      diagnostics.add(Complaint::not_simulated, {},
                      "a flow needs NVLink to change its rail, which is not simulated yet",
                      "traffic within a rail, or another fabric");
      return;
    }
  }
}

}  // namespace

void check_run(Session& session, const Traffic& traffic, const RunOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const fabric::Fabric& fabric = session.fabric();
  if (!options.sample.empty() && sample_interval(options.sample) <= 0)
    diagnostics.add(Complaint::wrong_type, {}, fmt::format("--sample cannot be '{}'", options.sample),
                    "for example --sample 1us");
  if (!fabric.has_network()) {
    diagnostics.add(Complaint::not_simulated, {}, "this cluster has no network", "a fabric other than none");
    return;
  }
  if (const auto* dragonfly = fabric.dragonfly();
      dragonfly && dragonfly->shape().routing != model::DragonflyRouting::minimal)
    diagnostics.add(Complaint::not_simulated, session.place("fabric", "routing"),
                    "only minimal Dragonfly routes are simulated so far", "routing: minimal");
  check_transport(session);
  if (diagnostics.has_errors()) return;
  const sim::PacketSim engine(fabric, config_for(session.cluster(), traffic.matrix, options));
  check_flows(session, traffic, engine);
  find_links(engine.layout(), options.capture, diagnostics);
}

Run run_packets(const Session& session, const Traffic& traffic, const RunOptions& options, bool with_links,
                Watch& watch) {
  sim::PacketSim engine(session.fabric(), config_for(session.cluster(), traffic.matrix, options));
  Run run;
  spec::Diagnostics nothing;  // the names were checked before
  for (const CapturedLink& link : find_links(engine.layout(), options.capture, nothing)) {
    engine.capture(link.port);
    run.captured_links.push_back(link.name);
  }
  Driver driver(engine, traffic.matrix, flows_between_endpoints(session.fabric(), traffic.matrix));
  engine.on_progress = [&](const schedule::Progress& progress) { return watch(progress); };
  run.result = engine.run(driver);
  watch.finish();
  run.captured = engine.captured();
  if (with_links) engine.collect_links(run.result, SIZE_MAX);

  RunResult& result = run.result;
  result.stopped_by = watch.stopped_by();
  result.flows = driver.take_records();
  if (!result.stopped_by.empty()) return run;  // it ended when it was stopped
  result.end = 0;                              // wake-ups after the last acknowledgement do not count
  for (const FlowRecord& flow : result.flows) result.end = std::max(result.end, flow.sent);
  return run;
}

report::RunInfo run_info(Session& session, const InputOptions& input, const Traffic& traffic,
                         const RunOptions& options) {
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
  info.sample_interval = sample_interval(options.sample);
  return info;
}

}  // namespace weft::app
