#include "cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/key_paths.hpp"
#include "cli/values.hpp"

namespace weft::cli {
namespace {

std::vector<const CLI::App*> verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : verbs(app)) names.push_back(command->get_name());
  return names;
}

std::string flags(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return joined(names);
}

// Names are asked of weft itself when they are wanted: a --catalog directory may add some.
constexpr std::string_view kCatalogNames =
    R"sed(weft catalog --json 2>/dev/null | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')sed";
constexpr std::string_view kClusterFiles = "*.(yaml|yml|topo|xml|json|txt|csv)";

std::string first_of(const CLI::App& app, const std::string& verb) {
  if (verb == "catalog") return fmt::format("$({})", kCatalogNames);
  return joined(verb == "help" ? verb_names(app) : first_words(verb));
}

std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return fmt::format("{}", fmt::join(names, "|"));
}

// ---- bash: "verb:option" decides what may follow, and keys know their values.

std::string bash_options(const CLI::App& command) {
  std::string cases;
  for (const CLI::Option* option : command.get_options()) {
    const std::string names = names_of(*option);
    if (names.empty()) continue;
    const Values values = values_of(command, *option);
    const auto add = [&](const std::string& action) { cases += fmt::format("      {}) {} ;;\n", names, action); };
    if (values.what == Follows::words) add(fmt::format("_weft_words \"{}\"; return", joined(values.words)));
    if (values.what == Follows::file) add("_weft_files; return");
    if (values.what == Follows::directory) add("_weft_directories; return");
    if (values.what == Follows::key_and_value) add("_weft_keys; return");
    if (option->check_lname("fault")) add("_weft_faults; return");
    if (values.what == Follows::anything && !option->check_lname("fault")) add("COMPREPLY=(); return");
  }
  return cases;
}

std::string bash_script(const CLI::App& app) {
  std::string options;
  std::string firsts;
  for (const CLI::App* command : verbs(app)) {
    const std::string name = command->get_name();
    options += fmt::format("    {}) case \"$previous\" in\n{}      esac ;;\n", name, bash_options(*command));
    firsts += fmt::format("    {}) words=\"{} {}\"{} ;;\n", name, flags(*command), first_of(app, name),
                          takes_files(name) ? " files=yes" : "");
  }
  std::string keys;
  std::string values;
  for (const KeyPath& key : key_paths()) {
    keys += " " + key.path + "=";
    if (!key.values.empty()) values += fmt::format("    {}) words=\"{}\" ;;\n", key.path, joined(key.values));
  }
  return fmt::format(
      R"(# bash completion for weft; source <(weft completion bash)
# The shell cuts words at "=" and ":", so the word is taken from the line; what is offered is what stands behind the cut.
_weft_words() {{ COMPREPLY=($(compgen -W "$1" -- "$current")); }}
_weft_files() {{ COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null; }}
_weft_directories() {{ COMPREPLY=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null; }}
_weft_keys() {{
  local words
  if [[ "$whole" != *=* ]]; then
    COMPREPLY=($(compgen -W "{keys}" -- "$whole"))
    compopt -o nospace 2>/dev/null
    return
  fi
  case "${{whole%%=*}}" in
{values}    *) return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{whole##*[=,]}}"))
}}
_weft_faults() {{
  case "$whole" in
    *,kind=*) COMPREPLY=($(compgen -W "{faults}" -- "${{whole##*=}}")) ;;
    *,*) COMPREPLY=($(compgen -P "${{whole%,*}}," -W "kind= at= for= rate= loss=" -- "${{whole##*,}}")); compopt -o nospace 2>/dev/null ;;
  esac
}}
_weft() {{
  local line="${{COMP_LINE:0:COMP_POINT}}" current="${{COMP_WORDS[COMP_CWORD]}}" whole previous words files=
  whole="${{line##*[[:space:]]}}"
  local before="${{line%"$whole"}}"
  before="${{before%"${{before##*[![:space:]]}}"}}"
  previous="${{before##*[[:space:]]}}"
  [ "$current" != "=" ] || current=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{options}  esac
  case "${{COMP_WORDS[1]}}" in
{firsts}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ -z "$files" ] || {{
    COMPREPLY+=($(compgen -f -X '!*.@(yaml|yml|topo|xml|json|txt|csv)' -- "$current") $(compgen -d -- "$current"))
    compopt -o filenames 2>/dev/null
  }}
}}
shopt -s extglob
complete -F _weft weft
)",
      fmt::arg("keys", keys), fmt::arg("values", values), fmt::arg("faults", joined(fault_kinds())),
      fmt::arg("names", joined(verb_names(app))), fmt::arg("options", options), fmt::arg("firsts", firsts));
}

// ---- zsh

std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const CLI::App& command, const CLI::Option& option) {
  const Values values = values_of(command, option);
  switch (values.what) {
    case Follows::nothing:
      return "";
    case Follows::words:
      return fmt::format(":value:({})", joined(values.words));
    case Follows::file:
      return ":file:_files";
    case Follows::directory:
      return ":directory:_files -/";
    case Follows::key_and_value:
      return ":key:_weft_keys";
    case Follows::anything:
      break;
  }
  return option.check_lname("fault") ? ":fault:_weft_faults" : ":value:";
}

