#include "why/signs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measured/hardware.hpp"
#include "measured/text_lines.hpp"

namespace weft::why {
namespace {

using measured::Mention;
using measured::NetTransport;

std::optional<Found> when(bool holds, std::string text, spec::Place place = {}) {
  return holds ? std::optional<Found>({std::move(text), place}) : std::nullopt;
}

// 2.18.3 as 21803.
std::int64_t version_code(const std::string& text) {
  std::int64_t code = 0;
  std::size_t at = 0;
  for (int part = 0; part < 3 && at < text.size(); ++part) {
    const auto number = measured::leading_number(std::string_view(text).substr(at));
    if (!number) return 0;
    code = code * 100 + std::min<std::int64_t>(number->value, 99);
    at += number->length + 1;
  }
  return code;
}

bool near(double a, double b, double part) { return std::abs(a - b) <= part * std::max(a, b); }

double gigabytes(Bandwidth rate) { return static_cast<double>(rate.count()) / 8e9; }

// Otherwise a server stands in that may have what theirs does not.
bool gpus_are_named(const Scene& at) {
  return at.facts.server || at.situation.fabric_known || !at.facts.gpu_name.empty();
}

double bus_factor(const Scene& at) {
  const Ratio factor = collective::bus_factor(at.situation.job.operation, at.situation.job.gpus);
  return static_cast<double>(factor.over) / static_cast<double>(factor.under);
}

}  // namespace

// ---- what tests are made of

Sign set_to(const char* name, std::vector<std::string> values) {
  return [name, values](const Scene& at) -> std::optional<Found> {
    const std::string* value = at.situation.environment(name);
    if (value == nullptr) return std::nullopt;
    const bool wanted = values.empty() || std::find(values.begin(), values.end(), *value) != values.end();
    return when(wanted, fmt::format("{}={}", name, value->substr(0, 40)));
  };
}

Sign mentioned(Mention mention) {
  return [mention](const Scene& at) -> std::optional<Found> {
    const auto found = at.facts.mentions.find(mention);
    if (found == at.facts.mentions.end()) return std::nullopt;
    return Found{std::string(measured::name(mention)), found->second.first};
  };
}

Sign helped(const char* name, std::vector<std::string> values) {
  return [name, values](const Scene& at) -> std::optional<Found> {
    for (const auto& [trial, place] : at.facts.trials) {
      const bool wanted = values.empty() || std::find(values.begin(), values.end(), trial.value) != values.end();
      if (trial.helps && trial.name == name && wanted)
        return Found{fmt::format("{}{}{} helps", name, trial.value.empty() ? "" : "=", trial.value), place};
    }
    return std::nullopt;
  };
}

Sign network(NetTransport transport) {
  return [transport](const Scene& at) -> std::optional<Found> {
    for (const measured::NetUse& use : at.facts.networks)
      if (use.transport == transport) return Found{fmt::format("the log uses the network {}", use.name), use.place};
    return std::nullopt;
  };
}

Sign both(Sign first, Sign second) {
  return [first, second](const Scene& at) -> std::optional<Found> {
    auto found = first(at);
    const auto other = second(at);
    if (!found || !other) return std::nullopt;
    found->text += ", " + other->text;
    return found;
  };
}

Sign unless(Sign first, Sign second) {
  return [first, second](const Scene& at) -> std::optional<Found> { return second(at) ? std::nullopt : first(at); };
}

Sign version_between(std::int64_t first, std::int64_t last) {
  return [first, last](const Scene& at) -> std::optional<Found> {
    if (!at.facts.nccl_version) return std::nullopt;
    const std::int64_t code = version_code(at.facts.nccl_version->value);
    return when(code >= first && code <= last, fmt::format("NCCL {}", at.facts.nccl_version->value),
                at.facts.nccl_version->place);
  };
}

// ---- tests of several facts

std::optional<Found> gpudirect_is(const Scene& at, bool on) {
  const std::int64_t with = at.facts.with_gpudirect;
  const std::int64_t without = at.facts.without_gpudirect;
  if (with + without == 0) return std::nullopt;
  return when(on ? without == 0 : with == 0,
              fmt::format("{} connections with GPUDirect RDMA, {} without", with, without));
}
std::optional<Found> gpudirect_mixed(const Scene& at) {
  const std::string where =
      at.facts.hosts_without_gdr.empty() ? "" : " (on " + measured::names_of(at.facts.hosts_without_gdr) + ")";
  return when(at.facts.with_gpudirect > 0 && at.facts.without_gpudirect > 0,
              fmt::format("{} connections with GPUDirect RDMA, {} without{}", at.facts.with_gpudirect,
                          at.facts.without_gpudirect, where));
}

// Every connection of some hosts lacks what every one of others has.
std::optional<Found> gpudirect_by_host(const Scene& at) {
  const std::set<std::string>& with = at.facts.hosts_with_gdr;
  const std::set<std::string>& without = at.facts.hosts_without_gdr;
  const bool apart =
      std::none_of(without.begin(), without.end(), [&](const auto& host) { return with.contains(host); });
  return when(!with.empty() && !without.empty() && apart,
              "no connection with GPUDirect RDMA on " + measured::names_of(without));
}

std::optional<Found> low_gdr_level(const Scene& at) {
  for (const char* name : {"NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL"})
    if (const std::string* level = at.situation.environment(name))
      return when(*level == "LOC" || *level == "0", fmt::format("{}={}", name, *level));
  return std::nullopt;
}

std::optional<Found> all_nics_used(const Scene& at) {
  return when(at.facts.net_devices_used > 0 && at.facts.net_devices_used >= at.server.nics,
              fmt::format("connections through {} of {} NICs", at.facts.net_devices_used, at.server.nics));
}

std::optional<Found> some_nics_used(const Scene& at) {
  // How many channels there are is a sign of its own.
  const std::int64_t used = at.situation.nics_named(at.server.nics);
  if (used == at.situation.nics_allowed()) return std::nullopt;  // as somebody chose
  return when(used > 0 && used < at.server.nics, fmt::format("{} of {} NICs are used", used, at.server.nics));
}

std::optional<Found> through_shared_memory(const Scene& at) {
  return when(at.facts.shared_memory > 0 && at.facts.p2p == 0,
              fmt::format("{} channels through shared memory, none from GPU to GPU", at.facts.shared_memory));
}

std::optional<Found> weak_part(const Scene& at) {
  if (!at.facts.server) return std::nullopt;
  for (const measured::WeakPart& weak : at.facts.server->weak)
    if (weak.pcie_lanes > 0)
      return Found{fmt::format("a part with PCIe {}.0 x{} beside better ones", weak.pcie_gen, weak.pcie_lanes),
                   weak.place};
  return std::nullopt;
}

std::optional<Found> slow_slot(const Scene& at) {
  if (at.server.nics == 0) return std::nullopt;
  const double slot = gigabytes(at.machine.cluster()->groups[0].nic_pcie.one_way(at.server.nic.pcie_lanes));
  return when(slot > 0 && slot < gigabytes(at.server.nic.rate),
              fmt::format("a NIC of {:.0f} GB/s in a slot of {:.0f}", gigabytes(at.server.nic.rate), slot));
}

// Parts of which the topology says that they are as they should be.
std::optional<Found> links_as_sold(const Scene& at) {
  if (!at.facts.server || !at.facts.server->weak.empty() || slow_slot(at)) return std::nullopt;
  const measured::GpuChip* chip = measured::gpu_by_kind(at.server.gpu.kind);
  return when(chip != nullptr && at.facts.cpu_vendor != "" && at.server.pcie_gen >= chip->pcie_gen &&
                  at.server.pcie_lanes == 16,
              fmt::format("the topology has PCIe {}.0 x16 everywhere", at.server.pcie_gen));
}

std::optional<Found> far_apart(const Scene& at) {
  const collective::Team* team = at.machine.team(at.situation.job, {});
  if (team == nullptr || !at.situation.several_nodes()) return std::nullopt;
  std::uint32_t far = 0;
  for (std::uint32_t rank = 0; rank < team->domain(0).ranks; ++rank) far += !team->direct(rank);
  return when(far > 0, fmt::format("{} of {} GPUs have no NIC below their root complex", far, team->domain(0).ranks));
}
std::optional<Found> all_far_apart(const Scene& at) {
  const collective::Team* team = at.machine.team(at.situation.job, {});
  if (team == nullptr || !at.situation.several_nodes()) return std::nullopt;
  for (std::uint32_t rank = 0; rank < team->domain(0).ranks; ++rank)
    if (team->direct(rank)) return std::nullopt;
  return Found{"no GPU of the job has a NIC below its root complex", {}};
}

// GPUs that are sold on boards with PCIe switches and NVLink, without either.
std::optional<Found> hidden_topology(const Scene& at) {
  if (!at.facts.server) return std::nullopt;
  const measured::GpuChip* chip = measured::gpu_by_kind(at.server.gpu.kind);
  const bool board = chip != nullptr && !chip->nvlink.empty() && at.facts.server->gpus >= 4;
  return when(board && at.facts.server->pcie_switches == 0,
              fmt::format("{} x {} without any PCIe switch", at.facts.server->gpus, at.server.gpu.kind));
}

std::optional<Found> shows_switches(const Scene& at) {
  return when(at.facts.server && at.facts.server->pcie_switches > 0, "the topology shows PCIe switches");
}

std::optional<Found> no_nvls_channels(const Scene& at) {
  const bool could = collective::generation_of(at.server.gpu.kind).nvls_channels > 0 && at.server.scale_up &&
                     at.server.scale_up->switches > 0;
  return when(could && (at.facts.channels.nvls == 0 || at.facts.nvls_unavailable.count > 0),
              "GPUs that could, and no NVLS channels in the log", at.facts.nvls_unavailable.first);
}
std::optional<Found> uses_nvls(const Scene& at) {
  return when(at.facts.algorithm.starts_with("NVLS"), fmt::format("the log chose {}", at.facts.algorithm));
}

std::optional<Found> other_algorithm(const Scene& at) {
  const std::string& said = at.facts.algorithm;
  return when(!said.empty() && at.situation.environment("NCCL_ALGO") == nullptr && !at.reference.algorithm.empty() &&
                  collective::algorithm_named(said) != collective::algorithm_named(at.reference.algorithm),
              fmt::format("the log chose {}, the model {}", said.substr(0, 20), at.reference.algorithm));
}

std::optional<Found> low_limit(const Scene& at) {
  for (const char* name : {"NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"})
    if (const std::string* text = at.situation.environment(name)) {
      const auto most = measured::whole_number(*text);
      return when(most && *most <= 8, fmt::format("{}={}", name, text->substr(0, 20)));
    }
  return std::nullopt;
}

std::optional<Found> crossover(const Scene& at) {
  for (const measured::Crossover& each : at.facts.crossovers)
    if (each.table == at.situation.table) {
      const measured::BenchmarkRow& row = at.facts.tables[each.table].rows[each.row];
      return Found{fmt::format("{} take {}% of the time of the size before", exact(Bytes(row.bytes)), each.percent),
                   row.place};
    }
  return std::nullopt;
}

std::optional<Found> unsteady(const Scene& at) {
  std::size_t large = 0;
  std::size_t shaky = 0;
  for (const Observation& each : at.situation.observations) {
    if (each.largest() < (16u << 20)) continue;
    ++large;
    shaky += !each.steady;
  }
  return when(shaky >= 2 && shaky * 3 >= large,
              fmt::format("{} of {} large rows differ from run to run", shaky, large));
}

namespace {
double best_rate(const Scene& at) {
  double best = 0;
  for (const Observation& each : at.situation.observations) best = std::max(best, each.bus);
  return best;
}
}  // namespace

std::optional<Found> falls_with_size(const Scene& at) {
  if (at.situation.observations.empty()) return std::nullopt;
  const Observation& last = at.situation.observations.back();
  return when(last.largest() >= (64u << 20) && last.bus < 0.75 * best_rate(at) && at.facts.crossovers.empty(),
              fmt::format("busbw falls from {:.1f} to {:.1f} GB/s as sizes grow", best_rate(at), last.bus));
}

std::optional<Found> collapses(const Scene& at) {
  if (at.situation.observations.empty() || !at.situation.several_nodes()) return std::nullopt;
  const Observation& last = at.situation.observations.back();
  return when(last.largest() >= (64u << 20) && last.bus < best_rate(at) / 3,
              fmt::format("busbw collapses from {:.1f} to {:.1f} GB/s", best_rate(at), last.bus));
}

// ---- what was hoped for

std::optional<Found> hoped_for_too_much(const Scene& at) {
  const auto& hoped = at.situation.hoped;
  return when(
      hoped && *hoped > 1.1 * at.reference.best && at.reference.measured > 0.8 * at.reference.expected,
      fmt::format("{:.0f} GB/s were expected; the model gives {:.0f} at most", hoped.value_or(0), at.reference.best));
}

std::optional<Found> hoped_for_the_wire(const Scene& at) {
  if (!at.situation.hoped) return std::nullopt;
  const bool wire =
      (at.server.scale_up && near(*at.situation.hoped, gigabytes(at.server.scale_up->link.one_way()), 0.03)) ||
      (at.server.nics > 0 &&
       near(*at.situation.hoped, gigabytes(at.server.nic.rate) * static_cast<double>(at.server.nics), 0.03));
  return when(wire, fmt::format("{:.0f} GB/s is the rate of the wire", *at.situation.hoped));
}

std::optional<Found> reached(const Scene& at) {
  const auto& hoped = at.situation.hoped;
  return when(hoped && at.reference.measured >= 0.9 * *hoped && !at.situation.observations.back().said_as_algbw,
              fmt::format("{:.0f} GB/s were expected and {:.0f} measured", hoped.value_or(0), at.reference.measured));
}

std::optional<Found> reached_in_busbw(const Scene& at) {
  const auto& hoped = at.situation.hoped;
  const double factor = bus_factor(at);
  const double algorithm = at.reference.measured / factor;
  const auto& all = at.situation.observations;
  return when(hoped && !all.empty() && all.back().said_as_algbw && factor > 1.2 &&
                  at.reference.measured >= 0.9 * *hoped && algorithm < 0.8 * *hoped,
              fmt::format("{:.0f} GB/s were expected: busbw is {:.0f}, algbw {:.0f}", hoped.value_or(0),
                          at.reference.measured, algorithm));
}

std::optional<Found> eight_times(const Scene& at) {
  const auto& hoped = at.situation.hoped;
  return when(hoped && near(*hoped, 8 * at.reference.measured, 0.15) && *hoped > 1.5 * at.reference.best,
              "eight times the measured figure was expected: bits, not bytes");
}

std::optional<Found> is_average(const Scene& at) {
  const auto& all = at.situation.observations;
  return when(
      !all.empty() && std::all_of(all.begin(), all.end(), [](const Observation& each) { return each.is_average(); }),
      "the figure is an average over all sizes, small ones included");
}

std::optional<Found> only_small(const Scene& at) {
  const auto& all = at.situation.observations;
  return when(!all.empty() && !all.back().is_average() && at.reference.expected < 0.7 * at.reference.best,
              fmt::format("no size at which the model reaches its {:.0f} GB/s was measured", at.reference.best));
}

std::optional<Found> two_nodes_were_better(const Scene& at) {
  return when(at.situation.hoped && at.situation.nodes > 2 &&
                  at.situation.job.operation == collective::Operation::all_reduce &&
                  *at.situation.hoped > 1.1 * at.reference.best && at.server.scale_up,
              "on one or two nodes busbw counts more than the network carries; from three on it does not");
}

std::optional<Found> hoped_within_reach(const Scene& at) {
  return when(
      at.situation.hoped && at.reference.measured > 0 && *at.situation.hoped <= 1.1 * at.reference.best &&
          at.reference.measured < 0.8 * at.reference.expected && !geforce(at),
      fmt::format("the model, too, gives {:.0f} GB/s and not {:.0f}", at.reference.expected, at.reference.measured));
}

std::optional<Found> amd(const Scene& at) {
  const bool link = at.server.socket_link && at.server.socket_link->kind == "xgmi";
  return when(at.facts.cpu_vendor == "AuthenticAMD" || link || at.facts.mentions.contains(Mention::epyc), "AMD CPUs");
}

std::optional<Found> restricted_nics(const Scene& at) {
  const std::int64_t nics = at.situation.nics_allowed();
  return when(nics > 0 && nics < at.server.nics,
              fmt::format("NCCL_IB_HCA={}", nics > 0 ? at.situation.environment("NCCL_IB_HCA")->substr(0, 40) : ""));
}

namespace {
// NICs that a file describes or lists, or that somebody speaks of: not those of a server that stands in.
bool nics_are_known(const Scene& at) {
  return at.facts.server || at.situation.fabric_known || at.situation.nics_listed() > 0 ||
         !at.facts.hardware.ports.empty() || at.facts.mentions.contains(Mention::rdma_named) ||
         at.facts.gpu_name.find("SXM") != std::string::npos || at.facts.gpu_name.find("HBM") != std::string::npos;
}
}  // namespace

std::optional<Found> rdma_nic(const Scene& at) {
  return when(at.server.nics > 0 && !at.situation.uses_sockets() && nics_are_known(at),
              fmt::format("the server has {}", at.server.nic.kind));
}
std::optional<Found> rdma_nic_taken(const Scene& at) {
  return when(at.server.nics > 0 && !at.situation.uses_sockets() && !nics_are_known(at),
              fmt::format("{} was taken", at.server.nic.kind));
}

std::optional<Found> hoped_beyond_sockets(const Scene& at) {
  constexpr double kMostOfSockets = 12.5;  // GB/s: a port of 100 Gb/s
  const auto& hoped = at.situation.hoped;
  return when(hoped && *hoped >= kMostOfSockets && at.situation.several_nodes(),
              fmt::format("{:.0f} GB/s were expected", hoped.value_or(0)));
}

// Who switches off shared memory, too, wants all to go through NICs.
std::optional<Found> forced_through_nics(const Scene& at) {
  const std::string* p2p = at.situation.environment("NCCL_P2P_DISABLE");
  const std::string* shm = at.situation.environment("NCCL_SHM_DISABLE");
  return when(p2p != nullptr && *p2p == "1" && shm != nullptr && *shm == "1",
              "P2P and shared memory are switched off together");
}

std::optional<Found> all_is_on(const Scene& at) {
  return when(gpudirect_is(at, true) && all_nics_used(at) && at.reference.measured < 0.8 * at.reference.expected,
              "GPUDirect RDMA and all NICs are in use, and yet it is slow");
}

std::optional<Found> nic_cannot(const Scene& at) {
  return when(at.facts.can_gpudirect == false, "the topology says gdr=\"0\"");
}
std::optional<Found> failed(const Scene& at) {
  return when(at.facts.failures > 0, fmt::format("{} lines tell of failures", at.facts.failures));
}
std::optional<Found> p2p_is_off(const Scene& at) { return when(at.facts.p2p_disabled, "P2P is switched off"); }
std::optional<Found> p2p_is_used(const Scene& at) {
  return when(at.facts.p2p > 0 && at.facts.shared_memory == 0,
              fmt::format("{} channels from GPU to GPU", at.facts.p2p));
}
std::optional<Found> plugin_missing(const Scene& at) {
  return when(at.facts.plugin_missing, "no network plugin was found");
}
std::optional<Found> one_leaf(const Scene& at) {
  return when(at.situation.several_nodes() && at.situation.nodes <= 2, "two servers are often on one leaf");
}

std::optional<Found> several_servers(const Scene& at) {
  return when(at.situation.several_nodes(), fmt::format("{} servers", at.situation.nodes));
}

std::optional<Found> geforce(const Scene& at) {
  if (at.facts.gpu_name.find("GeForce") != std::string::npos) return Found{at.facts.gpu_name, {}};
  return mentioned(Mention::consumer_gpu)(at);
}
std::optional<Found> more_nics(const Scene& at) {
  const auto nics = std::count_if(at.facts.interfaces.begin(), at.facts.interfaces.end(),
                                  [](const measured::LogInterface& each) { return each.plugin == "IB"; });
  return when(at.server.nics > 0 && nics > at.server.nics,
              fmt::format("the log lists {} NICs, the machine has {}", nics, at.server.nics));
}
std::optional<Found> no_ib_device(const Scene& at) {
  return when(at.facts.no_ib_device, "the log found no InfiniBand device");
}

// The CPU and the NIC could do better than the links that the topology shows.
std::optional<Found> below_sold(const Scene& at) {
  const std::int64_t could = pcie_gen_of_both(at.situation, at.machine);
  return when(at.server.pcie_gen < could,
              fmt::format("the GPUs' links are PCIe {}.0, and CPU and GPU have {}.0", at.server.pcie_gen, could));
}

std::optional<Found> nvlink_joins(const Scene& at) {
  return when(
      gpus_are_named(at) && at.server.scale_up.has_value() && !at.facts.p2p_disabled && at.facts.shared_memory == 0,
      "NVLinks join the GPUs");
}

// A host bridge has lanes for a few NICs: four or more behind one, without a switch, are shown by
// a hypervisor.
std::optional<Found> flat_topology(const Scene& at) {
  return when(at.facts.server && at.facts.server->gpus >= 4 && at.facts.server->pcie_switches == 0 &&
                  at.facts.server->sockets == 1,
              fmt::format("{} GPUs and no PCIe switch on one CPU", at.facts.server ? at.facts.server->gpus : 0));
}

std::optional<Found> p2p_across_cpu(const Scene& at) {
  const auto& places = at.machine.cluster()->groups[0].diagram.gpu_switch;
  const bool apart = std::any_of(places.begin(), places.end(), [&](std::uint32_t each) { return each != places[0]; }) ||
                     at.server.pcie_switches == 0;
  return when(at.facts.p2p > 0 && apart && !at.server.scale_up,
              fmt::format("{} channels from GPU to GPU, and no PCIe switch joins them all", at.facts.p2p));
}

std::optional<Found> bonded(const Scene& at) {
  for (const measured::LogInterface& each : at.facts.interfaces)
    if (each.plugin == "IB" && each.name.find("bond") != std::string::npos)
      return Found{fmt::format("{} is several ports bonded", each.name), each.place};
  const std::string* chosen = at.situation.environment("NCCL_IB_HCA");
  if (chosen != nullptr && chosen->find("bond") != std::string::npos)
    return Found{fmt::format("NCCL_IB_HCA={} is several ports bonded", chosen->substr(0, 40)), {}};
  return mentioned(Mention::bond)(at);
}

std::optional<Found> half_of_a_bond(const Scene& at) {
  constexpr double kLeast = 0.4;  // of what all ports would give: one of two, and a little of the other
  constexpr double kMost = 0.65;
  const double part = at.reference.expected > 0 ? at.reference.measured / at.reference.expected : 0;
  return when(bonded(at) && at.situation.several_nodes() && part >= kLeast && part <= kMost,
              fmt::format("bonded ports, and {:.0f} % of what they have together", 100 * part));
}

std::optional<Found> few_rings(const Scene& at) {
  const std::int64_t rings = at.situation.ring_channels();
  return when(at.situation.several_nodes() && rings > 0 && rings < at.server.nics,
              fmt::format("{} channels for {} NICs", rings, at.server.nics));
}

std::optional<Found> several_jobs(const Scene& at) {
  return when(at.facts.jobs_at_once > 1, fmt::format("{} jobs at once, each with a rank 0", at.facts.jobs_at_once));
}

std::optional<Found> nobody_chose(const Scene& at) {
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS",
                           "NCCL_NCHANNELS_PER_NET_PEER", "NCCL_TUNER_PLUGIN"})
    if (at.situation.environment(name) != nullptr) return std::nullopt;
  return when(at.facts.choices.empty() && at.facts.crossovers.empty(), "no setting and no word of the tuner");
}

