#include "app/why/why_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/session.hpp"
#include "base/text.hpp"
#include "experiment/run_collectives.hpp"
#include "measured/named_server.hpp"
#include "measured/smi_matrix.hpp"
#include "measured/text_lines.hpp"
#include "measured/topology_cluster.hpp"
#include "spec/files.hpp"
#include "truth/measurements.hpp"

namespace weft::app {
namespace {

using collective::Operation;
using measured::BenchmarkTable;
using spec::Error;
using why::Observation;
using why::Situation;

constexpr std::int64_t kUsualSize = std::int64_t{1} << 30;  // of a figure that comes without one
constexpr std::int64_t kMostSize = std::int64_t{1} << 44;
// Operations of nccl-tests without a model, and what loads the same links.
constexpr std::pair<std::string_view, std::string_view> kStandIns[] = {
    {"gather", "reduce"}, {"scatter", "broadcast"}, {"hypercube", "all_gather"}};
constexpr std::int64_t kMostUnsaid = 256;  // GPUs of a job of which only the cluster is known

double gigabytes(Bandwidth rate) { return static_cast<double>(rate.count()) / 8e9; }

class Reading {
 public:
  Reading(const WhyOptions& options, WhyInputs& out) : options_(options), out_(out) {}

  bool read() {
    out_.catalog = std::make_shared<const model::Catalog>(load_catalog(options_.input, out_.diagnostics));
    refuse_simulated();
    if (!read_machine_file()) return false;
    out_.model = out_.diagnostics;
    read_logs();
    read_measured();
    choose_table();
    gather();
    if (out_.diagnostics.has_errors() || !load_machine()) return false;
    set_job();
    if (out_.diagnostics.has_errors()) return false;
    keep_chosen_nics();
    keep_links_of_job();
    observe();
    return !out_.diagnostics.has_errors();
  }

 private:
  void refuse(Error error, std::string message, std::string help) {
    out_.diagnostics.add(error, {}, std::move(message), std::move(help));
  }

  // What somebody measured ran as it did; only NCCL's variables say how.
  void refuse_simulated() {
    if (!options_.collective.given.empty())
      refuse(Error::contradiction,
             fmt::format("{} is for a collective that is simulated, and this one was measured",
                         options_.collective.given.front()),
             "--gpus and --nodes say who took part, --env NCCL_ALGO=Ring what NCCL was told");
  }

  bool is_described() const { return machine_source_ != 0; }
  bool is_topology() const {
    return !options_.smi.empty() || !options_.input.topology.empty() || measured::is_topology(options_.input.file);
  }

  bool read_machine_file() {
    const InputOptions& input = options_.input;
    const int given = !input.file.empty() + !input.topology.empty() + !options_.smi.empty();
    if (given > 1)
      refuse(Error::no_file_here, "several descriptions of the machine", "a cluster file, --topo or --smi");
    path_ = !options_.smi.empty() ? options_.smi : !input.topology.empty() ? input.topology : input.file;
    if (given == 0) {
      // Without a description, outputs and logs name parts in passing.
      spec::Diagnostics scratch;
      const bool others = !options_.measured.empty() || !options_.logs.empty();
      const auto found = model::find_cluster_file(".", others ? scratch : out_.diagnostics);
      if (!found && others) return true;
      if (!found) return false;
      path_ = *found;
    }
    if (out_.diagnostics.has_errors()) return false;
    const auto source = spec::load_file(path_, out_.diagnostics);
    if (!source) return false;
    machine_source_ = *source;
    return true;
  }

  void read_logs() {
    for (const std::string& path : options_.logs) {
      const auto source = spec::load_file(path, out_.diagnostics, measured::kMostOutput);
      if (!source) continue;
      auto log = measured::read_nccl_log(*source, out_.diagnostics);
      if (log && log->says_nothing) out_.assumed.push_back(fmt::format("nothing in {} is known to matter here", path));
      if (log) logs_.push_back(std::move(*log));
      // A log is often all that the job printed, rows and ranks included.
      spec::Diagnostics scratch = out_.diagnostics;
      if (options_.measured.empty() && !benchmark_) benchmark_ = measured::read_benchmark(*source, scratch);
    }
  }

