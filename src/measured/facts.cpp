#include "measured/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace weft::measured {
namespace {

NetTransport transport_of(std::string_view name, const NcclLog& log) {
  if (name.find("Socket") != std::string_view::npos) return NetTransport::socket;
  if (name.find("OFI") != std::string_view::npos || name.find("ibfabric") != std::string_view::npos)
    return NetTransport::ofi;
  if (!name.starts_with("IB")) return NetTransport::other;
  const bool roce = std::any_of(log.interfaces.begin(), log.interfaces.end(),
                                [](const LogInterface& each) { return each.kind == "RoCE"; });
  return roce ? NetTransport::roce : NetTransport::infiniband;
}

void add_network(Facts& facts, const NcclLog& log, std::string_view name, std::int64_t connections, spec::Place place) {
  const auto same =
      std::find_if(facts.networks.begin(), facts.networks.end(), [&](const NetUse& use) { return use.name == name; });
  if (same != facts.networks.end()) {
    same->connections = std::max(same->connections, connections);
  } else {
    facts.networks.push_back({transport_of(name, log), std::string(name), connections, place});
  }
}

void take_networks(Facts& facts, const NcclLog& log) {
  constexpr std::string_view kNet = "NET/";
  for (const auto& [path, tally] : log.paths)
    if (path.starts_with(kNet))
      add_network(facts, log, std::string_view(path).substr(kNet.size()), tally.count, tally.first);
  for (const auto& [name, tally] : log.networks) add_network(facts, log, name, 0, tally.first);
  // Without a connection or a word about the choice: a plugin that found interfaces. NCCL asks for InfiniBand
  // first, so what is listed beside it is for bootstrapping only.
  const bool chosen = !facts.networks.empty();
  for (const LogInterface& each : log.interfaces)
    if (!chosen) add_network(facts, log, each.plugin, 0, each.place);
}

void take_gpudirect(Facts& facts, const NcclLog& log) {
  const bool connections = log.net_with_gdr.count + log.net_without_gdr.count > 0;
  facts.with_gpudirect = connections ? log.net_with_gdr.count : log.gdr_enabled.count;
  facts.without_gpudirect = connections ? log.net_without_gdr.count : log.gdr_disabled.count;
  if ((facts.with_gpudirect > 0) != (facts.without_gpudirect > 0)) facts.gpudirect = facts.with_gpudirect > 0;
}

// A ring that names everybody from 0 on says how many there are; of long ones the log has the beginning only.
std::optional<Fact<std::int64_t>> ranks_of_rings(const NcclLog& log) {
  std::int64_t most = 0;
  for (const std::vector<std::int64_t>& ring : log.rings) {
    const std::set<std::int64_t> all(ring.begin(), ring.end());
    if (all.size() == ring.size() && all.size() > 1 && *all.rbegin() + 1 == std::ssize(ring))
      most = std::max<std::int64_t>(most, std::ssize(ring));
  }
  if (most == 0) return std::nullopt;
  return Fact<std::int64_t>{most, {}};
}

void take_log(Facts& facts, const NcclLog& log) {
  if (log.ranks) facts.ranks = {*log.ranks, log.size_place};
  if (!log.ranks) facts.ranks = ranks_of_rings(log);
  if (log.nodes) facts.nodes = {*log.nodes, log.size_place};
  if (!log.nodes && log.hosts.size() > 1) facts.nodes = {static_cast<std::int64_t>(log.hosts.size()), {}};
  if (log.local_ranks) facts.gpus_per_node = {*log.local_ranks, log.size_place};
  if (!facts.of_rccl) facts.of_rccl = log.of_rccl;
  if (!log.version.empty()) facts.nccl_version = {log.version, log.version_place};
  take_networks(facts, log);
  take_gpudirect(facts, log);
  facts.interfaces = log.interfaces;
  facts.net_devices_used = static_cast<std::int64_t>(log.net_devices.size());
  facts.net_ranks = static_cast<std::int64_t>(log.net_ranks.size());
  facts.net_channels = static_cast<std::int64_t>(log.net_channels.size());
  facts.plugin_missing = log.plugin_missing.count > 0;
  facts.no_ib_device = log.no_ib_device.count > 0;
  for (const auto& [path, tally] : log.paths) {
    if (path.starts_with("P2P/")) facts.p2p += tally.count;
    if (path == "SHM") facts.shared_memory += tally.count;
  }
  facts.p2p_disabled = log.p2p_disabled.count > 0;
  facts.graphs = log.graphs;
  facts.channels = log.channels;
  facts.choices = log.choices;
  facts.warnings = log.warnings;
  facts.mentions = log.mentions;
  facts.trials = log.trials;
  facts.host_runs = log.host_runs;
  facts.set_on = log.set_on;
  facts.hosts_with_gdr = log.hosts_with_gdr;
  facts.hosts_without_gdr = log.hosts_without_gdr;
  facts.own_devices = log.own_devices;
  facts.hardware = log.hardware;
  facts.nvls_unavailable = log.nvls_unavailable;
  if (!log.choices.empty()) {
    const auto largest = std::max_element(log.choices.begin(), log.choices.end(),
                                          [](const LogChoice& a, const LogChoice& b) { return a.bytes < b.bytes; });
    facts.algorithm = largest->algorithm;
    facts.protocol = largest->protocol;
  }
}

// In place and out of place agree: what differs by chance says nothing.
bool is_steady(const BenchmarkRow& row) {
  if (!row.in_place || !row.out_of_place) return true;
  const auto [less, more] = std::minmax({row.in_place->time.count(), row.out_of_place->time.count()});
  return more / 115 <= less / 100;
}

std::vector<Crossover> crossovers(const std::vector<BenchmarkTable>& tables) {
  constexpr std::int64_t kNoise = 85;  // percent: in-place and out-of-place of one row differ by less
  std::vector<Crossover> out;
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (std::size_t r = 1; r < tables[t].rows.size(); ++r) {
      if (!is_steady(tables[t].rows[r - 1]) || !is_steady(tables[t].rows[r])) continue;
      const std::int64_t smaller = tables[t].rows[r - 1].best().time.count();
      const std::int64_t larger = tables[t].rows[r].best().time.count();
      if (larger / 100 < smaller / 100 * kNoise / 100)
        out.push_back({t, r, larger / std::max<std::int64_t>(1, smaller / 100)});
    }
  return out;
}

// Ranks that busbw / algbw tells of, in every table; 0: not in all.
std::int64_t fewest_by_columns(const std::vector<BenchmarkTable>& tables) {
  std::int64_t fewest = 0;
  for (const BenchmarkTable& table : tables) {
    const std::int64_t ranks = table.inferred_ranks();
    if (ranks == 0) return 0;
    fewest = fewest == 0 ? ranks : std::min(fewest, ranks);
  }
  return fewest;
}

void take_benchmark(Facts& facts, const Benchmark& benchmark) {
  facts.tables = benchmark.tables;
  facts.crossovers = crossovers(benchmark.tables);
  facts.failures = benchmark.failures;
  if (!facts.of_rccl) facts.of_rccl = benchmark.of_rccl;
  facts.jobs_at_once = benchmark.jobs_at_once;
  for (const BenchmarkTable& table : benchmark.tables) facts.wrong += table.wrong();
  if (!facts.nccl_version && !benchmark.nccl_version.empty()) facts.nccl_version = {benchmark.nccl_version, {}};
  if (!benchmark.ranks.empty()) {
    const spec::Place place = benchmark.ranks.front().place;
    facts.gpu_name = benchmark.ranks.front().gpu;
    // Long lists are cut by those who copy them: the highest number counts, and where the columns tell of far more
    // ranks, theirs. Rates of few digits do not tell one rank more from the right number, so twice as many are far
    // more.
    std::int64_t highest = 0;
    for (const BenchmarkRank& rank : benchmark.ranks) highest = std::max(highest, rank.rank);
    const bool alone = benchmark.jobs_at_once > 1 && highest == 0;
    const std::int64_t by_columns = benchmark.jobs_at_once > 1 ? 0 : fewest_by_columns(benchmark.tables);
    const bool cut = by_columns >= 2 * (highest + 1);
    // Of each host some ranks are shown: its last one is not the job's, for servers are alike.
    const std::int64_t hosts = benchmark.hosts();
    const bool thinned = !cut && (highest + 1) % hosts != 0 && by_columns > highest && by_columns % hosts == 0;
    if (!facts.ranks) facts.ranks = {alone ? benchmark.jobs_at_once : cut || thinned ? by_columns : highest + 1, place};
    // Processes that ran alone, one on each host, were meant as one job.
    if (alone)
      facts.nodes = {benchmark.jobs_at_once, place};
    else if (!cut && (!facts.nodes || benchmark.jobs_at_once > 1))
      facts.nodes = {hosts, place};
  }
  // Words in a comment count where the program itself says nothing, and the ratio of rates after them.
  for (const BenchmarkTable& table : benchmark.tables) {
    if (!facts.ranks && table.said_ranks) facts.ranks = {*table.said_ranks, table.place};
    if (!facts.nodes && table.said_nodes) facts.nodes = {*table.said_nodes, table.place};
    if (!facts.ranks && table.inferred_ranks() > 0) facts.ranks = {table.inferred_ranks(), table.place};
    for (const auto& [name, value] : table.environment) facts.environment.try_emplace(name, value);
  }
}

// What the dump of a topology says of each GPU and NIC; a template says nothing.
void take_abilities(Facts& facts, const std::vector<TopologyNet>& nets) {
  for (const TopologyNet& net : nets)
    if (net.gdr) facts.can_gpudirect = facts.can_gpudirect.value_or(true) && *net.gdr;
}
void take_abilities(Facts& facts, const PciDevice& device) {
  if (device.gpu && device.gpu->gdr) facts.can_gpudirect = facts.can_gpudirect.value_or(true) && *device.gpu->gdr;
  take_abilities(facts, device.nets);
  for (const PciDevice& below : device.below) take_abilities(facts, below);
}

void take_machine(Facts& facts, const Evidence& evidence) {
  if (evidence.server != nullptr) facts.server = *evidence.server;
  if (evidence.topology != nullptr && !evidence.topology->cpus.empty()) {
    const TopologyCpu& cpu = evidence.topology->cpus.front();
    facts.cpu_vendor = cpu.vendor;
    facts.cpu_family = cpu.family;
    facts.cpu_model = cpu.model;
    for (const TopologyCpu& each : evidence.topology->cpus) {
      take_abilities(facts, each.nets);
      for (const PciDevice& device : each.devices) take_abilities(facts, device);
    }
  }
  const std::int64_t gpus = evidence.server != nullptr   ? evidence.server->gpus
                            : evidence.matrix != nullptr ? evidence.matrix->gpus()
                                                         : 0;
  if (!facts.gpus_per_node && facts.ranks && facts.nodes && facts.ranks->value % facts.nodes->value == 0)
    facts.gpus_per_node = {facts.ranks->value / facts.nodes->value, facts.ranks->place};
  if (!facts.gpus_per_node && gpus > 0) facts.gpus_per_node = {gpus, {}};
}

// Others may differ by right: interfaces, files and names of a host.
constexpr std::array<std::string_view, 8> kSameEverywhere = {"NCCL_IB_",   "NCCL_P2P_", "NCCL_NET",  "NCCL_ALGO",
                                                             "NCCL_PROTO", "NCCL_SHM_", "NCCL_PXN_", "NCCL_NVLS_"};

}  // namespace

