#include "experiment/design.hpp"

#include <utility>

#include "spec/node.hpp"

namespace weft::experiment {

Design::Design(model::Cluster cluster, spec::Diagnostics diagnostics, std::uint32_t source,
               std::vector<std::string> set, std::shared_ptr<const model::Catalog> catalog)
    : diagnostics_(std::move(diagnostics)),
      cluster_(std::move(cluster)),
      fabric_(cluster_),
      source_(source),
      set_(std::move(set)),
      catalog_(std::move(catalog)) {}

spec::Place Design::place(const std::string& section, const std::string& key, std::size_t item) {
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

std::unique_ptr<Design> Design::read(std::uint32_t source, const std::string& name, std::vector<std::string> set,
                                     std::shared_ptr<const model::Catalog> catalog, spec::Diagnostics& diagnostics) {
  auto cluster = model::load_cluster(source, name, {set}, *catalog, diagnostics);
  if (!cluster) return nullptr;
  return std::make_unique<Design>(std::move(*cluster), diagnostics, source, std::move(set), std::move(catalog));
}

std::unique_ptr<Design> Design::with(const std::vector<std::string>& more) const {
  // Places of the catalog point into these sources, too; what is wrong with this one is not what is wrong with that.
  spec::Diagnostics scratch;
  scratch.sources() = diagnostics_.sources();
  std::vector<std::string> set = set_;
  set.insert(set.end(), more.begin(), more.end());
  return read(source_, cluster_.name, std::move(set), catalog_, scratch);
}

}  // namespace weft::experiment