  void read_measured() {
    if (options_.measured.empty()) return;
    if (options_.measured.ends_with(".csv")) {
      const auto table = truth::load_measurements(options_.measured, out_.diagnostics);
      if (table) csv_ = table->rows;
      if (std::any_of(csv_.begin(), csv_.end(), [](const truth::Measurement& row) { return row.time == Duration(0); }))
        out_.diagnostics.add(Error::wrong_type, {table->source, 1, 1, 1}, "busbw alone does not say the time here",
                             "time_us or algbw_GBps beside it");
      return;
    }
    const auto source = spec::load_file(options_.measured, out_.diagnostics, measured::kMostOutput);
    if (source) benchmark_ = measured::read_benchmark(*source, out_.diagnostics);
    if (benchmark_ && benchmark_->tables.empty() && benchmark_->ranks.empty())
      out_.diagnostics.add(Error::bad_benchmark, {*source, 0, 0, 1}, "no row was found in it",
                           "the output of all_reduce_perf or another of nccl-tests");
  }

  void gather() {
    measured::Evidence evidence;
    const bool xml = is_described() && is_topology() &&
                     out_.diagnostics.sources().text(machine_source_).find('<') != std::string::npos;
    spec::Diagnostics scratch = out_.model;  // said once, when the machine is loaded
    std::optional<measured::Topology> topology;
    std::optional<measured::SmiMatrix> matrix;
    if (xml) topology = measured::read_topology(machine_source_, scratch);
    if (is_described() && is_topology() && !xml) matrix = measured::read_smi_matrix(machine_source_, scratch);
    if (topology) server_ = measured::outline_of(*topology, *out_.catalog, scratch);
    if (benchmark_) evidence.benchmark = &*benchmark_;
    const std::string gpu = benchmark_ && !benchmark_->ranks.empty() ? benchmark_->ranks[0].gpu : "";
    if (matrix) server_ = measured::outline_of(*matrix, gpu, *out_.catalog, scratch);
    for (const measured::NcclLog& log : logs_)
      if (!is_described() && !server_) server_ = measured::outline_of(log.system, gpu);
    if (topology) evidence.topology = &*topology;
    if (matrix) evidence.matrix = &*matrix;
    if (server_) evidence.server = &*server_;
    if (!logs_.empty()) evidence.log = &logs_[0];
    Situation& situation = out_.situation;
    situation.facts = measured::gather(evidence);
    for (std::size_t i = 1; i < logs_.size(); ++i) add_log(logs_[i]);
    for (const std::string& text : options_.environment) {
      const std::size_t equals = text.find('=');
      if (equals == 0 || equals == std::string::npos)
        refuse(Error::wrong_type, fmt::format("--env cannot be '{}'", text.substr(0, 40)), "--env NCCL_P2P_DISABLE=1");
      else if (const std::string_view word =
                   collective::refused_word(text.substr(0, equals), std::string_view(text).substr(equals + 1));
               !word.empty())
        refuse(Error::not_a_choice, fmt::format("NCCL has no '{}' for {}", word.substr(0, 40), text.substr(0, equals)),
               fmt::format("{}", collective::words_for(text.substr(0, equals))));
      else
        situation.facts.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
    if (const std::string* off = situation.environment("NCCL_P2P_DISABLE")) situation.facts.p2p_disabled |= *off == "1";
    if (const std::string* level = situation.environment("NCCL_P2P_LEVEL"))
      situation.facts.p2p_disabled |= *level == "LOC" || *level == "0";
  }

  // Further texts add to what the first says: environment, mentions, networks.
  void add_log(const measured::NcclLog& log) {
    measured::Evidence evidence;
    evidence.log = &log;
    measured::Facts more = measured::gather(evidence);
    measured::Facts& facts = out_.situation.facts;
    facts.environment.merge(more.environment);
    facts.mentions.merge(more.mentions);
    for (const auto& [name, values] : more.set_on)
      for (const auto& [value, hosts] : values) facts.set_on[name][value].insert(hosts.begin(), hosts.end());
    facts.hosts_with_gdr.merge(more.hosts_with_gdr);
    facts.hosts_without_gdr.merge(more.hosts_without_gdr);
    facts.own_devices.merge(more.own_devices);
    facts.hardware.add(more.hardware);
    facts.trials.insert(facts.trials.end(), more.trials.begin(), more.trials.end());
    facts.host_runs.insert(facts.host_runs.end(), more.host_runs.begin(), more.host_runs.end());
    facts.networks.insert(facts.networks.end(), more.networks.begin(), more.networks.end());
    facts.interfaces.insert(facts.interfaces.end(), more.interfaces.begin(), more.interfaces.end());
    facts.graphs.insert(facts.graphs.end(), more.graphs.begin(), more.graphs.end());
    facts.plugin_missing |= more.plugin_missing;
    facts.no_ib_device |= more.no_ib_device;
    facts.p2p_disabled |= more.p2p_disabled;
    facts.with_gpudirect += more.with_gpudirect;
    facts.without_gpudirect += more.without_gpudirect;
    facts.p2p += more.p2p;
    facts.shared_memory += more.shared_memory;
    if (!facts.nccl_version) facts.nccl_version = more.nccl_version;
    if (!facts.of_rccl) facts.of_rccl = more.of_rccl;
    if (!facts.ranks) facts.ranks = more.ranks;
    if (!facts.nodes) facts.nodes = more.nodes;
    if (!facts.channels.collective) facts.channels = more.channels;
    if (facts.algorithm.empty()) facts.algorithm = more.algorithm;
    facts.net_devices_used = std::max(facts.net_devices_used, more.net_devices_used);
  }

  // Servers that the topology stands for: as somebody says, or as many as the ranks need.
  std::int64_t nodes() const {
    if (options_.input.nodes > 0) return options_.input.nodes;
    const measured::Facts& facts = out_.situation.facts;
    std::int64_t most = facts.nodes ? facts.nodes->value : 1;
    for (const BenchmarkTable& table : facts.tables) most = std::max(most, table.said_nodes.value_or(1));
    std::int64_t ranks = options_.gpus > 0 ? options_.gpus : facts.ranks ? facts.ranks->value : 0;
    if (ranks == 0)
      for (const BenchmarkTable& table : facts.tables)
        ranks = std::max(ranks, table.said_ranks.value_or(table.inferred_ranks()));
    const std::int64_t each = server_ && server_->gpus > 0 ? server_->gpus
                              : is_described()             ? 0
                                                           : measured::usual_gpus(facts.gpu_name);
    if (most == 1 && !facts.nodes && each > 0) most = std::max<std::int64_t>(1, (ranks + each - 1) / each);
    // Who tells of NICs alone asks about servers.
    if (most == 1 && !facts.nodes && ranks == 0 && !is_described() && asks_for_network(facts)) most = 2;
    // Queue pairs join servers.
    if (most == 1 && !facts.nodes && facts.mentions.contains(measured::Mention::unreachable)) most = 2;
    return std::clamp<std::int64_t>(most, 1, 100'000);
  }

  static bool asks_for_network(const measured::Facts& facts) {
    const auto& set = facts.environment;
    const auto first = set.lower_bound("NCCL_IB_");
    const bool ib = first != set.end() && first->first.starts_with("NCCL_IB_");
    return (facts.no_ib_device || ib || set.contains("FI_PROVIDER")) && facts.p2p == 0 && facts.shared_memory == 0;
  }

  // What the files name in passing, as a cluster file.
  std::uint32_t named_machine() {
    const measured::Facts& facts = out_.situation.facts;
    measured::NamedParts parts;
    parts.gpu = facts.gpu_name;
    parts.nodes = nodes();
    if (const std::int64_t ranks = options_.gpus > 0 ? options_.gpus : facts.ranks ? facts.ranks->value : 0; ranks > 0)
      parts.gpus = (ranks + parts.nodes - 1) / parts.nodes;
    for (const measured::LogInterface& each : facts.interfaces) parts.nics += each.plugin == "IB";
    for (const measured::NetUse& use : facts.networks) parts.efa |= use.transport == measured::NetTransport::ofi;
    parts.nvls = facts.channels.nvls.value_or(0) > 0;
    for (const BenchmarkTable& table : facts.tables)
      for (const measured::BenchmarkRow& row : table.rows) parts.busbw = std::max(parts.busbw, row.best().bus);
    for (const auto& port : facts.hardware.ports)
      parts.port = std::max(parts.port, gigabits_per_second(1) * port.megabits / 1'000);
    parts.server = server_;
    measured::NamedCluster made = measured::cluster_of(parts, *out_.catalog, out_.model);
    out_.assumed.insert(out_.assumed.end(), made.assumed.begin(), made.assumed.end());
    out_.situation.machine_known = made.gpu_known;
    if (options_.input.nodes == 0 && !facts.nodes && parts.nodes > 1 && !server_)
      out_.assumed.push_back(fmt::format("nothing says how many servers these were: {}, of up to {} GPUs", parts.nodes,
                                         measured::usual_gpus(facts.gpu_name)));
    return out_.model.sources().add("the machine as the files name it", made.text);
  }

  bool load_machine() {
    const std::vector<std::string>& set = options_.input.set;
    cluster_source_ = machine_source_;
    out_.machine_name = "not described: what the files name in passing";
    if (!is_described()) {
      if (const auto& place = out_.situation.facts.of_rccl) {
        out_.diagnostics.add(Error::not_for_nccl, *place, "the job ran on AMD GPUs, with RCCL",
                             "MI300X, MI355X and their xGMI links are not modelled, and no NVIDIA GPU stands in for "
                             "them; a cluster file can describe the machine, and is then taken as NCCL would");
        return false;
      }
      cluster_source_ = named_machine();
    } else if (is_topology()) {
      auto loaded = measured::load_topology_cluster(machine_source_, nodes(), {set}, *out_.catalog, out_.model,
                                                    out_.situation.facts.gpu_name);
      if (!loaded) return false;
      cluster_source_ = loaded->text_source;
      for (const spec::Diagnostic& each : out_.model.sorted())
        out_.assumed.push_back(each.help.empty() ? each.message : each.message + ": " + each.help);
    }
    out_.situation.fabric_known = is_described() && !is_topology();
    if (out_.situation.facts.of_rccl)
      out_.assumed.push_back("the job ran with RCCL: what NCCL would choose stands in for what it chose");
    if (is_described()) out_.machine_name = out_.diagnostics.sources().name(machine_source_);
    return make_machine(set);
  }

  // False when these words give no cluster, which the model's diagnostics then say.
  bool make_machine(const std::vector<std::string>& set) {
    auto design = experiment::Design::read(cluster_source_, path_.stem().string(), set, out_.catalog, out_.model);
    if (!design) return false;
    out_.machine = std::make_unique<why::Machine>(*design);
    out_.design = std::move(design);
    return true;
  }

  // Who names some NICs with NCCL_IB_HCA has no more than these, and knows it.
  void keep_chosen_nics() {
    const model::Group& group = out_.machine->cluster()->groups[0];
    const std::int64_t nics = out_.situation.nics_allowed();
    if (nics <= 0 || nics >= group.spec.nics || !out_.situation.several_nodes()) return;
    const std::vector<std::int64_t> named = out_.situation.nic_numbers(group.spec.nics);
    std::vector<std::uint32_t> kept(group.diagram.nic_switch.begin(), group.diagram.nic_switch.begin() + nics);
    for (std::size_t i = 0; i < named.size(); ++i)
      kept[i] = group.diagram.nic_switch[static_cast<std::size_t>(named[i])];
    const std::string at = out_.machine->servers();
    chosen_ = {fmt::format("{}.nics={}", at, nics), fmt::format("{}.nic_switch=[{}]", at, fmt::join(kept, ", "))};
    std::vector<std::string> set = options_.input.set;
    set.insert(set.end(), chosen_.begin(), chosen_.end());
    const std::int64_t all = group.spec.nics;
    std::vector<std::string> all_nics = {
        fmt::format("{}.nics={}", at, all),
        fmt::format("{}.nic_switch=[{}]", at, fmt::join(group.diagram.nic_switch, ", "))};
    if (!make_machine(set)) return;
    out_.all_nics = std::move(all_nics);
    out_.assumed.push_back(fmt::format("NCCL_IB_HCA names {} of {}: {} taken", nics, counted(all, "NIC"),
                                       named.empty() ? "the first of them were" : "those of these numbers were"));
  }

  // Where NVLinks join GPUs directly and a job has only some of a server's GPUs, it has only the links between those.
  void keep_links_of_job() {
    if (!server_ || server_->nvlinks_between.empty() || server_->nvlink.empty()) return;
    const std::size_t used = out_.situation.job.per_server;
    if (used < 2 || used >= server_->nvlinks_between.size()) return;
    std::int64_t fewest = INT64_MAX;
    for (std::size_t a = 0; a < used; ++a) {
      std::int64_t links = 0;
      for (std::size_t b = 0; b < used; ++b) links += server_->nvlinks_between[a][b];
      fewest = std::min(fewest, links);
    }
    spec::Diagnostics scratch = out_.model;
    const auto link = out_.catalog->load<model::LinkKind>("links", server_->nvlink, scratch);
    if (fewest == 0 || !link || !link->both_ways || !link->links) return;
    std::vector<std::string> set = options_.input.set;
    set.insert(set.end(), chosen_.begin(), chosen_.end());
    set.push_back(fmt::format("servers.scale_up.link.both_ways={}", exact(*link->both_ways * fewest / *link->links)));
    if (!make_machine(set)) return;
    out_.assumed.push_back(fmt::format("{} between the {} GPUs of the job", counted(fewest, "NVLink"), used));
  }

  // ---- the job

  void choose_table() {
    if (!benchmark_ || benchmark_->tables.empty()) return;
    std::vector<BenchmarkTable>& tables = benchmark_->tables;
    if (options_.table > tables.size())
      return refuse(Error::out_of_range,
                    fmt::format("--table {}: the output has {}", options_.table,
                                counted(static_cast<std::int64_t>(tables.size()), "table")),
                    "count from 1");
    if (options_.table > 0) {
      out_.situation.table = options_.table - 1;
    } else if (tables.size() > 1) {
      // The one whose largest rows are slowest for what they are: that is what somebody asks about.
      const auto rate = [](const BenchmarkTable& table) { return table.rows.back().best().bus.count(); };
      // Pieces of tables end with small sizes, which are slow for another reason.
      std::int64_t largest = 0;
      for (const BenchmarkTable& table : tables) largest = std::max(largest, table.rows.back().bytes);
      const auto first = std::find_if(tables.begin(), tables.end(), [&](const BenchmarkTable& table) {
        return table.rows.back().bytes >= largest / 4;
      });
      out_.situation.table = static_cast<std::size_t>(first - tables.begin());
      for (std::size_t i = out_.situation.table + 1; i < tables.size(); ++i)
        if (tables[i].collective == first->collective && same_size(tables[i], *first) &&
            tables[i].rows.back().bytes >= largest / 4 &&
            rate(tables[i]) < rate(tables[out_.situation.table]) * 95 / 100)
          out_.situation.table = i;
    }
    // What was set for another table says nothing about this one.
    for (std::size_t i = 0; i < tables.size(); ++i)
      if (i != out_.situation.table) tables[i].environment.clear();
    if (tables.size() > 1)
      out_.tables = fmt::format("table {} of {}{}; --table N explains another", out_.situation.table + 1, tables.size(),
                                tables[out_.situation.table].note.empty()
                                    ? ""
                                    : " (" + tables[out_.situation.table].note.substr(0, 60) + ")");
  }
  static bool same_size(const BenchmarkTable& a, const BenchmarkTable& b) {
    return a.said_nodes == b.said_nodes && a.inferred_ranks() == b.inferred_ranks() && a.environment == b.environment;
  }

  // Programs that are not named: the columns tell which they could be.
  std::string operation_by_columns(const BenchmarkTable& table) {
    if (table.rows.empty()) return "";
    const measured::BenchmarkRow& row = table.rows.back();
    const measured::Timing& best = row.best();
    if (best.algorithm.count() <= 0 || best.bus.count() <= 0) return "";
    const double ratio = static_cast<double>(best.bus.count()) / static_cast<double>(best.algorithm.count());
    const bool sums = !row.operation.empty() && row.operation != "none";
    std::string made = ratio > 1.02   ? "all_reduce"
                       : ratio < 0.98 ? (sums ? "reduce_scatter" : "all_gather")
                                      : (sums ? "reduce" : "broadcast");
    const bool two =
        table.said_ranks.value_or(0) == 2 || (out_.situation.facts.ranks && out_.situation.facts.ranks->value == 2);
    if (two && sums && made == "reduce") made = "all_reduce";
    out_.assumed.push_back(
        fmt::format("no program is named: busbw / algbw is {:.2f} and redop {}, as {} has it{}; --collective says it",
                    ratio, row.operation.empty() ? "not said" : row.operation, made,
                    made == "all_gather"  ? " (all_to_all, too)"
                    : made == "broadcast" ? " (send_recv, too)"
                                          : ""));
    return made;
  }

  void set_job() {
    Situation& situation = out_.situation;
    const BenchmarkTable* table = situation.facts.tables.empty() ? nullptr : &situation.facts.tables[situation.table];
    const model::Cluster& cluster = *out_.machine->cluster();
    std::string operation = options_.collective.operation;
    if (operation.empty() && table != nullptr) operation = table->collective;
    if (operation.empty() && table != nullptr) operation = operation_by_columns(*table);
    if (operation == "alltoall" || operation == "alltoallv") operation = "all_to_all";
    if (operation == "sendrecv") operation = "send_recv";
    for (const auto& [theirs, ours] : kStandIns)
      if (operation == theirs) {
        operation = ours;
        out_.assumed.push_back(fmt::format("{} is not modelled: {} stands in for it", theirs, ours));
      }
    if (operation.empty()) operation = "all_reduce";
    const auto named = collective::operation_named(operation);
    if (!named)
      return refuse(Error::unknown_key, fmt::format("no collective is called '{}'", operation.substr(0, 40)),
                    "--collective all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all or send_recv");
    situation.job.operation = *named;
    if (const std::string* forced = situation.environment("NCCL_ALGO"))
      if (const std::string_view list = collective::not_modelled(collective::list_for(*named, *forced)); !list.empty())
        out_.assumed.push_back(
            fmt::format("{} is not modelled: what NCCL would choose by itself stands in for it", list.substr(0, 40)));

    std::int64_t nodes = this->nodes();
    if (options_.input.nodes == 0 && table != nullptr && table->said_nodes) nodes = *table->said_nodes;
    std::int64_t gpus = options_.gpus;
    if (gpus == 0 && table != nullptr) gpus = table->said_ranks.value_or(0);
    if (gpus == 0 && situation.facts.ranks) gpus = situation.facts.ranks->value;
    const std::int64_t per_server = cluster.groups[0].gpus();
    // A cluster file of which nothing else is said is a job on all of it.
    if (gpus == 0 && options_.input.nodes == 0 && out_.situation.fabric_known && !situation.facts.nodes &&
        cluster.gpus <= kMostUnsaid)
      nodes = cluster.gpus / per_server;
    if (gpus == 0) gpus = nodes * per_server;
    if (options_.input.nodes == 0 && !situation.facts.nodes && gpus > per_server)
      nodes = (gpus + per_server - 1) / per_server;
    if (gpus == 1)
      return refuse(
          Error::out_of_range, "1 GPU: a collective of one rank sends nothing",
          "its busbw is 0 by what it is, (n - 1) / n of what is sent; --gpus says how many took part otherwise");
    if (gpus < 2 || gpus % nodes != 0 || gpus / nodes > per_server || gpus > cluster.gpus)
      return refuse(Error::out_of_range,
                    fmt::format("{} GPUs on {} of {} GPUs each", grouped(gpus), counted(nodes, "server"), per_server),
                    "--nodes and --gpus say what took part; a larger cluster file where it is too small");
    situation.nodes = static_cast<std::uint32_t>(nodes);
    situation.job.gpus = static_cast<std::uint32_t>(gpus);
    situation.job.per_server = static_cast<std::uint32_t>(gpus / nodes);
    set_stack(cluster);
    if (out_.diagnostics.has_errors()) return;
    if (out_.machine->team(situation.job, {}) == nullptr)
      refuse(Error::not_simulated, fmt::format("nothing joins {} GPUs on {}", gpus, counted(nodes, "server")),
             "a machine with NICs and a fabric, or --nodes 1");
    else
      check_machine();
  }

  // What `weft sim` would refuse of the job, and what the model does not know of the machine.
  void check_machine() {
    why::Job& job = out_.situation.job;
    experiment::check_jobs(
        *out_.design,
        {.jobs =
             {{.operation = job.operation, .gpus = job.gpus, .sizes = {}, .stack = {}, .per_server = job.per_server}}},
        {}, false);
    experiment::check_shares(*out_.design, {}, {out_.machine->team(job, {})});
    for (const spec::Diagnostic& each : out_.design->diagnostics().sorted())
      if (spec::info(each.error).severity() == spec::Severity::error) refuse(each.error, each.message, each.help);
  }

  void set_stack(const model::Cluster& cluster) {
    Situation& situation = out_.situation;
    std::string name = options_.collective.stack;
    // NCCL's word about what it used, unless that is what is wrong.
    for (const measured::NetUse& use : situation.facts.networks)
      if (name.empty() && use.transport == measured::NetTransport::infiniband &&
          cluster.groups[0].spec.nic.kind.find("efa") == std::string::npos)
        name = interfaces_are("RoCE") ? "roce" : "ib";
    situation.job.stack = name.empty()
                              ? &collective::default_stack(cluster.file.transport.kind, cluster.groups[0].spec.nic.kind)
                              : collective::stack_named(name);
    if (situation.job.stack == nullptr)
      refuse(Error::unknown_key, fmt::format("no stack is called '{}'", name.substr(0, 40)),
             "--stack ib, roce, efa, efa-v1 or tcp");
  }
  bool interfaces_are(std::string_view kind) const {
    const auto& all = out_.situation.facts.interfaces;
    return std::any_of(all.begin(), all.end(), [&](const measured::LogInterface& each) { return each.kind == kind; });
  }

  // ---- what was measured

  double bus_factor() const {
    const Ratio factor = collective::bus_factor(out_.situation.job.operation, out_.situation.job.gpus);
    return static_cast<double>(factor.over) / static_cast<double>(factor.under);
  }

  void observe() {
    Situation& situation = out_.situation;
    if (!situation.facts.tables.empty())
      for (const measured::BenchmarkRow& row : situation.facts.tables[situation.table].rows) {
        if (row.bytes == 0 || row.best().time.count() == 0) continue;
        // Time has more digits than a rate that is printed as 0.01.
        double bus = static_cast<double>(row.bytes) * 1e3 / static_cast<double>(row.best().time.count()) * bus_factor();
        if (const double printed = gigabytes(row.best().bus);
            printed >= 1 && std::abs(bus - printed) > 0.03 * printed) {
          if (std::exchange(said_other_bus_, true) == false)
            out_.assumed.push_back(fmt::format(
                "busbw is printed as {:.4g} GB/s at {}, and would be {:.4g} for {} of {} GPUs: the printed ones are "
                "kept; --collective and --gpus say it better",
                printed, exact(Bytes(row.bytes)), bus, collective::name(situation.job.operation), situation.job.gpus));
          bus = printed;
        }
        bool steady = true;
        if (row.in_place && row.out_of_place) {
          const auto [less, more] = std::minmax({row.in_place->time.count(), row.out_of_place->time.count()});
          steady = static_cast<double>(more) <= 1.15 * static_cast<double>(less);
        }
        situation.observations.push_back({{static_cast<std::uint64_t>(row.bytes)}, bus, steady, row.place});
      }
    for (const truth::Measurement& row : csv_)
      situation.observations.push_back(
          {{row.bytes},
           static_cast<double>(row.bytes) * 1e3 / static_cast<double>(row.time.count()) * bus_factor(),
           row.steady,
           {}});
    for (const std::string& text : options_.busbw) add_figure("--busbw", text, 1, false);
    for (const std::string& text : options_.algbw) add_figure("--algbw", text, bus_factor(), false);
    for (const std::string& text : options_.average) add_figure("--average", text, 1, true);
    std::stable_sort(situation.observations.begin(), situation.observations.end(),
                     [](const Observation& a, const Observation& b) { return a.largest() < b.largest(); });
    if (options_.expect.empty()) return;
    const auto rate = parse<BandwidthDimension>(options_.expect);
    if (!rate || rate->count() <= 0)
      refuse(Error::wrong_type, fmt::format("--expect cannot be '{}'", options_.expect.substr(0, 40)),
             "the busbw that was expected: --expect 390GB/s");
    else
      situation.hoped = gigabytes(*rate);
  }

  // 1GiB=216GB/s, 8B..1GiB=6GB/s for an average, or a rate alone.
  void add_figure(std::string_view option, const std::string& text, double factor, bool average) {
    const std::size_t equals = text.find('=');
    const std::string sizes = equals == std::string::npos ? "" : text.substr(0, equals);
    const auto rate = parse<BandwidthDimension>(equals == std::string::npos ? text : text.substr(equals + 1));
    const std::size_t dots = sizes.find("..");
    const auto last = sizes.empty() ? Result<Bytes, UnitFault>(Bytes(kUsualSize))
                                    : parse<BytesDimension>(dots == std::string::npos ? sizes : sizes.substr(dots + 2));
    const auto first = dots == std::string::npos ? (average ? Result<Bytes, UnitFault>(Bytes(8)) : last)
                                                 : parse<BytesDimension>(sizes.substr(0, dots));
    if (!rate || !first || !last || rate->count() <= 0 || first->count() < 1 || *last < *first ||
        last->count() > kMostSize || (first->count() != last->count() && !average))
      return refuse(Error::wrong_type, fmt::format("{} cannot be '{}'", option, text.substr(0, 40)),
                    average ? "--average 8B..1GiB=6GB/s" : fmt::format("{} 1GiB=216GB/s", option));
    Observation made{{}, gigabytes(*rate) * factor, true, {}, option == "--algbw"};
    for (std::int64_t size = first->count(); size <= last->count(); size *= 2)
      made.sizes.push_back(static_cast<std::uint64_t>(size));
    out_.situation.observations.push_back(std::move(made));
  }

  const WhyOptions& options_;
  WhyInputs& out_;
  std::filesystem::path path_;
  std::uint32_t machine_source_ = 0;
  std::uint32_t cluster_source_ = 0;
  std::vector<measured::NcclLog> logs_;
  std::optional<measured::Benchmark> benchmark_;
  std::optional<measured::ServerOutline> server_;
  std::vector<truth::Measurement> csv_;
  std::vector<std::string> chosen_;  // words for --set of the NICs that the job may use
  bool said_other_bus_ = false;
};

}  // namespace

bool read_why_inputs(const WhyOptions& options, WhyInputs& out) { return Reading(options, out).read(); }

}  // namespace weft::app
