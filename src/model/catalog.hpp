#pragma once
// The catalog: named parts, section by section, as trees that keep their places. Entries compiled in
// come first, and each section of them is read when something of it is first asked for: most verbs need few, a .topo
// file none. Files of a directory given with --catalog add to them and win over equal names.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "spec/fields.hpp"

namespace weft::model {

class Catalog {
 public:
  static Catalog embedded(spec::Diagnostics& diagnostics);
  void add_directory(const std::filesystem::path& directory, spec::Diagnostics& diagnostics);
  void add_source(std::uint32_t source, spec::Diagnostics& diagnostics);

  static const std::vector<std::string>& sections();
  std::vector<std::string> names(const std::string& section) const;

  // The entry as its file has it; nullptr when there is none.
  const spec::Node* own(const std::string& section, const std::string& name) const;

  // The entry with its `base` chain laid out; nullopt with an error when there is none.
  std::optional<spec::Node> entry(const std::string& section, const spec::Node& name,
                                  spec::Diagnostics& diagnostics) const;

  // What a field of that section means: a name, or a mapping with `kind` and overrides.
  std::optional<spec::Node> resolve(const std::string& section, const spec::Node& node,
                                    spec::Diagnostics& diagnostics) const;

  spec::Reader reader(spec::Diagnostics& diagnostics) const;

  // Reads an entry by name, for parts that weft itself asks for ("pcie5").
  template <class T>
  std::optional<T> load(const std::string& section, const std::string& name, spec::Diagnostics& diagnostics,
                        spec::Place asked_at = {}) const {
    spec::Node wanted;
    wanted.place = asked_at;
    wanted.kind = spec::Node::Kind::scalar;
    wanted.text = name;
    const auto found = resolve(section, wanted, diagnostics);
    if (!found) return std::nullopt;
    T out;
    reader(diagnostics).read(*found, out);
    return out;
  }

  // Reads every entry and checks that each of its numbers has exactly one used source.
  void check(spec::Diagnostics& diagnostics) const;

 private:
  using Entries = std::map<std::string, spec::Entry>;
  struct Section {
    std::uint32_t source = 0;  // of those compiled in
    std::once_flag once;
    Entries entries;
  };
  const Entries& entries(const std::string& section) const;

  std::map<std::string, std::shared_ptr<Section>> sections_;
};

}  // namespace weft::model
