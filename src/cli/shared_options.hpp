#pragma once
// Options that several verbs have in common.

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "base/names.hpp"

namespace weft::cli {

// One that takes a name of an enum.
template <class Enum>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Enum& choice, const std::string& text) {
  const auto take = [&choice](const std::string& word) { choice = *parse_enum<Enum>(word); };
  return command.add_option_function<std::string>(name, take, text)->check(CLI::IsMember(enum_names<Enum>()));
}

// The options every command with a cluster has.
void add_input(CLI::App& command, app::InputOptions& input, bool positional);

// A topology in the place of a cluster file. Servers are what it stands for, or those of a cluster file that take part.
void add_topology(CLI::App& command, app::InputOptions& input, bool runs = false);

// Of the options that a verb has, those that stand on the command line: what would be ignored can be refused.
std::vector<std::string> given(const CLI::App& command, std::initializer_list<const char*> names);

void take_given(const CLI::App& command, const app::InputOptions& input, app::WorkOptions& work);

// CLI11 reads -1 as the largest number there is, and what is larger than that as that.
CLI::Validator from_zero_on();

// What every verb that simulates is told.
void add_traffic(CLI::App& command, app::TrafficOptions& traffic);

void add_runs(CLI::App& command, app::RunOptions& run, bool several, std::uint32_t& seeds, std::string& limit);

void add_collective(CLI::App& command, app::CollectiveOptions& options);

// The words of --pattern, --collective and --fault, for the end of a help text.
std::string what_there_is();

}  // namespace weft::cli
