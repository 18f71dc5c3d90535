#include "cli/man.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace weft::cli {
namespace {

// A backslash, a hyphen that must stay one, and a dot or quote at the start of a line mean something to roff.
std::string roff(const std::string& text) {
  std::string out;
  bool start = true;
  for (const char c : text) {
    if (start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    start = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string head(const std::string& name, const std::string& version, const std::string& what) {
  return fmt::format(".TH {} 1 \"\" \"weft {}\" \"weft\"\n.SH NAME\n{} \\- {}\n", upper(name), version, roff(name),
                     roff(what));
}

std::string option_entry(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("\\fB\\-" + roff(name) + "\\fR");
  for (const std::string& name : option.get_lnames()) names.push_back("\\fB\\-\\-" + roff(name) + "\\fR");
  const bool flag = option.get_items_expected_max() == 0;
  const std::string usual = option.get_default_str().empty() ? "" : "=" + option.get_default_str();
  const std::string text = option.get_option_text().empty() ? option.get_type_name() + usual : option.get_option_text();
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "),
                     flag || text.empty() ? "" : " \\fI" + roff(text) + "\\fR", roff(option.get_description()));
}

// Blocks of a footer: those that begin with "Examples:" and the like get a section of that name.
std::string footer_sections(const std::string& footer) {
  std::string out;
  std::string section;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool title = line.ends_with(':') && !line.starts_with(' ');
    const std::string wanted = title ? upper(line.substr(0, line.size() - 1)) : section.empty() ? "NOTES" : section;
    if (wanted != section) {
      if (!section.empty()) out += ".fi\n";
      out += ".SH " + wanted + "\n.nf\n";
      section = wanted;
    }
    if (!title && !(line.empty() && out.ends_with(".nf\n"))) out += roff(line) + "\n";
  }
  return section.empty() ? out : out + ".fi\n";
}

std::string verb_page(const CLI::App& verb, const std::string& version) {
  std::string out = head("weft-" + verb.get_name(), version, verb.get_description());
  out += fmt::format(".SH SYNOPSIS\n.B weft {}\n[OPTIONS]", roff(verb.get_name()));
  std::string arguments;
  for (const CLI::Option* option : verb.get_options([](const CLI::Option* each) { return each->get_positional(); })) {
    const std::string name = roff(option->get_single_name());
    out += option->get_required() ? fmt::format(" \\fI{}\\fR", name) : fmt::format(" [\\fI{}\\fR]", name);
    arguments += fmt::format(".TP\n\\fI{}\\fR\n{}\n", name, roff(option->get_description()));
  }
  out += "\n";
  if (!arguments.empty()) out += ".SH ARGUMENTS\n" + arguments;
  std::vector<std::string> groups;
  for (const CLI::Option* option : verb.get_options())
    if (!option->get_positional() && std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
      groups.push_back(option->get_group());
  out += ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (groups.size() > 1) out += ".SS " + roff(group) + "\n";
    for (const CLI::Option* option : verb.get_options())
      if (!option->get_positional() && option->get_group() == group) out += option_entry(*option);
  }
  out += footer_sections(verb.get_footer());
  return out + ".SH SEE ALSO\n.BR weft (1)\n";
}

std::string main_page(const CLI::App& app, const std::string& version) {
  std::string out = head("weft", version, "plan and simulate the network of an AI cluster");
  out += ".SH SYNOPSIS\n.B weft\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n" + roff(app.get_description()) + "\n";
  std::vector<std::string> groups;
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* verb : verbs)
    if (std::find(groups.begin(), groups.end(), verb->get_group()) == groups.end()) groups.push_back(verb->get_group());
  out += ".SH COMMANDS\n";
  for (const std::string& group : groups) {
    out += ".SS " + roff(group) + "\n";
    for (const CLI::App* verb : verbs)
      if (verb->get_group() == group)
        out += fmt::format(".TP\n.BR weft\\-{} (1)\n{}\n", roff(verb->get_name()), roff(verb->get_description()));
  }
  return out + footer_sections(app.get_footer());
}

}  // namespace

std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version) {
  std::vector<ManPage> pages = {{"weft.1", main_page(app, version)}};
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    pages.push_back({"weft-" + verb->get_name() + ".1", verb_page(*verb, version)});
  return pages;
}

}  // namespace weft::cli
