#include "cli/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "base/text.hpp"
#include "cli/completion.hpp"
#include "cli/lab_verbs.hpp"
#include "cli/man.hpp"
#include "cli/values.hpp"
#include "model/catalog.hpp"
#include "model/choices.hpp"

namespace weft::cli {
namespace {

const std::vector<std::string> kShown = {"servers", "gpus", "nics", "links", "paths", "bom", "fabric", "server"};

bool names_a_file(const std::string& text) {
  std::error_code unreadable;
  return text == "-" || text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".topo") ||
         text.ends_with(".xml") || std::filesystem::is_regular_file(text, unreadable);
}

// The options every command with a cluster has.
void add_input(CLI::App& command, app::InputOptions& input, bool positional) {
  if (positional) command.add_option("file", input.file, "default: the *.weft.yaml here; or .topo, .xml, - (stdin)");
  command.add_option("--set", input.set, "change the file for this run: fabric.spines=8")
      ->type_name("PATH=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--catalog", input.catalog, "directory with more catalog files")->type_name("DIR");
  command.add_flag("--json", input.json, "machine-readable output");
}

// A topology in the place of a cluster file. Servers are what it stands for, or those of a cluster file that take part.
void add_topology(CLI::App& command, app::InputOptions& input, bool runs = false) {
  input.runs = runs;
  command.add_option("--topo", input.topology, "NCCL's .xml, or nvidia-smi's matrix, as the cluster")
      ->type_name("FILE");
  command
      .add_option("--nodes", input.nodes,
                  runs ? "servers: that take part, or of the topology" : "servers that the topology stands for")
      ->check(CLI::Range(1, 100'000))
      ->option_text(runs ? "N" : "N=1");
}

// Everything that the parsed command line fills in; one verb is chosen by CLI11.
struct Verbs {
  app::InputOptions check;
  app::ShowOptions show;
  std::vector<std::string> show_rest;
  app::SimOptions sim;
  app::CompareOptions compare;
  app::ValidateOptions validate;
  app::WhyOptions why;
  app::PlanCommandOptions plan;
  app::PlotOptions plot;
  app::SweepOptions sweep;
  app::DstOptions dst;
  app::RenderOptions render;
  app::PlaceOptions place;
  app::RunVerbOptions run;
  app::DoctorOptions doctor;
  app::ReportOptions report;
  LabVerbs lab;
  app::CatalogOptions catalog;
  app::InitOptions init;
  app::SchemaView view = app::SchemaView::json_schema;
  std::string code;
  bool json = false;
  std::string shell;
  std::string helped;
  std::string man_directory;
  bool quiet = false;
};

void add_check(CLI::App& app, Verbs& verbs) {
  CLI::App* command = app.add_subcommand("check", "read a cluster file, say what is wrong or what it is");
  add_input(*command, verbs.check, true);
  add_topology(*command, verbs.check);
  command->footer(
      "Examples:\n"
      "  weft check\n"
      "  weft check acp.weft.yaml --set servers.nics=8\n"
      "  weft check fat_tree_1024.topo --json\n"
      "  weft check --topo system.xml --nodes 4");
}

void add_show(CLI::App& app, Verbs& verbs) {
  CLI::App* command = app.add_subcommand("show", "list or draw the parts of a cluster");
  add_input(*command, verbs.show.input, false);
  add_topology(*command, verbs.show.input);
  command->add_option("what", verbs.show.what, "servers gpus nics links paths fabric server; bom: to buy")
      ->required()
      ->check(CLI::IsMember(kShown));
  command->add_option("names", verbs.show_rest, "paths: two GPUs; server: a group; a cluster file");
  command->add_option("--as", verbs.show.as, "table, csv, json, svg, dot or nccl-xml")
      ->check(CLI::IsMember({"table", "csv", "json", "svg", "dot", "nccl-xml"}));
  command->add_option("-o,--output", verbs.show.output, "write to a file instead of stdout")->type_name("FILE");
  command->add_option("--limit", verbs.show.limit, "rows; 0 shows all. Default: 40 of a table, all of --json")
      ->option_text("N")
      ->check(CLI::Range(0, 1'000'000'000).description(""));
  command->add_option("--fail", verbs.show.fail, "paths: route around leaf0, s0/nic1 or leaf0:spine1")
      ->type_name("PART")
      ->take_all()
      ->allow_extra_args(false);
  command->footer(
      "Examples:\n"
      "  weft show gpus acp.weft.yaml\n"
      "  weft show paths s0/gpu0 s17/gpu3 acp.weft.yaml --fail spine0\n"
      "  weft show bom --as csv -o bom.csv acp.weft.yaml\n"
      "  weft show fabric --as svg -o fabric.svg acp.weft.yaml\n"
      "  weft show server --as svg -o server.svg acp.weft.yaml --set servers.nics=2\n"
      "  weft show server --as nccl-xml -o system.xml acp.weft.yaml");
}

// Of the options that a verb has, those that stand on the command line: what would be ignored can be refused.
std::vector<std::string> given(const CLI::App& command, std::initializer_list<const char*> names) {
  std::vector<std::string> out;
  for (const char* name : names)
    if (const CLI::Option* option = command.get_option_no_throw(name); option != nullptr && option->count() > 0)
      out.emplace_back(name);
  return out;
}

void take_given(const CLI::App& command, const app::InputOptions& input, app::WorkOptions& work) {
  work.traffic.given = given(command, {"--matrix", "--goal", "--chakra", "--pattern", "--stream", "--size", "--gpus",
                                       "--window", "--load", "--sizes", "--duration", "--arrivals", "--verb"});
  // Of a topology they say how large the cluster is, which is of use whatever runs.
  const bool topology = !input.topology.empty() || input.file.ends_with(".xml");
  if (input.nodes > 0 && !topology) {
    work.servers = static_cast<std::uint32_t>(input.nodes);
    work.traffic.given.emplace_back("--nodes");
  }
  work.collective.given = given(command, {"--per-server", "--on", "--beside", "--split", "--skew", "--slow-rank",
                                          "--algorithms", "--protocol", "--channels", "--stack", "--plot", "--no-pxn"});
}

// CLI11 reads -1 as the largest number there is, and what is larger than that as that.
CLI::Validator from_zero_on() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::result_out_of_range)
          return fmt::format("{} is too large: at most {}", text, UINT64_MAX);
        return error == std::errc() && end == text.data() + text.size()
                   ? ""
                   : fmt::format("'{}' cannot be: a whole number from 0 on", text);
      },
      "", "from zero on");
}

// What every verb that simulates is told.
void add_traffic(CLI::App& command, app::TrafficOptions& traffic) {
  command.option_defaults()->group("Flows");
  command.add_option("--matrix", traffic.matrix, "uet-htsim's connection matrix")->type_name("FILE.cm");
  command.add_option("--goal", traffic.goal, "GOAL schedule of LogGOPSim or ATLAHS, text or binary")->type_name("FILE");
  command.add_option("--chakra", traffic.chakra, "Chakra's execution traces, PREFIX.0.et and so on")
      ->type_name("PREFIX");
  command.add_option("--groups", traffic.groups, "ranks of the traces' groups: {\"0\": [0, 1]}")->type_name("FILE");
  command
      .add_option("--pattern", traffic.pattern, fmt::format("{}", fmt::join(enum_names<model::TrafficPattern>(), " ")))
      ->check(CLI::IsMember(enum_names<model::TrafficPattern>()))
      ->option_text("NAME=permutation");
  command.add_option("--size", traffic.size, "bytes of each flow, or of a collective: 2MB, 1GiB, 8G")
      ->option_text("SIZE=2MB");
  command.add_option("--gpus", traffic.gpus, "GPUs that take part; 0: all")->check(from_zero_on())->option_text("N=0");
  command.add_option("--window", traffic.window, "all-to-all: flows of a GPU at a time; 0: all")
      ->check(CLI::Range(0, 64))
      ->option_text("N=8");
  command.add_option("--arrivals", traffic.arrivals, "when flows begin: at-once; open loop: paced, poisson")
      ->check(CLI::IsMember(enum_names<model::FlowArrivals>()))
      ->option_text("NAME=at-once");
  command.add_option("--load", traffic.load, "open loop: of the line rate")->capture_default_str();
  command.add_option("--sizes", traffic.sizes, "8..8G of collectives; of flows see below")->option_text("SIZES");
  command.add_option("--duration", traffic.duration, "open loop: how long flows begin")->capture_default_str();
  command.add_option("--verb", traffic.verb, "of SRD: send, write, or read from the target")
      ->check(CLI::IsMember(enum_names<model::Verb>()))
      ->option_text("NAME=send");
  command.add_option("--stream", traffic.streams, "several at once: storage,pattern=poisson,transport=tcp")
      ->type_name("NAME,KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void add_runs(CLI::App& command, app::RunOptions& run, bool several, std::uint32_t& seeds, std::string& limit) {
  command.option_defaults()->group("The run");
  const auto known = [several](const std::string& text) -> std::string {
    const std::size_t names = app::count_fidelities(text);
    if (names == 1 || (names > 1 && several)) return {};
    return fmt::format("'{}' is none of packet, flow, message{}", text,
                       several ? ", nor several of them (packet,flow), nor all" : "");
  };
  command.add_option("--seed", run.seed, "of everything random")->check(from_zero_on())->capture_default_str();
  command.add_option("--threads", run.threads, "that share the work; the result is the same")
      ->check(CLI::Range(1, 256))
      ->option_text("N=1");
  command
      .add_option("--fidelity", run.fidelity,
                  several ? "packet, flow, message, several, or all" : "packet, flow or message")
      ->check(CLI::Validator(known, "", "fidelity"))
      ->option_text("NAME=packet");
  command.add_option("--fault", run.faults, "what breaks: spine0,kind=blackhole,at=50us,for=1ms")
      ->type_name("PART,KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--seeds", seeds, "how many runs, each with the next seed")
      ->check(CLI::Range(1, 100000))
      ->option_text("N=1");
  command.add_option("--limit", limit, "of a run: time=10ms,events=1e9,memory=4GiB,wall=60s")->type_name("WHAT=MOST");
}

void add_collective(CLI::App& command, app::CollectiveOptions& options) {
  command.option_defaults()->group("Collectives");
  command.add_option("--collective", options.operation, "all_reduce, ...; see below. Default: the file's run")
      ->type_name("NAME");
  command.add_option("--per-server", options.per_server, "GPUs of each server that take part; 0: all")
      ->check(from_zero_on())
      ->option_text("N=0");
  const auto gpus = [&](const std::string& name, std::vector<std::string>& lists, const std::string& text) {
    command.add_option(name, lists, text)->type_name("GPUS")->take_all()->allow_extra_args(false);
  };
  gpus("--on", options.on, "GPUs 0..15,32..47, every eighth 0..63/8, servers s0..s3");
  gpus("--beside", options.beside, "GPUs that do the same at the same time");
  command.add_option("--split", options.split, "groups at once: /8 neighbours, %8 every eighth rank")->type_name("HOW");
  command.add_option("--skew", options.skew, "how much later than the first the last rank comes: 20us")
      ->type_name("TIME");
  command.add_option("--slow-rank", options.slow_ranks, "a rank and what is left of its speed: 3=50%")
      ->type_name("RANK=SHARE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--algorithms", options.algorithms, "auto, all (side by side), or names: Ring,NVLSTree")
      ->delimiter(',')
      ->option_text("NAMES=auto");
  command.add_option("--protocol", options.protocol, "auto, LL, LL128 or Simple")->option_text("NAME=auto");
  command.add_option("--channels", options.channels, "of a collective; 0: as NCCL would")
      ->check(CLI::Range(0, 64))
      ->option_text("N=0");
  command.add_option("--stack", options.stack, "ib, roce, gib, efa, tcpx, tcpxo, tcp; default: by NIC")
      ->type_name("NAME");
  command.add_flag_callback(
      "--no-pxn", [&options] { options.pxn = false; }, "GPUs do not hand data to the one next to the NIC");
}

// The words of --pattern, --collective and --fault, for the end of a help text.
std::string what_there_is() {
  return fmt::format(
      "Patterns:\n  {}\n\nSizes of flows in an open loop:\n  {}\n\nCollectives:\n  {}\n\nKinds of faults:\n  {}\n\n",
      fmt::join(enum_names<model::TrafficPattern>(), " "), fmt::join(enum_names<model::FlowSizes>(), " "),
      fmt::join(app::collective_names(), " "), fmt::join(fault_kinds(), " "));
}

void add_sim(CLI::App& app, Verbs& verbs) {
  CLI::App* command = app.add_subcommand("sim", "run traffic packet by packet, or collectives");
  add_input(*command, verbs.sim.input, true);
  add_topology(*command, verbs.sim.input, true);
  add_traffic(*command, verbs.sim.work.traffic);
  add_collective(*command, verbs.sim.work.collective);
  command->add_option("--plot", verbs.sim.work.collective.plot, "bandwidth against size; of training stages by time")
      ->type_name("FILE");
  add_runs(*command, verbs.sim.run, true, verbs.sim.seeds, verbs.sim.limit);
  command->parse_complete_callback([command, &verbs] { take_given(*command, verbs.sim.input, verbs.sim.work); });
  app::SimOutputOptions& output = verbs.sim.output;
  command->option_defaults()->group("Results");
  command->add_option("--sample", verbs.sim.run.sample, "queue, marks and load of every link, each interval: 1us")
      ->type_name("TIME");
  command->add_option("--links", output.links, "busiest links shown, 0: all; with --json as records")
      ->check(from_zero_on())
      ->type_name("N");
  command->add_option("--slowest", output.slowest, "flows shown that were slowed down most")
      ->check(CLI::Range(0, 1000))
      ->option_text("N=0");
  command->add_flag("--wide", output.wide, "collectives: nccl-tests' table on a narrow terminal, too");
  command->add_flag("--flows", output.flows, "with --json: a record per flow");
  command->add_flag("--samples", output.samples, "with --json: a record per sample");
  command->add_option("--csv", output.csv, "tables: DIR, or flows=FILE, links=FILE, samples=FILE")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--trace", output.trace, "a trace to look at in ui.perfetto.dev")->type_name("FILE.json");
  command->add_option("--metrics", output.metrics, "samples for Prometheus, by the lab's names (OpenMetrics)")
      ->type_name("FILE");
  command->add_option("--pcap", output.pcap, "packets of the links of --capture, for Wireshark")
      ->type_name("FILE.pcapng");
  command->add_option("--capture", verbs.sim.run.capture, "links for --pcap: leaf0:spine1, or all of s0/nic1")
      ->type_name("LINK")
      ->take_all()
      ->allow_extra_args(false);
  command->footer(what_there_is() +
                  "Examples:\n"
                  "  weft sim fat_tree_1024.topo --matrix perm_1024.cm\n"
                  "  weft sim acp.weft.yaml --pattern incast --gpus 64 --size 1MB\n"
                  "  weft sim acp.weft.yaml --collective all_reduce --gpus 64 --sizes 8B..16GiB\n"
                  "  weft sim acp.weft.yaml --sample 1us --trace trace.json --csv results\n"
                  "  weft sim acp.weft.yaml --pcap leaf.pcapng --capture leaf0 --limit time=50us");
}

void add_compare(CLI::App& app, Verbs& verbs) {
  app::CompareOptions& options = verbs.compare;
  CLI::App* command = app.add_subcommand("compare", "run the same work on several clusters, say which wins");
  command->add_option("files", options.files, "clusters; one is enough with --vary or --measured");
  add_input(*command, options.input, false);
  add_topology(*command, options.input, true);
  command->add_option("--vary", options.vary, "a variant for each value: transport.paths=1,64")
      ->type_name("PATH=A,B")
      ->take_all()
      ->allow_extra_args(false);
  add_traffic(*command, options.work.traffic);
  add_collective(*command, options.work.collective);
  add_runs(*command, options.run, false, options.seeds, options.limit);
  command->option_defaults()->group("Results");
  command->add_option("--csv", options.csv, "a table with a line per run")->type_name("FILE.csv");
  command->add_option("--links", options.links, "busiest links shown of each, 0: all")
      ->check(from_zero_on())
      ->type_name("N");
  command->add_option("--measured", options.measured, "what weft run client --json printed, to stand beside it")
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false);
  command->parse_complete_callback([command, &options] { take_given(*command, options.input, options.work); });
  command->footer(
      "Of collectives the winner does the largest size first, of flows it has all\n"
      "traffic done first. In an open loop (poisson, --arrivals), where flows begin at\n"
      "their times, it has the lowest p99 of completion times. Who fails or loses flows\n"
      "cannot win. Clusters of different size run what the smallest can; --load is a\n"
      "share of the line rate of the first.\n"
      "\n" +
      what_there_is() +
      "Examples:\n"
      "  weft compare two.weft.yaml four.weft.yaml --seeds 5\n"
      "  weft compare acp.weft.yaml --vary fabric.spines=2,4 --pattern ring\n"
      "  weft compare two.weft.yaml four.weft.yaml --collective all_reduce\n"
      "  weft compare lab.weft.yaml --pattern one --size 1GB --measured run.json");
}

void add_validate(CLI::App& app, Verbs& verbs) {
  app::ValidateOptions& options = verbs.validate;
  CLI::App* command = app.add_subcommand("validate", "compare collectives and training with measurements");
  command->add_option("directory", options.directory, "with NAME.csv and NAME.weft.yaml; default: weft's own");
  command->add_flag("--rows", options.rows, "every row, measured and simulated");
  command->add_flag("--training", options.training, "published training steps instead, of DIRECTORY/training");
  command->add_flag("--leave-one-out", options.leave_one_out, "errors with constants fitted without the table");
  command->add_flag("--page", options.page, "as docs/validation.md: everything, left-out errors too");
  command->add_option("--plots", options.plots, "a picture per table")->type_name("DIR");
  command->add_option("--refit", options.refit, "fit constants to these tables: fitted, measured or all")
      ->check(CLI::IsMember({"fitted", "measured", "all"}));
  command->add_flag("--json", options.json, "a record per table, with --rows one per row too");
  command->footer(
      "A table has the columns size_bytes and oop_time_us, ip_time_us (nccl-tests' two\n"
      "times; the smaller counts), time_us or algbw_GBps; NAME.txt may be what\n"
      "nccl-tests printed. Rows marked * do not count: their two times differ by more\n"
      "than 15 %.\n"
      "Errors are of time.\n"
      "\n"
      "Examples:\n"
      "  weft validate\n"
      "  weft validate my-measurements --rows\n"
      "  weft validate my-measurements --refit fitted --plots pictures");
}

void add_why(CLI::App& app, Verbs& verbs) {
  app::WhyOptions& options = verbs.why;
  CLI::App* command = app.add_subcommand("why", "say why a collective or a training step is slow");
  add_input(*command, options.input, true);
  command->add_option("--topo", options.input.topology, "NCCL's topology file of a server")->type_name("FILE.xml");
  command->add_option("--smi", options.smi, "what nvidia-smi topo -m prints, instead")->type_name("FILE");
  options.input.runs = true;
  command->add_option("--nodes", options.input.nodes, "servers that took part; default: by the files")
      ->check(CLI::Range(1, 100'000))
      ->option_text("N");
  command->add_option("--gpus", options.gpus, "GPUs that took part; default: by the files")->option_text("N");
  command->add_option("--measured", options.measured, "nccl-tests' output, or a table (.csv)")->type_name("FILE");
  command->add_option("--table", options.table, "of several in it, from 1; default: the slowest")->option_text("N");
  const auto several = [&](const std::string& name, std::vector<std::string>& values, const std::string& text,
                           const std::string& type) {
    command->add_option(name, values, text)->type_name(type)->take_all()->allow_extra_args(false);
  };
  several("--log", options.logs, "NCCL_DEBUG=INFO, dmesg, lspci -vv, notes", "FILE");
  several("--env", options.environment, "a variable of the job: NCCL_ALGO=Ring", "NAME=VALUE");
  several("--busbw", options.busbw, "one figure instead of a file: 1GiB=216GB/s", "SIZE=RATE");
  several("--algbw", options.algbw, "the same, as algbw", "SIZE=RATE");
  several("--average", options.average, "nccl-tests' average: 8B..1GiB=6GB/s", "SIZES=RATE");
  command->add_option("--expect", options.expect, "the busbw that was expected")->type_name("RATE");
  add_collective(*command, options.collective);
  command->add_option("--size,--sizes", options.size, "of a simulated one; default: the largest of the file's")
      ->option_text("SIZE");
  command->add_flag("--fast", options.fast, "the network of a simulated one as flows, not packets");
  command->add_option("--profile", options.profile, "PyTorch's profile of a training step")
      ->type_name("FILE.json[.gz]");
  command->parse_complete_callback([command, &options] {
    options.collective.given =
        given(*command, {"--per-server", "--on", "--beside", "--split", "--skew", "--slow-rank", "--algorithms",
                         "--protocol", "--channels", "--no-pxn", "--size", "--fast"});
  });
  command->footer(
      "With a measurement, log or topology it ranks what explains the figures. Without,\n"
      "it says where the time of a simulated collective goes and what would help; of a\n"
      "file with `run: [{training: ...}]` what the step waits for.\n"
      "\n"
      "Examples:\n"
      "  weft why --topo system.xml --measured out.txt --nodes 4 --log nccl.log\n"
      "  weft why --smi topo-m.txt --measured out.txt --expect 100GB/s\n"
      "  weft why acp.weft.yaml --nodes 4 --busbw 1GiB=47GB/s --env NCCL_ALGO=Ring\n"
      "  weft why acp.weft.yaml --collective all_reduce --gpus 64 --size 1GiB\n"
      "  weft why h200-64.weft.yaml --profile trace.json.gz");
}

void add_plan(CLI::App& app, Verbs& verbs) {
  app::PlanCommandOptions& options = verbs.plan;
  CLI::App* command = app.add_subcommand("plan", "bound a collective, or find a layout for training");
  add_input(*command, options.input, true);
  add_topology(*command, options.input, true);
  command->add_option("--gpus", options.gpus, "GPUs that take part; 0: all")->option_text("N=0");
  command->add_option("--sizes,--size", options.sizes, "8..8G (doubling), 8B..8GiB, or [1MiB, 1GiB]")
      ->option_text("SIZES");
  add_collective(*command, options.collective);
  command->add_flag("--bounds-only", options.bounds_only, "without the simulation beside them");
  command->add_flag("--training", options.training, "layouts of the file's training job instead");
  command->add_option("--best", options.best, "layouts shown")->option_text("N=10")->check(CLI::Range(1, 1000));
  command->add_option("--best-by", options.best_by, "time, or dollars for a token (also of fewer GPUs)")
      ->option_text("WHAT=time")
      ->check(CLI::IsMember({"time", "dollars"}));
  command->add_option("--confirm", options.confirm, "of them, so many also flow by flow")
      ->option_text("N=0")
      ->check(CLI::Range(0, 10));
  command->footer(
      "Bounds are of the wires and of latencies that follow each other, for the\n"
      "algorithm that NCCL would choose. What the simulation takes beyond them is\n"
      "protocols, shares of links and waiting.\n"
      "\n"
      "Examples:\n"
      "  weft plan acp.weft.yaml\n"
      "  weft plan acp.weft.yaml --collective all_to_all --gpus 64 --sizes 1MiB..1GiB\n"
      "  weft plan llama.weft.yaml --training --best-by dollars");
}

void add_plot(CLI::App& app, Verbs& verbs) {
  app::PlotOptions& options = verbs.plot;
  CLI::App* command = app.add_subcommand("plot", "draw collectives of several runs over each other");
  command->add_option("files", options.files, "of sim --json or nccl-tests; NAME=FILE names it")->required();
  command->add_option("-o,--output", options.output, "write to a file instead of stdout")->type_name("FILE");
  command->add_option("--title", options.title, "above the picture")->type_name("TEXT");
  command->add_flag("--json", options.json, "the points instead of a picture");
  command->footer(
      "Simulated runs are lines, measured ones crosses: busbw against size.\n"
      "\n"
      "Examples:\n"
      "  weft sim two.weft.yaml --collective all_reduce --gpus 64 --json > two.json\n"
      "  weft sim eight.weft.yaml --collective all_reduce --gpus 64 --json > eight.json\n"
      "  weft plot two.json eight.json measured=out.txt -o busbw.svg");
}

void add_sweep(CLI::App& app, Verbs& verbs) {
  app::SweepOptions& options = verbs.sweep;
  CLI::App* command = app.add_subcommand("sweep", "run a grid of clusters on all cores, say which is best");
  add_input(*command, options.input, true);
  add_topology(*command, options.input, true);
  command->add_option("--over", options.over, "values of a key; every combination is a point")
      ->type_name("PATH=A,B")
      ->take_all()
      ->allow_extra_args(false);
  add_traffic(*command, options.work.traffic);
  add_collective(*command, options.work.collective);
  add_runs(*command, options.run, false, options.seeds, options.limit);
  command->parse_complete_callback([command, &options] { take_given(*command, options.input, options.work); });
  options.run.threads = 0;
  command->get_option("--threads")->description("runs at a time; default: one per core")->option_text("N");
  command->option_defaults()->group("Results");
  command->add_option("--out", options.out, "keeps finished runs; run again to go on")->type_name("FILE.jsonl");
  command->add_option("--csv", options.csv, "a table with a line per run")->type_name("FILE.csv");
  command->add_option("--plot", options.plot, "of training: where the time goes at each point")->type_name("FILE.svg");
  command->add_option("--links", options.links, "busiest links shown of each point, 0: all")
      ->check(from_zero_on())
      ->type_name("N");
  command->footer(
      "Every point is the cluster with its values --set, run as weft sim would. The\n"
      "best has all traffic done first, or in an open loop (poisson, --arrivals) the\n"
      "lowest p99 of completion times, as weft compare has it. Points that differ in\n"
      "their traffic, in --gpus or in the line rate that --load is a share of, are\n"
      "shown without a best one.\n"
      "\n" +
      what_there_is() +
      "Examples:\n"
      "  weft sweep acp.weft.yaml --over fabric.spines=2,4,8 --seeds 5\n"
      "  weft sweep acp.weft.yaml --over fabric.spines=2,4 \\\n"
      "      --over transport.balance=ecmp,spray --out runs.jsonl --csv runs.csv");
}

void add_dst(CLI::App& app, Verbs& verbs) {
  app::DstOptions& options = verbs.dst;
  CLI::App* command = app.add_subcommand("dst", "test the transports under drawn faults, by seed");
  std::vector<std::string> transports = app::dst_transports();
  transports.push_back("all");
  command->add_option("--transport", options.transport, "which; messages are over srd, all takes seeds in turn")
      ->check(CLI::IsMember(transports))
      ->capture_default_str();
  command->add_option("--first-seed", options.first_seed, "where to begin")
      ->check(from_zero_on())
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "how many, beside those that once failed; 0: those")
      ->check(from_zero_on())
      ->capture_default_str();
  command->add_flag("--canary", options.canary, "plant a bug, which must be found");
  command->add_flag("--verbose", options.verbose, "a line per seed");
  command->add_flag("--json", options.json, "machine-readable output");
  command->footer(
      "A seed draws endpoints, parameters, loss, reordering, duplicates, corruption,\n"
      "clogged paths, partitions and restarts. First nothing wrong may happen, then,\n"
      "when all is healed, everything must come to an end.\n"
      "\n"
      "Examples:\n"
      "  weft dst\n"
      "  weft dst --transport tcp --first-seed 1000 --seeds 100000\n"
      "  weft dst --canary");
}

void add_render(CLI::App& app, Verbs& verbs) {
  app::RenderOptions& options = verbs.render;
  CLI::App* command = app.add_subcommand("render", "write the files that real machines start from");
  command->add_option("target", options.target, "for which program; see below")
      ->required()
      ->check(CLI::IsMember(app::render_targets()).description(""));
  add_input(*command, options.input, true);
  add_topology(*command, options.input);
  command->add_option("-o,--output", options.output, "write into a directory instead of stdout")->type_name("DIR");
  command->footer(
      "Targets:\n"
      "  frr         BGP unnumbered, for every switch and server\n"
      "  sonic       config_db.json of every switch\n"
      "  slurm       topology, nodes and their GPUs\n"
      "  kubernetes  labels, networks of the rails, addresses of pods, tenants\n"
      "  nccl        topology and environment of each kind of server\n"
      "  hosts       inventory, cable list and names, for people\n"
      "  prometheus  what to scrape, and alerts\n"
      "  grafana     a dashboard\n"
      "\n"
      "A directory per device, and one per target for what is of the whole cluster.\n"
      "Targets go into one DIR or several. A file that weft did not write there, or\n"
      "that was changed since, is left as it is and nothing is written.\n"
      "\n"
      "Examples:\n"
      "  weft render frr acp.weft.yaml -o out\n"
      "  weft render hosts acp.weft.yaml | less\n"
      "  weft render nccl acp.weft.yaml --set servers.nics=8 -o out --json");
}

void add_report(CLI::App& app, Verbs& verbs) {
  app::ReportOptions& options = verbs.report;
  CLI::App* command = app.add_subcommand("report", "write one page of HTML to take into the meeting");
  add_input(*command, options.input, true);
  command->add_option("-o,--output", options.output, "FILE.html, or a directory for page and bom.csv")
      ->option_text("PATH");
  const auto several = [&](const std::string& name, std::vector<std::string>& values, const std::string& text,
                           const std::string& type) {
    command->add_option(name, values, text)->type_name(type)->take_all()->allow_extra_args(false);
  };
  several("--collective", options.collectives, "default: all_reduce and all_to_all", "NAME");
  command->add_option("--sizes,--size", options.sizes, "of collectives: 8..8G")->option_text("SIZES");
  command->add_option("--gpus", options.gpus, "that take part in collectives; 0: all")->option_text("N=0");
  several("--fault", options.faults, "to try; default: the first spine goes down", "PART,KEY=VALUE");
  several("--with", options.with, "another cluster to compare it with", "FILE");
  several("--vary", options.vary, "variants to compare: fabric.spines=2,4", "PATH=A,B");
  command->add_option("--limit", options.limit, "of each run: wall=60s,memory=4GiB")
      ->type_name("WHAT=MOST")
      ->capture_default_str();
  command->footer(
      "The page has the drawing, counts, what has to be bought, what collectives get,\n"
      "a training step where the file has one, faults that were tried, the comparison,\n"
      "how far published measurements are from the model, and the commands that made\n"
      "it. It needs no network and no other file.\n"
      "\n"
      "Examples:\n"
      "  weft report acp.weft.yaml\n"
      "  weft report acp.weft.yaml --with rail-only.weft.yaml -o report.html\n"
      "  weft report acp.weft.yaml --fault spine0,kind=blackhole,at=50us -o meeting");
}

void add_place(CLI::App& app, Verbs& verbs) {
  app::PlaceOptions& options = verbs.place;
  CLI::App* command = app.add_subcommand("place", "choose GPUs for a job, and say what that trades off");
  add_input(*command, options.input, true);
  add_topology(*command, options.input);
  command->add_option("--gpus", options.gpus, "that the job wants")
      ->required()
      ->check(CLI::Range(1, 16'777'216).description(""))
      ->option_text("N");
  command->add_option("--tenant", options.tenant, "whose servers; default: those that nobody owns")->type_name("NAME");
  command->add_option("--nics-per-gpu", options.nics_per_gpu, "take fewer GPUs of a server, so that each has as many")
      ->check(CLI::Range(0.0, 64.0).description(""))
      ->option_text("K");
  command->footer(
      "A job gets the smallest place that holds it: a server, an NVLink domain, a\n"
      "scalable unit, a pod; in each server the GPUs next to a NIC first, and of all\n"
      "servers as many.\n"
      "\n"
      "Examples:\n"
      "  weft place acp.weft.yaml --gpus 64\n"
      "  weft place acp.weft.yaml --gpus 16 --tenant research --nics-per-gpu 1 --json");
}

void add_run(CLI::App& app, Verbs& verbs) {
  app::RunVerbOptions& options = verbs.run;
  CLI::App* command = app.add_subcommand("run", "move bytes between machines by SRD, over all paths");
  command->add_option("role", options.role, "server, client or all-reduce")
      ->required()
      ->check(CLI::IsMember({"server", "client", "all-reduce"}));
  command->add_option("hosts", options.hosts, "the server, or where to listen; all-reduce: all hosts. HOST[:PORT]");
  command->add_option("--pattern", options.pattern, "stream or requests")
      ->check(CLI::IsMember({"stream", "requests"}))
      ->option_text("NAME=stream");
  command->add_option("--with", options.with, "srd, tcp or mptcp, between the same two hosts")
      ->check(CLI::IsMember({"srd", "tcp", "mptcp"}))
      ->option_text("NAME=srd");
  command->add_option("--size", options.size, "of a message, or of a request")->option_text("BYTES=64KiB");
  command->add_option("--duration", options.duration, "how long to send")->option_text("TIME=5s");
  command->add_option("--messages", options.messages, "how many, instead of a duration")
      ->check(from_zero_on())
      ->option_text("N");
  command->add_option("--rate", options.rate, "offered; default: as fast as it goes")->option_text("RATE");
  command->add_option("--window", options.window, "bytes under way")->option_text("BYTES=8MiB");
  command->add_option("--endpoints", options.endpoints, "clients in one process; flows of tcp")
      ->check(CLI::Range(1, 256).description(""))
      ->option_text("N=1");
  command->add_option("--paths", options.paths, "source ports that packets leave from")
      ->check(CLI::Range(1, 64).description(""))
      ->option_text("N=64");
  command->add_option("--datagram", options.datagram, "longest UDP payload; default: found out")
      ->check(CLI::Range(1232, 65507).description(""))
      ->option_text("BYTES");
  command->add_option("--start-at", options.start_at, "seconds since 1970, so that several begin together")
      ->option_text("TIME");
  command->add_flag("--per-path", options.per_path, "a line per path: round trip, loss, share, since when");
  command->add_flag("--sweep-paths", options.sweep_paths, "probe all paths, say which ports lose or lag");
  command->add_option("--key", options.key, "the job's key: packets of others do not count")->type_name("FILE");
  command->add_option("--metrics", options.metrics, "of a client, each second: Prometheus' text")->type_name("FILE");
  command->add_option("--rank", options.rank, "all-reduce: which of the hosts this is, from 0 on")
      ->check(from_zero_on())
      ->type_name("N");
  command->add_option("--times", options.times, "all-reduce: how many are timed")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->option_text("N=20");
  command->add_flag("--json", options.json, "machine-readable output");
  command->parse_complete_callback([command, &options] {
    options.given =
        given(*command, {"--pattern", "--with", "--duration", "--messages", "--rate", "--window", "--endpoints",
                         "--start-at", "--per-path", "--sweep-paths", "--metrics", "--rank", "--times"});
  });
  command->footer(
      "Paths that are ill are named with the time since when. docs/run.md says more.\n"
      "\n"
      "Examples:\n"
      "  weft run server                          on one machine\n"
      "  weft run client node1                    on another\n"
      "  weft run client node1 --pattern requests --duration 10s\n"
      "  weft run client node1 --with tcp --endpoints 8\n"
      "  weft run client node1 --sweep-paths\n"
      "  weft run all-reduce node1 node2 node3 --size 64MiB     on each of them\n"
      "  weft run client 10.0.0.1 --size 1MiB --rate 1.2Gbps --json");
}

void add_doctor(CLI::App& app, Verbs& verbs) {
  CLI::App* command = app.add_subcommand("doctor", "say what this machine lacks, and what to type");
  command->add_option("--port", verbs.doctor.port, "that weft run server listens at")->option_text("PORT=7791");
  command->add_flag("--json", verbs.doctor.json, "machine-readable output");
  command->footer(
      "Nothing is changed, and nothing leaves this machine. Exit code 1: something is\n"
      "lacking.\n"
      "\n"
      "Example:\n"
      "  weft doctor");
}

void add_rest(CLI::App& app, Verbs& verbs) {
  CLI::App* init = app.add_subcommand("init", "write a small cluster file that works, with comments");
  init->add_option("file", verbs.init.file, "name of the new file")->capture_default_str();
  init->add_option("--kind", verbs.init.kind, "shape to start from; see below")->capture_default_str();
  init->footer(fmt::format("Kinds:\n  {}\n\nExamples:\n  weft init\n  weft init --kind rail-only mine.weft.yaml",
                           fmt::join(app::init_kinds(), "\n  ")));

  CLI::App* catalog = app.add_subcommand("catalog", "list the built-in kinds, or show one with its sources");
  catalog->add_option("name", verbs.catalog.name, "an entry or a section; default: everything");
  catalog->add_option("--catalog", verbs.catalog.input.catalog, "directory with more catalog files")->type_name("DIR");
  catalog->add_flag("--json", verbs.catalog.input.json, "machine-readable output");
  catalog->footer(fmt::format("Sections:\n  {}\n\nExamples:\n  weft catalog servers\n  weft catalog p5.48xlarge",
                              fmt::join(model::Catalog::sections(), " ")));

  CLI::App* schema = app.add_subcommand("schema", "print the JSON Schema of the cluster file");
  schema->add_flag_callback(
      "--reference", [&verbs] { verbs.view = app::SchemaView::reference; }, "the reference page (Markdown) instead");
  schema->add_flag_callback(
      "--errors", [&verbs] { verbs.view = app::SchemaView::errors; }, "the page of all errors and warnings instead");
  schema->footer("Example:\n  weft schema > cluster.schema.json     (for editors that check YAML)");

  CLI::App* explain = app.add_subcommand("explain", "say more about an error or warning");
  explain->add_option("code", verbs.code, "as printed, such as E0107")->required();
  explain->add_flag("--json", verbs.json, "machine-readable output");
  explain->footer("Example:\n  weft explain E0107");

  CLI::App* completion = app.add_subcommand("completion", "print a completion script for bash, zsh or fish");
  completion->add_option("shell", verbs.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "Examples:\n"
      "  source <(weft completion bash)\n"
      "  weft completion zsh > ~/.zfunc/_weft\n"
      "  weft completion fish > ~/.config/fish/completions/weft.fish");

  CLI::App* help = app.add_subcommand("help", "say what a command does and which options it has");
  help->add_option("command", verbs.helped, "default: all of them, in a line each");
  help->add_option("--man", verbs.man_directory, "write the manual pages of all commands instead")->type_name("DIR");
  help->footer("Examples:\n  weft help sim\n  weft help --man man1 && man -l man1/weft-sim.1");

  CLI::App* version = app.add_subcommand("version", "print the version");
  version->add_flag("--json", verbs.json, "machine-readable output");
  version->footer("Example:\n  weft version --json");
}

int show(Verbs& verbs, app::Console& console) {
  app::ShowOptions& options = verbs.show;
  for (const std::string& word : verbs.show_rest) {
    if (!names_a_file(word)) {
      options.names.push_back(word);
    } else if (options.input.file.empty()) {
      options.input.file = word;
    } else {
      console.err << fmt::format("two cluster files, {} and {}: show takes one\n", options.input.file, word);
      return app::kYourInput;
    }
  }
  if (options.input.json && options.as != "table" && options.as != "json") {
    console.err << fmt::format("--json and --as {} contradict each other\n", options.as);
    return app::kYourInput;
  }
  if (options.input.json) options.as = "json";
  return app::show(options, console);
}

int help(const CLI::App& app, const Verbs& verbs, app::Console& console) {
  if (!verbs.man_directory.empty()) {
    std::error_code fault;
    std::filesystem::create_directories(verbs.man_directory, fault);
    for (const ManPage& page : man_pages(app, app::build_info().version)) {
      const std::string file = (std::filesystem::path(verbs.man_directory) / page.name).string();
      const int code = app::write_output(file, console, [&](std::ostream& out) { out << page.text; });
      if (code != app::kFine) return code;
    }
    return app::kFine;
  }
  // The name was checked before.
  // Not app.help(): that is the help of the command that was given, which is this one.
  console.out << (verbs.helped.empty() ? app.get_formatter()->make_help(&app, "weft", CLI::AppFormatMode::Normal)
                                       : app.get_subcommand(verbs.helped)->help("weft"));
  return app::kFine;
}

int dispatch(const CLI::App& app, Verbs& verbs, app::Console& console) {
  const std::string verb = app.get_subcommands().front()->get_name();
  if (verb == "check") return app::check(verbs.check, console);
  if (verb == "sim") return app::sim(verbs.sim, console);
  if (verb == "compare") return app::compare(verbs.compare, console);
  if (verb == "validate") return app::validate(verbs.validate, console);
  if (verb == "why") return app::why(verbs.why, console);
  if (verb == "plan") return app::plan(verbs.plan, console);
  if (verb == "plot") return app::plot(verbs.plot, console);
  if (verb == "sweep") return app::sweep(verbs.sweep, console);
  if (verb == "dst") return app::dst(verbs.dst, console);
  if (verb == "render") return app::render(verbs.render, console);
  if (verb == "place") return app::place(verbs.place, console);
  if (verb == "report") return app::write_report(verbs.report, run, console);
  if (verb == "run") return app::run(verbs.run, console);
  if (verb == "doctor") return app::doctor(verbs.doctor, console);
  if (verb == "lab") return run_lab(*app.get_subcommands().front(), verbs.lab, console);
  if (verb == "catalog") return app::catalog(verbs.catalog, console);
  if (verb == "init") return app::init(verbs.init, console);
  if (verb == "schema") return app::schema(verbs.view, console);
  if (verb == "explain") return app::explain(verbs.code, verbs.json, console);
  if (verb == "version") return app::version(verbs.json, console);
  if (verb == "help") return help(app, verbs, console);
  if (verb == "completion") {
    console.out << completion_script(app, verbs.shell);
    return app::kFine;
  }
  return show(verbs, console);
}

// What is wrong with an option that its command does not have; empty when none is.
std::string unknown_option(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (!command->get_subcommands().empty()) return unknown_option(*command, arguments);
    std::vector<std::string> names;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& word : arguments) {
      const std::string name = word.substr(0, word.find('='));
      if (!name.starts_with("--") || std::find(names.begin(), names.end(), name) != names.end()) continue;
      const auto guess = did_you_mean(name, names);
      const std::string called = app.get_parent() == nullptr ? "weft" : "weft " + app.get_name();
      return fmt::format("{} {} has no option '{}'; {}\n", called, command->get_name(), name.substr(0, 40),
                         guess ? fmt::format("did you mean '{}'?", *guess)
                               : fmt::format("`{} {} --help` lists them", called, command->get_name()));
    }
  }
  return "";
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// The order of the main help text: what one does first stands first.
void group_by_purpose(CLI::App& app) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> groups = {
      {"Describe a cluster", {"init", "check", "show", "catalog", "schema"}},
      {"Ask what it will do", {"sim", "compare", "sweep", "plan", "why", "plot"}},
      {"Decide and build", {"report", "place", "render"}},
      {"Run it for real", {"doctor", "run", "lab"}},
      {"How far to trust it", {"validate", "dst"}},
      {"Help", {"help", "explain", "completion", "version"}},
  };
  for (const auto& [title, verbs] : groups)
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      if (std::find(verbs.begin(), verbs.end(), command->get_name()) != verbs.end()) command->group(title);
}

