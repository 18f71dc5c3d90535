#include "experiment/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "base/wide.hpp"
#include "experiment/headroom.hpp"
#include "experiment/packet_config.hpp"
#include "experiment/run_traffic.hpp"
#include "experiment/training_warnings.hpp"
#include "transport/srd/config.hpp"

namespace weft::experiment {
namespace {

using spec::Error;

void unused_ports(Design& design, const fabric::Summary& summary) {
  std::vector<std::string> tiers;
  for (const fabric::TierSummary& tier : summary.tiers) {
    const std::int64_t all = tier.ports * static_cast<std::int64_t>(tier.switches);
    if (tier.ports_in_use * 2 < all)
      tiers.push_back(fmt::format("{} of {} {} ports", grouped(all - tier.ports_in_use), grouped(all), tier.name));
  }
  if (tiers.empty()) return;
  design.diagnostics().add(Error::unused_ports, design.place("fabric", "switch"),
                           fmt::format("unused: {}", fmt::join(tiers, ", ")),
                           "room to grow, or a smaller switch would do");
}

void slow_slot(Design& design, const model::Group& group, std::size_t index) {
  if (group.spec.nics == 0) return;
  const Bandwidth own = group.nic_pcie.one_way(group.spec.nic.pcie_lanes);
  const Bandwidth server = group.pcie.one_way(group.spec.pcie_lanes);
  const Bandwidth slot = std::min(own, server);
  if (slot >= group.spec.nic.rate || slot.count() == 0) return;
  design.diagnostics().add(
      Error::slow_slot, design.place("servers", "nic", index),
      fmt::format("{} at {} sits in a slot of {}", group.spec.nic.kind, brief(group.spec.nic.rate), brief(slot)),
      own < server ? fmt::format("{} itself is PCIe {} x{} ({})", group.spec.nic.kind, group.spec.nic.pcie_gen,
                                 group.spec.nic.pcie_lanes, brief(own))
                   : fmt::format("the slot is PCIe {} x{} ({}); {} wants PCIe {} x{}", group.spec.pcie_gen,
                                 group.spec.pcie_lanes, brief(server), group.spec.nic.kind, group.spec.nic.pcie_gen,
                                 group.spec.nic.pcie_lanes));
}

void far_nics(Design& design, const model::Group& group, std::size_t index) {
  if (group.spec.nics == 0) return;
  std::vector<std::string> far;
  for (std::uint32_t gpu = 0; gpu < group.gpus(); ++gpu) {
    const auto& near = group.diagram.near_nics[gpu];
    const bool direct =
        std::any_of(near.begin(), near.end(), [&](std::uint32_t nic) { return group.diagram.direct(gpu, nic); });
    if (!direct) far.push_back(std::to_string(gpu));
  }
  if (far.empty()) return;
  design.diagnostics().add(
      Error::far_nic, design.place("servers", "nics", index),
      fmt::format("GPU {} of every {} reach their NIC through host memory", fmt::join(far, ", "), group.spec.kind),
      "their NIC is behind another root complex; `weft show server --as svg` draws it");
}

// A round trip over the longest path, at the rate of a NIC, against one port's share of the buffer
// of the smallest switch on it.
void small_buffer(Design& design, const fabric::Summary& summary) {
  if (!summary.longest || summary.longest->switches == 0) return;
  Bandwidth rate;
  for (const model::Wiring& wiring : design.cluster().shape.wiring) rate = std::max(rate, wiring.wire.rate);
  const auto product = static_cast<std::int64_t>(static_cast<Wide>(rate.count()) * 2 *
                                                 summary.longest->latency.count() / 8 / 1'000'000'000'000);
  const auto share = [&](const model::SwitchKind& kind) {
    return kind.buffer / std::max<std::int64_t>(1, kind.ports * (kind.rate.count() / rate.count()));
  };
  const auto& kinds = design.cluster().shape.switches;
  const auto smallest =
      std::min_element(kinds.begin(), kinds.end(), [&](auto& a, auto& b) { return share(a) < share(b); });
  if (share(*smallest).count() >= product) return;
  design.diagnostics().add(Error::small_buffer, design.place("fabric", "switch"),
                           fmt::format("one port's share of a {} buffer is {}; one bandwidth-delay product is {}",
                                       smallest->kind, brief(share(*smallest)), brief(Bytes(product))),
                           fmt::format("{} x a round trip of {}", brief(rate), brief(summary.longest->latency * 2)));
}

// What a round trip over the longest path holds of full packets, at the rate of a NIC, against what SRD keeps in flight
// to one peer. It is not routed between sites, whose round trips are the longest.
void small_window(Design& design, const fabric::Summary& summary) {
  const model::TransportSpec& transport = design.cluster().file.transport;
  const auto& groups = design.cluster().groups;
  const bool sites = std::any_of(groups.begin(), groups.end(),
                                 [&](const model::Group& group) { return group.site != groups[0].site; });
  if (transport.kind != model::TransportKind::srd || sites || !summary.longest || summary.longest->switches == 0)
    return;
  Bandwidth rate;
  for (const model::Wiring& wiring : design.cluster().shape.wiring) rate = std::max(rate, wiring.wire.rate);
  const Duration round_trip = summary.longest->latency * 2;
  const std::int64_t bits = (transport.mtu.value_or(Bytes(4096)) + transport.header).count() * 8;
  const auto packets =
      static_cast<std::int64_t>(static_cast<Wide>(rate.count()) * round_trip.count() / 1'000'000'000'000 / bits) + 1;
  const model::SwitchingSpec& switching = design.cluster().file.switching;
  const bool drops = switching.full == model::WhenFull::drop && switching.flow_control == model::FlowControl::none;
  const std::int64_t window = transport.window.value_or(drops ? transport::kMostFarWindow : transport::kMostSrdWindow);
  if (packets <= window) return;
  design.diagnostics().add(
      Error::small_window, design.place("transport", "window"),
      fmt::format("a round trip of {} holds {} packets at the rate of a NIC, SRD keeps {} in flight to one peer",
                  brief(round_trip), grouped(packets), window),
      fmt::format("one flow gets at most {}% of the rate; larger packets (transport.mtu) would get more",
                  100 * window / packets));
}

// Cables for which ports have too little headroom, and switches that have little else.
void small_headroom(Design& design) {
  const model::SwitchingSpec& switching = design.cluster().file.switching;
  const auto warn = [&](const std::string& key, std::string what, std::string help) {
    design.diagnostics().add(Error::small_headroom, design.place("switching", key), std::move(what), std::move(help));
  };
  for (const SwitchHeadroom& each : headroom_of(design)) {
    const auto longest =
        std::max_element(each.ports.begin(), each.ports.end(),
                         [](const PortHeadroom& a, const PortHeadroom& b) { return a.cable < b.cable; });
    if (longest == each.ports.end()) continue;
    if (switching.headroom_for && *switching.headroom_for < longest->cable)
      warn("headroom_for",
           fmt::format("{} has cables of {}, and headroom for {}: it loses what is on its way during a pause",
                       each.name, exact(longest->cable), exact(*switching.headroom_for)),
           fmt::format("headroom_for: {}, or none", exact(longest->cable)));
    else if (each.total() * 2 > each.buffer)
      warn("buffer",
           fmt::format("{} needs {} of headroom for PFC, and its buffer is {}: less than half is left to share",
                       each.name, brief(each.total()), brief(each.buffer)),
           "shorter cables, fewer lossless classes, or a larger buffer");
  }
}

void unused_sections(Design& design) {
  const model::ClusterFile& file = design.cluster().file;
  const auto unused = [&](const std::string& section, const std::string& what) {
    design.diagnostics().add(Error::not_used, design.place(section, "", SIZE_MAX),
                             fmt::format("'{}' is read and checked, and no run uses it yet", section), what);
  };
  if (!file.storage.empty())
    unused("storage", "a price of storage is in sums of money, its traffic and power are in no result");
  if (!file.tenants.empty()) unused("tenants", "who owns servers changes no result; `run:` says which GPUs take part");
}

// What AWS says of its UltraClusters: 2.0 with P5 (re:Invent 2023), 3.0 with Trainium (re:Invent 2025).
std::int64_t most_chips(std::string_view ultracluster) {
  return ultracluster == "2.0" ? 20'000 : ultracluster == "3.0" ? 1'000'000 : 0;
}

void beyond_ultracluster(Design& design) {
  const auto& groups = design.cluster().groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto together = [&](const model::Group& other) {
      return other.site == groups[i].site && other.spec.ultracluster == groups[i].spec.ultracluster;
    };
    std::int64_t chips = 0;
    for (const model::Group& other : groups)
      if (together(other)) chips += std::int64_t{other.servers} * other.gpus();
    const std::int64_t most = most_chips(groups[i].spec.ultracluster);
    if (most == 0 || chips <= most ||
        std::any_of(groups.begin(), std::next(groups.begin(), static_cast<std::ptrdiff_t>(i)), together))
      continue;
    design.diagnostics().add(Error::beyond_ultracluster, design.place("servers", "count", i),
                             fmt::format("{} are more than the {} of an UltraCluster {}", counted(chips, "GPU"),
                                         grouped(most), groups[i].spec.ultracluster),
                             fmt::format("count: {}, or sites that each stay below it", most / groups[i].gpus()));
  }
}

// Servers that no job can span. Sites are kept apart on purpose.
void efa_apart(Design& design) {
  const auto& groups = design.cluster().groups;
  for (std::size_t i = 1; i < groups.size(); ++i)
    for (std::size_t other = 0; other < i; ++other) {
      const std::optional<KeptApart> apart = kept_apart(design.cluster().file.transport.kind, groups[other], groups[i]);
      if (!apart || apart->error != Error::efa_generations) continue;
      design.diagnostics().add(Error::efa_apart, design.place("servers", "kind", i),
                               fmt::format("nothing can go {}", apart->what),
                               "jobs on one side (--on), or transport.kind: tcp");
      return;
    }
}

// Why a run may end in a circle of ports that wait for each other; empty: none of which is known.
std::string deadlock_risk(const Design& design) {
  const model::SwitchingSpec& switching = design.cluster().file.switching;
  const std::uint32_t channels = virtual_channels(design.cluster());
  const std::uint32_t needed = needed_channels(design.cluster());
  if (channels >= needed || switching.watchdog) return "";
  return fmt::format("this Dragonfly with flow_control: {} can lock up: its routes need {} virtual channels, not {}",
                     enum_name(switching.flow_control), needed, channels);
}

// Whether everything that travels in a service, or the first, gets there.
bool loses_nothing(const model::SwitchingSpec& switching, const std::optional<std::string>& service) {
  if (switching.flow_control == model::FlowControl::none) return false;
  for (const model::ServiceSpec& each : switching.services)
    if (!service || each.name == *service) return each.lossless;
  return true;
}

// Why RoCE may spend its time on sending again; empty: it will not. Without streams, the file's transport is meant.
std::string loss_risk(const Design& design, std::span<const TrafficStream> streams) {
  const model::TransportSpec& transport = design.cluster().file.transport;
  const model::SwitchingSpec& switching = design.cluster().file.switching;
  if (transport.rocev2.recovery == model::RoceRecovery::selective) return "";
  const auto risky = [&](model::TransportKind kind, const std::optional<std::string>& service) {
    return description_of(kind).needs_lossless && !loses_nothing(switching, service);
  };
  const bool any = streams.empty() ? risky(transport.kind, {})
                                   : std::any_of(streams.begin(), streams.end(), [&](const TrafficStream& stream) {
                                       return risky(stream.run.transport.value_or(transport.kind), stream.run.service);
                                     });
  return any ? "RoCE on a fabric that loses packets: behind each lost one it sends everything again" : "";
}

constexpr std::string_view kAgainstLoss =
    "switching.flow_control: pfc (credits, scheduled), or transport.rocev2.recovery: selective";

bool runs_tcp(const Design& design, std::span<const TrafficStream> streams) {
  const model::TransportKind own = design.cluster().file.transport.kind;
  if (streams.empty()) return own == model::TransportKind::tcp;
  return std::any_of(streams.begin(), streams.end(), [&](const TrafficStream& stream) {
    return stream.run.transport.value_or(own) == model::TransportKind::tcp;
  });
}

// Why healthy TCP flows would be given up; empty: they are not.
std::string patience_risk(const Design& design, std::span<const TrafficStream> streams) {
  const model::TransportSpec& transport = design.cluster().file.transport;
  const Duration patience = transport.failover.value_or(transport.give_up);
  if (!runs_tcp(design, streams) || patience > transport.tcp.rto_min) return "";
  return fmt::format("TCP is given up after {} of silence, and sends again what is lost after {}: healthy flows fail",
                     brief(patience), brief(transport.tcp.rto_min));
}

std::vector<spec::Diagnostic> packet_warnings(Design& design, std::span<const TrafficStream> streams) {
  std::vector<spec::Diagnostic> made;
  if (std::string risk = deadlock_risk(design); !risk.empty())
    made.push_back({Error::can_lock_up, design.place("switching", "virtual_channels"), std::move(risk),
                    fmt::format("virtual_channels: {}, which is also the default", needed_channels(design.cluster()))});
  if (std::string risk = loss_risk(design, streams); !risk.empty())
    made.push_back({Error::lossy_roce, design.place("transport", "kind"), std::move(risk), std::string(kAgainstLoss)});
  if (std::string risk = patience_risk(design, streams); !risk.empty())
    made.push_back({Error::short_failover,
                    design.place("transport", design.cluster().file.transport.failover ? "failover" : "give_up"),
                    std::move(risk), "longer than transport.tcp.rto_min, or a shorter rto_min"});
  return made;
}

// Streams that may travel otherwise than the file says.
std::span<const TrafficStream> flows_in(const Workload& workload) {
  using Streams = std::span<const TrafficStream>;
  return std::visit(
      Match{[](const Traffic& traffic) { return Streams(traffic.streams); },
            [](const Collectives& work) { return work.beside ? Streams(work.beside->streams) : Streams(); },
            [](const Training&) { return Streams(); }},
      workload);
}

// A number without a unit, of which others think otherwise.
std::vector<spec::Diagnostic> matrix_warnings(const Traffic& traffic) {
  if (!traffic.matrix || traffic.matrix->bare_start.source == 0) return {};
  return {{Error::start_unit, traffic.matrix->bare_start,
           fmt::format("line {} of the matrix: start without a unit is taken as microseconds",
                       traffic.matrix->bare_start.line),
           "as htsim_uec does; 5us or 2500ps leaves no doubt"}};
}

}  // namespace

