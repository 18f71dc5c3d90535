#include "cli/completion.hpp"

#include <fmt/format.h>

#include <vector>

namespace weft::cli {
namespace {

std::vector<const CLI::App*> verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string flags(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return fmt::format("{}", fmt::join(names, " "));
}

// Words that may stand as first argument of a verb, beside file names.
std::string words(const std::string& verb) {
  if (verb == "show") return "servers gpus nics links paths fabric server";
  if (verb == "completion") return "bash zsh";
  if (verb == "catalog") return "$(weft catalog --json 2>/dev/null | sed -n 's/.*\"name\":\"\\([^\"]*\\)\".*/\\1/p')";
  return "";
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : verbs(app)) {
    names.push_back(command->get_name());
    cases += fmt::format("    {}) words=\"{} {}\" ;;\n", command->get_name(), flags(*command), words(command->get_name()));
  }
  return fmt::format(
      "# bash completion for weft; source <(weft completion bash)\n"
      "_weft() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} --help\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$previous\" in\n"
      "    --as) COMPREPLY=($(compgen -W \"table svg dot json\" -- \"$current\")); return ;;\n"
      "    --catalog) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n"
      "  esac\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -X '!*.@(yaml|topo)' -- \"$current\"))\n"
      "}}\n"
      "shopt -s extglob\n"
      "complete -o filenames -F _weft weft\n",
      fmt::join(names, " "), cases);
}

std::string zsh_quoted(std::string text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : verbs(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_quoted(command->get_description()));
    std::string arguments;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        arguments += fmt::format(" '--{}[{}]{}'", name, zsh_quoted(option->get_description()),
                                 option->get_items_expected_max() > 0 ? ":value:" : "");
    const std::string first = words(command->get_name());
    const std::string values = first.empty() || first[0] == '$' ? "" : fmt::format(" '1:what:({})'", first);
    cases += fmt::format("      {}) _arguments{}{} '*:file:_files -g \"*.(yaml|topo)\"' ;;\n", command->get_name(), arguments, values);
  }
  return fmt::format(
      "#compdef weft\n"
      "_weft() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "  else\n"
      "    local verb=$words[2]\n"
      "    shift words; (( CURRENT-- ))\n"
      "    case $verb in\n{}    esac\n"
      "  fi\n"
      "}}\n"
      "compdef _weft weft\n",
      commands, cases);
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  return shell == "zsh" ? zsh_script(app) : bash_script(app);
}

}  // namespace weft::cli
