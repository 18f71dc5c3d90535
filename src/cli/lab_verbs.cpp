#include "cli/lab_verbs.hpp"

#include "cli/shared_options.hpp"

namespace weft::cli {
namespace {

void add_which(CLI::App& command, app::LabOptions& options) {
  command.add_option("--lab", options.lab, "which one; default: the only one")->type_name("NAME");
  command.add_flag("--json", options.json, "machine-readable output");
}

void add_traffic(CLI::App& lab, app::LabTrafficOptions& options) {
  CLI::App* command = lab.add_subcommand("traffic", "send from one server or pod to another, and say how much");
  command->add_option("from", options.from, "a server or pod: s0")->required();
  command->add_option("to", options.to, "another")->required();
  command->add_option("program", options.program, "with mpi: behind --, with its arguments");
  add_choice(*command, "--with", options.with, "srd, tcp, mptcp (weft run), iperf3 or mpi (Open MPI)")
      ->option_text("NAME=tcp");
  command->add_option("--rail", options.rail, "by which NICs")
      ->check(CLI::Range(0, 255).description(""))
      ->option_text("N=0");
  command->add_option("--time", options.seconds, "how long, in seconds")
      ->check(CLI::Range(1, 3600).description(""))
      ->option_text("N=5");
  command->add_option("--streams", options.streams, "connections at once; with mpi ranks per end")
      ->check(CLI::Range(1, 128).description(""))
      ->option_text("N=1");
  add_which(*command, options.lab);
}

void add_faults(CLI::App& lab, LabVerbs& verbs) {
  CLI::App* fail = lab.add_subcommand("fail", "break a link, a switch or a NIC");
  fail->add_option("what", verbs.fail.words, "what, which, and how; see below")
      ->required()
      ->option_text("link|switch|nic NAME [HOW]")
      ->expected(2, 4);
  add_which(*fail, verbs.fail.lab);
  fail->footer(
      "How:\n"
      "  dead      down at both ends, and seen at once (the default)\n"
      "  silent    sessions stay up, packets vanish\n"
      "  loss 5%   that share of all packets vanishes, either way\n"
      "  rate 10%  that share of the rate is left\n"
      "\n"
      "Examples:\n"
      "  weft lab fail link leaf0:spine1 silent\n"
      "  weft lab fail link leaf0/Ethernet16 loss 5%\n"
      "  weft lab fail switch spine0\n"
      "  weft lab fail nic s0/pf1 rate 10%");
  CLI::App* heal = lab.add_subcommand("heal", "mend what `fail` broke");
  heal->add_option("what", verbs.heal.words, "default: everything")
      ->option_text("link|switch|nic NAME")
      ->expected(0, 2);
  add_which(*heal, verbs.heal.lab);
}

void add_pod(CLI::App& lab, app::LabPodOptions& options) {
  CLI::App* command = lab.add_subcommand("pod", "add or delete a pod of a tenant, by CNI plugins");
  add_choice(*command, "what", options.what, "add, del, or check what ADD made")
      ->required()
      ->option_text("add|del|check");
  command->add_option("name", options.name, "its name: a0")->required();
  command->add_option("--tenant", options.tenant, "whose it is, for add")->type_name("NAME");
  command->add_option("--on", options.server, "on which server; default: the tenant's, or nobody's")
      ->type_name("SERVER");
  add_which(*command, options.lab);
  command->footer(
      "A pod is a namespace with an interface on every rail of its server. The first\n"
      "pod of a server brings Open vSwitch there; pods of a tenant reach each other,\n"
      "and nobody else.\n"
      "\n"
      "Examples:\n"
      "  weft lab pod add a0 --tenant a --on s0\n"
      "  weft lab exec a0 -- ping -c 3 a1-pf1\n"
      "  weft lab traffic a0 a1 --with srd\n"
      "  weft lab pod del a0");
}

void add_looking(CLI::App& lab, LabVerbs& verbs) {
  CLI::App* status = lab.add_subcommand("status", "sessions, equal paths, counters, what is broken");
  add_which(*status, verbs.status);
  CLI::App* exec = lab.add_subcommand("exec", "run a command on a device or in a pod");
  exec->add_option("device", verbs.exec.device, "leaf0, s0, a pod")->required();
  exec->add_option("command", verbs.exec.command, "behind --, with its arguments")->required();
  exec->add_option("--lab", verbs.exec.lab.lab, "which one; default: the only one")->type_name("NAME");
  exec->footer(
      "Names of all devices resolve (s0-pf1 is a NIC), and vtysh is the device's own.\n"
      "\n"
      "Examples:\n"
      "  weft lab exec s0 -- ping -c 3 s2-pf1\n"
      "  weft lab exec leaf0 -- vtysh -c 'show bgp summary'\n"
      "  weft lab exec s0 -- bash");
  CLI::App* capture = lab.add_subcommand("capture", "write packets of a device for Wireshark (dumpcap)");
  capture->add_option("what", verbs.capture.what, "leaf0, or one port: leaf0/Ethernet16")->required();
  capture->add_option("-o,--output", verbs.capture.output, "the file")->type_name("FILE.pcapng")->required();
  capture->add_option("--time", verbs.capture.seconds, "how long, in seconds; 0: until Ctrl-C")->option_text("N=0");
  capture->add_option("--packets", verbs.capture.packets, "how many; 0: however many")->option_text("N=0");
  capture->add_option("--lab", verbs.capture.lab.lab, "which one; default: the only one")->type_name("NAME");
  CLI::App* metrics = lab.add_subcommand("metrics", "tell Prometheus how the lab is, until Ctrl-C");
  metrics->add_option("--listen", verbs.metrics.listen, "where")->option_text("ADDRESS:PORT=127.0.0.1:9950");
  metrics->add_option("--targets", verbs.metrics.targets, "write where to scrape, for Prometheus")
      ->type_name("FILE.json");
  metrics->add_option("--lab", verbs.metrics.lab.lab, "which one; default: the only one")->type_name("NAME");
  metrics->footer(
      "Examples:\n"
      "  weft render prometheus acp.weft.yaml -o out\n"
      "  weft lab metrics --targets out/prometheus/lab-targets.json &\n"
      "  prometheus --config.file out/prometheus/prometheus.yml");
}

}  // namespace

const std::vector<std::string>& lab_verbs() {
  static const std::vector<std::string> names = {"up",   "status",  "exec", "traffic", "fail",
                                                 "heal", "capture", "pod",  "metrics", "down"};
  return names;
}

CLI::App* add_lab(CLI::App& app, LabVerbs& verbs) {
  CLI::App* lab = app.add_subcommand("lab", "lay the cluster out as a real network on this machine");
  lab->require_subcommand(1);
  lab->footer("");  // commands inherit what is there when they are made
  CLI::App* up = lab->add_subcommand("up", "make it, and wait until every session is up");
  up->add_option("--lab", verbs.up.lab, "its name; default: the cluster's")->type_name("NAME");
  up->add_option("--rate", verbs.up.rate, "of the fastest link between switches")->option_text("RATE=500Mbps");
  up->add_option("--timeout", verbs.up.timeout_s, "seconds until every session must be up")
      ->check(CLI::Range(1, 3600).description(""))
      ->option_text("N=60");
  add_looking(*lab, verbs);
  add_traffic(*lab, verbs.traffic);
  add_faults(*lab, verbs);
  add_pod(*lab, verbs.pod);
  CLI::App* down = lab->add_subcommand("down", "remove exactly what `up` made, however far it came");
  add_which(*down, verbs.down);
  lab->footer(
      "Every switch and server becomes a network namespace with FRR, started from the\n"
      "files of `weft render frr`; cables become veth pairs at a scaled rate. It needs\n"
      "root, and changes nothing of the machine outside these namespaces.\n"
      "\n"
      "Examples:\n"
      "  weft lab up acp.weft.yaml\n"
      "  weft lab status\n"
      "  weft lab exec s0 -- ping -c 3 s2-pf1\n"
      "  weft lab fail switch spine0 silent\n"
      "  weft lab heal\n"
      "  weft lab down");
  return up;
}

int run_lab(const CLI::App& lab, const LabVerbs& verbs, app::Console& console) {
  const std::string verb = lab.get_subcommands().front()->get_name();
  if (verb == "up") return app::lab_up(verbs.up, console);
  if (verb == "status") return app::lab_status(verbs.status, console);
  if (verb == "exec") return app::lab_exec(verbs.exec, console);
  if (verb == "traffic") return app::lab_traffic(verbs.traffic, console);
  if (verb == "fail") return app::lab_fail(verbs.fail, console);
  if (verb == "heal") return app::lab_heal(verbs.heal, console);
  if (verb == "metrics") return app::lab_metrics(verbs.metrics, console);
  if (verb == "pod") return app::lab_pod(verbs.pod, console);
  if (verb == "capture") return app::lab_capture(verbs.capture, console);
  return app::lab_down(verbs.down, console);
}

}  // namespace weft::cli
