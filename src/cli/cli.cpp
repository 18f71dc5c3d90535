#include "cli/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/build_info.hpp"
#include "app/output.hpp"
#include "base/text.hpp"
#include "cli/completion.hpp"
#include "cli/man.hpp"
#include "cli/shared_options.hpp"
#include "cli/verbs.hpp"

namespace weft::cli {
namespace {

bool names_a_file(const std::string& text) {
  std::error_code unreadable;
  return text == "-" || text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".topo") ||
         text.ends_with(".xml") || std::filesystem::is_regular_file(text, unreadable);
}

int show(Verbs& verbs, app::Console& console) {
  app::ShowOptions& options = verbs.show;
  for (const std::string& word : verbs.show_rest) {
    if (!names_a_file(word)) {
      options.names.push_back(word);
    } else if (options.input.file.empty()) {
      options.input.file = word;
    } else {
      console.err << fmt::format("two cluster files, {} and {}: show takes one\n", options.input.file, word);
      return app::kYourInput;
    }
  }
  if (options.input.json && options.as != app::ShownAs::table && options.as != app::ShownAs::json) {
    console.err << fmt::format("--json and --as {} contradict each other\n", enum_name(options.as));
    return app::kYourInput;
  }
  if (options.input.json) options.as = app::ShownAs::json;
  return app::show(options, console);
}

int help(const CLI::App& app, const Verbs& verbs, app::Console& console) {
  if (!verbs.man_directory.empty()) {
    std::error_code fault;
    std::filesystem::create_directories(verbs.man_directory, fault);
    for (const ManPage& page : man_pages(app, app::build_info().version)) {
      const std::string file = (std::filesystem::path(verbs.man_directory) / page.name).string();
      const int code = app::write_output(file, console, [&](std::ostream& out) { out << page.text; });
      if (code != app::kFine) return code;
    }
    return app::kFine;
  }
  // The name was checked before.
  // Not app.help(): that is the help of the command that was given, which is this one.
  console.out << (verbs.helped.empty() ? app.get_formatter()->make_help(&app, "weft", CLI::AppFormatMode::Normal)
                                       : app.get_subcommand(verbs.helped)->help("weft"));
  return app::kFine;
}

int dispatch(const CLI::App& app, Verbs& verbs, app::Console& console) {
  const std::string verb = app.get_subcommands().front()->get_name();
  if (verb == "check") return app::check(verbs.check, console);
  if (verb == "sim") return app::sim(verbs.sim, console);
  if (verb == "compare") return app::compare(verbs.compare, console);
  if (verb == "validate") return app::validate(verbs.validate, console);
  if (verb == "why") return app::why(verbs.why, console);
  if (verb == "plan") return app::plan(verbs.plan, console);
  if (verb == "plot") return app::plot(verbs.plot, console);
  if (verb == "sweep") return app::sweep(verbs.sweep, console);
  if (verb == "dst") return app::dst(verbs.dst, console);
  if (verb == "render") return app::render(verbs.render, console);
  if (verb == "place") return app::place(verbs.place, console);
  if (verb == "report") return app::write_report(verbs.report, run, console);
  if (verb == "run") return app::run(verbs.run, console);
  if (verb == "doctor") return app::doctor(verbs.doctor, console);
  if (verb == "lab") return run_lab(*app.get_subcommands().front(), verbs.lab, console);
  if (verb == "catalog") return app::catalog(verbs.catalog, console);
  if (verb == "init") return app::init(verbs.init, console);
  if (verb == "schema") return app::schema(verbs.view, console);
  if (verb == "explain") return app::explain(verbs.code, verbs.json, console);
  if (verb == "version") return app::version(verbs.json, console);
  if (verb == "help") return help(app, verbs, console);
  if (verb == "completion") {
    console.out << completion_script(app, verbs.shell);
    return app::kFine;
  }
  return show(verbs, console);
}

// What is wrong with an option that its command does not have; empty when none is.
std::string unknown_option(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (!command->get_subcommands().empty()) return unknown_option(*command, arguments);
    std::vector<std::string> names;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& word : arguments) {
      const std::string name = word.substr(0, word.find('='));
      if (!name.starts_with("--") || std::find(names.begin(), names.end(), name) != names.end()) continue;
      const auto guess = did_you_mean(name, names);
      const std::string called = app.get_parent() == nullptr ? "weft" : "weft " + app.get_name();
      return fmt::format("{} {} has no option '{}'; {}\n", called, command->get_name(), name.substr(0, 40),
                         guess ? fmt::format("did you mean '{}'?", *guess)
                               : fmt::format("`{} {} --help` lists them", called, command->get_name()));
    }
  }
  return "";
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// The order of the main help text: what one does first stands first.
void group_by_purpose(CLI::App& app) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> groups = {
      {"Describe a cluster", {"init", "check", "show", "catalog", "schema"}},
      {"Ask what it will do", {"sim", "compare", "sweep", "plan", "why", "plot"}},
      {"Decide and build", {"report", "place", "render"}},
      {"Run it for real", {"doctor", "run", "lab"}},
      {"How far to trust it", {"validate", "dst"}},
      {"Help", {"help", "explain", "completion", "version"}},
  };
  for (const auto& [title, verbs] : groups)
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      if (std::find(verbs.begin(), verbs.end(), command->get_name()) != verbs.end()) command->group(title);
}

