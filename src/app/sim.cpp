#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/text.hpp"
#include "report/table.hpp"
#include "sim/packet_sim.hpp"
#include "spec/files.hpp"
#include "workload/matrix.hpp"
#include "workload/patterns.hpp"

namespace weft::app {
namespace {

using spec::Complaint;
using workload::Matrix;
using workload::MatrixFlow;

constexpr std::size_t kMostMatrixBytes = std::size_t{256} << 20;

// The NIC port a GPU sends and receives with: the first of its nearest card.
std::uint32_t endpoint_of_gpu(const fabric::Fabric& fabric, std::uint32_t gpu) {
  const fabric::Node at = fabric.describe(fabric.gpu(gpu));
  const model::Group& group = fabric.cluster().groups[at.group];
  const std::uint32_t nic = group.diagram.near_nics[at.local][0];
  return fabric.endpoint(group.first_nic + (at.server - group.first_server) * group.nics() + nic, 0);
}

std::optional<Matrix> load_traffic(const SimOptions& options, Session& session) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const std::uint32_t gpus = session.cluster().gpus;
  Matrix matrix;
  if (!options.matrix.empty()) {
    const auto source = spec::load_file(options.matrix, diagnostics, kMostMatrixBytes);
    if (!source) return std::nullopt;
    matrix = workload::read_matrix(*source, diagnostics);
  } else {
    const auto size = parse<BytesDimension>(options.size);
    if (!size || size->count() == 0)
      diagnostics.add(Complaint::wrong_type, {}, fmt::format("--size cannot be '{}'", options.size), "for example --size 2MB");
    matrix.nodes = options.nodes == 0 ? gpus : options.nodes;
    if (matrix.nodes < 2 && size)
      diagnostics.add(Complaint::out_of_range, {}, "traffic needs two GPUs", "--nodes 2 or more");
    if (!diagnostics.has_errors() && matrix.nodes <= gpus)
      matrix = workload::make_pattern(options.pattern, matrix.nodes, static_cast<std::uint64_t>(size->count()), options.seed);
  }
  if (matrix.nodes > gpus)
    diagnostics.add(Complaint::out_of_range, {}, fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(matrix.nodes), grouped(gpus)),
                    "a larger cluster, or fewer nodes");
  if (diagnostics.has_errors()) return std::nullopt;
  return matrix;
}

// What the simulator does not cover yet is said before it starts.
void check_coverage(Session& session, const std::vector<sim::Flow>& flows, const sim::PacketSim& engine) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const fabric::Fabric& fabric = session.fabric();
  if (const auto* dragonfly = fabric.dragonfly(); dragonfly && dragonfly->shape().routing != model::DragonflyRouting::minimal)
    diagnostics.add(Complaint::not_simulated, session.place("fabric", "routing"), "only minimal Dragonfly routes are simulated so far",
                    "routing: minimal");
  if (session.cluster().file.transport.kind != "srd" && session.cluster().file.fabric.kind != "topo")
    diagnostics.add(Complaint::not_simulated, session.place("transport", "kind"),
                    fmt::format("transport '{}' is not simulated yet", session.cluster().file.transport.kind), "--set transport.kind=srd");
  const auto site_of = [&](std::uint32_t endpoint) {
    return fabric.cluster().groups[fabric.describe(fabric.nic_of(endpoint)).group].site;
  };
  for (const sim::Flow& flow : flows) {
    if (site_of(flow.source) != site_of(flow.destination)) {
      diagnostics.add(Complaint::srd_between_sites, {}, "a flow goes from one site to another", "keep the traffic within a site");
      return;
    }
    if (!engine.layout().reachable(flow.source, flow.destination)) {
      diagnostics.add(Complaint::not_simulated, {}, "a flow needs NVLink to change its rail, which is not simulated yet",
                      "traffic within a rail, or another fabric");
      return;
    }
  }
}

struct Outcome {
  std::vector<std::int64_t> times;      // completion, sorted, ps
  std::vector<std::int64_t> slowdowns;  // against unloaded, in thousandths, sorted
  std::uint64_t bytes = 0;
  std::int64_t end = 0;
  schedule::RunResult result;
  double seconds = 0;
};

