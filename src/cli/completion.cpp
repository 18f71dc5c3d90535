#include "cli/completion.hpp"

#include <fmt/format.h>

#include <vector>

#include "app/commands.hpp"
#include "cli/lab_verbs.hpp"
#include "model/choices.hpp"
#include "spec/codes.hpp"

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

// Names are asked of weft itself when they are wanted: a --catalog directory may add some.
constexpr std::string_view kCatalogNames =
    R"sed(weft catalog --json 2>/dev/null | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')sed";

// Words that may stand as first argument of a verb, beside file names.
std::string words(const std::string& verb) {
  if (verb == "show") return "servers gpus nics links paths fabric server";
  if (verb == "completion") return "bash zsh";
  if (verb == "render") return fmt::format("{}", fmt::join(app::render_targets(), " "));
  if (verb == "lab") return fmt::format("{}", fmt::join(lab_verbs(), " "));
  std::vector<std::string_view> codes;
  if (verb == "explain")
    for (const auto& error : spec::all_errors()) codes.push_back(error.code);
  return fmt::format("{}", fmt::join(codes, " "));
}

bool takes_file(const std::string& verb) {
  return verb == "check" || verb == "show" || verb == "sim" || verb == "compare" || verb == "sweep" || verb == "init" ||
         verb == "render" || verb == "place" || verb == "lab";
}

// The values an option takes; empty when they cannot be listed.
std::string values(const std::string& option) {
  if (option == "as") return "table svg dot json";
  if (option == "kind") return fmt::format("{}", fmt::join(app::init_kinds(), " "));
  if (option == "pattern") return fmt::format("{}", fmt::join(enum_names<model::TrafficPattern>(), " "));
  return "";
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : verbs(app)) {
    const std::string name = command->get_name();
    names.push_back(name);
    const std::string first = name == "catalog" ? fmt::format("$({})", kCatalogNames) : words(name);
    cases += fmt::format("    {}) words=\"{} {}\"{} ;;\n", name, flags(*command), first,
                         takes_file(name) ? " files=yes" : "");
  }
  return fmt::format(
      "# bash completion for weft; source <(weft completion bash)\n"
      "_weft() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words files=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} --help\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$previous\" in\n"
      "    --as) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n"
      "    --kind) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n"
      "    --pattern) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n"
      "    --catalog|--csv) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n"
      "    -o|--output|--out|--matrix|--trace|--pcap) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
      "  esac\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -X '!*.@(yaml|topo|xml)' -- \"$current\") $(compgen -d -- "
      "\"$current\"))\n"
      "}}\n"
      "shopt -s extglob\n"
      "complete -o filenames -F _weft weft\n",
      fmt::join(names, " "), values("as"), values("kind"), values("pattern"), cases);
}

std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

// What follows an option: nothing, a listed value, a directory, a file or any text.
std::string zsh_value(const CLI::Option& option, const std::string& name) {
  if (option.get_items_expected_max() == 0) return "";
  if (name == "catalog" || name == "csv") return ":directory:_files -/";
  if (name == "output" || name == "out" || name == "matrix" || name == "trace" || name == "pcap") return ":file:_files";
  const std::string listed = values(name);
  return listed.empty() ? ":value:" : fmt::format(":value:({})", listed);
}

std::string zsh_arguments(const CLI::App& command) {
  const std::string verb = command.get_name();
  std::string out;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      out += fmt::format(
          " '{}--{}[{}]{}'",
          name == "set" || name == "fail" || name == "vary" || name == "over" || name == "csv" || name == "capture"
              ? "*"
              : "",
          name, zsh_quoted(option->get_description()), zsh_value(*option, name));
  if (verb == "catalog") out += " '1:name:_weft_catalog'";
  if (const std::string first = words(verb); !first.empty()) out += fmt::format(" '1:what:({})'", first);
  if (takes_file(verb)) out += " '*:file:_files -g \"*.(yaml|topo|xml)\"'";
  return out;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : verbs(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_quoted(command->get_description()));
    cases += fmt::format("      {}) _arguments{} ;;\n", command->get_name(), zsh_arguments(*command));
  }
  return fmt::format(
      "#compdef weft\n"
      "_weft_catalog() {{\n"
      "  compadd -- $({})\n"
      "}}\n"
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
      "# Loaded from fpath this file is the body of _weft; sourced, it has to register it.\n"
      "if [ \"$funcstack[1]\" = _weft ]; then\n"
      "  _weft \"$@\"\n"
      "else\n"
      "  compdef _weft weft\n"
      "fi\n",
      kCatalogNames, commands, cases);
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  return shell == "zsh" ? zsh_script(app) : bash_script(app);
}

}  // namespace weft::cli