std::string names_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string made;
  std::size_t shown = 0;
  for (const std::string& each : names) {
    if (shown == kShown) return fmt::format("{} and {} more", made, names.size() - kShown);
    made += (shown++ > 0 ? ", " : "") + each.substr(0, 64);
  }
  return made;
}

std::vector<std::string> uneven_settings(const Facts& facts) {
  std::set<std::string> all;  // hosts that printed any of their variables
  for (const auto& [name, values] : facts.set_on)
    for (const auto& [value, hosts] : values) all.insert(hosts.begin(), hosts.end());
  std::vector<std::string> made;
  for (const auto& [name, values] : facts.set_on) {
    if (std::none_of(kSameEverywhere.begin(), kSameEverywhere.end(),
                     [&](std::string_view each) { return name.starts_with(each); }))
      continue;
    std::set<std::string> without = all;
    std::string text;
    for (const auto& [value, hosts] : values) {
      for (const std::string& host : hosts) without.erase(host);
      text += fmt::format("{}{} on {}", text.empty() ? name + " is " : ", ", value.substr(0, 40), names_of(hosts));
    }
    if (values.size() == 1 && without.empty()) continue;
    if (!without.empty()) text += fmt::format(", and not set on {}", names_of(without));
    made.push_back(std::move(text));
  }
  return made;
}

Facts gather(const Evidence& evidence) {
  Facts facts;
  if (evidence.log != nullptr) facts.environment = evidence.log->environment;
  if (evidence.log != nullptr) take_log(facts, *evidence.log);
  if (evidence.benchmark != nullptr) take_benchmark(facts, *evidence.benchmark);
  take_machine(facts, evidence);
  const auto set = [&](const std::string& name) -> const std::string* {
    const auto found = facts.environment.find(name);
    return found == facts.environment.end() ? nullptr : &found->second;
  };
  if (const std::string* forced = set("NCCL_ALGO")) facts.algorithm = *forced;
  if (const std::string* forced = set("NCCL_PROTO")) facts.protocol = *forced;
  const std::string* level = set("NCCL_P2P_LEVEL");
  const std::string* disable = set("NCCL_P2P_DISABLE");
  facts.p2p_disabled |=
      (level != nullptr && (*level == "LOC" || *level == "0")) || (disable != nullptr && *disable == "1");
  return facts;
}

}  // namespace weft::measured