template <class T>
T quantile(const std::vector<T>& sorted, std::size_t per_mille) {
  return sorted[std::min(sorted.size() - 1, sorted.size() * per_mille / 1000)];
}

class Driver : public sim::Client {
 public:
  Driver(sim::PacketSim& engine, const Matrix& matrix, const std::vector<sim::Flow>& flows)
      : engine_(engine), matrix_(matrix), flows_(flows), triggers_(matrix), started_(flows.size()), sent_(flows.size(), -1) {
    for (std::uint32_t i = 0; i < flows.size(); ++i)
      if (matrix.flows[i].started_by == workload::kNoTrigger) begin(i, matrix.flows[i].start);
  }
  void completed(std::int64_t now, const transport::Completion& done) override {
    const std::uint32_t index = done.tag;
    if (done.kind == transport::Completion::Kind::failed) return;  // shows as a flow without an end
    const bool sent = done.kind == transport::Completion::Kind::sent;
    if (sent) sent_[index] = now;
    const MatrixFlow& flow = matrix_.flows[index];
    const std::uint32_t trigger = sent ? flow.when_sent : flow.when_received;
    if (trigger == workload::kNoTrigger) return;
    for (const std::uint32_t next : triggers_.fire(trigger)) begin(next, now);
  }
  void called(std::int64_t, std::uint32_t, std::uint32_t) override {}
  void add_to(Outcome& outcome) const {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (sent_[i] < 0) continue;
      outcome.times.push_back(sent_[i] - started_[i]);
      outcome.slowdowns.push_back((sent_[i] - started_[i]) * 1000 / engine_.unloaded(flows_[i]));
      outcome.bytes += flows_[i].bytes;
      outcome.end = std::max(outcome.end, sent_[i]);
    }
  }

 private:
  void begin(std::uint32_t index, std::int64_t now) {
    started_[index] = now;
    engine_.post(now, flows_[index].source, flows_[index].destination, flows_[index].bytes, index);
  }
  sim::PacketSim& engine_;
  const Matrix& matrix_;
  const std::vector<sim::Flow>& flows_;
  workload::Triggers triggers_;
  std::vector<std::int64_t> started_;
  std::vector<std::int64_t> sent_;
};

Outcome run(sim::PacketSim& engine, const Matrix& matrix, const std::vector<sim::Flow>& flows, Console&) {
  Outcome outcome;
  Driver driver(engine, matrix, flows);
  const auto clock_start = std::chrono::steady_clock::now();
  outcome.result = engine.run(driver);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - clock_start).count();
  driver.add_to(outcome);
  std::sort(outcome.times.begin(), outcome.times.end());
  std::sort(outcome.slowdowns.begin(), outcome.slowdowns.end());
  return outcome;
}

void print(const Outcome& outcome, std::size_t flows, std::uint64_t seed, Console& console) {
  const schedule::Counters& result = outcome.result.counters;
  const auto time = [&](std::size_t per_mille) { return brief(Duration(quantile(outcome.times, per_mille))); };
  const auto slow = [&](std::size_t per_mille) { return fmt::format("{:.2f}", static_cast<double>(quantile(outcome.slowdowns, per_mille)) / 1000); };
  const double rate = static_cast<double>(outcome.bytes) * 8e12 / static_cast<double>(std::max<std::int64_t>(1, outcome.end));
  report::Facts facts;
  facts.add("traffic", fmt::format("{} of {}, {} in {}", counted(static_cast<std::int64_t>(outcome.times.size()), "flow"), grouped(static_cast<std::int64_t>(flows)),
                                   brief(Bytes(static_cast<std::int64_t>(outcome.bytes))), brief(Duration(outcome.end))));
  facts.add("completion", fmt::format("p50 {}, p99 {}, p99.9 {}, max {}", time(500), time(990), time(999), time(1000)));
  facts.add("slowdown", fmt::format("p50 {}, p99 {}, max {} against the same flow alone", slow(500), slow(990), slow(1000)));
  facts.add("goodput", fmt::format("{} in all", brief(Bandwidth(static_cast<std::int64_t>(rate)))));
  facts.add("packets", fmt::format("{} data, {} sent again, {} acknowledgements", grouped(static_cast<std::int64_t>(result.data_sent)),
                                   grouped(static_cast<std::int64_t>(result.data_resent)), grouped(static_cast<std::int64_t>(result.acks_sent))));
  facts.add("congestion", fmt::format("{} marked, {} trimmed, {} dropped, {} timeouts", grouped(static_cast<std::int64_t>(result.marked)),
                                      grouped(static_cast<std::int64_t>(result.trimmed)), grouped(static_cast<std::int64_t>(result.dropped)), result.timeouts));
  facts.add("digest", fmt::format("{:016x} (seed {}, {} packet-hops)", outcome.result.digest, seed, grouped(static_cast<std::int64_t>(result.packet_hops))));
  console.out << facts.text(console.width, console.colour_out);
  if (console.width > 0)  // somebody is watching
    console.err << fmt::format("{:.2f} s, {:.1f} M packet-hops/s\n", outcome.seconds, static_cast<double>(result.packet_hops) / 1e6 / outcome.seconds);
}