// A topology file is a server: `weft show system.xml` means `weft show server system.xml`.
std::vector<std::string> with_what(std::vector<std::string> arguments) {
  const auto holds = [&](auto test) { return std::any_of(arguments.begin(), arguments.end(), test); };
  const bool shows = !arguments.empty() && arguments[0] == "show" && holds([](const std::string& word) {
    return word.ends_with(".xml") || word.find("nccl-xml") != std::string::npos;
  });
  if (shows &&
      !holds([](const std::string& word) { return std::find(kShown.begin(), kShown.end(), word) != kShown.end(); }))
    arguments.insert(arguments.begin() + 1, "server");
  return arguments;
}

}  // namespace

namespace {

// A command line that is wrong: as text or, with --json, as the record that every error is.
int refuse(const std::vector<std::string>& arguments, const std::string& text, app::Console& console) {
  if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) {
    console.err << text;
    return app::kYourInput;
  }
  const nlohmann::ordered_json record = {
      {"record", "error"}, {"version", 1}, {"message", text.substr(0, text.find_last_not_of('\n') + 1)}};
  console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return app::kYourInput;
}

}  // namespace

int run(const std::vector<std::string>& arguments, app::Console& console) {
  CLI::App app("Plans and simulates the network of an AI cluster from a file that describes it.", "weft");
  app.require_subcommand(1);
  app.get_formatter()->column_width(24);  // every help line fits 80 columns
  app.set_help_all_flag("--help-all", "help for all commands");
  app.set_version_flag("--version", fmt::format("weft {}", app::build_info().version), "print the version");
  app.footer(
      "First steps:\n"
      "  weft init                            write cluster.weft.yaml\n"
      "  weft check                           what it amounts to, and what is wrong\n"
      "  weft show fabric --as svg -o f.svg   draw it\n"
      "  weft sim --collective all_reduce     what nccl-tests would print there\n"
      "\n"
      "Exit codes: 0 fine, 1 an expectation failed, 2 your input, 3 this machine,\n4 a limit you set, 70 a bug in "
      "weft, 130 interrupted.");
  Verbs verbs;
  add_check(app, verbs);
  add_show(app, verbs);
  add_sim(app, verbs);
  add_compare(app, verbs);
  add_validate(app, verbs);
  add_plan(app, verbs);
  add_why(app, verbs);
  add_plot(app, verbs);
  add_sweep(app, verbs);
  add_dst(app, verbs);
  add_render(app, verbs);
  add_place(app, verbs);
  add_report(app, verbs);
  add_run(app, verbs);
  add_doctor(app, verbs);
  CLI::App& lab_up = *add_lab(app, verbs.lab);
  add_input(lab_up, verbs.lab.up.input, true);
  add_topology(lab_up, verbs.lab.up.input);
  add_rest(app, verbs);
  group_by_purpose(app);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    command->add_flag("-q,--quiet", verbs.quiet, "on stderr errors only: no progress, no warnings")->group("Options");

  if (!arguments.empty() && !arguments[0].starts_with('-')) {
    const auto names = verb_names(app);
    const bool helps = arguments[0] == "help" && arguments.size() > 1 && !arguments[1].starts_with('-');
    const std::string& verb = arguments[helps ? 1 : 0];
    if (std::find(names.begin(), names.end(), verb) == names.end()) {
      const auto guess = did_you_mean(verb, names);
      return refuse(arguments,
                    fmt::format("there is no command '{}'; {}\n", verb,
                                guess ? fmt::format("did you mean '{}'?", *guess) : "commands are " + either(names)),
                    console);
    }
  }
  const std::vector<std::string> complete = with_what(arguments);
  try {
    app.parse(std::vector<std::string>(complete.rbegin(), complete.rend()));
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    if (app.exit(error, console.out, text) == 0) return app::kFine;
    const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string better = extras ? unknown_option(app, complete) : "";
    return refuse(arguments, better.empty() ? text.str() : better, console);
  }
  console.quiet = verbs.quiet;
  return dispatch(app, verbs, console);
}

}  // namespace weft::cli
