// What cannot be run is said before it starts.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "base/wide.hpp"
#include "experiment/graph_work.hpp"
#include "experiment/links.hpp"
#include "experiment/network.hpp"
#include "experiment/packet_config.hpp"
#include "experiment/run_traffic.hpp"
#include "sim/packet/packet_run.hpp"

namespace weft::experiment {
namespace {

using spec::Error;

constexpr std::int64_t kFirstEfa = 1;  // P4d, P4de, DL1: EFA traffic to other instance types is not supported

// How each stream travels, or all there is.
struct Carried {
  model::TransportKind transport;
  model::Verb verb;
  KeyPlaces places = {};
};
std::vector<Carried> carried(const Design& design, const Traffic& traffic) {
  const model::TransportKind by_default = design.cluster().file.transport.kind;
  if (traffic.streams.empty()) return {{by_default, model::Verb::send}};
  std::vector<Carried> all;
  for (const TrafficStream& stream : traffic.streams)
    all.push_back({stream.run.transport.value_or(by_default), stream.run.verb, stream.run.places});
  return all;
}

// Whether anything travels by a transport of which this holds.
template <class Is>
bool any_transport(const Design& design, const Traffic& traffic, Is is) {
  const std::vector<Carried> all = carried(design, traffic);
  return std::any_of(all.begin(), all.end(), [&](const Carried& each) { return is(description_of(each.transport)); });
}

// Streams may ask for InfiniBand where the file does not, and one network has one link layer.
void check_infiniband(Design& design, const Traffic& traffic) {
  const std::vector<Carried> all = carried(design, traffic);
  const auto any = [&](model::TransportKind kind) {
    return std::any_of(all.begin(), all.end(), [&](const Carried& each) { return each.transport == kind; });
  };
  if (!any(model::TransportKind::infiniband)) return;
  const model::FlowControl flow_control = design.cluster().file.switching.flow_control;
  if (any(model::TransportKind::rocev2))
    design.diagnostics().add(Error::contradiction, {}, "a network carries InfiniBand or RoCEv2, not both",
                             "one of them for all streams");
  else if (flow_control != model::FlowControl::credits)
    design.diagnostics().add(
        Error::contradiction, design.place("switching", "flow_control"),
        fmt::format("InfiniBand's links have credits, but flow_control is {}", enum_name(flow_control)),
        "flow_control: credits, or streams with transport rocev2");
}

void check_transport(Design& design, const Traffic& traffic, const Experiment& experiment) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const model::Cluster& cluster = design.cluster();
  const model::SwitchingSpec& switching = cluster.file.switching;
  for (const Carried& each : carried(design, traffic))
    if (!description_of(each.transport).verbs.has(op_of(each.verb)) ||
        (each.verb == model::Verb::tagged && each.transport != model::TransportKind::srd))
      diagnostics.add(Error::not_simulated, each.places.of("verb"),
                      fmt::format("{} has no {}", enum_name(each.transport), enum_name(each.verb)),
                      "transport srd, or verb send");
  if (switching.ports == model::PortModel::computed && switching.flow_control != model::FlowControl::none)
    diagnostics.add(Error::contradiction, design.place("switching", "ports"),
                    fmt::format("computed ports have no flow_control: {}", enum_name(switching.flow_control)),
                    "ports: exact, or flow_control: none");
  if (switching.flow_control == model::FlowControl::scheduled && traffic.matrix && !traffic.matrix->failures.empty())
    diagnostics.add(Error::not_simulated, design.place("switching", "flow_control"),
                    "a scheduled fabric has all its links", "a matrix without failures, or another flow_control");
  if (switching.flow_control == model::FlowControl::scheduled && !experiment.wanted.capture.empty())
    diagnostics.add(Error::not_simulated, design.place("switching", "flow_control"),
                    "cells of a scheduled fabric are not captured", "no --pcap, or another flow_control");
  if (switching.ports == model::PortModel::exact && switching.classes == model::PortClasses::one)
    diagnostics.add(Error::contradiction, design.place("switching", "classes"), "exact ports always have classes",
                    "classes: two, or ports: computed");
}

void check_minimal(Design& design) {
  if (!design.fabric().ask([](const auto& network) { return network.shortest_only(); }))
    design.diagnostics().add(Error::not_simulated, design.place("fabric", "routing"),
                             "flows take a Dragonfly's minimal routes only", "routing: minimal, or --fidelity packet");
}

void check_fabric(Design& design, const Traffic& traffic, const Experiment& experiment) {
  if (!design.fabric().has_network()) {
    design.diagnostics().add(Error::not_simulated, {}, "this cluster has no network", "a fabric other than none");
    return;
  }
  check_faults(design);
  check_transport(design, traffic, experiment);
  check_infiniband(design, traffic);
  check_services(design, traffic.named());
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

void check_buffers(Design& design, const sim::PacketSim& engine) {
  const auto& groups = design.cluster().groups;
  const auto costly =
      std::find_if(groups.begin(), groups.end(), [](const model::Group& each) { return each.spec.host; });
  if (engine.config().exact.on && costly != groups.end())
    design.diagnostics().add(Error::contradiction,
                             design.place("servers", "host", static_cast<std::size_t>(costly - groups.begin())),
                             "a host whose transport is a program has computed ports",
                             "switching without flow_control, services and ports: exact");
  const sim::ExactProblem problem = engine.exact_problem();
  if (problem.kind == sim::ExactProblem::Kind::none) return;
  const auto [key, help] = remedy(problem.kind, engine.config().exact, design.cluster().file.switching);
  design.diagnostics().add(Error::contradiction, design.place("switching", key), problem.what, help);
}

void check_flow(Design& design, sim::PacketRun& run, model::TransportKind kind, std::uint32_t from, std::uint32_t to) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const fabric::Fabric& fabric = design.fabric();
  const auto group_of = [&](std::uint32_t gpu) -> const model::Group& {
    return fabric.cluster().groups[fabric.describe(fabric.gpu(gpu)).group];
  };
  if (const auto apart = kept_apart(kind, group_of(from), group_of(to))) {
    diagnostics.add(apart->error, {}, "a flow goes " + apart->what, "traffic between GPUs " + apart->help);
  } else if (!run.joined(from, to)) {
    diagnostics.add(Error::not_simulated, {},
                    fmt::format("nothing joins {} and {}", fabric.name(fabric.gpu(from)), fabric.name(fabric.gpu(to))),
                    "traffic between GPUs that are joined, or another fabric");
  }
}

// Who sends to whom, each pair once; of a group the first to the others.
std::set<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const workload::Graph& graph) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank)
    for (std::uint32_t task = graph.ranks[rank].first; task < graph.ranks[rank].end; ++task)
      if (const workload::Task& each = graph.tasks[task]; each.kind == workload::Task::Kind::send && each.peer != rank)
        pairs.emplace(rank, each.peer);
  for (const std::vector<std::uint32_t>& group : graph.groups)
    for (const std::uint32_t rank : group)
      if (rank != group[0]) pairs.emplace(group[0], rank);
  return pairs;
}