// A topology file is a server: `weft show system.xml` means `weft show server system.xml`.
std::vector<std::string> with_what(std::vector<std::string> arguments) {
  const auto holds = [&](auto test) { return std::any_of(arguments.begin(), arguments.end(), test); };
  const bool shows = !arguments.empty() && arguments[0] == "show" && holds([](const std::string& word) {
    return word.ends_with(".xml") || word.find("nccl-xml") != std::string::npos;
  });
  if (shows && !holds([](const std::string& word) { return parse_enum<app::Shown>(word).has_value(); }))
    arguments.insert(arguments.begin() + 1, "server");
  return arguments;
}

// A command line that is wrong: as text or, with --json, as the record that every error is.
int refuse(const std::vector<std::string>& arguments, const std::string& text, app::Console& console) {
  if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) {
    console.err << text;
    return app::kYourInput;
  }
  const nlohmann::ordered_json record = {
      {"record", "error"}, {"version", 1}, {"message", text.substr(0, text.find_last_not_of('\n') + 1)}};
  console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return app::kYourInput;
}

}  // namespace

int run(const std::vector<std::string>& arguments, app::Console& console) {
  CLI::App app("Plans and simulates the network of an AI cluster from a file that describes it.", "weft");
  app.require_subcommand(1);
  app.get_formatter()->column_width(24);  // every help line fits 80 columns
  app.set_help_all_flag("--help-all", "help for all commands");
  app.set_version_flag("--version", fmt::format("weft {}", app::build_info().version), "print the version");
  app.footer(
      "First steps:\n"
      "  weft init                            write cluster.weft.yaml\n"
      "  weft check                           what it amounts to, and what is wrong\n"
      "  weft show fabric --as svg -o f.svg   draw it\n"
      "  weft sim --collective all_reduce     what nccl-tests would print there\n"
      "\n"
      "Exit codes: 0 fine, 1 an expectation failed, 2 your input, 3 this machine,\n4 a limit you set, 70 a bug in "
      "weft, 130 interrupted.");
  Verbs verbs;
  add_check(app, verbs);
  add_show(app, verbs);
  add_sim(app, verbs);
  add_compare(app, verbs);
  add_validate(app, verbs);
  add_plan(app, verbs);
  add_why(app, verbs);
  add_plot(app, verbs);
  add_sweep(app, verbs);
  add_dst(app, verbs);
  add_render(app, verbs);
  add_place(app, verbs);
  add_report(app, verbs);
  add_run(app, verbs);
  add_doctor(app, verbs);
  CLI::App& lab_up = *add_lab(app, verbs.lab);
  add_input(lab_up, verbs.lab.up.input, true);
  add_topology(lab_up, verbs.lab.up.input);
  add_init(app, verbs);
  add_catalog(app, verbs);
  add_schema(app, verbs);
  add_help(app, verbs);
  group_by_purpose(app);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    command->add_flag("-q,--quiet", verbs.quiet, "on stderr errors only: no progress, no warnings")->group("Options");

  if (!arguments.empty() && !arguments[0].starts_with('-')) {
    const auto names = verb_names(app);
    const bool helps = arguments[0] == "help" && arguments.size() > 1 && !arguments[1].starts_with('-');
    const std::string& verb = arguments[helps ? 1 : 0];
    if (std::find(names.begin(), names.end(), verb) == names.end()) {
      const auto guess = did_you_mean(verb, names);
      return refuse(arguments,
                    fmt::format("there is no command '{}'; {}\n", verb,
                                guess ? fmt::format("did you mean '{}'?", *guess) : "commands are " + either(names)),
                    console);
    }
  }
  const std::vector<std::string> complete = with_what(arguments);
  try {
    app.parse(std::vector<std::string>(complete.rbegin(), complete.rend()));
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    if (app.exit(error, console.out, text) == 0) return app::kFine;
    const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string better = extras ? unknown_option(app, complete) : "";
    return refuse(arguments, better.empty() ? text.str() : better, console);
  }
  console.quiet = verbs.quiet;
  return dispatch(app, verbs, console);
}

}  // namespace weft::cli
