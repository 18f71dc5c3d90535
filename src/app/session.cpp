#include "app/session.hpp"

#include "measured/topology_cluster.hpp"
#include "spec/files.hpp"

namespace weft::app {

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

Session::Session(const InputOptions& options, Console& console) : set_(options.set) {
  const model::Catalog catalog = load_catalog(options, diagnostics_);
  std::optional<std::filesystem::path> path = options.topology.empty() ? options.file : options.topology;
  if (!options.file.empty() && !options.topology.empty())
    diagnostics_.add(spec::Complaint::no_file_here, {}, "a cluster file and --topo: two descriptions of the cluster",
                     "give one of them");
  if (path->empty()) path = model::find_cluster_file(".", diagnostics_);
  if (path && !diagnostics_.has_errors()) load(*path, options, catalog);
  if (report(diagnostics_, options, console) || !cluster_) return;
  fabric_ = std::make_unique<fabric::Fabric>(*cluster_);
  file_ = *path;
}

void Session::load(const std::filesystem::path& path, const InputOptions& options, const model::Catalog& catalog) {
  if (options.topology.empty() && !measured::is_topology(path)) {
    if (options.nodes != 1)
      diagnostics_.add(spec::Complaint::bad_reference, {}, "--nodes changes nothing in a cluster file",
                       "--set servers.count=4, or --topo");
    cluster_ = model::load_cluster(path, {options.set}, catalog, diagnostics_);
    source_ = diagnostics_.sources().find(path.string());
    return;
  }
  auto loaded = measured::load_topology_cluster(path, options.nodes, {options.set}, catalog, diagnostics_);
  if (!loaded) return;
  cluster_ = std::move(loaded->cluster);
  source_ = loaded->text_source;
}

spec::Place Session::place(const std::string& section, const std::string& key, std::size_t item) {
  const spec::Place whole{source_, 0, 0, 1};
  if (source_ == 0) return {};
  spec::Diagnostics scratch;  // the file was read without errors; it is read again for its places
  const std::uint32_t again = scratch.sources().add("", diagnostics_.sources().text(source_));
  spec::Node root = spec::parse_yaml(again, scratch);
  if (!root.is_map()) {  // a .topo file has no such keys
    root = {};
    root.kind = spec::Node::Kind::map;
  }
  for (const std::string& assignment : set_) spec::apply_set(root, assignment, scratch);
  const spec::Entry* found = root.find(section);
  if (found == nullptr) return whole;
  const spec::Node& value = found->value;
  const spec::Node& node = value.is_sequence() && item < value.items.size() ? value.items[item] : value;
  const spec::Entry* entry = node.find(key);
  if (entry == nullptr) entry = node.find("kind");
  spec::Place place = entry != nullptr ? entry->value.place : found->key_place;
  const bool in_file = place.source == again;
  place.source = in_file ? source_ : diagnostics_.sources().add("--set", scratch.sources().text(place.source));
  return place;
}

}  // namespace weft::app