// Every flow of a matrix or a graph; of a pattern, from one GPU to each and back.
void check_flows(Design& design, const Traffic& traffic, sim::PacketRun& run) {
  const spec::Diagnostics& diagnostics = design.diagnostics();
  model::TransportKind kind = design.cluster().file.transport.kind;  // of several, one that does not go everywhere
  for (const Carried& each : carried(design, traffic))
    if (!description_of(each.transport).between_sites || traffic.streams.size() == 1) kind = each.transport;
  if (traffic.matrix) {
    for (const workload::MatrixFlow& flow : traffic.matrix->flows)
      if (!diagnostics.has_errors()) check_flow(design, run, kind, flow.source, flow.destination);
    return;
  }
  if (traffic.graph) {
    for (const auto& [from, to] : pairs_of(*traffic.graph))
      if (!diagnostics.has_errors()) check_flow(design, run, kind, from, to);
    return;
  }
  for (std::uint32_t gpu = 1; gpu < traffic.nodes && !diagnostics.has_errors(); ++gpu) {
    check_flow(design, run, kind, 0, gpu);
    if (!diagnostics.has_errors()) check_flow(design, run, kind, gpu, 0);
  }
}

// Bytes that one node sends or receives.
std::uint64_t most_at_a_node(const Traffic& traffic, const TrafficStream& stream) {
  using enum model::TrafficPattern;
  const model::TrafficPattern pattern = stream.run.pattern;
  const bool many = pattern == all_to_all || pattern == incast || pattern == outcast;
  return static_cast<std::uint64_t>(stream.run.size.count()) * (many ? std::max(2u, traffic.nodes) - 1 : 1);
}

