// The command line of verbs that ask what a cluster will do.

#include "cli/shared_options.hpp"
#include "cli/verbs.hpp"

namespace weft::cli {

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
  command->add_option("--confirm", options.confirm, "of them, so many also flow by flow; else 3, if quick")
      ->option_text("N")
      ->check(CLI::Range(0, 10));
  command->add_option("--over", options.over, "of training: the best layout at each point")
      ->type_name("PATH=A,B")
      ->take_all()
      ->allow_extra_args(false);
  command->footer(
      "Bounds are of the wires and of latencies that follow each other, for the\n"
      "algorithm that NCCL would choose. What the simulation takes beyond them is\n"
      "protocols, shares of links and waiting.\n"
      "\n"
      "Examples:\n"
      "  weft plan acp.weft.yaml\n"
      "  weft plan acp.weft.yaml --collective all_to_all --gpus 64 --sizes 1MiB..1GiB\n"
      "  weft plan llama.weft.yaml --training --best-by dollars\n"
      "  weft plan llama.weft.yaml --training \\\n"
      "      --over servers.kind=p5.48xlarge,p6-b200.48xlarge");
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

}  // namespace weft::cli
