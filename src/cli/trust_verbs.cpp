// The command line of verbs that say how far to trust it.

#include "cli/shared_options.hpp"
#include "cli/verbs.hpp"

namespace weft::cli {

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

}  // namespace weft::cli