std::optional<Found> sold_with_nvlink(const Scene& at) {
  const measured::GpuChip* chip = measured::gpu_by_kind(at.server.gpu.kind);
  return when(gpus_are_named(at) && (at.server.scale_up || (chip != nullptr && !chip->nvlink.empty())),
              fmt::format("{} has NVLink", at.server.gpu.kind));
}

std::optional<Found> several_networks(const Scene& at) {
  const auto& all = at.facts.networks;
  for (const measured::NetUse& use : all)
    if (use.name != all.front().name)
      return Found{fmt::format("the networks {} and {} in one job", all.front().name, use.name), use.place};
  return std::nullopt;
}

// ---- what programs that look at hardware print

std::optional<Found> slow_port(const Scene& at) {
  const measured::ReportedPort* port = at.situation.slowest_port(at.server.nic.rate);
  if (port == nullptr || at.server.nics == 0) return std::nullopt;
  return Found{
      fmt::format("{} at {} Gb/s, where {} were taken", port->name, port->megabits / 1'000, brief(at.server.nic.rate)),
      port->place};
}

std::optional<Found> ports_down(const Scene& at) {
  for (const measured::ReportedPort& port : at.facts.hardware.ports)
    if (port.down) return Found{fmt::format("{} is down", port.name), port.place};
  return std::nullopt;
}

std::optional<Found> slow_link(const Scene& at) {
  if (at.facts.hardware.slots.empty()) return std::nullopt;
  const measured::ReportedSlot& slot = at.facts.hardware.slots.front();
  return Found{
      fmt::format("{} is PCIe {}.0 x{}{}", slot.name, slot.gen, slot.lanes,
                  slot.could_gen > 0 ? fmt::format(" and could be {}.0 x{}", slot.could_gen, slot.could_lanes) : ""),
      slot.place};
}

std::optional<Found> nvlinks_down(const Scene& at) {
  const measured::HardwareReport& hardware = at.facts.hardware;
  return when(hardware.nvlinks_down > 0 && at.server.scale_up,
              fmt::format("{} of {} NVLinks are inactive", hardware.nvlinks_down, hardware.nvlinks),
              hardware.nvlink_down_place);
}

std::optional<Found> short_packets(const Scene& at) {
  for (const measured::ReportedPort& port : at.facts.hardware.ports)
    if (port.mtu > 0 && port.mtu <= 1'024 && !port.down)
      return Found{fmt::format("an MTU of {} on {}", port.mtu, port.name), port.place};
  return std::nullopt;
}

std::optional<Found> uneven_setting(const Scene& at) {
  const std::vector<std::string> found = measured::uneven_settings(at.facts);
  if (found.empty()) return std::nullopt;
  return Found{found.size() == 1 ? found[0] : fmt::format("{} (and {} more)", found[0], found.size() - 1), {}};
}

// NICs below other PCIe switches than the GPUs that send through them, which have one of their own.
std::optional<Found> others_nics(const Scene& at) {
  const model::Diagram& diagram = at.machine.cluster()->groups[0].diagram;
  std::size_t known = 0;
  std::size_t apart = 0;
  for (const auto& [rank, devices] : at.facts.own_devices) {
    const std::size_t gpu = static_cast<std::size_t>(rank) % diagram.gpu_switch.size();
    const auto& places = diagram.nic_switch;
    const bool has_own = std::count(places.begin(), places.end(), diagram.gpu_switch[gpu]) > 0;
    for (const std::int64_t device : devices) {
      if (!has_own || static_cast<std::size_t>(device) >= places.size()) continue;
      ++known;
      apart += places[static_cast<std::size_t>(device)] != diagram.gpu_switch[gpu];
    }
  }
  return when(known >= 2 && 2 * apart > known,
              fmt::format("{} of {} pairs of GPU and NIC are on different PCIe switches", apart, known));
}

std::optional<Found> one_channel_per_peer(const Scene& at) {
  return when(at.facts.channels.p2p_per_peer == 1 && at.situation.several_nodes(), "1 p2p channel per peer in the log");
}

// What was hoped for is there with more channels than NCCL's rule gives to a peer.
std::optional<Found> more_per_peer_would_do(const Scene& at) {
  const Situation& situation = at.situation;
  if (!situation.hoped || situation.observations.empty() || !has_one_channel_per_peer(situation, at.machine))
    return std::nullopt;
  constexpr std::uint32_t kMore = 4;
  constexpr double kReached = 0.9;
  constexpr double kGained = 1.1;
  const std::uint64_t bytes = situation.observations.back().largest();
  const Job& job = situation.job;
  const std::vector<Prediction> more = at.machine.predict(job, {.channels = kMore}, {bytes});
  const std::vector<Prediction> now = at.machine.predict(job, {}, {bytes});
  if (more.empty() || now.empty()) return std::nullopt;
  const double with = bus_bandwidth(job, bytes, more.front().time);
  const double without = bus_bandwidth(job, bytes, now.front().time);
  return when(
      with >= kReached * *situation.hoped && with >= kGained * without,
      fmt::format("NCCL gives a peer 1 channel here: {:.1f} GB/s, with {} it would be {:.1f}", without, kMore, with));
}

// What was hoped for is there with another algorithm than the one that NCCL takes by itself.
std::optional<Found> other_algorithm_would_do(const Scene& at) {
  const auto better = better_algorithm(at.situation, at.machine);
  if (!better) return std::nullopt;
  return Found{
      fmt::format("NCCL takes {} here: {:.1f} GB/s, with {} it would be {:.1f}", collective::name(better->taken),
                  better->gives, collective::name(better->better), better->would_give),
      {}};
}

// What somebody told NCCL to take would give what is hoped for: then the choice is not at fault.
std::optional<Found> forced_would_do(const Scene& at) {
  const Situation& situation = at.situation;
  const std::string* forced = situation.environment("NCCL_ALGO");
  if (forced == nullptr || !situation.hoped || situation.observations.empty()) return std::nullopt;
  const auto algorithm = collective::algorithm_named(collective::list_for(situation.job.operation, *forced));
  if (!algorithm) return std::nullopt;
  constexpr double kReached = 0.9;
  const std::uint64_t bytes = situation.observations.back().largest();
  const std::vector<Prediction> made = at.machine.predict(situation.job, {.algorithm = algorithm}, {bytes});
  if (made.empty()) return std::nullopt;
  const double gives = bus_bandwidth(situation.job, bytes, made.front().time);
  return when(gives >= kReached * *situation.hoped,
              fmt::format("{} would give {:.1f} GB/s here", collective::name(*algorithm), gives));
}

// Threads that wait for a core do so for as long as it happens.
std::optional<Found> small_rows_differ(const Scene& at) {
  const std::size_t differ = at.situation.small_rows_that_differ();
  return when(differ > 0, fmt::format("{} small rows differ from run to run", differ));
}

// What perftest reaches from one server to another.
std::optional<Found> wire_is_fine(const Scene& at) {
  const measured::HardwareReport& hardware = at.facts.hardware;
  constexpr std::int64_t kPercent = 85;
  const std::int64_t rate = at.server.nic.rate.count() / 1'000'000;
  return when(at.server.nics > 0 && hardware.perftest_megabits * 100 >= rate * kPercent,
              fmt::format("perftest reaches {} Gb/s", hardware.perftest_megabits / 1'000), hardware.perftest_place);
}

// Of runs on several sets of hosts, the slow ones have it and the fast ones do not.
std::optional<Found> host_of_slow_runs(const Scene& at) {
  const auto host = measured::slow_host(at.facts.host_runs);
  if (!host) return std::nullopt;
  return Found{fmt::format("{} is in {} of {} slow runs and in no fast one", host->host, host->runs, host->slow),
               host->place};
}

}  // namespace weft::why