void print_json(const Outcome& outcome, const Session& session, std::uint64_t seed, Console& console) {
  const schedule::Counters& result = outcome.result.counters;
  const nlohmann::ordered_json record = {
      {"record", "sim"}, {"version", 1}, {"cluster", session.cluster().name}, {"seed", seed},
      {"flows", outcome.times.size()}, {"bytes", outcome.bytes}, {"end_ps", outcome.end},
      {"fct_p50_ps", quantile(outcome.times, 500)}, {"fct_p99_ps", quantile(outcome.times, 990)},
      {"fct_p999_ps", quantile(outcome.times, 999)}, {"fct_max_ps", outcome.times.back()},
      {"slowdown_p50", static_cast<double>(quantile(outcome.slowdowns, 500)) / 1000},
      {"slowdown_max", static_cast<double>(outcome.slowdowns.back()) / 1000},
      {"data_packets", result.data_sent}, {"resent", result.data_resent}, {"acks", result.acks_sent},
      {"marked", result.marked}, {"trimmed", result.trimmed}, {"dropped", result.dropped}, {"timeouts", result.timeouts},
      {"packet_hops", result.packet_hops}, {"events", result.events}, {"digest", fmt::format("{:016x}", outcome.result.digest)}};
  console.out << record.dump() << "\n";
}

sim::SimConfig config_for(const model::Cluster& cluster, const Matrix& matrix) {
  sim::SimConfig config;
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

}  // namespace

int sim(const SimOptions& options, Console& console) {
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  const auto matrix = load_traffic(options, session);
  if (!matrix || !session.fabric().has_network()) {
    if (matrix) session.diagnostics().add(Complaint::not_simulated, {}, "this cluster has no network", "a fabric other than none");
    report(session.diagnostics(), options.input, console);
    return kYourInput;
  }
  std::vector<sim::Flow> flows;
  for (const MatrixFlow& flow : matrix->flows)
    flows.push_back({endpoint_of_gpu(session.fabric(), flow.source), endpoint_of_gpu(session.fabric(), flow.destination), flow.bytes, flow.start});
  sim::SimConfig config = config_for(session.cluster(), *matrix);
  config.seed = options.seed;
  config.threads = options.threads;
  check_coverage(session, flows, sim::PacketSim(session.fabric(), config));
  if (report(session.diagnostics(), options.input, console)) return kYourInput;

  bool all_done = true;
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::uint32_t run_number = 0; run_number < options.seeds; ++run_number) {
    config.seed = options.seed + run_number;
    sim::PacketSim engine(session.fabric(), config);
    const Outcome outcome = run(engine, *matrix, flows, console);
    if (outcome.times.empty()) {
      console.err << "no flow ever started: every one waits for a trigger\n";
      return kExpectationFailed;
    }
    all_done = all_done && outcome.times.size() == flows.size();
    least = std::min(least, outcome.end);
    most = std::max(most, outcome.end);
    if (options.input.json) {
      print_json(outcome, session, config.seed, console);
    } else if (run_number == 0) {
      print(outcome, flows.size(), config.seed, console);
    }
  }
  if (options.seeds > 1 && !options.input.json)
    console.out << fmt::format("over {}: all done between {} and {}\n", counted(options.seeds, "seed"), brief(Duration(least)), brief(Duration(most)));
  return all_done ? kFine : kExpectationFailed;
}

}  // namespace weft::app