// The same of a matrix, whose triggers may let all flows wait for each other.
std::uint64_t most_at_a_node(const workload::Matrix& matrix) {
  std::vector<std::uint64_t> sent(matrix.nodes), received(matrix.nodes);
  std::uint64_t all = 0, most = 0;
  for (const workload::MatrixFlow& flow : matrix.flows) {
    all += flow.bytes;
    most = std::max({most, sent[flow.source] += flow.bytes, received[flow.destination] += flow.bytes});
  }
  return matrix.triggers.empty() ? most : all;
}

// Whether all of it can be counted, over the slowest link.
void check_time(Design& design, const Traffic& traffic, const Experiment& experiment, const sim::PacketSim& engine) {
  const std::int64_t payload = std::max<std::int64_t>(1, engine.config().full_packet - engine.config().header);
  std::int64_t slowest = 1;  // ps for a full packet
  for (std::uint32_t kind = 0; kind < engine.layout().link_kinds(); ++kind)
    slowest = std::max(slowest, engine.layout().link(kind).occupancy(engine.config().full_packet));
  const auto slow = static_cast<std::int64_t>(
      std::min<Wide>(Wide{slowest} * 1'000'000 / least_rate(all_faults(design, experiment)), INT64_MAX));
  const auto check = [&](std::uint64_t bytes, const Place& place) {
    const auto packets = static_cast<Wide>(bytes / static_cast<std::uint64_t>(payload)) + 1;
    if (packets * slow <= kLongestRun || design.diagnostics().has_errors()) return;
    design.diagnostics().add(
        Error::out_of_range, place,
        fmt::format("{} in packets of which the slowest link takes one in {} may take longer than can be simulated",
                    brief(Bytes(static_cast<std::int64_t>(bytes))), brief(Duration(slow))),
        fmt::format("smaller flows, or faster links: up to {} days", kLongestDays));
  };
  if (traffic.matrix) check(most_at_a_node(*traffic.matrix), {});
  if (traffic.graph) check(traffic.bytes, {});
  for (const TrafficStream& stream : traffic.streams)
    check(most_at_a_node(traffic, stream), stream.run.places.of("size"));
}

// To flows a transport is its headers and whether it spreads over paths, and they share links evenly: who gets more of
// a link than the other is what several transports are simulated for, and that only packets can tell. Likewise
// services: a weight is of all flows of a service together, at each port another number of them, so that no flow has a
// weight of its own, and filling links by rising levels, as flows do, does not find their shares.
void check_even_shares(Design& design, const Traffic& traffic) {
  const auto differ = [&](const auto& a, const auto& b) {
    design.diagnostics().add(
        Error::not_simulated, {}, fmt::format("flows share links evenly, whether they are of {} or of {}", a, b),
        "--fidelity packet, where queues and windows decide; or one transport and one service for all streams");
  };
  const model::ClusterFile& file = design.cluster().file;
  const auto transport_of = [&](const TrafficStream& stream) {
    return enum_name(stream.run.transport.value_or(file.transport.kind));
  };
  const auto service_of = [&](const TrafficStream& stream) {
    return stream.run.service || file.switching.services.empty() ? stream.run.service.value_or("")
                                                                 : file.switching.services[0].name;
  };
  for (std::size_t i = 1; i < traffic.streams.size(); ++i) {
    const TrafficStream& a = traffic.streams[i - 1];
    const TrafficStream& b = traffic.streams[i];
    if (transport_of(a) != transport_of(b)) return differ(transport_of(a), transport_of(b));
    if (service_of(a) != service_of(b)) return differ("service " + service_of(a), "service " + service_of(b));
  }
}

