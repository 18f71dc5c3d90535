#include "app/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "experiment/warnings.hpp"
#include "measured/topology_cluster.hpp"

namespace weft::app {
namespace {

struct Loaded {
  std::optional<model::Cluster> cluster;
  std::uint32_t source = 0;  // of its cluster file; of a topology, the one that was made of it
};

Loaded load_file(const std::filesystem::path& path, const InputOptions& options, const model::Catalog& catalog,
                 spec::Diagnostics& diagnostics) {
  if (options.topology.empty() && !measured::is_topology(path)) {
    if (options.nodes != 0 && !options.runs)
      diagnostics.add(spec::Error::bad_reference, {}, "--nodes changes nothing in a cluster file",
                      "--set servers.count=4, or --topo");
    auto cluster = model::load_cluster(path, {options.set}, catalog, diagnostics);
    return {std::move(cluster), diagnostics.sources().find(path.string())};
  }
  auto loaded = measured::load_topology_cluster(path, std::max<std::int64_t>(1, options.nodes), {options.set}, catalog,
                                                diagnostics);
  if (!loaded) return {};
  return {std::move(loaded->cluster), loaded->text_source};
}

}  // namespace

model::Catalog load_catalog(const InputOptions& options, spec::Diagnostics& diagnostics) {
  model::Catalog catalog = model::Catalog::embedded(diagnostics);
  if (!options.catalog.empty()) catalog.add_directory(options.catalog, diagnostics);
  return catalog;
}

bool report(const spec::Diagnostics& diagnostics, const InputOptions& options, Console& console) {
  if (!diagnostics.has_errors()) return false;
  if (options.json) {
    console.out << spec::render_json(diagnostics);
  } else {
    console.err << spec::render_text(diagnostics, console.colour_err, console.width);
  }
  return true;
}

void print_warnings(Session& session, const experiment::Experiment& experiment,
                    const std::vector<experiment::Fidelity>& fidelities, const InputOptions& options, Console& console,
                    const std::string& label) {
  print_warnings(session, experiment::warnings_of(session.design(), experiment, fidelities), options, console, label);
}

void print_warnings(Session& session, std::vector<spec::Diagnostic> warnings, const InputOptions& options,
                    Console& console, const std::string& label) {
  for (spec::Diagnostic& each : warnings) {
    if (!label.empty()) each.message = label + ": " + each.message;
    if (options.json)
      console.out << spec::render_json(each, session.diagnostics().sources());
    else if (!console.quiet)
      console.err << fmt::format("warning: {}\n    {}; see weft explain {}\n", each.message, each.help,
                                 spec::info(each.error).code);
  }
}

Session::Session(const InputOptions& options, Console& console) {
  spec::Diagnostics errors;
  load(options, errors);
  app::report(errors, options, console);
}

Session::Session(const InputOptions& options, spec::Diagnostics& diagnostics) { load(options, diagnostics); }

void Session::load(const InputOptions& options, spec::Diagnostics& errors) {
  spec::Diagnostics diagnostics;
  auto catalog = std::make_shared<const model::Catalog>(load_catalog(options, diagnostics));
  std::optional<std::filesystem::path> path = options.topology.empty() ? options.file : options.topology;
  if (!options.file.empty() && !options.topology.empty())
    diagnostics.add(spec::Error::no_file_here, {}, "a cluster file and --topo: two descriptions of the cluster",
                    "give one of them");
  if (path->empty()) path = model::find_cluster_file(".", diagnostics);
  Loaded loaded;
  if (path && !diagnostics.has_errors()) loaded = load_file(*path, options, *catalog, diagnostics);
  if (diagnostics.has_errors() || !loaded.cluster) {
    errors = std::move(diagnostics);
    return;
  }
  file_ = *path;
  design_ = std::make_unique<experiment::Design>(std::move(*loaded.cluster), std::move(diagnostics), loaded.source,
                                                 options.set, std::move(catalog));
}

}  // namespace weft::app
