#include "cli/values.hpp"

#include <algorithm>
#include <array>

#include "app/commands.hpp"
#include "cli/lab_verbs.hpp"
#include "model/choices.hpp"
#include "spec/codes.hpp"

namespace weft::cli {
namespace {

template <std::size_t count>
bool is_one_of(const std::string& name, const std::array<std::string_view, count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 15> kFiles = {"output",   "out",   "matrix", "goal",    "chakra",
                                                     "groups",   "trace", "pcap",   "topo",    "smi",
                                                     "measured", "log",   "plot",   "metrics", "key"};
constexpr std::array<std::string_view, 2> kDirectories = {"catalog", "plots"};
constexpr std::array<std::string_view, 3> kKeys = {"set", "vary", "over"};

std::vector<std::string> words_of(const std::string& option) {
  if (option == "with") return {"srd", "tcp", "mptcp"};
  if (option == "as") return enum_names<app::ShownAs>();
  if (option == "kind") return app::init_kinds();
  if (option == "pattern") return enum_names<model::TrafficPattern>();
  if (option == "arrivals") return enum_names<model::FlowArrivals>();
  if (option == "verb") return enum_names<model::Verb>();
  if (option == "collective") return app::collective_names();
  if (option == "stack") return app::stack_names();
  if (option == "fidelity") return {"packet", "flow", "message", "all"};
  if (option == "protocol") return {"auto", "LL", "LL128", "Simple"};
  if (option == "algorithms") return app::algorithm_names();
  if (option == "refit") return {"fitted", "measured", "all"};
  return {};
}

}  // namespace

Values values_of(const CLI::App& verb, const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {Follows::nothing};
  const std::string name = option.get_lnames().empty() ? option.get_name() : option.get_lnames()[0];
  const bool writes_many = name == "output" && (verb.get_name() == "render" || verb.get_name() == "report");
  if (writes_many || is_one_of(name, kDirectories) || (name == "csv" && verb.get_name() == "sim"))
    return {Follows::directory};
  const bool compares = name == "with" && verb.get_name() == "report";
  if (compares || is_one_of(name, kFiles) || name == "csv") return {Follows::file};
  if (is_one_of(name, kKeys)) return {Follows::key_and_value};
  if (name == "transport" && verb.get_name() == "dst") return {Follows::words, app::dst_transports()};
  std::vector<std::string> words = words_of(name);
  return words.empty() ? Values{} : Values{Follows::words, std::move(words)};
}

std::vector<std::string> first_words(const std::string& verb) {
  if (verb == "show") return enum_names<app::Shown>();
  if (verb == "completion") return {"bash", "zsh", "fish"};
  if (verb == "render") return app::render_targets();
  if (verb == "lab") return lab_verbs();
  if (verb == "run") return {"server", "client", "all-reduce"};
  std::vector<std::string> codes;
  if (verb == "explain")
    for (const auto& error : spec::all_errors()) codes.emplace_back(error.code);
  return codes;
}

bool takes_files(const std::string& verb) {
  constexpr std::array<std::string_view, 14> kVerbs = {"check", "show",   "sim",      "compare", "sweep",
                                                       "plan",  "why",    "init",     "render",  "place",
                                                       "plot",  "report", "validate", "lab"};
  return is_one_of(verb, kVerbs);
}

std::vector<std::string> fault_kinds() { return enum_names<model::FaultKind>(); }

}  // namespace weft::cli
