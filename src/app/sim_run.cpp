#include "app/sim_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "app/build_info.hpp"
#include "app/fingerprint.hpp"
#include "app/sim_capture.hpp"
#include "app/sim_config.hpp"
#include "app/sim_faults.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "sim/flow_sim.hpp"
#include "sim/link_balance.hpp"
#include "sim/message_cost.hpp"
#include "sim/packet_run.hpp"
#include "workload/beside.hpp"

namespace weft::app {
namespace {

using schedule::RunResult;
using spec::Complaint;

std::int64_t sample_interval(const std::string& text) {
  const auto interval = parse<DurationDimension>(text);
  return interval ? interval->count() : 0;
}

sim::SimConfig config_for(const model::Cluster& cluster, const Traffic& traffic, const RunOptions& options) {
  sim::SimConfig config = sim_config(cluster, traffic.streams);
  if (traffic.streams.empty()) config.verbs = {op_of(traffic.verb)};
  config.seed = options.seed;
  config.threads = options.threads;
  config.sample = sample_interval(options.sample);
  // Triggers act on other hosts without delay, which only a run in time order can keep exact.
  config.in_time_order = traffic.matrix && !traffic.matrix->triggers.empty();
  return config;
}

// htsim's hosts are a wire and nothing else.
bool has_hosts(const model::Cluster& cluster, const Traffic& traffic) {
  return traffic.hosts && cluster.file.fabric.kind != model::FabricKind::topo;
}

// How each stream travels, or all there is.
struct Carried {
  model::TransportKind transport;
  model::Verb verb;
};
std::vector<Carried> carried(const Session& session, const Traffic& traffic) {
  const model::TransportKind by_default = session.cluster().file.transport.kind;
  if (traffic.streams.empty()) return {{by_default, traffic.verb}};
  std::vector<Carried> all;
  for (const TrafficStream& stream : traffic.streams)
    all.push_back({stream.transport.value_or(by_default), stream.verb});
  return all;
}

// Whether anything travels by a transport of which this holds.
template <class Is>
bool any_transport(const Session& session, const Traffic& traffic, Is is) {
  const std::vector<Carried> all = carried(session, traffic);
  return std::any_of(all.begin(), all.end(), [&](const Carried& each) { return is(description_of(each.transport)); });
}

void check_transport(Session& session, const Traffic& traffic, const RunOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const model::Cluster& cluster = session.cluster();
  const model::SwitchingSpec& switching = cluster.file.switching;
  for (const Carried& each : carried(session, traffic))
    if (!description_of(each.transport).verbs.has(op_of(each.verb)))
      diagnostics.add(Complaint::not_simulated, {},
                      fmt::format("{} knows no {}", enum_name(each.transport), enum_name(each.verb)),
                      "transport srd, or verb send");
  if (switching.ports == model::PortModel::computed && switching.flow_control != model::FlowControl::none)
    diagnostics.add(Complaint::contradiction, session.place("switching", "ports"),
                    fmt::format("computed ports know no flow_control: {}", enum_name(switching.flow_control)),
                    "ports: exact, or flow_control: none");
  if (switching.flow_control == model::FlowControl::scheduled && traffic.matrix && !traffic.matrix->failures.empty())
    diagnostics.add(Complaint::not_simulated, session.place("switching", "flow_control"),
                    "a scheduled fabric has all its links", "a matrix without failures, or another flow_control");
  if (switching.flow_control == model::FlowControl::scheduled && !options.capture.empty())
    diagnostics.add(Complaint::not_simulated, session.place("switching", "flow_control"),
                    "cells of a scheduled fabric are not captured", "no --pcap, or another flow_control");
  if (switching.ports == model::PortModel::exact && switching.classes == model::PortClasses::one)
    diagnostics.add(Complaint::contradiction, session.place("switching", "classes"), "exact ports always have classes",
                    "classes: two, or ports: computed");
}

void check_minimal(Session& session) {
  const auto* dragonfly = session.fabric().dragonfly();
  if (dragonfly && dragonfly->shape().routing != model::DragonflyRouting::minimal)
    session.diagnostics().add(Complaint::not_simulated, session.place("fabric", "routing"),
                              "flows take a Dragonfly's minimal routes only", "routing: minimal, or --fidelity packet");
}

void check_fabric(Session& session, const Traffic& traffic, const RunOptions& options) {
  if (!session.fabric().has_network()) {
    session.diagnostics().add(Complaint::not_simulated, {}, "this cluster has no network", "a fabric other than none");
    return;
  }
  check_faults(session);
  check_transport(session, traffic, options);
  check_services(session, traffic.streams);
}

// The key to blame, and what would be right.
std::pair<std::string, std::string> remedy(sim::ExactProblem::Kind problem, const sim::ExactConfig& exact,
                                           const model::SwitchingSpec& switching) {
  using Kind = sim::ExactProblem::Kind;
  if (problem == Kind::not_two_tiers) return {"flow_control", "a fabric of two tiers, or another flow_control"};
  if (problem == Kind::too_large) return {"flow_control", "a smaller fabric, or flow_control: none, ports: computed"};
  std::vector<std::string> helps = {"a larger buffer"};
  const bool by_key = problem == Kind::headroom && switching.headroom_for;
  if (problem == Kind::headroom) helps.push_back(by_key ? "headroom_for shorter cables" : "shorter cables");
  if (std::popcount(exact.lossless) > 1) helps.push_back("fewer lossless classes");
  return {by_key ? "headroom_for" : "buffer", either(helps)};
}

void check_buffers(Session& session, const sim::PacketSim& engine) {
  const sim::ExactProblem problem = engine.exact_problem();
  if (problem.kind == sim::ExactProblem::Kind::none) return;
  const auto [key, help] = remedy(problem.kind, engine.config().exact, session.cluster().file.switching);
  session.diagnostics().add(Complaint::contradiction, session.place("switching", key), problem.what, help);
}

void check_flow(Session& session, sim::PacketRun& run, bool within_sites, std::uint32_t from, std::uint32_t to) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const fabric::Fabric& fabric = session.fabric();
  const auto site_of = [&](std::uint32_t gpu) {
    return fabric.cluster().groups[fabric.describe(fabric.gpu(gpu)).group].site;
  };
  if (site_of(from) != site_of(to) && within_sites) {
    diagnostics.add(Complaint::srd_between_sites, {}, "a flow goes from one site to another, where SRD is not routed",
                    "keep the traffic within a site, or --set transport.kind=tcp");
  } else if (!run.joined(from, to)) {
    diagnostics.add(Complaint::not_simulated, {},
                    fmt::format("nothing joins {} and {}", fabric.name(fabric.gpu(from)), fabric.name(fabric.gpu(to))),
                    "traffic between GPUs that are joined, or another fabric");
  }
}

// Every flow of a matrix; of a pattern, from one GPU to each and back.
void check_flows(Session& session, const Traffic& traffic, sim::PacketRun& run) {
  const spec::Diagnostics& diagnostics = session.diagnostics();
  const bool within_sites =
      any_transport(session, traffic, [](const transport::Description& each) { return !each.between_sites; });
  if (traffic.matrix) {
    for (const workload::MatrixFlow& flow : traffic.matrix->flows)
      if (!diagnostics.has_errors()) check_flow(session, run, within_sites, flow.source, flow.destination);
    return;
  }
  for (std::uint32_t gpu = 1; gpu < traffic.nodes && !diagnostics.has_errors(); ++gpu) {
    check_flow(session, run, within_sites, 0, gpu);
    if (!diagnostics.has_errors()) check_flow(session, run, within_sites, gpu, 0);
  }
}

void set_up_faults(const Session& session, const Traffic& traffic, const RunOptions& options, const FaultTaker& taker,
                   spec::Diagnostics& diagnostics) {
  const auto faults = all_faults(session, options, diagnostics);
  if (diagnostics.has_errors()) return;
  add_faults(faults, taker, diagnostics);
  if (traffic.matrix) add_failures(*traffic.matrix, taker, diagnostics);
}

FaultTaker taker_of(sim::PacketSim& engine) {
  const auto add = [&engine](std::uint32_t port, const sim::Condition& condition) {
    // Cells of one packet are on all links between switches at once.
    const sim::Layout& layout = engine.layout();
    const bool of_a_host = layout.is_host(layout.owner(port)) || layout.is_host(layout.far(port).entity);
    if (engine.config().exact.is_scheduled() && !of_a_host) return false;
    engine.add_condition(port, condition);
    return true;
  };
  const auto slow = [&engine](std::uint32_t endpoint, std::uint32_t millionths) {
    if (engine.config().exact.on) engine.slow_receiver(endpoint, millionths);
    return engine.config().exact.on;
  };
  return {engine.layout(),
          add,
          [&engine](std::uint32_t port) { engine.remove_link(port); },
          slow,
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
          "flows",
          "down or slow from the start and for good, or --fidelity packet"};
}

// A flow is one path where hosts do not change it and switches only hash.
bool is_split(model::Balance balance, transport::Protocol protocol) {
  if (balance == model::Balance::ecmp || balance == model::Balance::pinned) return false;
  return balance != model::Balance::entropy || transport::describe(protocol).many_paths;
}

sim::FlowConfig flow_config(const model::Cluster& cluster, const Traffic& traffic, const RunOptions& options) {
  const sim::SimConfig packets = sim_config(cluster, traffic.streams);
  sim::FlowConfig config;
  config.seed = options.seed;
  config.payload = packets.payload();
  config.header = packets.header;
  config.cut_through = packets.cut_through;
  const transport::Protocol protocol = traffic.streams.empty() ? packets.protocol : packets.streams[0];
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

void name_streams(const model::ClusterFile& file, const std::vector<TrafficStream>& streams,
                  std::vector<schedule::StreamRecord>& records) {
  records.resize(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    records[i].name = streams[i].name;
    records[i].open_loop = workload::is_open_loop(streams[i].pattern);
    records[i].transport = enum_name(streams[i].transport.value_or(file.transport.kind));
    records[i].flows = streams[i].flows;
    if (!file.switching.services.empty())
      records[i].service = streams[i].service.value_or(file.switching.services[0].name);
  }
}

RunResult run_as_flows(const Session& session, schedule::Schedule& schedule, const Traffic& traffic,
                       const RunOptions& options, bool with_links, Watch& watch) {
  sim::FlowRoutes routes(session.fabric(), flow_config(session.cluster(), traffic, options));
  spec::Diagnostics nothing;  // the names were checked before
  set_up_faults(session, traffic, options, taker_of(routes), nothing);
  const auto keep_going = [&](const schedule::Progress& progress) { return watch(progress); };
  return sim::run_flows(schedule, routes, {with_links, keep_going, watch.horizon()});
}

RunResult run_as_messages(const Session& session, schedule::Schedule& schedule, const RunOptions& options,
                          Watch& watch) {
  const fabric::Fabric& fabric = session.fabric();
  sim::MessageConfig config;
  config.seed = options.seed;
  config.transfer = [&](std::uint32_t from, std::uint32_t to) {
    return sim::unloaded_cost(fabric, from, to).value_or(sim::TransferCost{});
  };
  config.keep_going = [&](std::int64_t now, std::uint64_t events, std::uint64_t bytes) {
    return watch({now, events, bytes});
  };
  config.horizon = watch.horizon();
  return sim::run_messages(schedule, config);
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

// To flows a transport is its headers and whether it spreads over paths, and they share links evenly: who gets more of
// a link than the other is what several transports are simulated for, and that only packets can tell. Likewise
// services: a weight is of all flows of a service together, at each port another number of them, so that no flow has a
// weight of its own, and filling links by rising levels, as flows do, does not find their shares.
void check_even_shares(Session& session, const Traffic& traffic) {
  const auto differ = [&](const auto& a, const auto& b) {
    session.diagnostics().add(
        Complaint::not_simulated, {}, fmt::format("flows share links evenly, whether they are of {} or of {}", a, b),
        "--fidelity packet, where queues and windows decide; or one transport and one service for all streams");
  };
  const model::ClusterFile& file = session.cluster().file;
  const auto transport_of = [&](const TrafficStream& stream) {
    return enum_name(stream.transport.value_or(file.transport.kind));
  };
  const auto service_of = [&](const TrafficStream& stream) {
    return stream.service || file.switching.services.empty() ? stream.service.value_or("")
                                                             : file.switching.services[0].name;
  };
  for (std::size_t i = 1; i < traffic.streams.size(); ++i) {
    const TrafficStream& a = traffic.streams[i - 1];
    const TrafficStream& b = traffic.streams[i];
    if (transport_of(a) != transport_of(b)) return differ(transport_of(a), transport_of(b));
    if (service_of(a) != service_of(b)) return differ("service " + service_of(a), "service " + service_of(b));
  }
}

// A schedule as the first stream, of the file's transport and the first service, and those beside it. As traffic it
// says what travels how, and makes nothing.
Traffic work_and(const Traffic* beside) {
  Traffic all;
  if (beside == nullptr) return all;
  all.streams.push_back({"work", {}, 0, {}, {}});
  all.streams.insert(all.streams.end(), beside->streams.begin(), beside->streams.end());
  return all;
}

// What only some of the fidelities can do.
void check_fidelities(Session& session, const Traffic& traffic, const RunOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const std::vector<std::string> wanted = parse_fidelities(options.fidelity);
  const auto wants = [&](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  const bool faults = !options.faults.empty() || !session.cluster().file.faults.empty();
  const bool looks = !options.capture.empty() || !options.sample.empty();
  if (wants("message") && (faults || (looks && !wants("packet"))))
    diagnostics.add(Complaint::contradiction, {}, "messages know no faults, captures or samples", "--fidelity packet");
  if (wants("message") || wants("flow")) {
    if (any_transport(session, traffic, [](const transport::Description& each) { return !each.delivers; }))
      diagnostics.add(Complaint::not_simulated, {}, "raw messages are packets that nobody slows down",
                      "--fidelity packet");
    for (const Carried& each : carried(session, traffic))
      if (each.verb == model::Verb::read)
        diagnostics.add(Complaint::not_simulated, {}, "reads are simulated packet by packet only", "--fidelity packet");
  }
  if (!wants("flow")) return;
  check_even_shares(session, traffic);
  if (looks && !wants("packet"))
    diagnostics.add(Complaint::contradiction, {}, "flows know no captures or samples", "--fidelity packet");
  check_minimal(session);
  sim::FlowRoutes routes(session.fabric(), flow_config(session.cluster(), traffic, options));
  set_up_faults(session, traffic, options, taker_of(routes), diagnostics);
}

}  // namespace

std::vector<model::FaultSpec> all_faults(const Session& session, const RunOptions& options,
                                         spec::Diagnostics& diagnostics) {
  std::vector<model::FaultSpec> faults = session.cluster().file.faults;
  const auto more = read_faults(options.faults, {}, diagnostics);
  faults.insert(faults.end(), more.begin(), more.end());
  return faults;
}

std::vector<std::string> parse_fidelities(const std::string& text) {
  static const std::vector<std::string> kAll = {"packet", "flow", "message"};
  if (text == "all") return kAll;
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    const auto is_new = [&](const std::string& name) { return std::count(names.begin(), names.end(), name) == 1; };
    if (std::find(kAll.begin(), kAll.end(), names.back()) == kAll.end() || !is_new(names.back())) return {};
    at = comma + 1;
  }
  return names;
}

void check_run(Session& session, const Traffic& traffic, const RunOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const fabric::Fabric& fabric = session.fabric();
  if (!options.sample.empty() && sample_interval(options.sample) <= 0)
    diagnostics.add(Complaint::wrong_type, {}, fmt::format("--sample cannot be '{}'", options.sample),
                    "for example --sample 1us");
  check_fabric(session, traffic, options);
  if (diagnostics.has_errors()) return;
  sim::PacketSim engine(fabric, config_for(session.cluster(), traffic, options));
  check_buffers(session, engine);
  const auto schedule = traffic.make();
  sim::PacketRun run(*schedule, engine, has_hosts(session.cluster(), traffic));
  check_flows(session, traffic, run);
  find_links(engine.layout(), options.capture, {"--capture"}, diagnostics);
  if (!diagnostics.has_errors()) set_up_faults(session, traffic, options, taker_of(engine), diagnostics);
  if (!diagnostics.has_errors()) check_fidelities(session, traffic, options);
}

void check_network(Session& session, const std::vector<std::string>& fidelities, const Traffic* beside,
                   const RunOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const Traffic all = work_and(beside);
  if (!description_of(session.cluster().file.transport.kind).delivers)
    diagnostics.add(Complaint::not_simulated, session.place("transport", "kind"),
                    "a collective cannot go on when a raw packet is lost", "--set transport.kind=srd");
  check_fabric(session, all, options);
  for (const std::string& fidelity : fidelities) {
    if (diagnostics.has_errors()) return;
    if (fidelity == "flow") {
      check_minimal(session);
      check_even_shares(session, all);
      sim::FlowRoutes routes(session.fabric(), flow_config(session.cluster(), all, options));
      set_up_faults(session, all, options, taker_of(routes), diagnostics);
    } else {
      sim::PacketSim engine(session.fabric(), config_for(session.cluster(), all, options));
      check_buffers(session, engine);
      set_up_faults(session, all, options, taker_of(engine), diagnostics);
    }
  }
}

RunResult run_schedule(const Session& session, schedule::Schedule& schedule, const Traffic* beside,
                       const RunOptions& options, const sim::HostRates& rates, Watch& watch) {
  const Traffic all = work_and(beside);
  spec::Diagnostics nothing;  // what could be wrong was said before
  const auto keep_going = [&](const schedule::Progress& progress) { return watch(progress); };
  std::optional<workload::Beside> both;
  if (beside != nullptr) both.emplace(schedule, beside->make());
  schedule::Schedule& work = both ? static_cast<schedule::Schedule&>(*both) : schedule;
  RunResult result;
  if (options.fidelity == "flow") {
    sim::FlowConfig config = flow_config(session.cluster(), all, options);
    config.rates = rates;
    sim::FlowRoutes routes(session.fabric(), config);
    set_up_faults(session, all, options, taker_of(routes), nothing);
    result = sim::run_flows(work, routes, {false, keep_going, watch.horizon()});
  } else {
    sim::PacketSim engine(session.fabric(), config_for(session.cluster(), all, options));
    set_up_faults(session, all, options, taker_of(engine), nothing);
    engine.on_progress = keep_going;
    sim::PacketRun run(work, engine, has_hosts(session.cluster(), all), rates);
    result = both ? run.run([&](std::uint32_t rank) { return both->lanes_of_work(rank); }) : run.run();
  }
  std::erase_if(result.flows, [](const schedule::FlowRecord& flow) { return flow.stream != 0; });
  return result;
}

TrafficGround ground_of(const Session& session, std::uint64_t seed) {
  const model::Cluster& cluster = session.cluster();
  const model::Group& group = cluster.groups[0];
  return {cluster.gpus, group.spec.nic.rate * group.spec.nics / std::max<std::int64_t>(1, group.spec.gpus), seed,
          streams_of(cluster)};
}

Run run_traffic(const Session& session, const Traffic& traffic, const RunOptions& options, bool with_links,
                Watch& watch) {
  Run run;
  const auto schedule = traffic.make();
  if (options.fidelity == "message") {
    run.result = run_as_messages(session, *schedule, options, watch);
    watch.finish();
  } else if (options.fidelity == "flow") {
    run.result = run_as_flows(session, *schedule, traffic, options, with_links, watch);
    watch.finish();
  } else {
    sim::PacketSim engine(session.fabric(), config_for(session.cluster(), traffic, options));
    spec::Diagnostics nothing;  // the names were checked before
    set_up_faults(session, traffic, options, taker_of(engine), nothing);
    for (const CapturedLink& link : find_links(engine.layout(), options.capture, {"--capture"}, nothing)) {
      engine.capture(link.port);
      run.captured_links.push_back(link.name);
    }
    run.wire_numbers = engine.config().stack;
    engine.on_progress = [&](const schedule::Progress& progress) { return watch(progress); };
    run.result = sim::PacketRun(*schedule, engine, has_hosts(session.cluster(), traffic)).run();
    watch.finish();
    run.captured = engine.captured();
    run.fullest_link = sim::fullest_link(engine);
    if (with_links) {
      engine.collect_links(run.result, SIZE_MAX);
    } else {
      keep_fullest(engine, run.result);
    }
  }
  if (!watch.stopped_by().empty()) run.result.stopped_by = watch.stopped_by();
  run.result.all_flows = traffic.flows;
  name_streams(session.cluster().file, traffic.streams, run.result.streams);
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
  for (const TrafficStream& stream : traffic.streams)
    fingerprint.add(std::string(stream.transport ? enum_name(*stream.transport) : "") + " " +
                    stream.service.value_or(""));
  fingerprint.add(options.fidelity);
  for (const std::string& fault : options.faults) fingerprint.add(fault);
  report::RunInfo info;
  info.cluster = session.cluster().name;
  info.traffic = traffic.name;
  info.version = build_info().version;
  info.commit = build_info().commit;
  info.configuration = fingerprint.value();
  info.sample_interval = sample_interval(options.sample);
  info.offered = {traffic.fingerprint, traffic.nodes, traffic.load_of()};
  info.line_rate = ground_of(session, options.seed).line_rate;
  info.open_loop = traffic.is_open_loop();
  return info;
}

}  // namespace weft::app
