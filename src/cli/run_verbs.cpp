// The command line of verbs that run it for real; those of the lab have a file of their own.

#include "cli/shared_options.hpp"
#include "cli/verbs.hpp"

namespace weft::cli {

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

void add_run(CLI::App& app, Verbs& verbs) {
  app::RunVerbOptions& options = verbs.run;
  CLI::App* command = app.add_subcommand("run", "move bytes between machines by SRD, over all paths");
  command->add_option("role", options.role, "server, client or all-reduce")
      ->required()
      ->check(CLI::IsMember({"server", "client", "all-reduce"}));
  command->add_option("hosts", options.hosts, "HOST[:PORT] of the server; all-reduce: of all");
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
  command->add_option("--nics", options.nics, "of this machine, to use together: an address of each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("IP,IP");
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
                         "--start-at", "--per-path", "--sweep-paths", "--nics", "--metrics", "--rank", "--times"});
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
      "  weft run client node1 --nics 10.0.0.2,10.1.0.2\n"
      "  weft run all-reduce node1 node2 node3 --size 64MiB     on each of them\n"
      "  weft run client 10.0.0.1 --size 1MiB --rate 1.2Gbps --json");
}

}  // namespace weft::cli
