#include "cli/shared_options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/values.hpp"
#include "model/choices.hpp"

namespace weft::cli {

void add_input(CLI::App& command, app::InputOptions& input, bool positional) {
  if (positional) command.add_option("file", input.file, "default: the *.weft.yaml here; or .topo, .xml, - (stdin)");
  command.add_option("--set", input.set, "change the file for this run: fabric.spines=8")
      ->type_name("PATH=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--catalog", input.catalog, "directory with more catalog files")->type_name("DIR");
  command.add_flag("--json", input.json, "machine-readable output");
}

void add_topology(CLI::App& command, app::InputOptions& input, bool runs) {
  input.runs = runs;
  command.add_option("--topo", input.topology, "NCCL's .xml, or nvidia-smi's matrix, as the cluster")
      ->type_name("FILE");
  command
      .add_option("--nodes", input.nodes,
                  runs ? "servers: that take part, or of the topology" : "servers that the topology stands for")
      ->check(CLI::Range(1, 100'000))
      ->option_text(runs ? "N" : "N=1");
}

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
  command.add_option("--verb", traffic.verb, "of SRD: send, write, read from the target; tagged")
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

std::string what_there_is() {
  constexpr std::size_t kColumns = 80;
  const auto lines = [](const auto& words) {
    std::string text;
    std::size_t begun = 0;  // the last line
    for (const auto& word : words) {
      if (text.empty() || text.size() - begun + 1 + std::string_view(word).size() > kColumns) {
        if (!text.empty()) text += '\n';
        begun = text.size();
        text += ' ';
      }
      text += fmt::format(" {}", word);
    }
    return text;
  };
  return fmt::format(
      "Patterns:\n{}\n\nSizes of flows in an open loop:\n{}\n\nCollectives:\n{}\n\nKinds of faults:\n{}\n\n",
      lines(enum_names<model::TrafficPattern>()), lines(enum_names<model::FlowSizes>()), lines(app::collective_names()),
      lines(fault_kinds()));
}

}  // namespace weft::cli
