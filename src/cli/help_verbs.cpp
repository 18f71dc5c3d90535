// The command line of verbs that help.

#include "cli/verbs.hpp"

namespace weft::cli {

void add_help(CLI::App& app, Verbs& verbs) {
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

}  // namespace weft::cli