std::vector<spec::Diagnostic> collective_warnings(Design& design) {
  const auto& groups = design.cluster().groups;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (const model::GpuKind& gpu = groups[i].spec.gpu; gpu.scale_up.starts_with("neuronlink"))
      return {
          {Error::not_nccl, design.place("servers", "kind", i),
           fmt::format("collectives of {} are Neuron's, and which algorithm it takes is not known: NCCL's stand in, "
                       "with the constants of other GPUs",
                       gpu.kind),
           "links, NICs and latencies are this cluster's; take names of algorithms and small sizes as a guess"}};
  return {};
}

std::vector<spec::Diagnostic> warnings_of(Design& design, const Experiment& experiment,
                                          const std::vector<Fidelity>& fidelities) {
  std::vector<spec::Diagnostic> made =
      std::visit(Match{[](const Traffic& traffic) { return matrix_warnings(traffic); },
                       [&](const Collectives&) { return collective_warnings(design); },
                       [&](const Training& training) {
                         std::vector<spec::Diagnostic> all = collective_warnings(design);
                         for (spec::Diagnostic& each : training_warnings(design, training))
                           all.push_back(std::move(each));
                         return all;
                       }},
                 *experiment.workload);
  if (std::find(fidelities.begin(), fidelities.end(), Fidelity::packet) != fidelities.end())
    for (spec::Diagnostic& each : packet_warnings(design, flows_in(*experiment.workload)))
      made.push_back(std::move(each));
  const auto& groups = design.cluster().groups;
  const auto costly =
      std::find_if(groups.begin(), groups.end(), [](const model::Group& each) { return each.spec.host; });
  const auto by_packets = [](Fidelity each) { return each == Fidelity::packet; };
  if (costly != groups.end() && !std::all_of(fidelities.begin(), fidelities.end(), by_packets))
    made.push_back({Error::packets_only,
                    design.place("servers", "host", static_cast<std::size_t>(costly - groups.begin())),
                    "what a transport costs its host counts with packets only", "--fidelity packet"});
  return made;
}

void add_warnings(Design& design, const fabric::Summary& summary) {
  if (design.cluster().file.fabric.kind == model::FabricKind::topo) return;  // htsim's files describe no hardware
  unused_sections(design);
  small_headroom(design);
  unused_ports(design, summary);
  for (std::size_t i = 0; i < design.cluster().groups.size(); ++i) {
    slow_slot(design, design.cluster().groups[i], i);
    far_nics(design, design.cluster().groups[i], i);
  }
  beyond_ultracluster(design);
  efa_apart(design);
  small_buffer(design, summary);
  small_window(design, summary);
  for (spec::Diagnostic& each : packet_warnings(design, {}))
    design.diagnostics().add(each.error, each.place, std::move(each.message), std::move(each.help));
}

}  // namespace weft::experiment