std::string zsh_arguments(const CLI::App& app, const CLI::App& command) {
  const std::string verb = command.get_name();
  std::string out;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      out += fmt::format(" '{}--{}[{}]{}'", option->get_items_expected_max() > 1 ? "*" : "", name,
                         zsh_quoted(option->get_description()), zsh_value(command, *option));
  if (verb == "catalog")
    out += " '1:name:_weft_catalog'";
  else if (const std::string first = first_of(app, verb); !first.empty())
    out += fmt::format(" '1:what:({})'", first);
  if (takes_files(verb)) out += fmt::format(" '*:file:_files -g \"{}\"'", kClusterFiles);
  return out;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : verbs(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_quoted(command->get_description()));
    cases += fmt::format("      {}) _arguments{} ;;\n", command->get_name(), zsh_arguments(app, *command));
  }
  std::string keys;
  std::string values;
  for (const KeyPath& key : key_paths()) {
    keys += " " + key.path;
    if (!key.values.empty()) values += fmt::format("    {}) compadd -- {} ;;\n", key.path, joined(key.values));
  }
  return fmt::format(
      R"(#compdef weft
_weft_catalog() {{
  compadd -- $({catalog})
}}
_weft_keys() {{
  if ! compset -P '*='; then
    compadd -S = --{keys}
    return
  fi
  case ${{IPREFIX%=}} in
{values}  esac
}}
_weft_faults() {{
  if compset -P '*kind='; then
    compadd -- {faults}
  elif compset -P '*,'; then
    compadd -S = -- kind at for rate loss
  fi
}}
_weft() {{
  local -a commands
  commands=(
{commands}  )
  if (( CURRENT == 2 )); then
    _describe command commands
  else
    local verb=$words[2]
    shift words; (( CURRENT-- ))
    case $verb in
{cases}    esac
  fi
}}
# Loaded from fpath this file is the body of _weft; sourced, it has to register it.
if [ "$funcstack[1]" = _weft ]; then
  _weft "$@"
else
  compdef _weft weft
fi
)",
      fmt::arg("catalog", kCatalogNames), fmt::arg("keys", keys), fmt::arg("values", values),
      fmt::arg("faults", joined(fault_kinds())), fmt::arg("commands", commands), fmt::arg("cases", cases));
}

// ---- fish

std::string fish_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return "'" + out + "'";
}

std::string fish_option(const CLI::App& command, const CLI::Option& option) {
  std::string line = fmt::format("complete -c weft -n '__fish_seen_subcommand_from {}'", command.get_name());
  for (const std::string& name : option.get_snames()) line += " -s " + name;
  for (const std::string& name : option.get_lnames()) line += " -l " + name;
  const Values values = values_of(command, option);
  if (values.what == Follows::words) line += " -x -a " + fish_quoted(joined(values.words));
  if (values.what == Follows::file) line += " -r -F";
  if (values.what == Follows::directory) line += " -x -a '(__fish_complete_directories)'";
  if (values.what == Follows::key_and_value) line += " -x -a '$__weft_keys'";
  if (option.check_lname("fault"))
    line += " -x -a " + fish_quoted("spine0,kind=" + fmt::format("{}", fmt::join(fault_kinds(), " spine0,kind=")));
  else if (values.what == Follows::anything)
    line += " -x";
  return line + " -d " + fish_quoted(option.get_description()) + "\n";
}

std::string fish_script(const CLI::App& app) {
  std::string out =
      "# fish completion for weft; weft completion fish > ~/.config/fish/completions/weft.fish\n"
      "complete -c weft -f\nset -g __weft_keys";
  for (const KeyPath& key : key_paths()) {
    if (key.values.empty()) out += " " + key.path + "=";
    for (const std::string& value : key.values) out += fmt::format(" {}={}", key.path, value);
  }
  out += "\n";
  for (const CLI::App* command : verbs(app)) {
    const std::string verb = command->get_name();
    out += fmt::format("complete -c weft -n __fish_use_subcommand -a {} -d {}\n", verb,
                       fish_quoted(command->get_description()));
    const std::string first = verb == "catalog" ? fmt::format("({})", kCatalogNames) : first_of(app, verb);
    if (!first.empty())
      out += fmt::format("complete -c weft -n '__fish_seen_subcommand_from {}' -a {}\n", verb,
                         verb == "catalog" ? "\"" + first + "\"" : fish_quoted(first));
    if (takes_files(verb)) out += fmt::format("complete -c weft -n '__fish_seen_subcommand_from {}' -F\n", verb);
    for (const CLI::Option* option : command->get_options())
      if (!names_of(*option).empty()) out += fish_option(*command, *option);
  }
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "fish") return fish_script(app);
  return shell == "zsh" ? zsh_script(app) : bash_script(app);
}

}  // namespace weft::cli