// What only some of the fidelities can do.
void check_fidelities(Design& design, const Traffic& traffic, const Experiment& experiment,
                      const std::vector<Fidelity>& fidelities) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const auto wants = [&](Fidelity fidelity) {
    return std::find(fidelities.begin(), fidelities.end(), fidelity) != fidelities.end();
  };
  const bool faults = !experiment.faults.empty() || !design.cluster().file.faults.empty();
  const bool looks = !experiment.wanted.capture.empty() || experiment.wanted.sample.count() > 0;
  if (wants(Fidelity::message) && (faults || (looks && !wants(Fidelity::packet))))
    diagnostics.add(Error::contradiction, {}, "message level has no faults, captures or samples", "--fidelity packet");
  if (wants(Fidelity::message) || wants(Fidelity::flow)) {
    if (any_transport(design, traffic, [](const transport::Description& each) { return !each.delivers; }))
      diagnostics.add(Error::not_simulated, {}, "raw messages are packets that nobody slows down", "--fidelity packet");
    for (const Carried& each : carried(design, traffic))
      if (each.verb == model::Verb::read || each.verb == model::Verb::tagged)
        diagnostics.add(Error::not_simulated, {},
                        fmt::format("{} simulated packet by packet only",
                                    each.verb == model::Verb::read ? "reads are" : "messages with tags are"),
                        "--fidelity packet");
  }
  if (!wants(Fidelity::flow)) return;
  check_even_shares(design, traffic);
  if (looks && !wants(Fidelity::packet))
    diagnostics.add(Error::contradiction, {}, "flow level has no captures or samples", "--fidelity packet");
  check_minimal(design);
  sim::FlowRoutes routes(design.fabric(), flow_config(design.cluster(), traffic, experiment));
  set_up_faults(design, traffic, experiment, taker_of(routes), diagnostics);
}

}  // namespace

void check_traffic(Design& design, const Traffic& traffic, const Experiment& experiment,
                   const std::vector<Fidelity>& fidelities) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const fabric::Fabric& fabric = design.fabric();
  check_fabric(design, traffic, experiment);
  if (diagnostics.has_errors()) return;
  sim::PacketSim engine(fabric, config_for(design.cluster(), traffic, experiment));
  check_buffers(design, engine);
  check_time(design, traffic, experiment, engine);
  if (diagnostics.has_errors()) return;
  const auto schedule = traffic.make();
  sim::PacketRun run(*schedule, engine, has_hosts(design.cluster(), traffic));
  check_flows(design, traffic, run);
  if (traffic.graph && !diagnostics.has_errors()) check_graph_work(design, *traffic.graph, fidelities);
  find_links(engine.layout(), experiment.wanted.capture, {"--capture"}, diagnostics);
  if (!diagnostics.has_errors()) set_up_faults(design, traffic, experiment, taker_of(engine), diagnostics);
  if (!diagnostics.has_errors()) check_fidelities(design, traffic, experiment, fidelities);
}

std::optional<KeptApart> kept_apart(model::TransportKind kind, const model::Group& a, const model::Group& b) {
  if (a.site != b.site && !description_of(kind).between_sites)
    return KeptApart{Error::srd_between_sites, "from one site to another, where SRD is not routed",
                     "of one site, or --set transport.kind=tcp"};
  const std::optional<std::int64_t> first = a.spec.nic.efa, second = b.spec.nic.efa;
  const bool by_efa = kind == model::TransportKind::srd && first && second;
  if (by_efa && first != second && std::min(*first, *second) == kFirstEfa)
    return KeptApart{Error::efa_generations,
                     fmt::format("between {} and {}, whose EFA generations ({} and {}) AWS does not join", a.spec.kind,
                                 b.spec.kind, *first, *second),
                     "of one generation (EFA limitations, EC2 User Guide), or --set transport.kind=tcp"};
  return std::nullopt;
}

void check_switching(Design& design) {
  if (!design.fabric().has_network()) return;
  const Traffic any = work_and(nullptr);
  check_fabric(design, any, {});
  const bool buffers = design.cluster().file.switching.flow_control != model::FlowControl::none;
  if (buffers && !design.diagnostics().has_errors())
    check_buffers(design, sim::PacketSim(design.fabric(), config_for(design.cluster(), any, {})));
}

void check_network(Design& design, const Traffic* beside, const Experiment& experiment,
                   const std::vector<Fidelity>& fidelities) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const Traffic all = work_and(beside);
  if (!description_of(design.cluster().file.transport.kind).delivers)
    diagnostics.add(Error::not_simulated, design.place("transport", "kind"),
                    "a collective cannot go on when a raw packet is lost", "--set transport.kind=srd");
  check_fabric(design, all, experiment);
  for (const Fidelity fidelity : fidelities) {
    if (diagnostics.has_errors()) return;
    if (fidelity == Fidelity::flow) {
      check_minimal(design);
      check_even_shares(design, all);
      sim::FlowRoutes routes(design.fabric(), flow_config(design.cluster(), all, experiment));
      set_up_faults(design, all, experiment, taker_of(routes), diagnostics);
    } else {
      sim::PacketSim engine(design.fabric(), config_for(design.cluster(), all, experiment));
      check_buffers(design, engine);
      set_up_faults(design, all, experiment, taker_of(engine), diagnostics);
    }
  }
}

}  // namespace weft::experiment
